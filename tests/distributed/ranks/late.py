"""Run by two processes: exchanges that come late, are given up or dropped, or under way together; nothing hangs, and the same grid goes on working."""

import time

from common import raises
from pair import check, comm, grid, interrupted, me, other, perform, works

import gridbuf.distributed as gbd


def a_rank_that_comes_late() -> None:
    a = grid.full(float(me))
    plan = grid.plan(a, names=["T"])
    plan(a)
    comm.Barrier()
    if me:
        time.sleep(0.5)
    handle = plan.start(a)
    if not me:
        with raises(TimeoutError, "rank 0 waits for rank 1: plan", "(T), exchange 2"):
            handle.wait(0.1)
    handle.wait()
    check(a, float(other))
    hasty = gbd.grid((8, 6), blocks=(2, 1), periodic="I", halo=1, comm=comm, timeout=0.1 if me == 0 else 10.0)
    fresh = hasty.plan(a, names=["U"])
    comm.Barrier()
    if me:
        time.sleep(0.5)
    else:
        with raises(TimeoutError, "rank 0 waits for rank 1", "(U), its first use"):
            fresh(a)
        time.sleep(0.5)
    fresh(a)
    check(a, float(other))
    comm.Barrier()
    if me:
        time.sleep(0.5)
    handle = plan.start(a)
    if not me:
        with raises(TimeoutError):
            handle.wait(0.05)
    a2 = grid.full(7.0 + me)
    plan(a2) if me == 0 else (handle.wait(), plan(a2))  # what was given up ends before the next begins
    check(a2, 7.0 + other)
    handle.wait()


def an_adjoint_that_is_given_up() -> None:
    """It counts as made: whatever the plan does next lets it end first."""
    a = grid.full(float(me))
    plan = grid.plan(a)
    plan(a)
    plan.accumulate(a)
    for again in (lambda: plan(a), lambda: plan.start(a).wait(), lambda: plan.accumulate(a)):
        comm.Barrier()
        if me:
            time.sleep(0.4)
            plan.accumulate(a)
        else:
            plan._transport.timeout = 0.1
            with raises(TimeoutError, "rank 0 waits for rank 1: plan"):
                plan.accumulate(a)
            plan._transport.timeout = 10.0
        a[...] = 40.0 + me
        again()
        a[...] = 50.0 + me
        plan(a)
        check(a, 50.0 + other)
        plan.accumulate(a)
        assert a[1, 2] == 100.0 + 2 * me and a[0, 2] == 0.0


def first_uses_that_are_given_up() -> None:
    """The answer to a handshake that its rank has given up is no answer to the next one."""
    hasty = gbd.grid((8, 6), blocks=(2, 1), periodic="I", halo=1, comm=comm, timeout=10.0 if me else 0.1)
    a, b = hasty.full(float(me)), hasty.full(me, dtype="i4")
    comm.Barrier()
    if not me:
        with raises(TimeoutError, "its first use"):
            hasty.plan(a)(a)
    comm.Barrier()
    patient = gbd.grid((8, 6), blocks=(2, 1), periodic="I", halo=1, comm=comm, timeout=10.0)
    for i in range(3):
        a[...] = 10.0 * i + me
        patient.plan(a)(a)
        check(a, 10.0 * i + other)
    comm.Barrier()
    if not me:
        with raises(TimeoutError, "its first use"):
            hasty.plan(b)(b)
    comm.Barrier()
    with raises(gbd.DisagreementError):  # rank 0's plan of b is what rank 1 hears of first
        patient.plan(a)(a)
    for i in range(3):
        a[...] = 20.0 * i + me
        patient.plan(a)(a)
        check(a, 20.0 * i + other)


def handles_that_are_dropped_or_started_twice() -> None:
    a = grid.full(float(me))
    plan = grid.plan(a)
    plan.start(a)
    a[...] = 20.0 + me
    plan(a)
    check(a, 20.0 + other)
    handle = plan.start(a)
    with raises(RuntimeError, "not waited for"):
        plan.start(a)
    handle.wait()
    handle.wait()
    try:
        with plan.start(a):
            raise KeyError
    except KeyError:
        pass
    plan(a)


def two_plans_under_way() -> None:
    a, b = grid.full(float(me)), grid.full(me, dtype="i8")
    first, second = grid.plan(a), grid.plan(b)
    handles = [first.start(a), second.start(b)]
    while not all(handle.test() for handle in handles):
        pass
    handles = [first.start(a), second.start(b)]
    for handle in handles[:: 1 - 2 * me]:
        handle.wait()
    check(a, float(other))
    check(b, other)


def ctrl_c_while_waiting() -> None:
    a = grid.full(float(me))
    plan = grid.plan(a)
    plan(a)
    interrupted(lambda: plan(a))
    a[...] = 30.0 + me
    plan(a)
    check(a, 30.0 + other)
    fresh = grid.plan(a)
    interrupted(lambda: fresh(a))  # in the handshake before its first use: this exchange has not begun, and is made again
    if not me:
        fresh(a)
    a[...] = 40.0 + me
    fresh(a)
    check(a, 40.0 + other)


perform(
    works,
    a_rank_that_comes_late,
    an_adjoint_that_is_given_up,
    first_uses_that_are_given_up,
    handles_that_are_dropped_or_started_twice,
    two_plans_under_way,
    ctrl_c_while_waiting,
)
