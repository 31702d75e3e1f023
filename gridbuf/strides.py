"""The strides of memory without gaps."""

from collections.abc import Sequence


def packed(shape: Sequence[int], itemsize: int, order: Sequence[int] | None = None) -> tuple[int, ...]:
    """In bytes; order: the indices from the slowest to the fastest, C order by default. An index without elements counts as one."""
    strides, step = [0] * len(shape), itemsize
    for i in reversed(range(len(shape)) if order is None else order):
        strides[i] = step
        step *= max(shape[i], 1)
    return tuple(strides)
