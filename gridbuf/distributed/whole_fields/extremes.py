"""The smallest and the largest value of a field and where it lies, whatever the cut: NaN wins, and
-0.0 is below 0.0.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridbuf.distributed.whole_fields.counting import counted, points
from gridbuf.distributed.whole_fields.ground import Ground
from gridbuf.distributed.whole_fields.subjects import Subject

LOWEST, HIGHEST = -(2**63), 2**63 - 1


def check_order(one: Subject) -> None:
    if one.dtype.kind not in "biu" and one.dtype.char not in "efd":
        raise TypeError(
            f"{one.name}: elements of dtype {one.dtype} have no order here; allowed are bool,"
            " integers, float16, float32 and float64"
        )


def key_of(value: Any, least: bool) -> int:
    """An int64 that has the order of the values."""
    if value.dtype.kind == "f":
        if np.isnan(value):
            return LOWEST if least else HIGHEST
        bits = int(np.float64(value).view(np.int64))
        return bits if bits >= 0 else -1 - (bits & HIGHEST)
    return int(value) - (2**63 if value.dtype.kind == "u" and value.dtype.itemsize == 8 else 0)


def value_of(key: int, dtype: np.dtype[Any], least: bool) -> Any:
    if dtype.kind == "f":
        if key == (LOWEST if least else HIGHEST):
            return math.nan
        return float(np.int64(key if key >= 0 else (-1 - key) | LOWEST).view(np.float64))
    if dtype.kind == "b":
        return bool(key)
    return key + (2**63 if dtype.kind == "u" and dtype.itemsize == 8 else 0)


def extreme_of(array: NDArray[Any], least: bool) -> Any:
    """The smallest or largest element, of zeros the one with the right sign."""
    found = array.min() if least else array.max()
    if array.dtype.kind == "f" and found == 0:
        zeros = np.signbit(array[array == 0])
        negative = zeros.any() if least else zeros.all()
        found = np.copysign(array.dtype.type(0), -1.0 if negative else 1.0).astype(array.dtype)
    return found


def extreme(ranks: Any, ground: Ground, call: str, given: Any, least: bool, where: bool) -> Any:
    """The steps of `Grid.min`, `max`, `argmin` and `argmax`."""
    keys: list[int] = []

    def count(mine: Sequence[Subject]) -> list[NDArray[np.int64]]:
        (one,) = mine
        check_order(one)
        size = 0
        for _, _, array in points(ground, one, one.order) if one.domains else ():
            if array.size:
                size += array.size
                keys.append(key_of(extreme_of(array, least), least))
        return [np.array([size])]

    (one,), ((size,),), tale = counted(ranks, ground, call, [given], count, where)
    if not size:
        raise ValueError(f"{call}: the field has no points")
    mine = (min if least else max)(keys, default=HIGHEST if least else LOWEST)
    (key,) = ranks.reduce(np.array([mine], np.int64), "min" if least else "max")
    if not where:
        return value_of(int(key), one.dtype, least)
    dims = tuple(tale["dims"][0] if tale else one.dims)
    extents = extents_of(ground, one, dims)
    lowest = min(
        numbers(ground, one, dims, extents, int(key), least) if one.domains else (), default=HIGHEST
    )
    (number,) = ranks.reduce(np.array([lowest], np.int64), "min")
    index = tuple(int(i) for i in np.unravel_index(int(number), (len(ground.tiles), *extents)))
    return index if len(ground.tiles) > 1 else index[1:]


def extents_of(ground: Ground, one: Subject, dims: Sequence[str]) -> tuple[int, ...]:
    """As many points along each dim as any tile has."""
    return tuple(
        (
            one.sizes[dim]
            if dim in one.sizes
            else 1 + max(tile[ground.dims.index(dim)] for tile in ground.tiles)
        )
        for dim in dims
    )


def numbers(
    ground: Ground, one: Subject, dims: Sequence[str], extents: Sequence[int], key: int, least: bool
) -> Iterator[int]:
    """Of every part the first point with this key, as a number that has the order of the
    indices.
    """
    value = value_of(key, one.dtype, least)
    for block, part, array in points(ground, one, dims):
        if not array.size:
            continue
        if isinstance(value, float):
            same = np.isnan(array) if math.isnan(value) else array == value
            if value == 0:
                same &= np.signbit(array) == (math.copysign(1.0, value) < 0)
        else:
            same = array == value
        if not same.any():
            continue
        index = [int(i) for i in np.unravel_index(int(np.argmax(same)), same.shape)]
        for place, axis, (start, _) in zip(
            one.places(dims, ground.dims), one.geometry.axes, part, strict=True
        ):
            index[place] += start + block.start[axis]
        yield int(np.ravel_multi_index((block.tile, *index), (len(ground.tiles), *extents)))
