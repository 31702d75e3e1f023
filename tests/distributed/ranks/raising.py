"""Run by two processes: one raises alone, and the other does not hear of it at once; no values pass for others, and both go on."""

import time

import numpy as np
from common import raises, raises_on
from pair import check, comm, grid, in_vain, me, other, perform, soon, works

import gridbuf as gb
import gridbuf.distributed as gbd
from gridbuf.distributed.plans import plan_cache


def alone(most_plans: int) -> None:
    """Rank 0's exchange is given up, by a timeout; another plan goes on whose messages are of the same kind."""
    grids = [gbd.grid((8, 600), blocks=(2, 1), periodic="I", halo=((1, 1), (0, 0)), comm=comm, timeout=200) for _ in range(2)]
    patient, hasty = grids
    first = patient.full(-1.0)  # whose messages lie inside it
    second = gb.Field(np.zeros(first.shape, order="F"), dims="IJ", halo=first.halo)
    before, plan_cache.MOST_PLANS = plan_cache.MOST_PLANS, most_plans
    try:
        for f in (first, second, first):
            patient.exchange(f)
        first[...] = -1.0
        hasty.exchange(first)
        (plan,) = hasty._kept.plans.values()
        in_vain(plan._transport, lambda: hasty.exchange(first), "rank 1")
        if me:
            with raises(TypeError, "expected a Field"):
                hasty.exchange(3)
        comm.Barrier()
        if not me:  # whose exchange counts as made, and the next hears of rank 1's error
            with soon(), raises(gbd.DisagreementError, "rank 1: TypeError"):
                patient.exchange(second)
        for i in range(1, 4):
            second[1:-1] = 10.0 * i + me
            patient.exchange(second)
            check(second, 10.0 * i + other)
        assert (first.numpy() == -1).all()
        for i in range(4, 6):
            first[1:-1] = 10.0 * i + me
            (hasty if i % 2 else patient).exchange(first)
            check(first, 10.0 * i + other)
    finally:
        plan_cache.MOST_PLANS = before


def an_exchange_that_is_given_up_and_another_plan_of_its_kind() -> None:
    alone(plan_cache.MOST_PLANS)


def an_exchange_whose_plan_is_gone_and_another_plan_of_its_kind() -> None:
    alone(1)


def an_error_that_is_caught_and_a_call_that_is_made_again() -> None:
    """Each rank has raised once, and each makes its call again."""
    a, b = grid.full(1.0 + me), grid.full(3.0 + me)
    mine = grid.plan(b)
    grid.exchange(a)
    mine(b)
    for dtype in ("i2", "u4"):
        f = grid.zeros(dtype=dtype)
        with soon(), raises_on(0, TypeError, "expected a Field"):
            grid.exchange(f if me else 3)
        grid.exchange(f)
        for f, run in ((a, grid.exchange), (b, mine), (a, grid.exchange)):
            run(f)
            check(f, f[1, 2] + 1 - 2 * me)


def an_error_of_a_rank_that_only_receives() -> None:
    """The values of the other go at once, and it waits for nothing: it looks before the next."""
    one_way = gbd.grid((8,), "I", blocks=(2,), periodic="", halo=((1, 0),), comm=comm, timeout=200)
    f = one_way.zeros()
    plan = one_way.plan(f)
    for run, receiver in ((one_way.exchange, 1), (plan, 1), (plan.accumulate, 0)):
        run(f)
        comm.Barrier()
        if me == receiver:
            with raises(TypeError):
                run(3)
        else:
            end = time.monotonic() + 100
            with soon(), raises(gbd.DisagreementError, f"rank {other}: TypeError"):
                while time.monotonic() < end:
                    run(f)
                    time.sleep(0.01)
        for i in range(1, 4):
            f[...] = 10.0 * i + me
            run(f)
            if receiver == 1:
                assert me == 0 or f[0] == 10.0 * i
            else:
                assert me == 1 or f[-1] == 10.0 * i + 10.0 * i + 1


perform(
    works,
    an_exchange_that_is_given_up_and_another_plan_of_its_kind,
    an_exchange_whose_plan_is_gone_and_another_plan_of_its_kind,
    an_error_that_is_caught_and_a_call_that_is_made_again,
    an_error_of_a_rank_that_only_receives,
)
