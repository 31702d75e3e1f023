"""Which links of a geometry concern one rank, sorted by who has the other end."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from math import prod
from typing import NamedTuple

from gridbuf.bounded_cache import BoundedCache
from gridbuf.distributed.calls import attempt
from gridbuf.distributed.geometry.blocks import Block, Pairs
from gridbuf.distributed.geometry.linking import Geometry, Link, LinkBuilder

MOST_AROUND = 256  # blocks, of which it takes long to find more


class Schedule(NamedTuple):
    """Links by the rank at the other end, each list by destination block, source block, place in the walk."""

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
        links.sort(key=lambda link: link[:2])  # stable: as the receiver has them
    return found


class Scheduler:
    """The schedules of one rank, each made once for a geometry."""

    def __init__(self, builder: LinkBuilder, blocks: list[Block], rank: int) -> None:
        self.builder, self.blocks, self.rank = builder, blocks, rank
        self._known: BoundedCache[Schedule] = BoundedCache(256)  # geometries, of which a program has a handful

    def halos(self, geometry: Geometry, corners: bool) -> Schedule:
        return self._find(
            (geometry, "halos" if corners else "sides"),
            lambda block: self.builder.filling(geometry, block, corners),
            lambda block: self.builder.giving(geometry, block, corners),
        )

    def around(self, halo: Pairs) -> set[int]:
        """The ranks that fields with such a halo, and a point on each side at least, are exchanged with; those next to it where that is refused, or many."""
        least = [max(1, min([block.shape[axis] for block in self.blocks], default=1)) for axis in range(len(halo))]
        widths = [max(*pair, 1) for pair in halo]
        many = prod([2 * -(-width // n) + 1 for width, n in zip(widths, least, strict=True)]) * len(self.blocks) > MOST_AROUND
        found, _ = attempt(lambda: self._around([1 if many else width for width in widths]))
        found = found or self._around([1] * len(halo))
        return {*found.sends, *found.receives}

    def _around(self, widths: Sequence[int]) -> Schedule:
        axes = tuple(range(len(widths)))
        return self.halos(Geometry(axes, (1,) * len(axes), tuple((width, width) for width in widths)), True)

    def synchronising(self, geometry: Geometry, corners: bool) -> Schedule:
        def giving(block: Block) -> Iterator[Link]:
            for number in sorted(self.builder.near(geometry, block, True)):
                for link in self.builder.synchronising(geometry, self.builder.decomposition.block(number), corners):
                    if link.src == block.number:
                        yield link

        return self._find(
            (geometry, "sync" if corners else "sync without corners"),
            lambda block: self.builder.synchronising(geometry, block, corners),
            giving,
        )

    def _find(
        self, key: tuple[Geometry, str], filling: Callable[[Block], list[Link]], giving: Callable[[Block], Iterable[Link]]
    ) -> Schedule:
        found = self._known.get(key)
        if found is None:
            rank_of = self.builder.decomposition.rank_of
            links = chain.from_iterable(map(giving, self.blocks)) if self.builder.decomposition.size > 1 else ()
            found = self._known[key] = sorted_out(filling, links, self.blocks, self.rank, rank_of, rank_of)
        return found
