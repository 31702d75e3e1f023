"""How one axis is cut into consecutive blocks, in closed form where they are as equal as can be."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate


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
        if (
            k < self.count and first >= 2 * self.start(k) and last <= 2 * self.start(k + 1)
        ):  # as most do
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
