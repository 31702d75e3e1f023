"""What is worth saying of a plan's figures, one sentence a fact."""

from array import array
from collections.abc import Iterable
from itertools import chain
from numbers import Integral
from typing import Any

from gridbuf import _core


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
