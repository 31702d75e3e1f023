"""Run by two processes: exchanges that come late, are given up or dropped, or under way together; nothing hangs, and the same grid goes on working."""

from common import raises
from pair import check, grid, in_vain, interrupted, me, other, perform, works

import gridbuf.distributed as gbd


def a_rank_that_comes_late() -> None:
    a = grid.full(float(me))
    plan = grid.plan(a, names=["T"])
    plan(a)
    handles = [] if me else [plan.start(a)]
    in_vain(grid._engine, lambda: handles[0].wait(0.05), "rank 1: plan", "(T), exchange 2")
    (handles[0] if handles else plan.start(a)).wait()
    check(a, float(other))
    fresh = grid.plan(a, names=["U"])
    in_vain(fresh._transport, lambda: fresh(a), "rank 1", "(U), its first use")
    fresh(a)
    check(a, float(other))
    handles = [] if me else [plan.start(a)]
    in_vain(plan._transport, lambda: handles[0].wait())
    handle = handles[0] if handles else plan.start(a)
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
        in_vain(plan._transport, lambda: plan.accumulate(a), "rank 1: plan")
        if me:
            plan.accumulate(a)
        a[...] = 40.0 + me
        again()
        a[...] = 50.0 + me
        plan(a)
        check(a, 50.0 + other)
        plan.accumulate(a)
        assert a[1, 2] == 100.0 + 2 * me and a[0, 2] == 0.0


def first_uses_that_are_given_up() -> None:
    """The answer to a handshake that its rank has given up is no answer to the next one."""
    a, b = grid.full(float(me)), grid.full(me, dtype="i4")
    in_vain(grid._engine, lambda: grid.plan(a)(a), "its first use")
    for i in range(3):
        a[...] = 10.0 * i + me
        grid.plan(a)(a)
        check(a, 10.0 * i + other)
    in_vain(grid._engine, lambda: grid.plan(b)(b), "its first use")
    with raises(gbd.DisagreementError):  # rank 0's plan of b is what rank 1 hears of first
        grid.plan(a)(a)
    for i in range(3):
        a[...] = 20.0 * i + me
        grid.plan(a)(a)
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
