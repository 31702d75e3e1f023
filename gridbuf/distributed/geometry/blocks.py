"""Blocks: which part of which tile each is, and which rank has it. No list of them is kept where
their number follows a rule.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, product
from math import prod
from typing import NamedTuple

from gridbuf.distributed.geometry.boxes import Box, intersect, is_empty, subtract
from gridbuf.distributed.geometry.cuts import Cuts

Index = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]  # (low, high) along each of some dims
Part = tuple[int, Box]  # a block's number, and points that it holds


class Block(NamedTuple):
    """A part of a tile.

    Attributes
    ----------
    index : tuple of int
        Which block it is along each of the grid's dims.
    tile : int
        The tile it is a part of.
    start, stop : tuple of int
        Its first point along each of the grid's dims, and the one after its last, counted in the
        whole tile.
    rank : int or None
        Who has it; None: nobody, it is land.
    number : int
        Its place among all blocks: tile by tile, in C order.
    """

    index: Index  # type: ignore[assignment]  # hides tuple.index, which nobody calls on a block
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
        return tuple(stop - start for start, stop in zip(self.start, self.stop, strict=True))


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
        ends = [
            (cuts.start(i), cuts.start(i + 1))
            for cuts, i in zip(self.cuts[tile], index, strict=True)
        ]
        start, stop = zip(*ends, strict=True)
        return Block(tuple(index), tile, start, stop, self.rank_of(number), number)

    def blocks_of(self, rank: int) -> list[Block]:
        return [self.block(number) for number in self.numbers_of(rank)]

    def blocks(self) -> Iterator[Block]:
        return map(self.block, range(self.number_of_blocks))

    def keepers(
        self, tile: int, axes: Index, box: Box, beside: Index | None
    ) -> tuple[list[Part], list[Box]]:
        """Which blocks keep the points of a box along some axes of a tile, and what only land
        holds.

        Of the blocks that hold a point the lowest keeps it. Along the other axes it is the block of
        index `beside`, or the lowest.
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
        """All blocks that somebody has and that hold points of a box, the lowest first."""
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
