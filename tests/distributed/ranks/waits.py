"""Run by some processes: ranks that wait for each other in different exchanges, first uses and calls, however many of them: all learn of it long before their timeout."""

import time
from collections.abc import Callable
from typing import Any

from common import me, raises
from mpi4py import MPI

import gridbuf.distributed as gbd

world = MPI.COMM_WORLD
n = world.size
SOON = 100.0  # of 200 seconds that the ranks have: no machine is so busy


class Pairs:
    """Each rank and the next have a grid, and so have all of them."""

    def __init__(self, points: int = 6, one_way: bool = False) -> None:
        comm = world.Dup()
        halo: Any = ((1, 0), (0, 0)) if one_way else 1
        make = {"periodic": "" if one_way else "I", "halo": halo, "comm": comm, "timeout": 200}
        self.grid = gbd.grid((4 * n, 6), blocks=(n, 1), **make)
        self.f = self.grid.full(1.0)
        pairs = [(rank, (rank + 1) % n) for rank in range(n if n > 2 else 1)]
        self.one_way = one_way
        self.grids = [gbd.grid((8, points), blocks=(2, 1), owners=pair, **make) for pair in pairs]
        self.mine = {rank: grid for rank, grid in enumerate(self.grids) if me in pairs[rank]}
        self.fields = {rank: grid.full(float(me)) for rank, grid in self.mine.items()}
        self.plans = {rank: grid.plan(self.fields[rank]) for rank, grid in self.mine.items()}

    def exchange(self, rank: int) -> None:
        """Of this rank and the next."""
        if rank % n in self.plans:
            self.plans[rank % n](self.fields[rank % n])

    def works(self, *ranks: int) -> None:
        for _ in range(2):
            for rank in ranks or range(len(self.grids)):
                if rank in self.mine:
                    pair = rank, (rank + 1) % n
                    f = self.fields[rank]
                    f[...] = float(me)
                    self.exchange(rank)
                    if me == pair[1] or not self.one_way:
                        assert f[0, 1] == float(sum(pair) - me), (me, rank)
            if not ranks:
                assert self.grid.sum(self.f) == 24.0 * n
        world.Barrier()


def told(call: Callable[..., Any], *given: Any, words: str = "in one order") -> None:
    """Until it is told: who only sends hears of it in its next."""
    began = time.monotonic()
    with raises(gbd.DisagreementError, words):
        while time.monotonic() - began < SOON:
            call(*given)
            time.sleep(0.01)
    assert time.monotonic() - began < SOON, (me, time.monotonic() - began)


def an_exchange_and_a_call() -> None:
    """One waits in an exchange, used before or not, its neighbour and all others in a call."""
    for points in (6, 20000):
        for one_way in (False, True):
            for known in (False, True):
                for rank in (0, 1)[one_way and points < 100 :]:  # who sends little waits for nobody
                    its = Pairs(points, one_way)
                    if known:
                        its.works()
                    for _ in range(2):
                        if me == rank:
                            told(its.exchange, 0)
                        else:
                            told(its.grid.sum, its.f)
                        its.works()


def cycles() -> None:
    """Each waits for the next, in exchanges that some have used before; or the last of a chain is in a call."""
    for known in ((), range(n), (0,), (1, 2)):
        for broken in (None, 0, n - 1):
            its = Pairs()
            if known:
                its.works(*known)
            for _ in range(2):
                if me == broken:
                    told(its.grid.sum, its.f)
                else:
                    told(its.exchange, me)
                its.works()


def a_grid_whose_own_halo_is_refused() -> None:
    """It is wider than the tiles, and reaches very many blocks of one cell: whom an error is told is found at once all the same."""
    for cells, halo in ((4, 70), (3, 40)):
        for _ in range(2):
            cube = gbd.cubed_sphere(cells, blocks=(cells, cells), halo=halo, comm=world.Dup(), timeout=200)
            f = cube.ones(halo=1)
            if me == 0:
                with raises(ValueError, "wider than the tile"):
                    cube.exchange(cube.ones())
            else:
                told(cube.exchange, f, words="rank 0: ValueError")
            world.Barrier()
            cube.exchange(f)


for scenario in (an_exchange_and_a_call, *[cycles][: n > 2], a_grid_whose_own_halo_is_refused):
    scenario()
    world.Barrier()
if me == 0:
    print("waits", n)
