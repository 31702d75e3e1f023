"""What follows from a plan's figures, and each fact worth saying of them as a sentence."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Any


@dataclass(frozen=True)
class LayoutFacts:
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
    def of(cls, plan: Any) -> "LayoutFacts":
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


def facts(plan: Any) -> list[tuple[str, str]]:
    """(term, sentence) for each thing worth saying about a plan."""
    found = LayoutFacts.of(plan)
    return [
        *_order_facts(plan, found),
        *_padding_facts(plan, found),
        *_alignment_facts(plan, found),
        *_byte_facts(plan, found),
    ]


def _order_facts(plan: Any, found: LayoutFacts) -> list[tuple[str, str]]:
    if found.fastest is None:
        return [("order", "a scalar: one element")]
    names = [plan.dims[i] for i in found.order]
    fastest, step = names[-1], plan.strides[found.fastest]
    beside = "side by side" if step == plan.dtype.itemsize else f"{step:,} bytes apart"
    return [("order", f"{', '.join(names)} from slowest to fastest: neighbours along {fastest} lie {beside}")]


def _padding_facts(plan: Any, found: LayoutFacts) -> list[tuple[str, str]]:
    if found.fastest is None:
        return []
    fastest = plan.dims[found.fastest]
    if not found.row_padding:
        return [("padding", f"none: a row along {fastest} is its {plan.shape[found.fastest]:,} elements")]
    padded = plan.padded_shape[found.fastest]
    row = f"{padded:,} elements = {padded * plan.dtype.itemsize:,} bytes a row"
    return [("padding", f"{found.row_padding:,} at the end of each row along {fastest}: {row}")]


def _alignment_facts(plan: Any, found: LayoutFacts) -> list[tuple[str, str]]:
    first = f"; element {(0,) * plan.ndim} {plan.offset} bytes after one" if any(plan.aligned_index) else ""
    lines = [("alignment", f"element {tuple(plan.aligned_index)} starts on a {plan.byte_alignment}-byte boundary{first}")]
    if found.fastest is None or plan.ndim == 1:
        return lines
    off = [f"{found.shifts[i]} per step in {plan.dims[i]}" for i in range(plan.ndim) if i != found.fastest and found.shifts[i]]
    if found.rows_aligned:
        return [*lines, ("", "and so does the same element of every other row")]
    return [*lines, ("", f"other rows are shifted off it, in bytes: {', '.join(off)} (padding=True would align them)")]


def _byte_facts(plan: Any, found: LayoutFacts) -> list[tuple[str, str]]:
    share = 100 * found.padding_nbytes / plan.nbytes if plan.nbytes else 0.0
    amounts = [
        (plan.nbytes, "elements" + (f" ({nbytes_text(plan.nbytes)})" if plan.nbytes >= 10240 else "")),
        (found.padding_nbytes, f"padding between them ({share:.1f} %)"),
        (found.reserve_nbytes, "around them, for alignment and rounding"),
        (plan.alloc_nbytes, "reserved"),
    ]
    width = max(len(f"{amount:,}") for amount, _ in amounts)
    return [("bytes" if not i else "", f"{amount:>{width},}  {what}") for i, (amount, what) in enumerate(amounts)]
