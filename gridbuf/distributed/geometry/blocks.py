"""Blocks: how each axis is cut into consecutive parts, in closed form where they are as equal as
possible; the part of a tile and the rank of each block; and the cut of tiles that exchanges least.

Regular cuts keep no list of blocks.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, product
from math import prod
from typing import Any, NamedTuple

from gridbuf.distributed import arguments as read
from gridbuf.distributed.geometry.boxes import Box, Index, Pairs, intersect, is_empty, subtract
from gridbuf.distributed.geometry.tiles import Topology
from gridbuf.validation import integer


class Cuts:
    """The blocks of an axis of n points: `starts(k)` of each, and which of them hold given
    points.
    """

    __slots__ = ("count", "given", "longer", "n", "shorter")

    def __init__(self, n: int, count: int, sizes: Sequence[int] | None = None) -> None:
        self.n, self.count = n, count
        self.shorter, self.longer = divmod(n, count)
        self.given = None if sizes is None else (0, *accumulate(sizes))

    def start(self, k: int) -> int:
        """The first point of block k; of k = count: the end."""
        return k * self.shorter + min(k, self.longer) if self.given is None else self.given[k]

    def ends(self, k: int) -> tuple[int, int]:
        """The first point of block k, and the one after its last."""
        if self.given is not None:
            return self.given[k], self.given[k + 1]
        start = k * self.shorter + min(k, self.longer)
        return start, start + self.shorter + (k < self.longer)

    def holders(self, first: int, last: int) -> Iterator[tuple[int, int, int]]:
        """Blocks that hold some of the points from first to last (doubled), and which: faces
        between two are held by both.
        """
        k = max(0, self.find((first - 1) // 2))
        while k < self.count and 2 * self.start(k) <= last:
            low, high = max(first, 2 * self.start(k)), min(last, 2 * self.start(k + 1))
            low += (low ^ first) & 1
            high -= (high ^ first) & 1
            if low <= high:
                yield k, low, high
            k += 1

    def keepers(self, first: int, last: int) -> list[tuple[int, int, int]]:
        """As `holders`, each point once: with the lowest block that holds it."""
        k, found = max(0, self.find((first - 1) // 2)), []
        if k < self.count:
            start, stop = self.ends(k)
            if first >= 2 * start and last <= 2 * stop:  # the commonest case: one block
                return [(k, first, last)]
        for k, low, high in self.holders(first, last):
            if max(low, first) <= high:
                found.append((k, max(low, first), high))
                first = high + 2
        return found

    def find(self, i: int) -> int:
        """The block that has point i; -1 before the first, and the count or more after the last."""
        if self.given is not None:
            return bisect_right(self.given, i) - 1
        rest = i - self.longer * (self.shorter + 1)
        if rest < 0 or i < 0:
            return max(i // (self.shorter + 1), -1)
        return self.longer + rest // self.shorter if self.shorter else self.count


Part = tuple[int, Box]  # a block's number, and points that it holds


class Block(NamedTuple):
    """A part of a tile.

    Attributes
    ----------
    index : tuple of int
        The block's index along each of the grid's dims.
    tile : int
        The tile it is a part of.
    start, stop : tuple of int
        Its first point along each of the grid's dims, and the one after its last, counted in the
        whole tile.
    rank : int or None
        The rank that has the block; None: land.
    number : int
        Its place among all blocks: tile by tile, in C order.
    """

    # Hides tuple.index, which no block needs
    index: Index  # type: ignore[assignment]
    tile: int
    start: Index
    stop: Index
    rank: int | None
    number: int

    @property
    def shape(self) -> Index:
        """How many points it has along each of the grid's dims.

        Returns
        -------
        tuple of int
            Its extents.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> gbd.grid((5, 4), blocks=(2, 1)).blocks[0].shape
        (3, 4)
        """
        return tuple([stop - start for start, stop in zip(self.start, self.stop, strict=True)])


class Decomposition:
    """The cuts of every tile, and the owners of the blocks."""

    def __init__(
        self,
        cuts: Sequence[tuple[Cuts, ...]],
        size: int,
        owners: Sequence[int | None] | None = None,
    ) -> None:
        self.cuts, self.size, self.owners = cuts, size, owners
        self.counts = [tuple(axis.count for axis in tile) for tile in cuts]
        self.first = [0, *accumulate(prod(counts) for counts in self.counts)]
        self.number_of_blocks = self.first[-1]
        self.has_land = owners is not None and None in owners

    def rank_of(self, number: int) -> int | None:
        return (
            number * self.size // self.number_of_blocks
            if self.owners is None
            else self.owners[number]
        )

    def numbers_of(self, rank: int) -> list[int]:
        """The blocks of a rank, in their order."""
        if self.owners is not None:
            return [number for number, owner in enumerate(self.owners) if owner == rank]
        return [
            *range(
                -(-rank * self.number_of_blocks // self.size),
                -(-(rank + 1) * self.number_of_blocks // self.size),
            )
        ]

    def number_at(self, tile: int, index: Sequence[int]) -> int:
        number = 0
        for i, count in zip(index, self.counts[tile], strict=True):
            number = number * count + i
        return self.first[tile] + number

    def block(self, number: int) -> Block:
        tile = 0
        while number >= self.first[tile + 1]:
            tile += 1
        rest, index = number - self.first[tile], []
        for count in reversed(self.counts[tile]):
            rest, i = divmod(rest, count)
            index.append(i)
        index.reverse()
        ends = [cuts.ends(i) for cuts, i in zip(self.cuts[tile], index, strict=True)]
        start, stop = zip(*ends, strict=True)
        return Block(tuple(index), tile, start, stop, self.rank_of(number), number)

    def blocks_of(self, rank: int) -> list[Block]:
        return [self.block(number) for number in self.numbers_of(rank)]

    def blocks(self) -> Iterator[Block]:
        return map(self.block, range(self.number_of_blocks))

    def keepers(
        self, tile: int, axes: Index, box: Box, beside: Index | None
    ) -> tuple[list[Part], list[Box]]:
        """The blocks that keep the points of a box along some axes of a tile, and the boxes that
        only land holds.

        The lowest block that holds a point keeps it. Along the other axes the block has the index
        `beside`, or the lowest.
        """
        if not self.has_land:
            index, parts = [0] * len(self.counts[tile]) if beside is None else list(beside), []
            for spans in product(
                *[
                    self.cuts[tile][axis].keepers(*ends)
                    for axis, ends in zip(axes, box, strict=True)
                ]
            ):
                for axis, span in zip(axes, spans, strict=True):
                    index[axis] = span[0]
                parts.append((self.number_at(tile, index), tuple([span[1:] for span in spans])))
            return parts, []
        rest, parts = [box], []
        for number, held in self.holders(tile, axes, box, beside):
            common = [part for each in rest if not is_empty(part := intersect(each, held))]
            parts += [(number, part) for part in common]
            rest = [left for each in rest for left in subtract(each, held)]
        return parts, rest

    def holders(self, tile: int, axes: Index, box: Box, beside: Index | None) -> Iterator[Part]:
        """All blocks that hold points of a box, the lowest first, without land."""
        spans: list[Sequence[tuple[int, int, int]]] = [
            [(i, 0, 0) for i in range(count)] if beside is None else [(beside[axis], 0, 0)]
            for axis, count in enumerate(self.counts[tile])
        ]
        for axis, (first, last) in zip(axes, box, strict=True):
            spans[axis] = [*self.cuts[tile][axis].holders(first, last)]
        for each in product(*spans):
            number = self.number_at(tile, [i for i, _, _ in each])
            if self.rank_of(number) is not None:
                yield number, tuple([each[axis][1:] for axis in axes])


CutTiles = list[tuple[Cuts, ...]]


def factors(count: int, ndim: int) -> Iterator[tuple[int, ...]]:
    """Every way to write count as a product of ndim numbers, the largest first number first."""
    if ndim == 1:
        yield (count,)
        return
    for first in sorted(
        {d for k in range(1, int(count**0.5) + 1) if count % k == 0 for d in (k, count // k)},
        reverse=True,
    ):
        for rest in factors(count // first, ndim - 1):
            yield (first, *rest)


def extents(n: int, count: int, pair: tuple[int, int], periodic: bool) -> Iterator[tuple[int, int]]:
    """The blocks of an axis that differ: (own points, own and received points). What lies beyond a
    closed end is received from no block.
    """
    low, high = pair
    cuts = Cuts(n, count)
    last = count - 1
    left = 1 + next((k for k in range(count) if cuts.start(k) >= low), last)
    right = next((k for k in range(last, -1, -1) if n - cuts.start(k + 1) >= high), 0)
    kinds = {*range(left), *range(right, count), max(cuts.longer - 1, 0), min(cuts.longer, last)}
    for k in kinds:
        start, end = cuts.start(k), cuts.start(k + 1)
        if not periodic:
            yield end - start, min(end + high, n) - max(start - low, 0)
        else:
            yield end - start, end - start + (low + high if count > 1 else 0)


def exchanged(
    shape: Sequence[int],
    blocks: Sequence[int],
    halo: Sequence[tuple[int, int]],
    periodic: Sequence[bool],
) -> int:
    """Points that the block which receives most receives from others."""
    along = [set(extents(*axis)) for axis in zip(shape, blocks, halo, periodic, strict=True)]
    return max(
        prod(whole for _, whole in block) - prod(own for own, _ in block)
        for block in product(*along)
    )


def best_cut(
    shape: Sequence[int], count: int, halo: Sequence[tuple[int, int]], periodic: Sequence[bool]
) -> tuple[int, ...]:
    """The cut into `count` blocks whose block that receives most receives least; of several the one
    with the smallest blocks. A cut that leaves a block without points only where there is no other.
    """
    widths = [pair if any(pair) else (1, 1) for pair in halo]
    return min(
        factors(count, len(shape)),
        key=lambda blocks: (
            sum(k > max(n, 1) for n, k in zip(shape, blocks, strict=True)),
            exchanged(shape, blocks, widths, periodic),
            prod(-(-n // k) for n, k in zip(shape, blocks, strict=True)),
        ),
    )


def cut(
    topology: Topology,
    cyclic: Sequence[bool],
    halo: Pairs,
    blocks: Any,
    cuts: Any,
    owners: Any,
    size: int,
) -> Decomposition:
    """The blocks of each tile and their owners."""
    tiles = topology.tiles
    if blocks is not None and cuts is not None:
        raise ValueError("cuts: blocks was given as well; one of them says where the grid is cut")
    if cuts is not None:
        cut_tiles = read_cuts(cuts, topology)
    elif blocks is not None:
        cut_tiles = evenly(tiles, [read_blocks(blocks, topology.ndim)] * len(tiles))
    elif owners is not None:
        raise ValueError("owners: they are of blocks; give blocks or cuts as well")
    else:
        cut_tiles = evenly(
            tiles, [best_cut(tile, -(-size // len(tiles)), halo, cyclic) for tile in tiles]
        )
    total = sum(prod(axis.count for axis in tile) for tile in cut_tiles)
    return Decomposition(
        cut_tiles, size, None if owners is None else read_owners(owners, total, size)
    )


def evenly(tiles: Sequence[Sequence[int]], blocks: Sequence[Sequence[int]]) -> CutTiles:
    """Each tile cut into so many blocks along each axis."""
    return [
        tuple(Cuts(n, count) for n, count in zip(tile, counts, strict=True))
        for tile, counts in zip(tiles, blocks, strict=True)
    ]


def read_blocks(blocks: Any, ndim: int) -> tuple[int, ...]:
    """How many blocks along each axis; of one axis a number alone."""
    one = ndim == 1 and not hasattr(blocks, "__iter__")
    given = [blocks] if one else read.entries(blocks, "blocks", ndim, "the grid's dims are")
    return tuple(integer(n, "blocks", 1) for n in given)


def read_cuts(cuts: Any, topology: Topology) -> CutTiles:
    """The sizes of the blocks along each axis, the same on all tiles."""
    lists = [
        [integer(n, "cuts", 0) for n in read.entries(each, "cuts")]
        for each in read.entries(cuts, "cuts", topology.ndim, "the grid's dims are")
    ]
    for axis, (name, sizes) in enumerate(zip(topology.names, lists, strict=True)):
        if not sizes:
            raise ValueError(f"cuts: none along {name}; at least one block is needed")
        for tile in topology.tiles:
            if sum(sizes) != tile[axis]:
                raise ValueError(
                    f"cuts: {sizes} along {name} are {sum(sizes)} points, the grid has {tile[axis]}"
                )
    return [
        tuple(Cuts(n, len(sizes), sizes) for n, sizes in zip(tile, lists, strict=True))
        for tile in topology.tiles
    ]


def read_owners(owners: Any, total: int, size: int) -> list[int | None]:
    found = [
        None if rank is None else integer(rank, "owners", 0)
        for rank in read.entries(owners, "owners", total, "the blocks are")
    ]
    for rank in found:
        if rank is not None and rank >= size:
            raise ValueError(f"owners: there is no rank {rank}; ranks are 0 to {size - 1}")
    return found
