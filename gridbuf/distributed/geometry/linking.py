"""Links: this box of a block is filled from that box of a block. Every builder is one walk: trace,
copies, keepers.

Schedules: the links of one rank, sorted by the rank at the other end.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, product
from operator import itemgetter
from typing import NamedTuple

from gridbuf.common import BoundedCache
from gridbuf.distributed.geometry.blocks import Block, Decomposition
from gridbuf.distributed.geometry.boxes import Box, Index, Map, Pairs, is_empty, meet, subtract
from gridbuf.distributed.geometry.straight_links import Axis, Segment, combined, unclear
from gridbuf.distributed.geometry.tiles import Copy, Seam, Topology

BY_BLOCKS = itemgetter(0, 1)  # a link's destination and source


class Geometry(NamedTuple):
    """Where a field's points lie: along which axes of the grid, at faces (0) or centres (1), and
    how far beyond the block.
    """

    axes: Index
    positions: Index
    halos: Pairs


class Rule(NamedTuple):
    """Signs and components of vectors in a link that the user gave.

    The values of a vector's component `to` are those of the component `source`, with the sign. With
    neither the sign is every field's.
    """

    sign: int = 1
    to: int | None = None
    source: int | None = None

    @property
    def components(self) -> tuple[int, ...]:
        """The components that are filled; a field on its own counts as component 0."""
        return (0, 1) if self.to is None else (self.to,)


class Edge(NamedTuple):
    """The effect of an edge rule on the values of a link.

    Values are multiplied by `sign`. `mirror` has the signs of the link's axes that are the rule's
    and turn no vector. `add`: values are added to those of the links before.
    """

    sign: int
    mirror: Index
    add: bool


class Link(NamedTuple):
    """Points of one block that are filled from those of another. Along the geometry's axes, counted
    from the blocks' first own points.

    `at` and `shape` are the box in the destination; its axis `axes[d]` is the source's axis d,
    walked forwards or backwards by `signs[d]` from the point `source_at`, which fills the point
    `at`.
    """

    dst: int
    src: int
    at: Index
    shape: Index
    source_at: Index
    axes: Index
    signs: Index
    rule: Rule | None = None
    edge: Edge | None = None


class LinkBuilder:
    """The links of blocks of one decomposition of one topology.

    Attributes
    ----------
    rules : dict
        The rules of links that users give, by what errors call the links.
    """

    rules: Mapping[str, Rule] = {}
    has_edges = True  # whether tiles end where no seam is

    def __init__(self, topology: Topology, decomposition: Decomposition) -> None:
        self.whole, self.decomposition = topology, decomposition
        self.block = lru_cache(maxsize=64)(decomposition.block)
        self._places = lru_cache(maxsize=64)(self._find_places)
        self._around = lru_cache(maxsize=64)(self._find_around)
        self._crossings: dict[Index, list[tuple[str, Map]]] = {}
        self._parts: dict[Index, Topology] = {tuple(range(topology.ndim)): topology}
        # Geometries, of which a program has a handful
        self._known: BoundedCache[list[Axis]] = BoundedCache(256)
        self.straight = not decomposition.has_land and all(
            seam.tile == tile and seam.map.moves_only
            for (tile, _, _), seam in topology.seams.items()
        )

    def common(self, geometry: Geometry, block: Block) -> Geometry:
        """The geometry of a field on a block, as the fields of all blocks have it."""
        return geometry

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
                        f"fields: one has only the dims {[self.whole.names[a] for a in axes]} of"
                        f" the grid, and {self.whole.name_of((tile, axis, side))} turns them into"
                        " others"
                    )
                kept = [(axes.index(rows[a][0]), *rows[a][1:]) for a in axes]
                seams[tile, axes.index(axis), side] = Seam(seam.tile, Map(*zip(*kept, strict=True)))
            tiles = tuple(tuple(tile[a] for a in axes) for tile in self.whole.tiles)
            found = self._parts[axes] = Topology(
                tiles, seams, tuple(self.whole.names[a] for a in axes)
            )
        return found

    def crossings(self, axes: Index) -> list[tuple[str, Map]]:
        """The ways from block to block that do more than move points, for fields that have these
        axes; errors call them so.
        """
        found = self._crossings.get(axes)
        if found is None:
            self.along(axes)  # refuses what a seam turns out of the field
            found = self._crossings[axes] = [
                (self.whole.name_of(side), seam.map)
                for side, seam in self.whole.seams.items()
                if side[1] in axes and not seam.map.moves_only
            ]
        return found

    @property
    def folds(self) -> bool:
        """Whether some seam is a fold: two turns of a cube, one after the other, are none."""
        return any([how.turns_back for _, how in self.crossings(tuple(range(self.whole.ndim)))])

    def check_width(self, geometry: Geometry, field: str) -> None:
        """Beyond an edge at which axes turn a halo is no wider than the tile there."""
        for side, seam in self.whole.seams.items():
            if side[1] in geometry.axes and seam.map.turns:
                low, high = geometry.halos[geometry.axes.index(side[1])]
                width, n = (high if side[2] > 0 else low), min(self.whole.tiles[seam.tile])
                if width > n:
                    raise ValueError(
                        f"{field}: its halo of {width} points along {self.whole.names[side[1]]} is"
                        f" wider than the tile of {n} beyond {self.whole.name_of(side)}"
                    )

    def giving(self, geometry: Geometry, block: Block, corners: bool) -> Iterator[Link]:
        """The links from a block into the halos of all others: for each in the order of its
        `filling`.
        """
        for number in sorted(self.near(geometry, block) - {block.number}):
            yield from self.filling(geometry, self.block(number), corners, block)

    def filling(
        self, geometry: Geometry, block: Block, corners: bool = True, source: Block | None = None
    ) -> list[Link]:
        """The links into the halo of a block, in one order on all ranks; with `source` those from
        one block alone.
        """
        if any([block.start[a] == block.stop[a] for a in geometry.axes]):
            return []
        lines = [
            axis.line(block.index[a])
            for a, axis in zip(geometry.axes, self._axes(geometry, block.tile), strict=True)
        ]
        rows = [line.segments for line in lines]
        if source is not None:
            rows = [
                [each for each in row if each.source == source.index[a]]
                for a, row in zip(geometry.axes, rows, strict=True)
            ]
        links = [self._straight(geometry, block, each) for each in combined(rows, corners)]
        if not all([line.clear for line in lines]):
            for box in unclear([line.sides for line in lines], corners):
                links += self._walked(geometry, block, box, source)
        if source is not None:
            links = [link for link in links if link.src == source.number]
        links.sort(key=BY_BLOCKS)  # stable: one order among those of two blocks
        return links

    def _axes(self, geometry: Geometry, tile: int) -> list[Axis]:
        """The geometry of each axis by itself."""
        found = self._known.get((geometry, tile))
        if found is None:
            topology, cuts, found = self.along(geometry.axes), self.decomposition.cuts[tile], []
            for d, (a, position, halo) in enumerate(zip(*geometry, strict=True)):
                ring, clear = (tile, d) in topology.rings, topology.clear[tile][d]
                found.append(
                    Axis(cuts[a], ring, clear, position, halo, self.decomposition.has_land)
                )
            self._known[geometry, tile] = found
        return found

    def _straight(self, geometry: Geometry, block: Block, each: tuple[Segment, ...]) -> Link:
        """The link of some segments, one along each axis."""
        _, at, shape, sources, source_at = zip(*each, strict=True)
        index = list(block.index)
        for a, k in zip(geometry.axes, sources, strict=True):
            index[a] = k
        source, ndim = self.decomposition.number_at(block.tile, index), len(each)
        return Link(block.number, source, at, shape, source_at, tuple(range(ndim)), (1,) * ndim)

    def _walked(
        self, geometry: Geometry, block: Block, box: Box, source: Block | None
    ) -> Iterator[Link]:
        """The links of halo points beyond seams that do more than move points; with `source` at
        least those from that block.
        """
        axes, topology = geometry.axes, self.along(geometry.axes)
        places = None if source is None else self._places(axes, source.number)
        if places is not None and not topology.may_meet(block.tile, box, places):
            return
        domain = own_points(block, axes, geometry.positions)
        for piece in topology.trace(block.tile, box):
            image = piece.map.of(piece.box)
            if places is None or any([meet(image, place) for place in places.get(piece.tile, ())]):
                copies = topology.copies(piece.tile, image, self.decomposition.has_land)
                for number, how, points in kept(self.decomposition, axes, copies, block.index):
                    yield linked(
                        axes, domain, block.number, self.block(number), how.after(piece.map), points
                    )

    def _find_places(self, axes: Index, number: int) -> dict[int, list[Box]]:
        """Where the cells of a block are, their edges too, in every tile that has some of them."""
        topology, block = self.along(axes), self.block(number)
        own = tuple([(2 * block.start[a], 2 * block.stop[a]) for a in axes])
        found = {block.tile: [own]}
        for part, copies in topology.everywhere(block.tile, own):
            for tile, how in copies:
                # Wider by what lies between two parts
                if (tile, how) != (block.tile, topology.here):
                    found.setdefault(tile, []).append(
                        tuple([(first - 1, last + 1) for first, last in how.of(part)])
                    )
        return found

    def synchronising(self, geometry: Geometry, block: Block, corners: bool = True) -> list[Link]:
        """The links into own points of a block that another block owns; `corners=False`: without
        those at corners of tiles.
        """
        links: list[Link] = []
        domain = own_points(block, geometry.axes, geometry.positions)
        parts = [] if is_empty(domain) else [domain]
        if not corners:
            ends = [sorted({0, 2 * self.whole.tiles[block.tile][a]}) for a in geometry.axes]
            for corner in product(*ends):
                point = tuple((x, x) for x in corner)
                same = all(
                    (x ^ first) & 1 == 0 for x, (first, _) in zip(corner, domain, strict=True)
                )
                parts = [
                    left for part in parts for left in (subtract(part, point) if same else [part])
                ]
        for part in parts:
            for source, how, box in kept(
                self.decomposition,
                geometry.axes,
                self.along(geometry.axes).copies(block.tile, part),
            ):
                link = linked(geometry.axes, domain, block.number, self.block(source), how, box)
                if link.dst != link.src or link.at != link.source_at:
                    links.append(link)
        links.sort(key=BY_BLOCKS)
        return links

    def near(self, geometry: Geometry, block: Block, synchronised: bool = False) -> set[int]:
        """A superset of the blocks that are filled from this one, itself included."""
        if synchronised:
            return self._around(geometry.axes, block.number, None)
        rows = []
        for a, axis in zip(geometry.axes, self._axes(geometry, block.tile), strict=True):
            row = axis.near(block.index[a])
            if row is None:
                return self._around(
                    geometry.axes, block.number, 2 * max(map(max, geometry.halos)) + 2
                )
            rows.append(row)
        return {
            self.decomposition.number_at(block.tile, placed(block.index, geometry.axes, each))
            for each in product(*rows)
        }

    def _find_around(self, axes: Index, number: int, wide: int | None) -> set[int]:
        """Blocks with points so near to the cells of a block, their edges included; None: with the
        same points, whatever lies along other axes.
        """
        topology, block, found = self.along(axes), self.block(number), set[int]()
        beside, beyond = (None, 0) if wide is None else (block.index, wide)
        own = tuple([(2 * block.start[a], 2 * block.stop[a]) for a in axes])
        places = {(block.tile, own)}
        gaps = [
            gap
            for (first, last), n in zip(own, topology.tiles[block.tile], strict=True)
            for gap in (first, 2 * n - last)
        ]
        # Past a vertex of a cube the way may be shorter from its other tile
        if any([0 < gap <= beyond for gap in gaps]):
            places |= {
                (tile, how.of(part))
                for part, copies in topology.everywhere(block.tile, own)
                for tile, how in copies
            }
        for there, box in places:
            around = tuple(
                [(first - beyond - (first & 1), last + beyond + (last & 1)) for first, last in box]
            )
            for piece in topology.trace(there, around):
                for part, copies in topology.everywhere(piece.tile, piece.map.of(piece.box)):
                    for tile, how in {(piece.tile, topology.here), *copies}:
                        found |= {
                            its
                            for its, _ in self.decomposition.holders(
                                tile, axes, how.of(part), beside
                            )
                        }
        return found


def placed(index: Index, axes: Index, along: Iterable[int]) -> list[int]:
    """An index with others along some axes."""
    found = list(index)
    for a, i in zip(axes, along, strict=True):
        found[a] = i
    return found


def own_points(block: Block, axes: Index, positions: Index) -> Box:
    """A block's own points at some positions along some axes."""
    return tuple(
        [
            (2 * block.start[a] + p, 2 * block.stop[a] - p)
            for a, p in zip(axes, positions, strict=True)
        ]
    )


def kept(
    decomposition: Decomposition,
    axes: Index,
    parts: Iterable[tuple[Box, list[Copy]]],
    beside: Index | None = None,
) -> Iterator[tuple[int, Map, Box]]:
    """The blocks that own the points of some boxes, each with all places of its points: number, the
    way to them, their points there.
    """
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
    """The link from a box of a source block to its image, counted from a domain of the
    destination.
    """
    target = how.back(box)
    at = tuple([(first - own) // 2 for (first, _), (own, _) in zip(target, domain, strict=True)])
    shape = tuple([(last - first) // 2 + 1 for first, last in target])
    # Coordinates count halves of cells: // 2 is a face's own number, or that of a centre's cell
    source = [
        (sign * target[axis][0] + shift) // 2 - src.start[a]
        for a, axis, sign, shift in zip(axes, *how, strict=True)
    ]
    return Link(dst, src.number, at, shape, tuple(source), how.axes, how.signs)


class Schedule(NamedTuple):
    """Links by the rank at the other end, each list by destination block, source block, place in
    the walk.
    """

    local: list[Link]
    receives: dict[int, list[Link]]
    sends: dict[int, list[Link]]


def sorted_out(
    filling: Callable[[Block], Iterable[Link]],
    giving: Iterable[Link],
    blocks: Sequence[Block],
    rank: int,
    source_rank: Callable[[int], int | None],
    target_rank: Callable[[int], int | None],
) -> Schedule:
    """The links into some blocks of a rank, and those that other ranks' blocks have from it."""
    found = Schedule([], {}, {})
    for block in blocks:
        for link in filling(block):
            peer = source_rank(link.src)
            assert peer is not None  # land fills nothing
            (found.local if peer == rank else found.receives.setdefault(peer, [])).append(link)
    for link in giving:
        peer = target_rank(link.dst)
        if peer is not None and peer != rank:
            found.sends.setdefault(peer, []).append(link)
    for links in found.sends.values():
        links.sort(key=BY_BLOCKS)  # stable: as the receiver has them
    return found


class Scheduler:
    """The schedules of one rank, each made once for a geometry."""

    def __init__(self, builder: LinkBuilder, blocks: list[Block], rank: int) -> None:
        self.builder, self.blocks, self.rank = builder, blocks, rank
        # Geometries, of which a program has a handful
        self._known: BoundedCache[Schedule] = BoundedCache(256)

    def halos(self, geometry: Geometry, corners: bool) -> Schedule:
        return self.find(
            (geometry, "halos" if corners else "sides"),
            lambda block: self.builder.filling(geometry, block, corners),
            lambda block: self.builder.giving(geometry, block, corners),
        )

    def synchronising(self, geometry: Geometry, corners: bool) -> Schedule:
        def giving(block: Block) -> Iterator[Link]:
            for number in sorted(self.builder.near(geometry, block, True)):
                for link in self.builder.synchronising(
                    geometry, self.builder.decomposition.block(number), corners
                ):
                    if link.src == block.number:
                        yield link

        return self.find(
            (geometry, "sync" if corners else "sync without corners"),
            lambda block: self.builder.synchronising(geometry, block, corners),
            giving,
        )

    def find(
        self,
        key: tuple[Geometry, str],
        filling: Callable[[Block], list[Link]],
        giving: Callable[[Block], Iterable[Link]],
    ) -> Schedule:
        """The schedule of a key, made where there is none."""
        found = self._known.get(key)
        if found is None:
            rank_of = self.builder.decomposition.rank_of
            links = (
                chain.from_iterable(map(giving, self.blocks))
                if self.builder.decomposition.size > 1
                else ()
            )
            found = self._known[key] = sorted_out(
                filling, links, self.blocks, self.rank, rank_of, rank_of
            )
        return found
