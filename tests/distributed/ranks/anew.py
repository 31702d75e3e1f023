"""Run by two processes: after an error one rank goes on with the plan that it has, and the other makes a new one: it works at once, and nothing is left with MPI."""

import gc
import time
from itertools import product
from typing import Any

from common import raises
from mpi4py import MPI
from pair import comm, me, other, perform, soon

import gridbuf.distributed as gbd
from gridbuf.distributed import left

SHORT, LONG = 6, 20000  # points of a halo: MPI sends the first without a receiver


def ring(points: int, **more: Any) -> gbd.Grid:
    return gbd.grid((8, points), comm=comm, **{"blocks": (2, 1), "periodic": "I", "halo": ((1, 1), (0, 0)), "timeout": 10} | more)


def exchanged(plan: Any, f: Any, value: float) -> None:
    f[...] = value + me
    plan(f)
    assert (f.numpy()[[0, -1]] == value + other).all(), (me, value, f.numpy()[[0, -1], :3])


def nothing_is_left(grid: gbd.Grid) -> None:
    """However often they have to look for that."""
    gc.collect()
    end = time.monotonic() + 5
    f = grid.zeros(dtype="i2")
    while comm.allreduce(bool(left.left), MPI.LOR) and comm.bcast(time.monotonic() < end):
        grid.exchange(f)
    assert not left.left, (me, left.left)


def plans_kept_and_made_anew() -> None:
    """Whichever rank makes a new plan, before its peer's values are taken or after."""
    for points, mine, theirs, raises_in in product((SHORT, LONG), ("old", "new"), ("old", "new"), (0, 1)):
        grid = ring(points)
        f = grid.zeros()
        plan = grid.plan(f)
        exchanged(plan, f, 1.0)
        for i in range(3):
            f[...] = -1.0  # which are sent, and nobody asks for them
            if me == raises_in:
                with soon(), raises(TypeError):
                    plan(3)
            else:
                with soon(), raises(gbd.DisagreementError, "TypeError"):
                    plan(f)
            if (mine, theirs)[me] == "new":
                plan = grid.plan(f)
            with soon():
                for k in range(3):
                    exchanged(plan, f, 10.0 * i + k)
        with soon():
            del plan
            nothing_is_left(grid)


def plans_that_go_while_their_exchange_is_left_out() -> None:
    """The next handshake notices; until then no more than one exchange of each plan waits, and afterwards none."""
    for points in (SHORT, LONG):
        grid = ring(points)
        f = grid.zeros()
        for i in range(30):
            plan = grid.plan(f)
            if i:
                with soon(), raises(gbd.DisagreementError, "left some out"):
                    plan(f)
            with soon():
                exchanged(plan, f, float(i))
            if me == 0:
                plan.start(f)  # which rank 1 leaves out
            del plan
            comm.Barrier()
            assert len(left.left) < 5, (me, i, len(left.left))
        with soon(), raises(gbd.DisagreementError, "left some out"):
            grid.plan(f)(f)
        with soon():
            nothing_is_left(grid)


def works() -> None:
    exchanged(ring(SHORT).exchange, ring(SHORT).zeros(), 1.0)


perform(works, plans_kept_and_made_anew, plans_that_go_while_their_exchange_is_left_out)
