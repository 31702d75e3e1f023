"""The meaning of a plan's figures, in words for a terminal and as a drawing for a notebook.

Works on a `gridbuf.Plan` and on any object with the same attributes.
"""

from array import array
from collections.abc import Iterable
from html import escape
from itertools import chain
from numbers import Integral
from typing import Any

from gridbuf import _core
from gridbuf.explain.picture import Halo, is_described, svg
from gridbuf.names import joined


def halo_pairs(halo: Iterable[Any] | None, ndim: int) -> tuple[tuple[int, int], ...]:
    """A halo of ints and pairs as pairs; zeros where there is none."""
    if halo is None:
        return ((0, 0),) * ndim
    pairs = tuple(
        (int(h), int(h)) if isinstance(h, Integral) else (int(h[0]), int(h[1])) for h in halo
    )
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


def facts(plan: Any) -> list[tuple[str, str]]:
    """(term, sentence) for each thing worth saying about a plan; a sentence without a term goes on
    from the one before.

    Go finds the words. In a forked child, which has no Go, the one sentence says so, and the
    table's figures remain.
    """
    lists = plan.shape, plan.strides, plan.padded_shape, plan.aligned_index, plan.layout
    numbers = plan.dtype.itemsize, plan.byte_alignment, plan.offset, plan.nbytes, plan.alloc_nbytes
    figures = array("q", [*chain(*lists), *numbers])
    try:
        lines = _core.explain(plan.dims, figures.tobytes())
    except RuntimeError as error:
        return [("", str(error))]
    return [
        (term, sentence)
        for term, _, sentence in (line.partition("\t") for line in lines.splitlines())
    ]


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
    head = f"{joined(plan.dims) or 'scalar'} {tuple(plan.shape)} of {plan.dtype} on {where}{memory}"
    return "\n".join([head, "", *_index_table(plan, pairs, halo is not None), *_sentences(plan)])


def _index_table(plan: Any, pairs: Halo, with_halo: bool) -> list[str]:
    if plan.ndim == 0:
        return []
    rows: list[tuple[str, list[str]]] = [
        ("index", list(plan.dims)),
        ("elements", [f"{n:,}" for n in plan.shape]),
        *([] if is_described(plan) else [("padded to", [f"{n:,}" for n in plan.padded_shape])]),
        ("stride in bytes", [f"{s:,}" for s in plan.strides]),
        ("place in memory", [_rank_words(rank, plan.ndim) for rank in plan.layout]),
        ("aligned element", [str(a) for a in plan.aligned_index]),
    ]
    if with_halo:
        rows.append(("halo low, high", [f"{low}, {high}" for low, high in pairs]))
    widths = [max(len(cells[i]) for _, cells in rows) for i in range(plan.ndim)]
    lines = [
        f"  {name:<16}" + "".join(f"  {c:>{w}}" for c, w in zip(cells, widths, strict=True))
        for name, cells in rows
    ]
    return [*lines, ""]


def _rank_words(rank: int, ndim: int) -> str:
    if ndim == 1:
        return "only"
    return (
        "fastest"
        if rank == ndim - 1
        else "slowest"
        if rank == 0
        else {1: "second", 2: "third"}.get(rank, f"{rank + 1}th")
    )


def _sentences(plan: Any) -> list[str]:
    """The facts as (term, explanation), hanging under one another."""
    width = 11
    return [f"  {term:<{width}}{line}" for term, line in facts(plan)]


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
    heading = title if title is not None else f"Plan {joined(plan.dims)}"
    shape = " &times; ".join(f"{n:,}" for n in plan.shape) or "scalar"
    rows = "".join(
        '<tr><td style="text-align:left;opacity:.65;padding:1px 12px 1px'
        f' 0;border:0">{escape(term)}</td><td style="text-align:left;padding:1px'
        f' 0;border:0">{escape(line)}</td></tr>'
        for term, line in facts(plan)
    )
    return (
        '<div style="font-family:system-ui,sans-serif;font-size:13px;'
        'line-height:1.4;max-width:720px">'
        f'<div style="margin-bottom:4px"><b>{escape(heading)}</b> &nbsp;{shape}'
        f" {escape(str(plan.dtype))}</div>{svg(plan, pairs)}<table"
        ' style="border-collapse:collapse;border:0;margin:4px 0'
        f' 0;font-size:12px;background:transparent">{rows}</table></div>'
    )


__all__ = ["facts", "halo_pairs", "html", "nbytes_text", "text"]
