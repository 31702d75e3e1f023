"""Which links of a geometry concern one rank, sorted by who has the other end."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from gridbuf.distributed.blocks import Block, Decomposition
from gridbuf.distributed.linking import Geometry, Link, LinkBuilder


class Schedule(NamedTuple):
    """Links by the rank at the other end, each list by destination block, source block, place in the walk."""

    local: list[Link]
    receives: dict[int, list[Link]]
    sends: dict[int, list[Link]]


def schedule(
    blocks: Iterable[Block],
    decomposition: Decomposition,
    rank: int,
    links_of: Callable[[Block], list[Link]],
    near: Callable[[Block], set[int]],
) -> Schedule:
    """The links into the rank's blocks, and those of other ranks' blocks that come from them."""
    found = Schedule([], {}, {})
    asking: set[int] = set()
    for block in blocks:
        asking |= near(block)
        for link in links_of(block):
            peer = decomposition.rank_of(link.src)
            assert peer is not None  # land fills nothing
            (found.local if peer == rank else found.receives.setdefault(peer, [])).append(link)
    for number in sorted(asking):
        peer = decomposition.rank_of(number)
        if peer is None or peer == rank:
            continue
        for link in links_of(decomposition.block(number)):
            if decomposition.rank_of(link.src) == rank:
                found.sends.setdefault(peer, []).append(link)
    return found


class Scheduler:
    """The schedules of one rank, each made once for a geometry."""

    def __init__(self, builder: LinkBuilder, blocks: list[Block], rank: int) -> None:
        self.builder, self.blocks, self.rank = builder, blocks, rank
        self._known: dict[tuple[Geometry, str], Schedule] = {}

    def halos(self, geometry: Geometry, corners: bool) -> Schedule:
        return self._find(
            (geometry, "halos" if corners else "sides"),
            lambda block: self.builder.filling(geometry, block, corners),
            lambda block: self.builder.near(geometry, block),
        )

    def synchronising(self, geometry: Geometry, corners: bool) -> Schedule:
        return self._find(
            (geometry, "sync" if corners else "sync without corners"),
            lambda block: self.builder.synchronising(geometry, block, corners),
            lambda block: self.builder.near(geometry, block, True),
        )

    def _find(
        self, key: tuple[Geometry, str], links_of: Callable[[Block], list[Link]], near: Callable[[Block], set[int]]
    ) -> Schedule:
        found = self._known.get(key)
        if found is None:
            found = schedule(self.blocks, self.builder.decomposition, self.rank, links_of, near)
            if len(self._known) >= 256:  # geometries, of which a program has a handful
                self._known.clear()
            self._known[key] = found
        return found
