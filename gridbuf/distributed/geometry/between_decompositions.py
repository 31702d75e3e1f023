"""Links from the blocks of one decomposition to those of another of the same tiles: gathering,
scattering, redistributing, writing.

Each end counts points in its own way: by the cells of the grid, with one face more than cells, or
by places, as many as an array has elements.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gridbuf.distributed.geometry.blocks import Block, Decomposition
from gridbuf.distributed.geometry.boxes import Box, Index, Map, identity, is_empty
from gridbuf.distributed.geometry.linking import Link, kept, linked, own_points
from gridbuf.distributed.geometry.tiles import Copy, Topology


class End(NamedTuple):
    """Points on the blocks of a decomposition."""

    decomposition: Decomposition
    axes: Index
    positions: Index

    def domain(self, block: Block) -> Box:
        return own_points(block, self.axes, self.positions)


class Copies:
    """The copies of a field's points, and the block that keeps each.

    Parameters
    ----------
    topology
        The seams at which points exist twice; None: each place is a point of its own.
    end
        The field.
    partner
        The positions of the field that stands for this one where axes are turned: the other
        component. Empty: itself.
    straight
        Whether only seams that move points count: then what lies at a place needs neither sign nor
        partner.
    """

    def __init__(
        self, topology: Topology | None, end: End, partner: Index = (), straight: bool = False
    ) -> None:
        self._topology, self._end, self._partner, self._straight = topology, end, partner, straight

    def of(self, tile: int, box: Box) -> Iterator[tuple[Box, list[Copy]]]:
        """Parts of a box within a tile, and all places of their points that the field has, the
        owner's first.
        """
        if self._topology is None:
            yield box, [(tile, identity(len(box)))]
            return
        for part, copies in self._topology.copies(tile, box):
            yield part, [copy for copy in copies if self._has(copy[1])]

    def everywhere(self, block: Block) -> Iterator[tuple[int, Box]]:
        """All places of a block's points, and of those of the other component."""
        for positions in {self._end.positions, self._partner or self._end.positions}:
            box = self._end._replace(positions=positions).domain(block)
            if is_empty(box):
                continue
            if self._topology is None:
                yield block.tile, box
                continue
            for part, copies in self._topology.copies(block.tile, box):
                yield from ((tile, how.of(part)) for tile, how in copies)

    def _has(self, how: Map) -> bool:
        if how.moves_only:
            return True
        if self._straight:
            return False
        positions = self._partner if how.turns and self._partner else self._end.positions
        return all(positions[d] == self._end.positions[axis] for d, axis in enumerate(how.axes))

    def kept(self, tile: int, box: Box) -> Iterator[tuple[int, Map, Box]]:
        """The blocks that keep the points of a box: number, the way from the box to them, and which
        there.
        """
        return kept(self._end.decomposition, self._end.axes, self.of(tile, box))

    def owned(self, block: Block) -> list[tuple[tuple[int, int], ...]]:
        """The own points of a block that it owns, as (start, stop) along the end's axes: of every
        point one copy.
        """
        domain, parts = self._end.domain(block), []
        if is_empty(domain):
            return []
        for number, how, box in self.kept(block.tile, domain):
            if number == block.number and how.moves_only and not any(how.shift):
                parts.append(
                    tuple(
                        ((first - own) // 2, (last - own) // 2 + 1)
                        for (first, last), (own, _) in zip(box, domain, strict=True)
                    )
                )
        return parts


class Between:
    """Links from one end to another."""

    def __init__(self, copies: Copies, source: End, target: End) -> None:
        self._copies, self._source, self._target = copies, source, target
        self._shift = tuple(p - q for p, q in zip(source.positions, target.positions, strict=True))

    def filling(self, block: Block, wanted: set[int] | None = None) -> list[Link]:
        """The links into a block of the target; with `wanted` those from these blocks alone."""
        domain, links = self._target.domain(block), []
        if is_empty(domain):
            return []
        there = moved(domain, self._shift)
        for number, how, box in self._copies.kept(block.tile, there):
            if wanted is None or number in wanted:
                links.append(
                    linked(
                        self._source.axes,
                        there,
                        block.number,
                        self._source.decomposition.block(number),
                        how,
                        box,
                    )
                )
        links.sort(key=lambda link: link[:2])  # stable: the walk's order among those of two blocks
        return links

    def giving(self, blocks: Sequence[Block]) -> Iterator[Link]:
        """The links from some blocks of the source: for each block of the target in the order of
        its `filling`.
        """
        back, asking = tuple(-by for by in self._shift), set()
        for block in blocks:
            for tile, box in self._copies.everywhere(block):
                holders = self._target.decomposition.holders(
                    tile, self._target.axes, moved(box, back), None
                )
                asking |= {number for number, _ in holders}
        mine = {block.number for block in blocks}
        for number in sorted(asking):
            yield from self.filling(self._target.decomposition.block(number), mine)


def moved(box: Box, by: Index) -> Box:
    return tuple((first + step, last + step) for (first, last), step in zip(box, by, strict=True))
