"""Run by two processes: what is scarce or unusual: other communicators, many plans, long messages,
tags.
"""

from typing import Any

import numpy as np
import pair
from common import raises
from mpi4py import MPI
from pair import check, comm, grid, me, other, perform, works

import gridbuf.distributed as gbd
import gridbuf.distributed.ranks.pending_requests as pending_requests
import gridbuf.distributed.ranks.persistent_messages as messages


def other_communicators_and_ranks_without_blocks() -> None:
    works(
        gbd.grid((8, 6), blocks=(2, 1), periodic="I", halo=1, comm=comm.Split(0, -me), timeout=200)
    )
    one = gbd.grid((4, 4), blocks=(1, 1), periodic="IJ", halo=1, comm=comm, timeout=200)
    assert len(one.blocks) == 1 - me
    f = one.full(3.0)
    one.exchange(f)
    assert len(f) == 0 if me else (f.numpy() == 3).all()


def many_plans_and_long_messages() -> None:
    a = grid.full(float(me))
    for i in range(500):
        plan = grid.plan(a)
        if i % 50 == 0:
            plan(a)
    check(a, float(other))
    before, messages.PART = messages.PART, 100
    try:
        works(gbd.grid((80, 60), blocks=(2, 1), periodic="I", halo=1, comm=comm, timeout=200))
    finally:
        messages.PART = before


class Backwards:
    """MPI whose Startall begins with the last on one of the ranks: it promises no order."""

    Testall = MPI.Prequest.Testall

    @property
    def Prequest(self) -> "Backwards":
        return self

    def Startall(self, requests: list[Any]) -> None:
        MPI.Prequest.Startall(requests[:: 2 * me - 1])

    def __getattr__(self, name: str) -> Any:
        return getattr(MPI, name)


def messages_of_one_tag_that_are_started_in_any_order() -> None:
    """The parts of a long one, and the number behind values that go one way."""
    before, messages.MPI, messages.PART = (messages.MPI, messages.PART), Backwards(), 100  # type: ignore[assignment]
    try:
        for periodic, halo in (("I", 1), ("", ((1, 0), (0, 0)))):
            its = gbd.grid(
                (80, 60), blocks=(2, 1), periodic=periodic, halo=halo, comm=comm.Dup(), timeout=200
            )
            f = its.zeros()
            plan = its.plan(f)
            for i in range(3):
                f[...] = np.arange(f.size).reshape(f.shape) + 1e4 * i + 1e6 * me
                ours = f.numpy().copy()
                for call in (plan, plan.accumulate)[: 1 + (i == 2)]:
                    call(f)
                    if call is plan and (me or periodic):
                        row = ours[-2 if periodic else -1] + 1e6 * (other - me)
                        assert (f[0, 1:-1] == row[1:-1]).all(), (me, i)
    finally:
        messages.MPI, messages.PART = before


def tags_that_are_given_again() -> None:
    """Only those that no plan of either rank uses any more."""
    before, pending_requests.PLAN_TAGS = pending_requests.PLAN_TAGS, 8
    try:
        its = gbd.grid((8, 6), blocks=(2, 1), periodic="I", halo=1, comm=comm, timeout=200)
        fields = [its.full(10.0 * i + me) for i in range(3)]
        plans = [its.plan(f) for f in fields]
        for plan, f in zip(plans, fields, strict=True):
            plan(f)
        for i in range(30):
            late = its.full(100.0 * i + me)
            plan = its.plan(late)
            plan(late)
            late[...] = 200.0 * i + me
            handles = [
                p.start(f)
                for p, f in [*zip(plans, fields, strict=True), (plan, late)][:: 1 - 2 * me]
            ]
            for handle in handles:
                handle.wait()
            check(late, 200.0 * i + other)
            for j, f in enumerate(fields):
                check(f, 10.0 * j + other)
            del handles, handle, plan
        one_way = gbd.grid(
            (8, 6), blocks=(2, 1), periodic="", halo=((0, 1), (0, 0)), comm=comm, timeout=200
        )
        a = one_way.zeros()
        for i in range(20):
            a[...] = 10.0 * i + me
            plan = one_way.plan(a)
            plan(a)
            assert me or a[-1, 2] == 10.0 * i + 1
            del plan
        alive = []
        with raises(
            RuntimeError if me == 0 else (RuntimeError, gbd.RevokedError), "that MPI guarantees"
        ):
            for _ in range(9):
                alive.append(its.plan(fields[0]))
                alive[-1](fields[0])
        del alive
    finally:
        pending_requests.PLAN_TAGS = before
    pair.grid = pair.made()
    works()


perform(
    works,
    other_communicators_and_ranks_without_blocks,
    many_plans_and_long_messages,
    messages_of_one_tag_that_are_started_in_any_order,
    tags_that_are_given_again,
)
