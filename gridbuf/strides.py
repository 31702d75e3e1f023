"""Strides: those of memory without gaps, their order, and how far they reach."""

from collections.abc import Iterable, Sequence


def packed(
    shape: Sequence[int], itemsize: int, order: Sequence[int] | None = None
) -> tuple[int, ...]:
    """In bytes; order: the indices from the slowest to the fastest, C order by default. An index
    without elements counts as one.
    """
    strides, step = [0] * len(shape), itemsize
    for i in reversed(range(len(shape)) if order is None else order):
        strides[i] = step
        step *= max(shape[i], 1)
    return tuple(strides)


def slowest_first(strides: Sequence[int]) -> list[int]:
    """Indices from the largest stride to the least; of equal ones the first first."""
    return sorted(range(len(strides)), key=lambda i: -abs(strides[i]))


def falling(shape: Sequence[int], strides: Sequence[int], order: Iterable[int]) -> bool:
    """Whether no stride is larger than the one before, in this order of the indices; one of a
    single element has no stride to speak of.
    """
    sizes = [abs(strides[i]) for i in order if shape[i] > 1]
    return sizes == sorted(sizes, reverse=True)


def extent(
    data: int, shape: Sequence[int], strides: Sequence[int], itemsize: int
) -> tuple[int, int]:
    """The first byte of the elements and the first behind them: the same where there are none."""
    if 0 in shape:
        return data, data
    steps = [(size - 1) * stride for size, stride in zip(shape, strides, strict=True)]
    return (
        data + sum(step for step in steps if step < 0),
        data + sum(step for step in steps if step > 0) + itemsize,
    )


def boundary(address: int) -> int:
    """The largest power of two, up to a page of 4096 bytes, on whose multiple an address lies."""
    at = address | 4096
    return at & -at
