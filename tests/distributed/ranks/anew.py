"""Run by two processes: after an error one rank goes on with the plan that it has, and the other makes a new one: it works at once, and nothing is left with MPI."""

import gc
import time
from itertools import product
from typing import Any

from common import raises
from mpi4py import MPI
from pair import comm, me, other, perform, soon

import gridbuf.distributed as gbd
from gridbuf.distributed import waiting
from gridbuf.distributed.ranks import connecting, left, mail

SHORT, LONG = 6, 20000  # points of a halo: MPI sends the first without a receiver


def ring(points: int, **more: Any) -> gbd.Grid:
    return gbd.grid(
        (8, points), comm=comm, **{"blocks": (2, 1), "periodic": "I", "halo": ((1, 1), (0, 0)), "timeout": 200} | more
    )


def exchanged(plan: Any, f: Any, value: float) -> None:
    f[...] = value + me
    plan(f)
    assert (f.numpy()[[0, -1]] == value + other).all(), (me, value, f.numpy()[[0, -1], :3])


def nothing_is_left(grid: gbd.Grid) -> None:
    """However often they have to look for that."""
    gc.collect()
    end = time.monotonic() + 100
    f = grid.zeros(dtype="i2")
    while comm.allreduce(bool(left.left), MPI.LOR) and comm.bcast(time.monotonic() < end):
        grid.exchange(f)
    assert not left.left, (me, left.left)
    assert all(its.to.number == tag for (_, tag), its in grid._engine.hub.sending.items())


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


def values_of_a_plan_that_goes_at_once() -> None:
    """What a plan that is gone has sent is there for who asks for it later, as where its first use waits for a third rank."""
    grid = ring(SHORT, periodic="", halo=((1, 0), (0, 0)))  # rank 0 waits for nobody
    f, g = grid.zeros(), grid.zeros(dtype="i8")
    connect = connecting.Connector.connect

    def late(*args: Any) -> Any:
        hub, end = grid._engine.hub, time.monotonic() + 1
        while not hub.mail[0] and time.monotonic() < end:  # until rank 0 shakes hands about the next
            mail.collect(hub)
        return connect(*args)

    if me:
        connecting.Connector.connect = late  # type: ignore[method-assign]
    try:
        for i in range(2):
            f[...] = g[...] = 10 * i + me
            grid.plan(f)(f)
            gc.collect()
            grid.plan(g)(g)
            assert me == 0 or ((f.numpy()[0] == 10 * i).all() and (g.numpy()[0] == 10 * i).all())
    finally:
        connecting.Connector.connect = connect  # type: ignore[method-assign]


def exchanges_without_waiting() -> None:
    """They are no slower after an error: whether values of the old epoch have come is asked now and then, not by each."""
    grid = ring(SHORT, periodic="", halo=((1, 0), (0, 0)))  # rank 0 waits for nobody
    f, hub, asked = grid.zeros(), grid._engine.hub, set()
    plan = grid.plan(f)
    plan(f)
    with raises(gbd.DisagreementError if me else TypeError):
        plan(f if me else 3)
    began = time.monotonic()
    for _ in range(200):
        plan(f)
        asked.add(hub.swept)
    assert me or len(asked) < 3 + 2 * (time.monotonic() - began) / waiting.LOOK, (me, len(asked))


def works() -> None:
    exchanged(ring(SHORT).exchange, ring(SHORT).zeros(), 1.0)


perform(
    works,
    plans_kept_and_made_anew,
    plans_that_go_while_their_exchange_is_left_out,
    values_of_a_plan_that_goes_at_once,
    exchanges_without_waiting,
)
