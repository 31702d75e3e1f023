"""Run by two processes: messages in memory that both have. Nobody writes where the other still
reads, and whatever cannot be shared is sent.
"""

import gc
import os
import resource
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from common import raises
from mpi4py import MPI
from pair import check, comm, grid, me, other, perform, works

import gridbuf as gb
import gridbuf.distributed as gbd
from gridbuf.distributed.ranks import handshake
from gridbuf.distributed.ranks.shared_memory import VARIABLE

BOTH = ", in memory that both have"


def files() -> int:
    return len(os.listdir("/proc/self/fd"))


def mapped() -> int:
    return Path("/proc/self/maps").read_text().count("memfd:gridbuf")


def ways(plan: gbd.Plan) -> tuple[bool, bool]:
    """Whether what this rank sends is shared, and what it receives."""
    there, back = (line for line in str(plan).splitlines() if "bytes" in line)
    return there.endswith(BOTH), back.endswith(BOTH)


def exchanged(plan: gbd.Plan, f: Any, value: float) -> None:
    f[...] = value + me
    plan(f)
    check(f, value + other)


def time_levels_and_adjoints_in_turns() -> None:
    a, b = grid.zeros(), grid.zeros()
    plan = grid.plan(a)
    assert ways(plan) == (False, False)  # nothing is agreed on yet
    for i in range(20):
        exchanged(plan, (a, b)[i % 2], 10.0 * i)
        if i % 3 == 0:
            a[...] = i + me
            plan.accumulate(a)
            assert a[1, 2] == 2 * i + 1 and a[0, 2] == 0.0
    assert ways(plan) == (True, True)


def one_that_is_late_has_the_values_of_its_exchange() -> None:
    """The other is ahead as far as it can be: it has begun the next, and the one after that
    waits.
    """
    a = grid.zeros()
    plan = grid.plan(a)
    for i in range(40):
        a[...] = 10.0 * i + me
        handle = plan.start(a)
        if i % 4 == 3 * me:
            time.sleep(0.01)
        handle.wait()
        check(a, 10.0 * i + other)


def ahead_of_one_that_gave_up() -> None:
    """Rank 0 gives an exchange up, and makes others of its kind with another plan, while rank 1
    still has to read.
    """
    first = grid.zeros()
    second = gb.Field(np.zeros(first.shape, order="F"), dims="IJ", halo=first.halo)
    plan = grid.plan(first)
    for _ in range(3):
        for f in (first, second):
            grid.exchange(f)
        plan, *_ = [
            its
            for its in grid._kept.plans.values()
            if its.bounds[0].layouts[0].strides == first.strides
        ]
        comm.Barrier()
        if me:
            comm.Barrier()  # which has given up by now
            time.sleep(0.1)
            for i in range(4):
                first[...] = 10.0 * i + me
                grid.exchange(first)
                check(first, 10.0 * i + other)
        else:
            first[...] = 0.0
            with raises(TimeoutError, "rank 0 waits for rank 1"):
                plan.start(first).wait(0.1)
            comm.Barrier()
            for i in range(1, 4):
                second[...] = 10.0 * i
                grid.exchange(second)
                check(second, 10.0 * i + other)
        comm.Barrier()
    first[...] = 5.0 + me
    grid.exchange(first)
    check(first, 5.0 + other)


def a_rank_that_goes_before_its_values_are_read() -> None:
    for i in range(5):
        a = grid.full(10.0 * i + me)
        plan = grid.plan(a)
        exchanged(plan, a, 100.0)
        a[...] = 10.0 * i + me
        handle = plan.start(a)
        comm.Barrier()
        if me == 0:
            handle.wait()
            del plan, handle
            gc.collect()
        comm.Barrier()
        if me == 1:
            handle.wait()
            check(a, 10.0 * i)


@contextmanager
def with_variable(value: str) -> Iterator[None]:
    before = os.environ.pop(VARIABLE, None)
    os.environ[VARIABLE] = value
    try:
        yield
    finally:
        del os.environ[VARIABLE]
        if before is not None:
            os.environ[VARIABLE] = before


def what_one_rank_does_not_share_is_sent() -> None:
    with with_variable("01"[me]):
        its = gbd.grid((8, 6), blocks=(2, 1), periodic="I", halo=1, comm=comm, timeout=200)
    a = its.zeros()
    plan = its.plan(a)
    for i in range(4):
        exchanged(plan, a, 10.0 * i)
    assert ways(plan) == (False, False)
    with with_variable("yes"), raises(ValueError, VARIABLE, "'yes' is neither"):
        gbd.grid((8, 6), blocks=(1, 1), periodic="I", halo=1, comm=MPI.COMM_SELF)


def what_one_rank_cannot_reach_is_sent() -> None:
    before = handshake.opened
    if me:
        handshake.opened = lambda words, nbytes: None
    try:
        a = grid.zeros()
        plan = grid.plan(a)
        for i in range(6):
            exchanged(plan, a, 10.0 * i)
            a[...] = i + me
            plan.accumulate(a)
        assert ways(plan) == (me == 1, me == 0)
    finally:
        handshake.opened = before
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files() - 1, limits[1]))
    try:
        plan = grid.plan(a)
        exchanged(plan, a, 1.0)
        exchanged(plan, a, 2.0)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert ways(plan) == (False, False)


def memory_is_given_back() -> None:
    a = grid.zeros()
    for i in range(200):
        plan = grid.plan(a)
        exchanged(plan, a, float(i))
        if i == 20:
            before = files(), mapped()
    assert files() <= before[0] and mapped() <= before[1] + 2, (before, files(), mapped())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        del plan
        gc.collect()
        os._exit(0)
    os.waitpid(child, 0)
    exchanged(plan, a, 7.0)


perform(
    works,
    time_levels_and_adjoints_in_turns,
    one_that_is_late_has_the_values_of_its_exchange,
    ahead_of_one_that_gave_up,
    a_rank_that_goes_before_its_values_are_read,
    what_one_rank_does_not_share_is_sent,
    what_one_rank_cannot_reach_is_sent,
    memory_is_given_back,
)
