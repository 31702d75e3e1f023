"""Run by some processes: calls of all ranks hear of what a rank has raised instead, whatever it was in; each rank raises once, and all go on from there."""

import tempfile
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
from common import me, raises
from mpi4py import MPI

import gridbuf.distributed as gbd
from gridbuf.distributed.ranks import crossing, hub
from gridbuf.distributed.ranks.rolls import RollCall

world = MPI.COMM_WORLD
n = world.size
SOON = 100.0  # of 200 seconds that the ranks have: no machine is so busy
RAISED = (gbd.DisagreementError, TypeError, ValueError)
path = world.bcast(tempfile.mkdtemp() if me == 0 else None) + "/x"


class Ranks:
    """A ring, and all that they do together."""

    def __init__(self, **more: Any) -> None:
        self.comm = world.Dup()
        self.grid = gbd.grid(
            (4 * n, 6), **{"blocks": (n, 1), "periodic": "I", "halo": ((1, 1), (0, 0)), "comm": self.comm, "timeout": 200} | more
        )
        self.other = gbd.grid((4 * n, 6), blocks=(1, n), comm=self.comm, timeout=200)
        self.f, self.g = self.grid.full(1.0 + me), self.grid.zeros(dtype="i4")
        self.plan = self.grid.plan(self.g)
        self.whole = np.ones((4 * n, 6)) if me == 0 else None
        self.total = 24.0 * n * (n + 1) / 2

    def calls(self) -> list[Callable[[], Any]]:
        grid, f = self.grid, self.f
        return [
            lambda: grid.sum(f),
            lambda: grid.gather(f),
            lambda: grid.scatter(self.whole, grid.zeros()),
            lambda: grid.redistribute(f, self.other),
            lambda: grid.argmax(f),
            lambda: grid.checksum(f),
            lambda: grid.save(path, format="npy", T=f),
            lambda: grid.load(path),
            lambda: gbd.grid((3, 3), comm=self.comm, timeout=200),
        ]

    def works(self) -> None:
        for i in range(2):
            assert self.grid.sum(self.f) == self.total
            self.g[...] = 10 * i + me
            self.plan(self.g)
            assert self.g[0, 0] == 10 * i + (me - 1) % n and self.g[-1, 0] == 10 * i + (me + 1) % n
            found = self.grid.gather(self.f, n - 1)
            assert (found is None) == (me != n - 1) and (found is None or (found[0, 0], found[-1, 0]) == (1.0, float(n)))


def soon(kind: type[Exception], word: str, call: Callable[..., Any], *given: Any) -> None:
    began = time.monotonic()
    with raises(kind, word):
        call(*given)
    assert time.monotonic() - began < SOON, (me, time.monotonic() - began)


def an_exchange_raises_and_others_are_in_a_call() -> None:
    """Whichever call it is, used before or not; the next thing that all do is another call."""
    for used in (False, True):
        for i in range(9):
            its = Ranks()
            if used:
                its.works()
            if i == 7:
                its.grid.save(path, format="npy", T=its.f)
            wrong = [lambda: its.grid.exchange(3), lambda: its.plan(3), lambda: its.grid.plan([])][i % 3]  # noqa: B023
            if me == i % n:
                time.sleep(0.01 * (i % 2))
                soon((TypeError, TypeError, ValueError)[i % 3], "", wrong)
            else:
                soon(gbd.DisagreementError, f"rank {i % n}: {('Type', 'Type', 'Value')[i % 3]}Error: ", its.calls()[i])
            its.works()


def the_call_is_made_again_at_once() -> None:
    """By all ranks, also that which has raised: what others have said in the first is not taken for it."""
    its = Ranks()
    for i in range(20):
        its.f[...] = float(i)
        try:
            if me == i % n:
                its.plan(3)
            its.grid.sum(its.f)
        except RAISED:
            its.f[...] = i + 1.0
            assert its.grid.sum(its.f) == 24.0 * n * (i + 1), i
        else:
            raise AssertionError(i)
    its.f[...] = 1.0 + me
    its.works()


def several_errors_one_after_the_other() -> None:
    """Rank 0 raises more often than others look: each rank raises as often."""
    its = Ranks()
    its.works()
    for errors in (2, 5):
        raised = 0
        for _ in range(errors):
            try:
                if me == 0:
                    its.plan(3)
                its.grid.sum(its.f)
            except RAISED:
                raised += 1
        assert raised == errors
        its.works()


def several_ranks_raise_at_once() -> None:
    its = Ranks()
    for i in range(4):
        if me % 2 == i % 2:
            soon(TypeError, "expected a Field", its.plan, 3)
        else:
            soon(gbd.DisagreementError, "TypeError", its.grid.sum, its.f)
        its.works()


def ranks_that_exchange_nothing() -> None:
    """They have no block, and no neighbour tells them."""
    for used in (False, True):
        comm = world.Dup()
        grid = gbd.grid((8, 4), blocks=(2, 1), comm=comm, halo=1, owners=[0, 1], timeout=200)
        f = grid.full(1.0)
        if used:
            assert grid.sum(f) == 32.0
        if me == 0:
            soon(TypeError, "expected a Field", grid.exchange, 3)
        elif me == 1:
            soon(gbd.DisagreementError, "rank 0: TypeError", grid.exchange, f)
        else:
            soon(gbd.DisagreementError, "rank 0: TypeError", grid.sum, f)
        assert grid.sum(f) == 32.0
        grid.exchange(f)


def a_call_that_was_given_up_before() -> None:
    """It ends first, where it was made, and is left out where some rank has not come to it."""
    for late in (False, True):
        its = Ranks()
        its.works()
        if me == 0:
            its.grid._engine.timeout = 0.05
            with raises(TimeoutError, "rank 0 waits for", "sum, call"):
                its.grid.sum(its.f)
            its.grid._engine.timeout = 200
        world.Barrier()
        if me == late:
            soon(TypeError, "expected a Field", its.plan, 3)
        elif late:
            soon(gbd.DisagreementError, "rank 1: TypeError", its.grid.sum, its.f)
        else:
            assert its.grid.sum(its.f) == its.total
            soon(gbd.DisagreementError, "rank 0: TypeError", its.grid.argmin, its.f)
        its.works()


def a_rank_sees_late_that_all_have_met() -> None:
    """Its neighbours wait for it in the next exchange by then, and say so: nobody is in the wrong place."""
    its = Ranks()
    its.works()
    waiting, seen = RollCall.waiting, time.monotonic() + 4 * crossing.FIRST
    with mock.patch.object(
        RollCall, "waiting", lambda roll, come: waiting(roll, lambda: (me > 0 or time.monotonic() > seen) and come())
    ):
        its.works()


def communicators_that_are_freed() -> None:
    """Whatever others have left out: the duplicate goes as well."""
    for works in (False, True):
        its = Ranks()
        comm, duplicate = its.comm, its.grid._engine.hub.comm
        if me == 0:
            soon(TypeError, "expected a Field", its.plan, 3)
        else:
            soon(gbd.DisagreementError, "rank 0: TypeError", its.grid.sum, its.f)
        if works:
            its.works()
        del its
        comm.Free()
        assert duplicate == MPI.COMM_NULL, works


for scenario in (
    an_exchange_raises_and_others_are_in_a_call,
    the_call_is_made_again_at_once,
    several_errors_one_after_the_other,
    several_ranks_raise_at_once,
    *[ranks_that_exchange_nothing][: n <= hub.FEW],
    a_call_that_was_given_up_before,
    a_rank_sees_late_that_all_have_met,
    communicators_that_are_freed,
):
    scenario()
    world.Barrier()
if me == 0:
    print("awaiting", n)
