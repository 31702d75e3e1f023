"""The picture of a layout: in numbers (the contiguous index, halo, padding, boundary), and as
inline SVG, which takes its text colour from the page around it.

The demo draws the numbers with matplotlib.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import prod
from typing import Any

from gridbuf.strides import extent

# ---- numbers ----


# Mid-tones, readable on white and on black.
COLORS = {"domain": "#3b82f6", "halo": "#f59e0b", "padding": "#94a3b8", "boundary": "#e11d48"}
DIVISIONS = 6  # lines drawn along an index that is not contiguous, however long it is

Point = tuple[float, float]
Halo = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Patch:
    """A visible piece of the box: its corners, and its position in memory from 0 (first) to 1
    (last).
    """

    corners: tuple[Point, ...]
    position: float


@dataclass(frozen=True)
class Box:
    """The visible faces of an array drawn in space, cut into runs of contiguous elements.

    Attributes
    ----------
    axes : tuple of int
        The indices drawn: two or three of the plan's.
    fastest : int
        Which of them is contiguous.
    patches : tuple of Patch
        The polygons to fill.
    outlines : tuple of tuple of Point
        Where the halo ends, on each face.
    arrows : tuple of (int, Point, Point)
        For each index, a line along it.
    """

    axes: tuple[int, ...]
    fastest: int
    patches: tuple[Patch, ...]
    outlines: tuple[tuple[Point, ...], ...]
    arrows: tuple[tuple[int, Point, Point], ...]


# How far a whole index reaches on paper, by its place among those drawn.
_DIRECTIONS = {2: ((1.0, 0.0), (0.0, 1.0)), 3: ((1.0, -0.22), (0.62, 0.42), (0.0, 1.0))}
# A face is two indices that vary and one that is held at its first (0) or last (1) element.
_FACES = {2: ((0, 1, None, 0.0),), 3: ((0, 2, 1, 0.0), (1, 2, 0, 1.0), (0, 1, 2, 1.0))}


def is_described(plan: Any) -> bool:
    """Whether a plan was read off memory that is there: what lies between its elements may belong
    to others.
    """
    first, end = extent(0, plan.shape, plan.strides, plan.dtype.itemsize)
    return bool(plan.alloc_nbytes <= end - first)


def drawn_axes(dims: Sequence[str]) -> tuple[int, ...]:
    """The indices to draw: up to three, I, J and K first."""
    return tuple(sorted(range(len(dims)), key=lambda i: (dims[i] not in "IJK", dims[i]))[:3])


def box(plan: Any, pairs: Halo) -> Box | None:
    """The faces to draw for a plan, or None for fewer than two indices."""
    axes = drawn_axes(plan.dims)
    if len(axes) < 2:
        return None
    slow_to_fast = sorted(range(len(axes)), key=lambda a: plan.layout[axes[a]])
    cuts = [DIVISIONS] * len(axes)
    cuts[slow_to_fast[-1]] = 1

    def on_paper(at: Sequence[float]) -> Point:
        directions = _DIRECTIONS[len(axes)]
        x, y = (sum(a * d[c] for a, d in zip(at, directions, strict=True)) for c in (0, 1))
        return x, y

    def face_point(face: tuple[int, int, int | None, float], p: float, q: float) -> Point:
        at = [face[3]] * len(axes)
        at[face[0]], at[face[1]] = p, q
        return on_paper(at)

    patches, outlines = [], []
    for face in _FACES[len(axes)]:
        patches += [
            Patch(tuple(face_point(face, p, q) for p, q in corners), position)
            for corners, position in _cells(face, cuts, slow_to_fast)
        ]
        inset = [_inset(plan.shape[axes[a]], pairs[axes[a]]) for a in face[:2]]
        if any(i != (0.0, 1.0) for i in inset):
            (p0, p1), (q0, q1) = inset
            outlines.append(
                tuple(face_point(face, p, q) for p, q in ((p0, q0), (p1, q0), (p1, q1), (p0, q1)))
            )
    return Box(
        axes, axes[slow_to_fast[-1]], tuple(patches), tuple(outlines), _arrows(axes, on_paper)
    )


def _cells(
    face: tuple[int, int, int | None, float], cuts: list[int], slow_to_fast: list[int]
) -> Iterator[tuple[tuple[Point, ...], float]]:
    p_axis, q_axis, held, end = face
    total = prod(cuts)
    for p in range(cuts[p_axis]):
        for q in range(cuts[q_axis]):
            at = {p_axis: p, q_axis: q}
            if held is not None:
                at[held] = int(end * (cuts[held] - 1))
            position = 0
            for a in slow_to_fast:
                position = position * cuts[a] + at[a]
            p0 = p / cuts[p_axis]
            p1 = (p + 1) / cuts[p_axis]
            q0 = q / cuts[q_axis]
            q1 = (q + 1) / cuts[q_axis]
            yield ((p0, q0), (p1, q0), (p1, q1), (p0, q1)), position / max(total - 1, 1)


def _inset(size: int, pair: tuple[int, int]) -> Point:
    """Where the domain begins and ends on paper; a thin halo is drawn wide enough to be seen."""
    low, high = (max(h / size, 0.07) if h and size else 0.0 for h in pair)
    return low, 1.0 - high


def _arrows(axes: tuple[int, ...], on_paper: Any) -> tuple[tuple[int, Point, Point], ...]:
    n, gap = len(axes), 0.09
    starts = [[-gap] * n for _ in range(n)]
    if n == 3:  # below the front, below the side, left of the front
        starts = [[0.0, 0.0, -gap], [1.0 + gap / 2, 0.0, -gap], [-gap, 0.0, 0.0]]
    lines = []
    for a in range(n):
        first, last = list(starts[a]), list(starts[a])
        first[a], last[a] = 0.05, 0.95
        lines.append((axes[a], on_paper(first), on_paper(last)))
    return tuple(lines)


@dataclass(frozen=True)
class Cell:
    """An element of a row: its index (None for elements left out), its kind, and whether it
    begins at a boundary.
    """

    index: int | None
    kind: str
    on_boundary: bool


@dataclass(frozen=True)
class Row:
    """A row of elements along the contiguous index, through the aligned element."""

    fastest: int
    lead_nbytes: int
    cells: tuple[Cell, ...]


def row(plan: Any, pairs: Halo, *, limit: int = 26) -> Row | None:
    """The start and the end of the row that holds the aligned element; None for scalars and empty
    arrays.
    """
    if plan.ndim == 0 or 0 in plan.shape:
        return None
    fastest = max(range(plan.ndim), key=lambda i: plan.layout[i])
    size = plan.shape[fastest]
    padded = size if is_described(plan) else plan.padded_shape[fastest]
    step, (low, high) = plan.strides[fastest], pairs[fastest]
    lead = -plan.aligned_index[fastest] * step % plan.byte_alignment

    def cell(i: int) -> Cell:
        kind = "padding" if i >= size else "halo" if i < low or i >= size - high else "domain"
        return Cell(i, kind, (lead + i * step) % plan.byte_alignment == 0)

    tail = min(high, 4) + 2 + min(padded - size, 8)
    if padded <= limit:
        return Row(fastest, lead, tuple(cell(i) for i in range(padded)))
    shown = size + min(padded - size, 8)
    head = [cell(i) for i in range(limit - tail - 1)]
    return Row(
        fastest,
        lead,
        (*head, Cell(None, "more", False), *(cell(i) for i in range(shown - tail, shown))),
    )


# ---- SVG ----


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


def svg(plan: Any, pairs: Halo) -> str:
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
