"""Which links of a geometry concern one rank, sorted by who has the other end."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from gridbuf.common import BoundedCache
from gridbuf.distributed.geometry.blocks import Block
from gridbuf.distributed.geometry.linking import Geometry, Link, LinkBuilder


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
        links.sort(key=lambda link: link[:2])  # stable: as the receiver has them
    return found


class Scheduler:
    """The schedules of one rank, each made once for a geometry."""

    def __init__(self, builder: LinkBuilder, blocks: list[Block], rank: int) -> None:
        self.builder, self.blocks, self.rank = builder, blocks, rank
        self._known: BoundedCache[Schedule] = BoundedCache(
            256
        )  # geometries, of which a program has a handful

    def halos(self, geometry: Geometry, corners: bool) -> Schedule:
        return self._find(
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

        return self._find(
            (geometry, "sync" if corners else "sync without corners"),
            lambda block: self.builder.synchronising(geometry, block, corners),
            giving,
        )

    def _find(
        self,
        key: tuple[Geometry, str],
        filling: Callable[[Block], list[Link]],
        giving: Callable[[Block], Iterable[Link]],
    ) -> Schedule:
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
