"""Links that users write down themselves, in the place of those that a topology makes.

Slices are one box; index arrays are as many as there are runs of points at both ends.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gridbuf.distributed.geometry.blocks import Block, Decomposition
from gridbuf.distributed.geometry.boxes import Index, Map
from gridbuf.distributed.geometry.linking import BY_BLOCKS, Geometry, Link, LinkBuilder, Rule
from gridbuf.distributed.geometry.tiles import Topology

Ints = np.ndarray[Any, np.dtype[np.int64]]


class Box(NamedTuple):
    """Its first point, its shape, and the source of its first point."""

    at: Index
    shape: Index
    source_at: Index


class Given:
    """A link as it was written.

    Attributes
    ----------
    number : int
        Its place in the list.
    dst, src : int
        The blocks.
    box : Box or None
        The points of a link of slices.
    points : tuple of arrays or None
        The destination's points and the source's, one a row, of a link of index arrays.
    shape : tuple of int
        The destination's shape.
    """

    def __init__(
        self,
        number: int,
        blocks: tuple[int, int],
        points: Box | tuple[Ints, Ints],
        turn: tuple[Index, Index],
        rule: Rule | None,
        shape: Index,
    ) -> None:
        self.number, (self.dst, self.src) = number, blocks
        self.axes, self.signs = turn
        self.rule, self.shape = rule, shape
        self.box = points if isinstance(points, Box) else None
        self.points = None if isinstance(points, Box) else points

    @cached_property
    def whole(self) -> list[Box]:
        """Boxes of all points."""
        if self.points is not None:
            return runs(*self.points)
        return [] if self.box is None else [self.box]

    @cached_property
    def sides(self) -> list[Box]:
        """Boxes of the points that lie outside the destination's domain along one axis at most."""
        if self.points is not None:
            to, come = self.points
            one = ((to < 0) | (to >= np.array(self.shape))).sum(axis=1) <= 1
            return runs(to[one], come[one])
        return [] if self.box is None else self._side(self.box)

    def _side(self, box: Box) -> list[Box]:
        outside, low, high = 0, [], []
        for first, count, n in zip(box.at, box.shape, self.shape, strict=True):
            out = first + count <= 0 or first >= n
            outside += out
            low.append(first if out else max(first, 0))
            high.append(first + count if out else min(first + count, n))
        shape = tuple([last - first for first, last in zip(low, high, strict=True)])
        if outside != 1 or min(shape) <= 0:
            return []
        moved = [
            start + sign * (low[axis] - box.at[axis])
            for start, axis, sign in zip(box.source_at, self.axes, self.signs, strict=True)
        ]
        return [Box(tuple(low), shape, tuple(moved))]

    def links(self, corners: bool) -> Iterator[Link]:
        """The links of all boxes, or of the sides alone."""
        for box in self.whole if corners else self.sides:
            yield Link(self.dst, self.src, *box, self.axes, self.signs, self.rule)

    def ends(self) -> tuple[Sequence[int], Sequence[int]]:
        """The lowest point along each axis, and the one after the highest."""
        if self.box is not None:
            at, shape, _ = self.box
            return at, [first + n for first, n in zip(at, shape, strict=True)]
        assert self.points is not None
        to = self.points[0]
        return to.min(axis=0).tolist(), (to.max(axis=0) + 1).tolist()


def targets(links: Sequence[Given]) -> tuple[Ints, Ints]:
    """Every point that links fill, one a row, and the number of its link."""
    boxes = [given for given in links if given.box is not None]
    at = np.array([given.box.at for given in boxes if given.box], np.int64)
    shape = np.array([given.box.shape for given in boxes if given.box], np.int64)
    points, numbers = [], []
    if boxes:
        counts = shape.prod(axis=1)
        which = np.repeat(np.arange(len(boxes)), counts)
        rest = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        inside = np.empty((len(which), at.shape[1]), np.int64)
        for axis in reversed(range(at.shape[1])):
            rest, inside[:, axis] = np.divmod(rest, shape[which, axis])
        points.append(inside + at[which])
        numbers.append(np.array([given.number for given in boxes])[which])
    for given in links:
        if given.points is not None:
            points.append(given.points[0])
            numbers.append(np.full(len(given.points[0]), given.number))
    return np.concatenate(points), np.concatenate(numbers)


def runs(to: Ints, come: Ints) -> list[Box]:
    """Boxes of points that lie side by side at both ends, along the axis that gives the fewest."""
    best: tuple[Ints, Ints, Ints] | None = None
    ndim = to.shape[1]
    for axis in range(ndim):
        order = np.lexsort([to[:, axis], *(to[:, a] for a in range(ndim) if a != axis)])
        target, source = to[order], come[order]
        step = np.zeros(ndim, np.int64)
        step[axis] = 1
        goes_on = (np.diff(target, axis=0) == step) & (np.diff(source, axis=0) == step)
        first = np.flatnonzero(np.r_[True, ~goes_on.all(axis=1)][: len(to)])
        if best is None or len(first) < len(best[0]):
            shape = np.ones((len(first), ndim), np.int64)
            shape[:, axis] = np.diff(np.r_[first, len(to)])
            best = target[first], shape, source[first]
    assert best is not None
    rows = [map(tuple, each.tolist()) for each in best]
    return [Box(*row) for row in zip(*rows, strict=True)]


class GivenLinks(LinkBuilder):
    """Each tile is one block, and halos are filled by the links in a list alone."""

    has_edges = False

    def __init__(
        self, topology: Topology, decomposition: Decomposition, links: Sequence[Given]
    ) -> None:
        super().__init__(topology, decomposition)
        self.straight = False
        rules = {each.rule: f"links[{each.number}]" for each in reversed(links) if each.rule}
        self.rules = {where: rule for rule, where in rules.items()}
        self._into: dict[int, list[Given]] = {}
        self._out_of: dict[int, set[int]] = {}
        self._turning: dict[Map, str] = {}  # of each kind the first
        for given in links:
            self._into.setdefault(given.dst, []).append(given)
            self._out_of.setdefault(given.src, set()).add(given.dst)
            how = Map(given.axes, given.signs, (0,) * topology.ndim)
            if not how.moves_only:
                self._turning.setdefault(how, f"links[{given.number}]")
        ends = [(given, *given.ends()) for given in links]
        self._high: dict[int, tuple[int, ...]] = {}  # how far links fill beyond a block's ends
        for given, _, end in ends:
            over = [max(a - n, 0) for a, n in zip(end, topology.tiles[given.dst], strict=True)]
            known = self._high.get(given.dst, (0,) * topology.ndim)
            self._high[given.dst] = tuple(map(max, known, over))
        self._highest = tuple(map(max, zip(*self._high.values(), strict=True)))
        self._farthest = [
            (
                min(ends, key=lambda its: its[1][a]),
                max(ends, key=lambda its: its[2][a] - topology.tiles[its[0].dst][a]),
            )
            for a in range(topology.ndim * bool(links))
        ]

    def common(self, geometry: Geometry, block: Block) -> Geometry:
        """High halos may end where the block's own links end: they count as the widest."""
        if not self._highest or len(geometry.axes) != self.whole.ndim:
            return geometry
        own = self._high.get(block.number, (0,) * self.whole.ndim)
        halos = [
            (low, max(high, most) if high >= least else high)
            for (low, high), least, most in zip(geometry.halos, own, self._highest, strict=True)
        ]
        return geometry._replace(halos=tuple(halos))

    def crossings(self, axes: Index) -> list[tuple[str, Map]]:
        return [(where, how) for how, where in self._turning.items()]

    def check_width(self, geometry: Geometry, field: str) -> None:
        """Fields of explicit links lie at centres and have all dims, and their halos have what is
        filled.
        """
        names = self.whole.names
        if geometry.axes != tuple(range(len(names))) or 0 in geometry.positions:
            raise ValueError(
                f"{field}: fields of a grid of explicit links have all its dims, {names}, and lie"
                " at centres along each"
            )
        for a, farthest in enumerate(self._farthest):
            for given, first, end in farthest:
                whole = self.whole.tiles[given.dst][a]
                low, high = geometry.halos[a]
                if first[a] < -low or end[a] > whole + high:
                    raise ValueError(
                        f"{field}: links[{given.number}] fills points {first[a]} to {end[a]} along"
                        f" {names[a]}, and the field has those from {-low} to {whole + high}"
                    )

    def filling(
        self, geometry: Geometry, block: Block, corners: bool = True, source: Block | None = None
    ) -> list[Link]:
        rank_of = self.decomposition.rank_of
        links = [
            link
            for given in self._into.get(block.number, ())
            if rank_of(given.src) is not None and (source is None or given.src == source.number)
            for link in given.links(corners)
        ]
        return sorted(links, key=BY_BLOCKS)

    def near(self, geometry: Geometry, block: Block, synchronised: bool = False) -> set[int]:
        return {block.number} | (set() if synchronised else self._out_of.get(block.number, set()))
