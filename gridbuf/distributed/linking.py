"""Links: this box of a block is filled from that box of a block. Every builder is one walk: trace, copies, keepers."""

from collections.abc import Iterable, Iterator
from itertools import product
from typing import NamedTuple

from gridbuf.distributed.blocks import Block, Decomposition
from gridbuf.distributed.boxes import Box, Map, is_empty, subtract
from gridbuf.distributed.straight import Axis, Segment, combined
from gridbuf.distributed.tiles import Copy, Seam, Topology

Index = tuple[int, ...]


class Geometry(NamedTuple):
    """Where a field's points lie: along which axes of the grid, at faces (0) or centres (1), and how far beyond the block."""

    axes: Index
    positions: Index
    halos: tuple[tuple[int, int], ...]


class Link(NamedTuple):
    """Points of one block that are filled from those of another. Along the geometry's axes, counted from the blocks' first own points.

    `at` and `shape` are the box in the destination; its axis `axes[d]` is the source's axis d, walked forwards or backwards
    as `signs[d]` says, from the point `source_at` on, which fills the point `at`.
    """

    dst: int
    src: int
    at: Index
    shape: Index
    source_at: Index
    axes: Index
    signs: Index


class LinkBuilder:
    """The links of blocks of one decomposition of one topology."""

    def __init__(self, topology: Topology, decomposition: Decomposition) -> None:
        self.whole, self.decomposition = topology, decomposition
        self._parts: dict[Index, Topology] = {tuple(range(topology.ndim)): topology}
        self._axes: dict[tuple[Geometry, int], list[Axis]] = {}
        self.straight = not decomposition.has_land and all(
            seam.tile == tile and seam.map.moves_only for (tile, _, _), seam in topology.seams.items()
        )

    def along(self, axes: Index) -> Topology:
        """The topology of fields that have only these of its axes."""
        found = self._parts.get(axes)
        if found is None:
            seams = {}
            for (tile, axis, side), seam in self.whole.seams.items():
                if axis not in axes:
                    continue
                rows = [row for row in zip(*seam.map, strict=True)]
                if any(rows[a][0] not in axes for a in axes):
                    raise ValueError(
                        f"fields: one has only the dims {[self.whole.names[a] for a in axes]} of the grid, "
                        f"and {self.whole.name_of((tile, axis, side))} turns them into others"
                    )
                kept = [(axes.index(rows[a][0]), *rows[a][1:]) for a in axes]
                seams[tile, axes.index(axis), side] = Seam(seam.tile, Map(*zip(*kept, strict=True)))
            tiles = tuple(tuple(tile[a] for a in axes) for tile in self.whole.tiles)
            found = self._parts[axes] = Topology(tiles, seams, tuple(self.whole.names[a] for a in axes))
        return found

    def crossings(self, axes: Index) -> Iterator[tuple[str, Map]]:
        """The ways from block to block that do more than move points, for fields that have these axes; errors call them so."""
        self.along(axes)  # refuses what a seam turns out of the field
        for side, seam in self.whole.seams.items():
            if side[1] in axes and not seam.map.moves_only:
                yield self.whole.name_of(side), seam.map

    def check_width(self, geometry: Geometry, field: str) -> None:
        """Beyond an edge at which axes turn a halo is no wider than the tile there."""
        for side, seam in self.whole.seams.items():
            if side[1] in geometry.axes and seam.map.turns:
                low, high = geometry.halos[geometry.axes.index(side[1])]
                width, n = (high if side[2] > 0 else low), min(self.whole.tiles[seam.tile])
                if width > n:
                    raise ValueError(
                        f"{field}: its halo of {width} points along {self.whole.names[side[1]]} is wider than the tile of {n} beyond "
                        f"{self.whole.name_of(side)}"
                    )

    def giving(self, geometry: Geometry, block: Block, corners: bool) -> Iterator[Link]:
        """What the halos of all blocks take from one: for each of them in the order of its `filling`."""
        if self.straight:
            asking = [
                axis.asking(block.index[a]) for a, axis in zip(geometry.axes, self._lines(geometry, block.tile), strict=True)
            ]
            for each in product(*asking):
                index = list(block.index)
                for a, (k, _) in zip(geometry.axes, each, strict=True):
                    index[a] = k
                for segments in combined([rows for _, rows in each], corners):
                    yield self._straight(geometry, block, tuple(index), segments)
            return
        for number in sorted(self.near(geometry, block)):
            for link in self.filling(geometry, self.decomposition.block(number), corners):
                if link.src == block.number:
                    yield link

    def _lines(self, geometry: Geometry, tile: int) -> list[Axis]:
        found = self._axes.get((geometry, tile))
        if found is None:
            if len(self._axes) >= 256:  # geometries, of which a program has a handful
                self._axes.clear()
            found = self._axes[geometry, tile] = [
                Axis(self.decomposition.cuts[tile][a], (tile, a, 1) in self.whole.seams, p, halo)
                for a, p, halo in zip(geometry.axes, geometry.positions, geometry.halos, strict=True)
            ]
        return found

    def _straight(self, geometry: Geometry, block: Block, index: Index, each: tuple[Segment, ...]) -> Link:
        """The link of some segments into the block of an index of the same tile."""
        source = list(index)
        for a, segment in zip(geometry.axes, each, strict=True):
            source[a] = segment.source
        _, at, shape, _, source_at = zip(*each, strict=True)
        axes = tuple(range(len(each)))
        number_at = self.decomposition.number_at
        return Link(
            number_at(block.tile, index), number_at(block.tile, tuple(source)), at, shape, source_at, axes, (1,) * len(each)
        )

    def filling(self, geometry: Geometry, block: Block, corners: bool = True) -> list[Link]:
        """What the halo of a block is filled from, in one order for everybody who asks."""
        links: list[Link] = []
        if any(block.start[a] == block.stop[a] for a in geometry.axes) or not any(map(any, geometry.halos)):
            return links
        if self.straight:
            rows = [
                axis.segments(block.index[a]) for a, axis in zip(geometry.axes, self._lines(geometry, block.tile), strict=True)
            ]
            links = [self._straight(geometry, block, block.index, each) for each in combined(rows, corners)]
            links.sort(key=lambda link: link[:2])
            return links
        topology, domain = self.along(geometry.axes), own_points(block, geometry.axes, geometry.positions)
        sides = [
            [(0, first, last), *((-1, first - 2 * low, first - 2),) * (low > 0), *((1, last + 2, last + 2 * high),) * (high > 0)]
            for (first, last), (low, high) in zip(domain, geometry.halos, strict=True)
        ]
        for where in product(*sides):
            outside = sum(side != 0 for side, _, _ in where)
            if outside == 0 or (outside > 1 and not corners):
                continue
            for piece in topology.trace(block.tile, tuple(part[1:] for part in where)):
                parts = topology.copies(piece.tile, piece.map.of(piece.box))
                for source, how, box in kept(self.decomposition, geometry.axes, parts, block.index):
                    its = self.decomposition.block(source)
                    links.append(linked(geometry.axes, domain, block.number, its, how.after(piece.map), box))
        links.sort(key=lambda link: link[:2])  # stable: the walk's order among those of two blocks
        return links

    def synchronising(self, geometry: Geometry, block: Block, corners: bool = True) -> list[Link]:
        """Own points of a block that exist elsewhere too and are owned there; without those at corners of tiles, if asked."""
        links: list[Link] = []
        domain = own_points(block, geometry.axes, geometry.positions)
        parts = [] if is_empty(domain) else [domain]
        if not corners:
            ends = [sorted({0, 2 * self.whole.tiles[block.tile][a]}) for a in geometry.axes]
            for corner in product(*ends):
                point = tuple((x, x) for x in corner)
                same = all((x ^ first) & 1 == 0 for x, (first, _) in zip(corner, domain, strict=True))
                parts = [left for part in parts for left in (subtract(part, point) if same else [part])]
        for part in parts:
            for source, how, box in kept(self.decomposition, geometry.axes, self.along(geometry.axes).copies(block.tile, part)):
                link = linked(geometry.axes, domain, block.number, self.decomposition.block(source), how, box)
                if link.dst != link.src or link.at != link.source_at:
                    links.append(link)
        links.sort(key=lambda link: link[:2])
        return links

    def near(self, geometry: Geometry, block: Block, synchronised: bool = False) -> set[int]:
        """Blocks that may ask this one for points: a superset, itself included."""
        topology, domain = self.along(geometry.axes), own_points(block, geometry.axes, geometry.positions)
        if is_empty(domain):
            return set()
        if synchronised:  # with all edges of its cells: beyond a seam that turns, faces along another axis are the same points
            around = tuple((2 * block.start[a], 2 * block.stop[a]) for a in geometry.axes)
        else:
            wide = 2 * max(max(pair) for pair in geometry.halos) + 2
            around = tuple((first - wide, last + wide) for first, last in domain)
        found = set()
        for piece in topology.trace(block.tile, around):
            for part, copies in topology.copies(piece.tile, piece.map.of(piece.box)):
                here = piece.tile, topology.here
                for tile, how in {here, *copies}:
                    beside = None if synchronised else block.index
                    found |= {number for number, _ in self.decomposition.holders(tile, geometry.axes, how.of(part), beside)}
        return found


def own_points(block: Block, axes: Index, positions: Index) -> Box:
    """What a block has of points at some positions along some axes."""
    return tuple((2 * block.start[a] + p, 2 * block.stop[a] - p) for a, p in zip(axes, positions, strict=True))


def kept(
    decomposition: Decomposition, axes: Index, parts: Iterable[tuple[Box, list[Copy]]], beside: Index | None = None
) -> Iterator[tuple[int, Map, Box]]:
    """The blocks that own the points of some boxes, each with all places of its points: number, the way to them, their points there."""
    for part, copies in parts:
        rest = [part]
        for there, how in copies:
            left: list[Box] = []
            for each in rest:
                found, land = decomposition.keepers(there, axes, how.of(each), beside)
                yield from ((number, how, points) for number, points in found)
                left += [how.back(points) for points in land]
            rest = left
            if not rest:
                break


def linked(axes: Index, domain: Box, dst: int, src: Block, how: Map, box: Box) -> Link:
    """The link of a box of a source block to what it is the image of, counted from a domain of the destination."""
    target = how.back(box)
    at = tuple((first - own) // 2 for (first, _), (own, _) in zip(target, domain, strict=True))
    shape = tuple((last - first) // 2 + 1 for first, last in target)
    source = []
    for d, (axis, sign, shift) in enumerate(zip(*how, strict=True)):
        x = sign * target[axis][0] + shift
        source.append((x - (x & 1)) // 2 - src.start[axes[d]])
    return Link(dst, src.number, at, shape, tuple(source), how.axes, how.signs)
