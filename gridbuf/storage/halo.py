"""The halo: per axis, how many points at the low and at the high end lie outside the domain."""

from typing import Any

import numpy as np

from gridbuf.storage.axes import per_axis
from gridbuf.validation import integer

Halo = tuple[tuple[int, int], ...]


def check_halo(halo: Any, shape: tuple[int, ...], axes: str) -> Halo:
    """Pairs in index order from ints and pairs; TypeError or ValueError naming `halo`."""
    pairs = tuple(_pair(entry) for entry in per_axis(halo, axes, "halo"))
    for name, size, (low, high) in zip(axes, shape, pairs, strict=True):
        if low < 0 or high < 0:
            raise ValueError(
                f"halo: {(low, high)} for axis {name} is negative; 0 or more is allowed"
            )
        if low + high > size:
            raise ValueError(
                f"halo: {low} + {high} points for axis {name} are more than its size {size}"
            )
    return pairs


def _pair(entry: Any) -> tuple[int, int]:
    if isinstance(entry, (tuple, list)) or np.ndim(entry) == 1:
        if len(entry) != 2:
            raise ValueError(f"halo: {entry!r} is not a (low, high) pair")
        return integer(entry[0], "halo"), integer(entry[1], "halo")
    width = integer(entry, "halo")
    return width, width


def lower(halo: Halo) -> tuple[int, ...]:
    return tuple(low for low, _ in halo)
