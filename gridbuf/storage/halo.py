"""The halo: per axis, how many points at the low and at the high end lie outside the domain."""

from typing import Any

from gridbuf.storage.axes import integer, per_axis

Halo = tuple[tuple[int, int], ...]


def check_halo(halo: Any, shape: tuple[int, ...], axes: str) -> Halo:
    """Pairs in index order from ints and pairs; TypeError or ValueError naming `halo`."""
    pairs = tuple(_pair(entry) for entry in per_axis(halo, axes, "halo"))
    for name, size, (low, high) in zip(axes, shape, pairs, strict=True):
        if low < 0 or high < 0:
            raise ValueError(f"halo: {(low, high)} for axis {name} is negative; 0 or more is allowed")
        if low + high > size:
            raise ValueError(f"halo: {low} + {high} points for axis {name} are more than its size {size}")
    return pairs


def _pair(entry: Any) -> tuple[int, int]:
    if isinstance(entry, (tuple, list)):
        if len(entry) != 2:
            raise ValueError(f"halo: {entry!r} is not a (low, high) pair")
        return integer(entry[0], "halo"), integer(entry[1], "halo")
    width = integer(entry, "halo")
    return width, width


def lower(halo: Halo) -> tuple[int, ...]:
    return tuple(low for low, _ in halo)


def sliced(pair: tuple[int, int], size: int, key: slice) -> tuple[int, int]:
    """How many of the selected points lay in the lower and in the upper halo; reversing swaps them."""
    selected = range(*key.indices(size))
    backwards = selected.step < 0
    if backwards:
        selected = selected[::-1]
    low = len(range(selected.start, min(selected.stop, pair[0]), selected.step))
    high = len(selected) - len(range(selected.start, min(selected.stop, size - pair[1]), selected.step))
    return (high, low) if backwards else (low, high)


def intersected(pairs: list[tuple[int, int]], size: int) -> tuple[int, int]:
    """The halo around the points that lie in every domain; where there is none, a domain of size 0."""
    low = max((pair[0] for pair in pairs), default=0)
    high = max((pair[1] for pair in pairs), default=0)
    low = min(low, size)
    return low, min(high, size - low)
