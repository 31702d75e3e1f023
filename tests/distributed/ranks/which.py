"""Run by two processes: every way in which they can be in different plans. Each row works, or is told at once to both; then all of it works."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from common import raises
from pair import comm, me, other, perform

import gridbuf.distributed as gbd

SOON = 100.0  # of 200 seconds that the ranks have: no machine is so busy
Calls = Callable[["Exchanges"], Any]


class Exchanges:
    """What the two may make."""

    def __init__(self, one_way: bool, points: int) -> None:
        own = comm.Dup()  # on which nothing has been agreed on yet
        self.grid = gbd.grid(
            (8, points),
            comm=own,
            blocks=(2, 1),
            periodic="" if one_way else "IJ",
            halo=((1, 0), (0, 0)) if one_way else 1,
            timeout=200 + me,  # each rank its own
        )
        self.one_way = one_way
        self.alike = gbd.grid(
            (8, points), comm=own, blocks=(2, 1), periodic="" if one_way else "IJ", halo=self.grid.halo, timeout=200
        )
        self.f, self.g, self.h = self.grid.zeros(), self.grid.zeros(dtype="i4"), self.grid.zeros(dtype="i4")
        self.faces = self.grid.zeros(faces="I")
        self.a, self.b, self.twin = self.grid.plan(self.f, names=["T"]), self.grid.plan(self.g), self.grid.plan(self.f)
        self.sides, self.both = self.grid.plan(self.f, corners=False), self.grid.plan(self.f, self.g)

    def new(self) -> None:
        self.grid.plan(self.f)(self.f)

    def start(self) -> None:
        self.a.start(self.f).wait()

    def evicted(self) -> None:
        self.grid._kept.plans.clear()
        self.grid._kept.recent.clear()
        self.grid.exchange(self.f)

    def works(self) -> None:
        """All that both may make, in one order."""
        for i, (f, run) in enumerate(
            (
                (self.f, self.grid.exchange),
                (self.f, self.alike.exchange),
                (self.f, self.a),
                (self.g, self.b),
                (self.f, self.twin),
                (self.f, self.sides),
                (self.g, self.grid.exchange),
            )
        ):
            f[...] = 10 * i + me
            run(f)
            low, high = f.numpy()[0, 1:-1], f.numpy()[-1, 1:-1]
            assert (me == 0 if self.one_way else (high == 10 * i + other).all()) or (low == 10 * i + other).all(), (me, i)
        self.a.accumulate(self.f)
        self.both(self.f, self.g)


class Row(NamedTuple):
    """What rank 0 makes, what rank 1 makes, and what both are told; None: it works.

    `known`: both have made these before. `one_way`: it is told where only one of them sends, too.
    """

    what: str
    mine: Calls
    theirs: Calls
    told: str | None
    known: bool = True
    one_way: bool = True


def a(x: Exchanges) -> None:
    x.a(x.f)


def b(x: Exchanges) -> None:
    x.b(x.g)


def twin(x: Exchanges) -> None:
    x.twin(x.f)


def exchange(x: Exchanges) -> None:
    x.grid.exchange(x.f)


def adjoint(x: Exchanges) -> None:
    x.a.accumulate(x.f)


def sides(x: Exchanges) -> None:
    x.sides(x.f)


def both(x: Exchanges) -> None:
    x.both(x.f, x.g)


def alike(x: Exchanges) -> None:
    x.alike.exchange(x.f)


def sync(x: Exchanges) -> None:
    x.grid.sync(x.faces)


def one_after_the_other(*calls: Calls) -> Calls:
    return lambda x: [call(x) for call in calls]


ORDER, DTYPE = "all ranks make the same exchanges, in one order", "fields[0]: its dtype"
ROWS = (
    Row("the same", a, a, None),
    Row("started", a, Exchanges.start, None),
    Row("a plan that the cache of one rank has dropped", exchange, Exchanges.evicted, None),
    Row("another grid of the same blocks", exchange, alike, None),
    Row("two plans in another order", one_after_the_other(a, b), one_after_the_other(b, a), DTYPE),
    Row("two plans in another order, never used", one_after_the_other(a, b), one_after_the_other(b, a), DTYPE, False),
    Row("two plans of the same fields", a, twin, ORDER),
    Row("two plans of the same fields, never used", a, twin, None, False),
    Row("a plan and what the grid keeps", a, exchange, ORDER),
    Row("a plan and what the grid keeps, never used", a, exchange, None, False),
    Row("an exchange and its adjoint", a, adjoint, ORDER, one_way=False),
    Row("an exchange and its adjoint, never used", a, adjoint, ORDER, False, one_way=False),
    Row("with corners and without", a, sides, ORDER, one_way=False),
    Row("with corners and without, never used", a, sides, "corners", False, one_way=False),
    Row("one field and two", a, both, "fields: there are"),
    Row("one field and two, never used", a, both, "fields: there are", False),
    Row("together and one after the other", both, one_after_the_other(a, b), "fields: there are"),
    Row("a plan that one rank makes anew", a, Exchanges.new, "whose first use it is"),
    Row("a plan that one rank makes anew, never used", a, Exchanges.new, None, False),
    Row("an exchange and what makes points equal", a, sync, "positions", one_way=False),
    Row("an exchange that one rank leaves out", one_after_the_other(a, b), b, DTYPE),
)


def tried(x: Exchanges, call: Calls, told: str | None) -> None:
    """Until it is told: who only sends hears of it in its next."""
    end = time.monotonic() + SOON
    if told is None:
        call(x)
    else:
        with raises(gbd.DisagreementError, told):
            while time.monotonic() < end:
                call(x)
                time.sleep(0.01)
    assert time.monotonic() < end


def rows(one_way: bool, points: int) -> None:
    for row in ROWS:
        if one_way and not row.one_way:
            continue
        for swapped in (False, True)[: 1 + (points < 100)]:
            x = Exchanges(one_way, points)
            for _ in range(2 * row.known):
                x.works()
            if row.known and row.theirs is sync:
                sync(x)
            comm.Barrier()
            try:
                tried(x, row.mine if me == swapped else row.theirs, "rank" if one_way and row.told else row.told)
            except AssertionError as error:
                raise AssertionError(row.what, swapped, one_way, points) from error
            comm.Barrier()
            if (
                row.told is None and not row.known
            ):  # each goes on with another plan than the one that it has agreed on with this peer
                tried(x, Exchanges.works, "is at its plan")
                comm.Barrier()
            for _ in range(2):
                x.works()


def plans_that_differ() -> None:
    rows(False, 6)


def plans_of_long_messages() -> None:
    rows(False, 20000)


def plans_in_one_direction() -> None:
    rows(True, 6)


def grids_in_another_order() -> None:
    for _ in range(2):
        with raises(gbd.DisagreementError, "shape: rank 0 says ((8, 6),), rank 1 ((8, 8),)"):
            gbd.grid((8, 6 + 2 * me), comm=comm, timeout=200)
        with raises(gbd.DisagreementError, "shape: rank 0 says ((8, 8),), rank 1 ((8, 6),)"):
            gbd.grid((8, 8 - 2 * me), comm=comm, timeout=200)
    with raises(gbd.DisagreementError if me == 0 else ValueError, "engine: 'local'"):
        gbd.grid((8, 6), comm=comm, blocks=(1, 1), owners=[0], engine=("mpi", "local")[me], timeout=200)


def orders_in_which_nobody_waits_for_ever() -> None:
    """One rank asks now and then, gives it a moment, or gives up, and then makes what the other waits for."""
    x = Exchanges(False, 6)
    x.works()
    transport = x.b._transport
    for how in ("asks", "gives a moment", "gives up"):
        comm.Barrier()
        if me:
            if how == "gives up":
                comm.Barrier()
            x.a(x.f)
            x.b(x.g)
            continue
        handle, end = x.b.start(x.g), time.monotonic() + 0.3  # in which the other says where it waits
        if how == "asks":
            while time.monotonic() < end:
                assert not handle.test()
        else:
            if how == "gives up":
                transport.timeout = 0.3
            with raises(TimeoutError):
                handle.wait(0.3 if how == "gives a moment" else None)
            transport.timeout = 200
            if how == "gives up":
                comm.Barrier()
                time.sleep(0.05)
        x.a(x.f)
        handle.wait()
    x.works()


def works() -> None:
    Exchanges(False, 6).works()


perform(
    works,
    plans_that_differ,
    plans_of_long_messages,
    plans_in_one_direction,
    orders_in_which_nobody_waits_for_ever,
    grids_in_another_order,
)
