"""Links of grids whose seams only move points and that have no land: each axis by itself, in closed form.

What is found is what the walk of `linking` finds, for any number of ranks in the time that a rank's own neighbours take.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from gridbuf.distributed.cuts import Cuts

Index = tuple[int, ...]


class Segment(NamedTuple):
    """Points of a block along one axis that come from one block: side is -1 or 1 in the halo, 0 within."""

    side: int
    at: int
    n: int
    source: int
    source_at: int


class Axis:
    """One axis of fields at one position with one halo."""

    def __init__(self, cuts: Cuts, periodic: bool, position: int, halo: tuple[int, int]) -> None:
        self.cuts, self.periodic, self.position, self.halo = cuts, periodic, position, halo
        self.segments = lru_cache(maxsize=64)(self._segments)

    def _segments(self, k: int) -> list[Segment]:
        """Where the points of block k come from."""
        (low, high), p = self.halo, self.position
        first, last = 2 * self.cuts.start(k) + p, 2 * self.cuts.start(k + 1) - p
        found = []
        for side, begin, end in ((0, first, last), (-1, first - 2 * low, first - 2), (1, last + 2, last + 2 * high)):
            for start, stop, x in self._images(begin, end):
                for source, lo, hi in self.cuts.keepers(x, x + stop - start):
                    at = (start + lo - x - first) // 2
                    found.append(Segment(side, at, (hi - lo) // 2 + 1, source, (lo - p) // 2 - self.cuts.start(source)))
        return found

    def _images(self, begin: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Runs of points that lie side by side on the axis, and where the first of each lies on it: face N of a ring is face 0."""
        n = 2 * self.cuts.n
        if not self.periodic:
            start, stop = max(begin, self.position), min(end, n - self.position)
            if start <= stop:
                yield start, stop, start
            return
        while begin <= end:
            x = begin % n
            stop = min(end, begin + (n - 2 + self.position - x))
            yield begin, stop, x
            begin = stop + 2

    def asking(self, source: int) -> list[tuple[int, list[Segment]]]:
        """The blocks that take points from a block, and which."""
        wide, n = 2 * max(self.halo) + 2, 2 * self.cuts.n
        first, last = 2 * self.cuts.start(source) - wide, 2 * self.cuts.start(source + 1) + wide
        near: set[int] = set()
        for image in range(first // n, last // n + 1) if self.periodic else (0,):
            low, high = max(first - image * n, 0), min(last - image * n, n)
            near.update(k for k, _, _ in self.cuts.holders(low + (low & 1), high))
        found = []
        for k in sorted(near):
            if self.cuts.start(k) < self.cuts.start(k + 1):
                segments = [segment for segment in self.segments(k) if segment.source == source]
                if segments:
                    found.append((k, segments))
        return found


def combined(rows: list[list[Segment]], corners: bool) -> Iterator[tuple[Segment, ...]]:
    """What lies outside along one axis, or along several."""
    for each in product(*rows):
        outside = sum(segment.side != 0 for segment in each)
        if outside == 1 or (outside > 1 and corners):
            yield each
