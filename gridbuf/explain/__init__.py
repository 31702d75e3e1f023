"""What a plan's figures mean, in words for a terminal and as a drawing for a notebook.

Works on a `gridbuf.Plan` and on any object with the same attributes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import prod
from typing import Any

from gridbuf.explain.svg import svg

Halo = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Reading:
    """What follows from a plan's figures, worked out once for the text and the drawing.

    Attributes
    ----------
    order : tuple of int
        The indices from the largest stride to the smallest.
    fastest : int or None
        The index whose neighbours lie side by side; None for a scalar.
    row_padding : int
        Elements added at the end of each row along `fastest`.
    padding_nbytes, reserve_nbytes : int
        Bytes between the elements, and bytes around them (room for alignment and rounding).
    shifts : tuple of int
        Per index, how far a step along it moves the aligned element off the boundary.
    """

    order: tuple[int, ...]
    fastest: int | None
    row_padding: int
    padding_nbytes: int
    reserve_nbytes: int
    shifts: tuple[int, ...]

    @classmethod
    def of(cls, plan: Any) -> "Reading":
        order = tuple(sorted(range(plan.ndim), key=lambda i: plan.layout[i]))
        fastest = order[-1] if order else None
        padded = plan.dtype.itemsize * prod(plan.padded_shape) if plan.nbytes else 0
        return cls(
            order=order,
            fastest=fastest,
            row_padding=0 if fastest is None else plan.padded_shape[fastest] - plan.shape[fastest],
            padding_nbytes=padded - plan.nbytes,
            reserve_nbytes=max(plan.alloc_nbytes - padded, 0),
            shifts=tuple(stride % plan.byte_alignment for stride in plan.strides),
        )

    @property
    def rows_aligned(self) -> bool:
        """Whether the row of every other index has its aligned element on the boundary too."""
        return not any(shift for i, shift in enumerate(self.shifts) if i != self.fastest)


def halo_pairs(halo: Iterable[Any] | None, ndim: int) -> tuple[tuple[int, int], ...]:
    """A halo of ints and pairs as pairs; zeros where there is none."""
    if halo is None:
        return ((0, 0),) * ndim
    pairs = tuple((int(h), int(h)) if isinstance(h, int) else (int(h[0]), int(h[1])) for h in halo)
    if len(pairs) != ndim:
        raise ValueError(f"halo: {len(pairs)} entries for {ndim} indices")
    return pairs


def nbytes_text(nbytes: int) -> str:
    """Bytes as people read them: exact below 10 KiB, with one decimal above."""
    size, unit = float(abs(nbytes)), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < (10240 if unit == "B" else 1024) or unit == "TiB":
            break
        size /= 1024
    sign = "-" if nbytes < 0 else ""
    return f"{sign}{size:,.0f} {unit}" if size == int(size) else f"{sign}{size:,.1f} {unit}"


def text(plan: Any, *, halo: Iterable[Any] | None = None) -> str:
    """Several lines that say what each figure of a plan means.

    Parameters
    ----------
    plan
        A `gridbuf.Plan`, or anything with its attributes.
    halo : sequence, optional
        Per index an int or a (low, high) pair, to be listed with the rest.

    Examples
    --------
    >>> import gridbuf as gb
    >>> from gridbuf import explain
    >>> print(explain.text(gb.plan((12, 12, 7), backend="gtmc", halo=(2, 2, 0))).splitlines()[0])
    IJK (12, 12, 7) of float64 on cpu
    """
    pairs = halo_pairs(halo, plan.ndim)
    where = plan.device if isinstance(plan.device, str) else f"{plan.device[0]} {plan.device[1]}"
    memory = f" ({plan.memory} memory)" if plan.memory else ""
    head = f"{''.join(plan.dims) or 'scalar'} {tuple(plan.shape)} of {plan.dtype} on {where}{memory}"
    return "\n".join([head, "", *_index_table(plan, pairs, halo is not None), *_sentences(plan)])


def _index_table(plan: Any, pairs: Halo, with_halo: bool) -> list[str]:
    if plan.ndim == 0:
        return []
    rows: list[tuple[str, list[str]]] = [
        ("index", list(plan.dims)),
        ("elements", [f"{n:,}" for n in plan.shape]),
        ("padded to", [f"{n:,}" for n in plan.padded_shape]),
        ("stride in bytes", [f"{s:,}" for s in plan.strides]),
        ("place in memory", [_place(rank, plan.ndim) for rank in plan.layout]),
        ("aligned element", [str(a) for a in plan.aligned_index]),
    ]
    if with_halo:
        rows.append(("halo low, high", [f"{low}, {high}" for low, high in pairs]))
    widths = [max(len(cells[i]) for _, cells in rows) for i in range(plan.ndim)]
    lines = [f"  {name:<16}" + "".join(f"  {c:>{w}}" for c, w in zip(cells, widths, strict=True)) for name, cells in rows]
    return [*lines, ""]


def _place(rank: int, ndim: int) -> str:
    if ndim == 1:
        return "only"
    return "fastest" if rank == ndim - 1 else "slowest" if rank == 0 else str(rank)


def _sentences(plan: Any) -> list[str]:
    """The facts as (term, explanation), hanging under one another."""
    width = 11
    return [f"  {term:<{width}}{line}" for term, line in facts(plan)]


def facts(plan: Any) -> list[tuple[str, str]]:
    """(term, sentence) for each thing worth saying about a plan."""
    reading = Reading.of(plan)
    return [
        *_order_facts(plan, reading),
        *_padding_facts(plan, reading),
        *_alignment_facts(plan, reading),
        *_byte_facts(plan, reading),
    ]


def _order_facts(plan: Any, reading: Reading) -> list[tuple[str, str]]:
    if reading.fastest is None:
        return [("order", "a scalar: one element")]
    names = [plan.dims[i] for i in reading.order]
    fastest, step = names[-1], plan.strides[reading.fastest]
    beside = "side by side" if step == plan.dtype.itemsize else f"{step:,} bytes apart"
    return [("order", f"{', '.join(names)} from slowest to fastest: neighbours along {fastest} lie {beside}")]


def _padding_facts(plan: Any, reading: Reading) -> list[tuple[str, str]]:
    if reading.fastest is None:
        return []
    fastest = plan.dims[reading.fastest]
    if not reading.row_padding:
        return [("padding", f"none: a row along {fastest} is its {plan.shape[reading.fastest]:,} elements")]
    padded = plan.padded_shape[reading.fastest]
    row = f"{padded:,} elements = {padded * plan.dtype.itemsize:,} bytes a row"
    return [("padding", f"{reading.row_padding:,} at the end of each row along {fastest}: {row}")]


def _alignment_facts(plan: Any, reading: Reading) -> list[tuple[str, str]]:
    first = f"; element {(0,) * plan.ndim} {plan.offset} bytes after one" if any(plan.aligned_index) else ""
    lines = [("alignment", f"element {tuple(plan.aligned_index)} starts on a {plan.byte_alignment}-byte boundary{first}")]
    if reading.fastest is None or plan.ndim == 1:
        return lines
    off = [
        f"{reading.shifts[i]} per step in {plan.dims[i]}" for i in range(plan.ndim) if i != reading.fastest and reading.shifts[i]
    ]
    if reading.rows_aligned:
        return [*lines, ("", "and so does the same element of every other row")]
    return [*lines, ("", f"other rows are shifted off it, in bytes: {', '.join(off)} (padding=True would align them)")]


def _byte_facts(plan: Any, reading: Reading) -> list[tuple[str, str]]:
    share = 100 * reading.padding_nbytes / plan.nbytes if plan.nbytes else 0.0
    amounts = [
        (plan.nbytes, "elements" + (f" ({nbytes_text(plan.nbytes)})" if plan.nbytes >= 10240 else "")),
        (reading.padding_nbytes, f"padding between them ({share:.1f} %)"),
        (reading.reserve_nbytes, "around them, for alignment and rounding"),
        (plan.alloc_nbytes, "reserved"),
    ]
    width = max(len(f"{amount:,}") for amount, _ in amounts)
    return [("bytes" if not i else "", f"{amount:>{width},}  {what}") for i, (amount, what) in enumerate(amounts)]


def html(plan: Any, *, halo: Iterable[Any] | None = None, title: str | None = None) -> str:
    """A drawing of the layout with the figures beneath: one self-contained piece of HTML.

    Parameters
    ----------
    plan
        A `gridbuf.Plan`, or anything with its attributes.
    halo : sequence, optional
        Per index an int or a (low, high) pair.
    title : str, optional
        The heading; default the dims and the dtype.

    Examples
    --------
    >>> import gridbuf as gb
    >>> from gridbuf import explain
    >>> "<svg" in explain.html(gb.plan((8, 8)))
    True
    """
    pairs = halo_pairs(halo, plan.ndim)
    heading = title if title is not None else f"Plan {''.join(plan.dims)}"
    shape = " &times; ".join(f"{n:,}" for n in plan.shape) or "scalar"
    rows = "".join(
        f'<tr><td style="text-align:left;opacity:.65;padding:1px 12px 1px 0;border:0">{escape(term)}</td>'
        f'<td style="text-align:left;padding:1px 0;border:0">{escape(line)}</td></tr>'
        for term, line in facts(plan)
    )
    return (
        '<div style="font-family:system-ui,sans-serif;font-size:13px;line-height:1.4;max-width:720px">'
        f'<div style="margin-bottom:4px"><b>{escape(heading)}</b> &nbsp;{shape} {escape(str(plan.dtype))}</div>'
        f"{svg(plan, pairs)}"
        f'<table style="border-collapse:collapse;border:0;margin:4px 0 0;font-size:12px;background:transparent">{rows}</table></div>'
    )
