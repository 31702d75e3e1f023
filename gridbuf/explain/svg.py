"""A layout as inline SVG, which takes its text colour from the page around it."""

from collections.abc import Sequence
from html import escape
from typing import Any

from gridbuf.explain.drawing import COLORS, Box, Halo, Point, Row, box, row


def _points(corners: Sequence[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)


def _label(
    x: float,
    y: float,
    words: str,
    *,
    anchor: str = "middle",
    bold: bool = False,
    faint: bool = False,
) -> str:
    style = (' font-weight="600"' if bold else "") + (' opacity=".65"' if faint else "")
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{style}>{escape(words)}</text>'


def _box(plan: Any, drawn: Box, left: float, top: float, scale: float) -> list[str]:
    def on_page(p: Point) -> Point:
        return left + p[0] * scale, top - p[1] * scale

    parts = []
    for patch in drawn.patches:
        opacity = 0.18 + 0.72 * (1 - patch.position)
        corners = _points([on_page(p) for p in patch.corners])
        parts.append(
            f'<polygon points="{corners}" fill="{COLORS["domain"]}" fill-opacity="{opacity:.2f}"'
            ' stroke="currentColor" stroke-opacity=".35" stroke-width=".7"/>'
        )
    for outline in drawn.outlines:
        parts.append(
            f'<polygon points="{_points([on_page(p) for p in outline])}" fill="none"'
            f' stroke="{COLORS["halo"]}" stroke-width="2" stroke-dasharray="4 3"/>'
        )
    for axis, first, last in drawn.arrows:
        (x0, y0), (x1, y1) = on_page(first), on_page(last)
        fast = axis == drawn.fastest
        parts.append(
            f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" stroke="currentColor"'
            f' stroke-width="{2.2 if fast else 1}"/>'
        )
        parts.append(
            f'<circle cx="{x1:.1f}" cy="{y1:.1f}" r="{3 if fast else 2}" fill="currentColor"/>'
        )
        upright = abs(x1 - x0) < 1
        words = f"{plan.dims[axis]} ({plan.shape[axis]:,})  {plan.strides[axis]:,} B apart"
        if upright:
            x, y, anchor = x0 - 8, (y0 + y1) / 2, "end"
        elif y1 < y0 - 4:  # into the distance
            x, y, anchor = (x0 + x1) / 2 + 14, (y0 + y1) / 2 + 17, "start"
        else:
            x, y, anchor = (x0 + x1) / 2 - (24 if y1 > y0 + 4 else 0), (y0 + y1) / 2 + 20, "middle"
        parts.append(_label(x, y, words, anchor=anchor, bold=fast))
    return parts


def _row(plan: Any, cells: Row, left: float, top: float, width: float) -> list[str]:
    lead = min(cells.lead_nbytes / max(abs(plan.strides[cells.fastest]), 1), 4.0)
    cell = min(width / (len(cells.cells) + lead), 26.0)
    height, x, parts = 22.0, left + lead * cell, []
    if lead:
        parts.append(
            f'<rect x="{left:.1f}" y="{top}" width="{lead * cell:.1f}" height="{height}"'
            ' fill="none" stroke="currentColor" stroke-opacity=".4" stroke-dasharray="2 2"/>'
        )
        parts.append(_label(left + lead * cell / 2, top + 15, f"{cells.lead_nbytes} B", faint=True))
        parts.append(_tick(left, top, height, 1.2))
    aligned = plan.aligned_index[cells.fastest]
    for c in cells.cells:
        if c.index is None:
            parts.append(_label(x + cell / 2, top + 14, "…"))
        else:
            parts.append(
                f'<rect x="{x:.1f}" y="{top}" width="{cell:.1f}" height="{height}"'
                f' fill="{COLORS[c.kind]}" fill-opacity=".75" stroke="currentColor"'
                ' stroke-opacity=".35" stroke-width=".7"/>'
            )
        if c.on_boundary:
            weight = 2.5 if c.index == aligned else 1.2
            parts.append(_tick(x, top, height, weight))
        x += cell
    return parts


def _tick(x: float, top: float, height: float, weight: float) -> str:
    return (
        f'<line x1="{x:.1f}" y1="{top - 5}" x2="{x:.1f}" y2="{top + height + 5}"'
        f' stroke="{COLORS["boundary"]}" stroke-width="{weight}"/>'
    )


def _legend(names: Sequence[tuple[str, str]], left: float, top: float) -> list[str]:
    parts, x = [], left
    for kind, words in names:
        width = 2.5 if kind == "boundary" else 11
        parts.append(
            f'<rect x="{x:.1f}" y="{top - 9}" width="{width}" height="11" fill="{COLORS[kind]}"'
            ' fill-opacity=".8"/>'
        )
        parts.append(_label(x + width + 5, top, words, anchor="start", faint=True))
        x += width + 20 + 6.2 * len(words)
    return parts


def picture(plan: Any, pairs: Halo) -> str:
    """The box and the row of a plan, beneath one another."""
    drawn, cells = box(plan, pairs), row(plan, pairs)
    parts, width, height = [], 700, 8
    if drawn is not None:
        scale = 120.0
        depth = 0.42 if len(drawn.axes) == 3 else 0.0
        parts += _box(plan, drawn, 165, height + scale * (1 + depth) + 4, scale)
        parts += _words(plan, drawn, 395, height + 40)
        height += int(scale * (1 + depth)) + (62 if depth else 38)
    if cells is not None:
        name = plan.dims[cells.fastest]
        step, side_by_side = plan.strides[cells.fastest], _is_contiguous(plan, cells.fastest)
        how = (
            "as it lies in memory"
            if side_by_side
            else f"its elements {step:,} bytes apart, without what lies between them"
        )
        parts.append(
            _label(10, height + 14, f"one row along {name}, {how}", anchor="start", faint=True)
        )
        parts += _row(plan, cells, 10, height + 28, width - 20)
        names = [
            (kind, kind)
            for kind in ("domain", "halo", "padding")
            if any(c.kind == kind for c in cells.cells)
        ]
        parts += _legend(
            [
                *names,
                ("boundary", f"{plan.byte_alignment}-byte boundary (bold: the aligned element)"),
            ],
            10,
            height + 74,
        )
        height += 86
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        f' style="width:100%;max-width:{width}px;height:auto" font-family="system-ui,sans-serif"'
        f' font-size="12" fill="currentColor" role="img">{"".join(parts)}</svg>'
    )


def _is_contiguous(plan: Any, index: int) -> bool:
    return bool(plan.strides[index] == plan.dtype.itemsize or plan.shape[index] == 1)


def _run(plan: Any, index: int) -> str:
    return (
        "one contiguous run"
        if _is_contiguous(plan, index)
        else f"elements {plan.strides[index]:,} bytes apart"
    )


def _words(plan: Any, drawn: Box, left: float, top: float) -> list[str]:
    order = sorted(range(plan.ndim), key=lambda i: plan.layout[i])
    lines = [
        ("slowest " + " → ".join(plan.dims[i] for i in order) + " fastest", True),
        (f"each bar: {_run(plan, drawn.fastest)} along {plan.dims[drawn.fastest]}", False),
        ("strong to faint: first to last in memory", False),
    ]
    if drawn.fastest != order[-1]:
        lines[1] = (f"{plan.dims[order[-1]]}, not drawn, is the fastest index", False)
    if drawn.outlines:
        lines.append(("dashed: the domain, without its halo", False))
    return [
        _label(left, top + 19 * i, words, anchor="start", bold=bold, faint=not bold)
        for i, (words, bold) in enumerate(lines)
    ]
