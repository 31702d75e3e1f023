"""A plan for one of 10 000 ranks, grid included: no MPI is needed for it. The worst of several
ranks of each grid: within a tile, at edges, at corners.
"""

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import gridbuf.distributed as gbd
from gridbuf.distributed.geometry.blocks import Cuts, Decomposition
from gridbuf.distributed.geometry.linking import LinkBuilder
from gridbuf.distributed.geometry.tiles import Topology, cube, folded, rings
from gridbuf.distributed.grid import Grid

NAMES, HALO, SHAPE = ("I", "J"), ((3, 3), (3, 3)), (1000, 1000)
TOPOLOGIES: dict[str, Callable[[], Topology]] = {
    "Cartesian": lambda: Topology((SHAPE,), rings(0, SHAPE, (True, False), NAMES), NAMES),
    "cubed sphere": lambda: Topology(((410, 410),) * 6, cube(410), NAMES),
    "tripolar, pivot F": lambda: Topology((SHAPE,), folded(SHAPE, "F", NAMES), NAMES),
    "tripolar, pivot T": lambda: Topology((SHAPE,), folded(SHAPE, "T", NAMES), NAMES),
}
ALONE = gbd.grid((10, 10), halo=3)


def field(faces: str) -> Any:
    return ALONE.zeros("IJK", sizes={"K": 80}, faces=faces)


ITEMS: dict[str, Callable[[], list[Any]]] = {  # 8 fields each
    "scalars": lambda: [field("IJ" * (i % 2)) for i in range(8)],
    "vectors": lambda: [gbd.vector(field("I"), field("J")) for _ in range(4)],
}


class Played:
    """An engine that only plans, of one rank of many."""

    name = "played"

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size

    def serve(self, links: Any) -> None:
        return None

    def prepare(self, plan: Any) -> None:
        return None


def planned(
    topology: Callable[[], Topology], place: tuple[float, float], items: list[Any]
) -> tuple[Grid, Any]:
    """The grid and plan of the rank that has this part of the last tile: blocks are 10 x 10
    points.
    """
    whole = topology()
    cut = [tuple(Cuts(n, n // 10) for n in tile) for tile in whole.tiles]
    size = sum(i.count * j.count for i, j in cut)
    index = tuple(int(part * (axis.count - 1)) for part, axis in zip(place, cut[-1], strict=True))
    decomposition = Decomposition(cut, size, None)
    rank = decomposition.number_at(len(cut) - 1, index)
    grid = Grid(LinkBuilder(whole, decomposition), (), HALO, Played(rank, size), None, None)  # type: ignore[arg-type]
    return grid, grid.plan(*items)


def worst(kind: str, what: str, rounds: int = 20) -> tuple[float, int]:
    """Of the ranks of a grid the most microseconds of a core, of each the least of some rounds, and
    the most bytes.
    """
    items, places = ITEMS[what](), [(i, j) for i in (0, 0.4, 1) for j in (0, 0.4, 1)]
    taken, kept = dict.fromkeys(places, float("inf")), 0
    for _ in range(rounds):
        for place in places:
            start = time.process_time()
            planned(TOPOLOGIES[kind], place, items)
            taken[place] = min(taken[place], time.process_time() - start)
    for place in places:
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        made = planned(TOPOLOGIES[kind], place, items)
        kept = max(kept, tracemalloc.get_traced_memory()[0] - before)
        tracemalloc.stop()
        del made
    return max(taken.values()) * 1e6, kept


def facts() -> list[tuple[str, float, float, str]]:
    """What has a target."""
    found, most = [], 0
    for kind in TOPOLOGIES:
        for what in ITEMS:
            taken, kept = worst(kind, what)
            found.append(
                (
                    f"a plan and grid for one of 10 000 ranks, 8 fields: {kind}, {what}",
                    taken,
                    5000.0,
                    "us",
                )
            )
            most = max(most, kept)
    return [*found, ("the most memory of these", most / 1e3, 200.0, "kB")]


if __name__ == "__main__":
    for name, value, target, unit in facts():
        print(f"{name:80} {value:.0f} {unit} (<= {target:.0f})")
