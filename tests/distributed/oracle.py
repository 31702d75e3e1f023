"""The halo by brute force: every own point of every block in a dictionary, and every halo point looked up in it.

It knows nothing of links, boxes or copies: a map says which point of the globe a coordinate is, and of the own points that are
that one the lowest copy counts.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

import gridbuf as gb
from gridbuf.distributed import Block, Grid

Point = tuple[int, ...]
Where = Callable[[int, Point], Any]  # tile and doubled coordinates -> a name of the point of the globe, None: nowhere


def cartesian(shape: Sequence[int], periodic: Sequence[bool]) -> Where:
    def where(tile: int, x: Point) -> Any:
        if any(not p and not 0 <= c <= 2 * n for c, n, p in zip(x, shape, periodic, strict=True)):
            return None
        return tuple(c % (2 * n) if p else c for c, n, p in zip(x, shape, periodic, strict=True))

    return where


def own_points(block: Block, positions: Sequence[int]) -> Iterator[tuple[Point, Point]]:
    """(index in the domain, doubled coordinates) of a block's own points; positions are 1 at centres, 0 at faces."""
    counts = [stop - start + 1 - p for start, stop, p in zip(block.start, block.stop, positions, strict=True)]
    for index in product(*map(range, counts)):
        yield index, tuple(2 * (start + i) + p for start, i, p in zip(block.start, index, positions, strict=True))


class Globe:
    """The owner of every point of a grid that is at the given positions."""

    def __init__(self, grid: Grid, where: Where, positions: Sequence[int]) -> None:
        self.where, self.positions = where, tuple(positions)
        self.owner: dict[Any, tuple[Any, Block, Point]] = {}
        for block in grid.all_blocks():
            if block.rank is None:
                continue
            for index, x in own_points(block, positions):
                found = (block.tile, *x, block.number), block, index
                name = where(block.tile, x)
                if name not in self.owner or found[0] < self.owner[name][0]:
                    self.owner[name] = found

    def source(self, block: Block, index: Point) -> tuple[Block, Point] | None:
        """The block and the index of its domain that a point (counted from the block's own first) comes from."""
        x = tuple(2 * (start + i) + p for start, i, p in zip(block.start, index, self.positions, strict=True))
        found = self.owner.get(self.where(block.tile, x))
        return None if found is None else found[1:]


def fill(fields: Sequence[gb.Field], rng: np.random.Generator) -> None:
    """Other bytes in every element, halo included."""
    for field in fields:
        array = field.numpy()
        if array.dtype.kind == "b":
            array[...] = rng.integers(0, 2, array.shape)
        elif array.dtype.kind in "iu":
            array[...] = rng.integers(0, 100, array.shape)
        elif array.dtype.kind == "c":
            array[...] = rng.standard_normal(array.shape) + 1j * rng.standard_normal(array.shape)
        else:
            array[...] = rng.standard_normal(array.shape)


def transposed(field: gb.Field, dims: Sequence[str]) -> np.ndarray:
    """A field's memory with the dims that the grid cuts first, in the grid's order."""
    there = [dim for dim in dims if dim in field.dims]
    return field.transpose((*there, *(dim for dim in field.dims if dim not in there))).numpy()


def halos(grid: Grid, field: gb.Field) -> list[tuple[int, int]]:
    return (
        [field.halo[field.dims.index(dim)] for dim in grid.dims if dim in field.dims] if field.halo else [(0, 0)] * len(grid.dims)
    )


def expected(grid: Grid, fields: Sequence[gb.Field], globe: Globe, corners: bool = True) -> list[np.ndarray]:
    """What fields that have all dims of the grid are after an exchange."""
    before = [transposed(field, grid.dims).copy() for field in fields]
    after = [array.copy() for array in before]
    place = {block.number: i for i, block in enumerate(grid.blocks)}
    for i, (block, field) in enumerate(zip(grid.blocks, fields, strict=True)):
        pairs = halos(grid, field)
        own = [stop - start + 1 - p for start, stop, p in zip(block.start, block.stop, globe.positions, strict=True)]
        if any(start == stop for start, stop in zip(block.start, block.stop, strict=True)):
            continue  # the halos of a block without points may stay as they are
        for index in product(*(range(-low, n + high) for n, (low, high) in zip(own, pairs, strict=True))):
            outside = sum(not 0 <= k < n for k, n in zip(index, own, strict=True))
            if outside == 0 or (outside > 1 and not corners):
                continue
            found = globe.source(block, index)
            if found is None:
                continue
            source, there = found
            at = tuple(k + low for k, (low, _) in zip(index, pairs, strict=True))
            start = tuple(k + low for k, (low, _) in zip(there, halos(grid, fields[place[source.number]]), strict=True))
            after[i][at] = before[place[source.number]][start]
    return after


def same(fields: Sequence[gb.Field], arrays: Sequence[np.ndarray], dims: Sequence[str]) -> bool:
    """The same bytes; of long doubles, which have some that mean nothing, the same values."""
    pairs = [(np.ascontiguousarray(transposed(f, dims)), np.ascontiguousarray(a)) for f, a in zip(fields, arrays, strict=True)]
    return all((a == b).all() if a.dtype == np.longdouble else a.tobytes() == b.tobytes() for a, b in pairs)
