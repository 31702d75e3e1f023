"""Links where seams only move points, and without land: each axis by itself, in closed form.

The links are those of the walk in `linking`; the time depends on a rank's own neighbours, not on
the number of ranks.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product
from typing import NamedTuple, TypeVar

from gridbuf.distributed.geometry.blocks import Cuts
from gridbuf.distributed.geometry.boxes import Box

T = TypeVar("T", "Segment", "Side")


class Segment(NamedTuple):
    """Points of a block along one axis that come from one block: side is -1 or 1 in the halo, 0
    within.
    """

    side: int
    at: int
    n: int
    source: int
    source_at: int


class Side(NamedTuple):
    """All points of a block along one axis on one side, and whether that is a matter of this axis
    alone.
    """

    side: int
    first: int
    last: int
    clear: bool


class Line(NamedTuple):
    """A block along one axis: its points by sides, whether all are clear, and where the clear ones
    come from.
    """

    sides: list[Side]
    clear: bool
    segments: list[Segment]


class Axis:
    """An axis of a tile, for fields at one position with one halo. Seams concern points outside of
    `clear`.

    With land the block that keeps a point depends on all axes; the blocks that may need it are
    found axis by axis.
    """

    def __init__(
        self,
        cuts: Cuts,
        ring: bool,
        clear: tuple[int, int],
        position: int,
        halo: tuple[int, int],
        land: bool = False,
    ) -> None:
        self.cuts = cuts
        self.ring = ring
        self.clear = clear
        self.position = position
        self.halo = halo
        self.land = land
        self.line = lru_cache(maxsize=64)(self._line)
        self.near = lru_cache(maxsize=64)(self._near)

    def _is_clear(self, first: int, last: int) -> bool:
        return self.clear[0] <= first and last <= self.clear[1]

    def _line(self, k: int) -> Line:
        (low, high), p = self.halo, self.position
        start, stop = self.cuts.ends(k)
        own, end = 2 * start + p, 2 * stop - p
        spans = (0, own, end), (-1, own - 2 * low, own - 2), (1, end + 2, end + 2 * high)
        sides = [
            Side(*span, not self.land and self._is_clear(*span[1:]))
            for span in spans
            if span[1] <= span[2]
        ]
        segments = []
        for side, begin, last, clear in sides:
            for start, stop, x in self._images(begin, last) if clear else ():
                for source, lo, hi in self.cuts.keepers(x, x + stop - start):
                    at, n = (start + lo - x - own) // 2, (hi - lo) // 2 + 1
                    source_at = (lo - p) // 2 - self.cuts.start(source)
                    segments.append(Segment(side, at, n, source, source_at))
        return Line(sides, all([side.clear for side in sides]), segments)

    def _images(self, begin: int, end: int) -> list[tuple[int, int, int]]:
        """Runs of points that lie side by side on the axis, and where the first of each lies on it:
        face N of a ring is face 0.
        """
        n = 2 * self.cuts.n
        if not self.ring:
            start, stop = max(begin, self.position), min(end, n - self.position)
            return [(start, stop, start)] if start <= stop else []
        found = []
        while begin <= end:
            x = begin % n
            stop = min(end, begin + (n - 2 + self.position - x))
            found.append((begin, stop, x))
            begin = stop + 2
        return found

    def _near(self, source: int) -> list[int] | None:
        """The blocks that may be filled from a block; None where that depends on seams."""
        wide, n = 2 * max(self.halo) + 2, 2 * self.cuts.n
        start, stop = self.cuts.ends(source)
        first, last = 2 * start - wide, 2 * stop + wide
        if not self._is_clear(first, last):
            return None
        found: set[int] = set()
        for image in range(first // n, last // n + 1) if self.ring else (0,):
            low, high = max(first - image * n, 0), min(last - image * n, n)
            found.update(k for k, _, _ in self.cuts.holders(low + (low & 1), high))
        return sorted(found)


def combined(rows: Iterable[list[T]], corners: bool) -> list[tuple[T, ...]]:
    """The combinations that lie outside along one axis, or with corners along several."""
    found = []
    for each in product(*rows):
        outside = sum([one.side != 0 for one in each])
        if outside == 1 or (outside > 1 and corners):
            found.append(each)
    return found


def unclear(rows: list[list[Side]], corners: bool) -> Iterator[Box]:
    """The other points outside, in boxes that are as few as can be: with corners whole sides."""
    rest = list(rows)
    for axis, row in enumerate(rows if corners else ()):
        for side in row:
            if side.side and not side.clear:
                spans = [(min(its)[1], max(its)[2]) for its in rest]
                yield (*spans[:axis], (side.first, side.last), *spans[axis + 1 :])
        rest[axis] = [side for side in row if side.clear or not side.side]
    for where in combined(rest, corners):
        if not all([side.clear for side in where]):
            yield tuple([(side.first, side.last) for side in where])
