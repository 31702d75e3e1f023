"""The halo by brute force: every own point of every block in a dictionary, and every halo point
looked up in it.

It knows nothing of links, boxes or copies: a map says which point of the globe a coordinate is, and
which way the axes point there; of the own points that are that one the owner's counts.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

import gridbuf as gb
from gridbuf.distributed import Block, Grid

Point = tuple[int, ...]
Axes = tuple[Point, ...]  # where the axes of the coordinates point to on the globe
# Tile and doubled coordinates -> the point of the globe; None: nowhere
Where = Callable[[int, Point], tuple[Any, Axes] | None]


def units(ndim: int, sign: int = 1) -> Axes:
    return tuple(tuple(sign * (i == k) for k in range(ndim)) for i in range(ndim))


def cartesian(shape: Sequence[int], periodic: Sequence[bool]) -> Where:
    def where(tile: int, x: Point) -> tuple[Any, Axes] | None:
        if any(not p and not 0 <= c <= 2 * n for c, n, p in zip(x, shape, periodic, strict=True)):
            return None
        return tuple(
            c % (2 * n) if p else c for c, n, p in zip(x, shape, periodic, strict=True)
        ), units(len(shape))

    return where


def own_points(block: Block, positions: Sequence[int]) -> Iterator[tuple[Point, Point]]:
    """(index in the domain, doubled coordinates) of a block's own points; positions are 1 at
    centres, 0 at faces.
    """
    counts = [
        stop - start + 1 - p
        for start, stop, p in zip(block.start, block.stop, positions, strict=True)
    ]
    for index in product(*map(range, counts)):
        yield (
            index,
            tuple(
                2 * (start + i) + p
                for start, i, p in zip(block.start, index, positions, strict=True)
            ),
        )


def coordinates(block: Block, index: Point, positions: Sequence[int]) -> Point:
    """Doubled coordinates of the point at an index counted from a block's first own one."""
    return tuple(
        2 * (start + i) + p for start, i, p in zip(block.start, index, positions, strict=True)
    )


def line(direction: Point) -> Point:
    """A direction or its opposite, whichever is the larger."""
    return max(direction, tuple(-c for c in direction))


class Globe:
    """The owner of every point of a grid where some component of a field lies.

    components: the positions of each; one for a scalar, two for a vector or a pair. over: points
    that never own while another copy can.
    """

    def __init__(
        self,
        grid: Grid,
        where: Where,
        components: Sequence[Sequence[int]],
        over: Callable[[int, Point], bool] = lambda tile, x: False,
    ) -> None:
        self.where, self.components = where, components
        # Component, block, index: where the axes point nowhere in particular
        self.vague: list[tuple[int, int, Point]] = []
        self.owner: dict[Any, tuple[Any, Block, int, Point, Point]] = {}
        for block in grid.all_blocks():
            if block.rank is None:
                continue
            for c, positions in enumerate(components):
                for index, x in own_points(block, positions):
                    name, axis = self.named(block.tile, x, c)
                    found = (
                        (over(block.tile, x), block.tile, *x, block.number),
                        block,
                        c,
                        index,
                        axis,
                    )
                    if name not in self.owner or found[0] < self.owner[name][0]:
                        self.owner[name] = found

    def named(self, tile: int, x: Point, component: int) -> tuple[Any, Point]:
        found = self.where(tile, x)
        if found is None:
            return None, ()
        name, axes = found
        return (name if len(self.components) == 1 else (name, line(axes[component]))), axes[
            component
        ]

    def source(
        self, block: Block, component: int, index: Point
    ) -> tuple[Block, int, Point, int] | None:
        """Block, component, index and sign that a point (counted from the block's own first) comes
        from.
        """
        name, axis = self.named(
            block.tile, coordinates(block, index, self.components[component]), component
        )
        if name is None or name not in self.owner:
            return None
        _, source, other, there, its = self.owner[name]
        return source, other, there, 1 if axis == its else -1


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
        [field.halo[field.dims.index(dim)] for dim in grid.dims if dim in field.dims]
        if field.halo
        else [(0, 0)] * len(grid.dims)
    )


def halo_points(
    grid: Grid, globe: Globe, component: int, block: Block, field: gb.Field, corners: bool
) -> Iterator[Point]:
    """Indices of the points outside a block's domain, counted from its first own one."""
    if any(start == stop for start, stop in zip(block.start, block.stop, strict=True)):
        return  # the halos of a block without points may stay as they are
    own = [
        stop - start + 1 - p
        for start, stop, p in zip(block.start, block.stop, globe.components[component], strict=True)
    ]
    for index in product(
        *(range(-low, n + high) for n, (low, high) in zip(own, halos(grid, field), strict=True))
    ):
        outside = sum(not 0 <= k < n for k, n in zip(index, own, strict=True))
        if outside == 1 or (outside > 1 and corners):
            yield index


def expected(
    grid: Grid,
    components: Sequence[Sequence[gb.Field]],
    globe: Globe,
    corners: bool = True,
    sign: Callable[[int], int] = lambda s: s,
) -> list[list[np.ndarray]]:
    """What fields that have all dims of the grid are after an exchange; `sign` says what becomes of
    a turned axis.
    """
    before = [[transposed(field, grid.dims).copy() for field in fields] for fields in components]
    after = [[array.copy() for array in arrays] for arrays in before]
    place = {block.number: i for i, block in enumerate(grid.blocks)}
    for c, fields in enumerate(components):
        for i, (block, field) in enumerate(zip(grid.blocks, fields, strict=True)):
            pairs = halos(grid, field)
            for index in halo_points(grid, globe, c, block, field, corners):
                found = globe.source(block, c, index)
                if found is None:
                    continue
                source, other, there, turned = found
                at = tuple(k + low for k, (low, _) in zip(index, pairs, strict=True))
                origin = halos(grid, components[other][place[source.number]])
                start = tuple(k + low for k, (low, _) in zip(there, origin, strict=True))
                if not any(
                    globe.named(block.tile, coordinates(block, index, globe.components[c]), c)[1]
                ):
                    globe.vague.append((c, i, at))
                value = before[other][place[source.number]][start]
                after[c][i][at] = -value if sign(turned) < 0 else value
    return after


def same(fields: Sequence[gb.Field], arrays: Sequence[np.ndarray], dims: Sequence[str]) -> bool:
    """The same bytes; of long doubles, which have some that mean nothing, the same values."""
    pairs = [
        (np.ascontiguousarray(transposed(f, dims)), np.ascontiguousarray(a))
        for f, a in zip(fields, arrays, strict=True)
    ]
    return all(
        (a == b).all() if a.dtype == np.longdouble else a.tobytes() == b.tobytes() for a, b in pairs
    )
