"""Strides: those of memory without gaps, their order, how far they reach, and how errors name an
index.
"""

from collections.abc import Iterable, Sequence

from gridbuf import _core


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


# ---- a Field's ----


XLA_ALIGNMENT = 64  # bytes: from anything less aligned its client of CPUs copies


def index_name(field: _core.Field, i: int) -> str:
    """How an error names an index: its dim and its place, as in "K (index 2)"."""
    return f"{field.dims[i]} (index {i})" if field.dims[i] != str(i) else f"index {i}"


def address(field: _core.Field) -> int:
    """Where the first element lies."""
    return int(field.numpy().ctypes.data)


def compact_strides(field: _core.Field) -> tuple[int, ...]:
    """The strides in bytes of the same values without gaps, in the same order of strides."""
    order = sorted(range(field.ndim), key=lambda i: (abs(field.strides[i]), field.shape[i] > 1, -i))
    return packed(field.shape, field.dtype.itemsize, order[::-1])


def gap(field: _core.Field) -> int | None:
    """The first index, from the smallest stride on, whose stride leaves a gap; None where the
    memory is compact.
    """
    wanted = compact_strides(field)
    order = sorted(range(field.ndim), key=lambda i: abs(wanted[i]))
    return (
        next((i for i in order if field.shape[i] > 1 and field.strides[i] != wanted[i]), None)
        if field.size
        else None
    )
