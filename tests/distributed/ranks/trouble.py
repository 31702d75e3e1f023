"""Run by two processes: whatever goes wrong, both learn of it, nothing hangs, and the same grid goes on working."""

import os
import signal
import sys
import threading
import time
import warnings
from typing import Any

import numpy as np
from common import raises
from mpi4py import MPI

import gridbuf as gb
import gridbuf.distributed as gbd
import gridbuf.distributed.messages as messages
import gridbuf.distributed.tags as tags

comm = MPI.COMM_WORLD
me, other = comm.rank, 1 - comm.rank
grid = gbd.grid((8, 6), blocks=(2, 1), periodic="I", halo=1, comm=comm, timeout=10)


def check(f: Any, value: float) -> None:
    assert f[0, 2] == value and f[-1, 2] == value, (me, value, f.numpy())


def works(its: gbd.Grid = grid) -> None:
    f = its.full(float(its.rank))
    its.exchange(f)
    check(f, float(1 - its.rank))


def ranks_that_describe_fields_differently() -> None:
    for kinds, word in (
        ([{"dtype": "f8"}, {"dtype": "f4"}], "fields[0]: its dtype"),
        ([{"halo": 1}, {"halo": 2}], "fields[0]: its halo"),
        ([{"dims": "IJK", "sizes": {"K": 2}}, {"dims": "IJK", "sizes": {"K": 3}}], "fields[0]: its sizes"),
        ([{"faces": ""}, {"faces": "I"}], "fields[0]: its positions"),
        ([{"dims": "IJK", "sizes": {"K": 2}}, {"dims": "IJ"}], "fields[0]: its dims"),
    ):
        with raises(gbd.DisagreementError, word, "on rank 0", "on rank 1"):
            grid.exchange(grid.zeros(**kinds[me]))
        works()
    with raises(gbd.DisagreementError, "fields: there are", "on rank 0", "on rank 1"):
        grid.exchange(*(grid.zeros(dtype="i8") for _ in range(1 + me)))
    works()
    u, v = grid.zeros(dtype="f4"), grid.zeros(dtype="f4")
    with raises(gbd.DisagreementError, "its rule"):
        grid.exchange(*([gbd.pair(u, v)] if me else [u, v]))
    works()


def plans_in_another_order() -> None:
    a, b = grid.full(1.0 * me, dtype="f4"), grid.full(2 * me, dtype="i4")
    first, second = grid.plan(a), grid.plan(b)
    with raises(gbd.DisagreementError, "its dtype"):
        (second if me else first)(b if me else a)
    first(a)
    second(b)
    check(a, other)
    check(b, 2 * other)


def a_field_that_one_rank_cannot_write() -> None:
    field = grid.zeros(dtype="u2")
    frozen = gb.Field(np.broadcast_to(np.zeros((), "u2"), field.shape).copy(), dims="IJ", halo=field.halo)
    array = np.asarray(frozen)
    array.flags.writeable = False
    readonly = gb.Field(array, dims="IJ", halo=field.halo)
    with raises(ValueError, "read-only") if me == 0 else raises(gbd.DisagreementError, "rank 0", "read-only"):
        grid.exchange(readonly if me == 0 else field)
    works()


def an_exchange_that_one_rank_leaves_out() -> None:
    a, b = grid.full(float(me)), grid.zeros(dtype="i8")
    plan = grid.plan(a, names=["a"])
    plan(a)
    a[...] = 5.0
    with raises(gbd.DisagreementError, "rank 0 waits for the values of rank 1", "(a), exchange 2", "(b)"):
        plan(a) if me == 0 else grid.plan(b, names=["b"])(b)
    a[...] = 10.0 + me
    plan(a)  # not the values that rank 0 had sent before
    check(a, 10.0 + other)
    works()


def an_error_of_one_rank_is_told_to_the_other() -> None:
    a, b = grid.zeros(dtype="i1"), grid.zeros(dtype="u1")
    if me == 0:
        with raises(gbd.DisagreementError, "its dtype", "before, rank 1 raised ValueError: fields[0]: its domain has"):
            grid.exchange(a)
    else:
        with raises(ValueError, "its domain has"):
            grid.exchange(gb.Field.zeros((9, 9), dtype="i1", halo=(1, 1)))
        with raises(gbd.DisagreementError, "its dtype"):
            grid.exchange(b)
    works()
    memory = np.zeros(100)
    over = [gb.Field(memory[i : i + 48].reshape(6, 8), dims="IJ", halo=(1, 1)) for i in (0, 40)]
    for wrong, kind, word in (
        (lambda: grid.exchange(3), TypeError, "fields: expected"),
        (lambda: grid.plan([]), ValueError, "fields[0]: got 0 fields"),
        (lambda: grid.exchange(*over), ValueError, "shares memory"),
    ):
        if me == 0:
            with raises(gbd.DisagreementError, "its dtype", "before, rank 1 raised", word):
                grid.exchange(a)
        else:
            with raises(kind, word):
                wrong()
            with raises(gbd.DisagreementError, "its dtype"):
                grid.exchange(b)
        works()


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


def neighbours_that_only_send_or_only_receive() -> None:
    one_way = gbd.grid((8, 40000), blocks=(2, 1), periodic="", halo=((0, 1), (0, 0)), comm=comm, timeout=10)
    a, b = one_way.full(float(me)), one_way.zeros(dtype="i8")  # rank 1 sends, more than MPI takes without a receiver
    plan = one_way.plan(a)
    plan(a)
    with raises(gbd.DisagreementError, "plan"):
        plan(a) if me else one_way.plan(b)(b)
    for value in (11.0, 21.0):
        a[...] = value + me
        plan(a)
        assert me or a[-1, 2] == value + other


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
    comm.Barrier()
    if me:
        time.sleep(0.6)
        plan(a)
    else:
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with raises(KeyboardInterrupt):
            plan(a)
        timer.join()
    a[...] = 30.0 + me
    plan(a)
    check(a, 30.0 + other)


def children_and_threads() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            works()
        except RuntimeError as error:
            os._exit(7 if "forked child" in str(error) else 1)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    if MPI.Query_thread() >= MPI.THREAD_SERIALIZED:
        thread = threading.Thread(target=works)
        thread.start()
        thread.join()
    works()


def grids_that_differ() -> None:
    with raises(gbd.DisagreementError, "shape: rank 0 says ((8, 6),), rank 1 ((8, 7),)"):
        gbd.grid((8, 6 + me), comm=comm, timeout=10)
    kind = (gbd.DisagreementError, "rank 1: ValueError: halo") if me == 0 else (ValueError, "halo")
    with raises(*kind):  # type: ignore[arg-type]
        gbd.grid((8, 6), halo=-me, comm=comm, timeout=10)
    with raises(ValueError, "halo"):
        gbd.grid((8, 6), halo=-1, comm=comm, timeout=10)
    for kind, wrong in ((TypeError, 3), (ValueError, MPI.COMM_NULL)):
        with raises(kind, "comm"):
            gbd.grid((8, 6), comm=wrong)
    works()


def other_communicators_and_ranks_without_blocks() -> None:
    works(gbd.grid((8, 6), blocks=(2, 1), periodic="I", halo=1, comm=comm.Split(0, -me), timeout=10))
    one = gbd.grid((4, 4), blocks=(1, 1), periodic="IJ", halo=1, comm=comm, timeout=10)
    assert len(one.blocks) == 1 - me
    f = one.full(3.0)
    one.exchange(f)
    assert f == [] if me else (f.numpy() == 3).all()


def many_plans_and_long_messages() -> None:
    a = grid.full(float(me))
    for i in range(500):
        plan = grid.plan(a)
        if i % 50 == 0:
            plan(a)
    check(a, float(other))
    before, messages.PART = messages.PART, 100
    try:
        works(gbd.grid((80, 60), blocks=(2, 1), periodic="I", halo=1, comm=comm, timeout=10))
    finally:
        messages.PART = before


def tags_that_are_given_again() -> None:
    """Only those that no plan of either rank uses any more, and what was left behind with them is nobody's."""
    before, tags.PLAN_TAGS = tags.PLAN_TAGS, 5
    try:
        its = gbd.grid((8, 6), blocks=(2, 1), periodic="I", halo=1, comm=comm.Dup(), timeout=10)
        fields = [its.full(10.0 * i + me) for i in range(3)]
        plans = [its.plan(f) for f in fields]
        for plan, f in zip(plans, fields, strict=True):
            plan(f)
        for i in range(30):
            late = its.full(100.0 * i + me)
            plan = its.plan(late)
            plan(late)
            late[...] = 200.0 * i + me
            handles = [p.start(f) for p, f in [*zip(plans, fields, strict=True), (plan, late)][:: 1 - 2 * me]]
            for handle in handles:
                handle.wait()
            check(late, 200.0 * i + other)
            for j, f in enumerate(fields):
                check(f, 10.0 * j + other)
            del handles, handle, plan
        alive = [its.plan(f) for f in fields]
        for plan, f in zip(alive[:2], fields, strict=False):
            plan(f)
        for _ in range(2):
            with raises(RuntimeError, "5 kinds of messages", "MPI promises no more tags"):
                alive[2](fields[2])
            for plan, f in zip([*plans, *alive[:2]], [*fields, *fields[:2]], strict=True):
                f[...] = 7.0 + me
                plan(f)
                check(f, 7.0 + other)
        del alive[:2], plan
        with raises(RuntimeError, "MPI promises no more tags"):  # the peer has let go of one, and says so now
            alive[0](fields[2])
        alive[0](fields[2])
        check(fields[2], 7.0 + other)
        one_way = gbd.grid((8, 6), blocks=(2, 1), periodic="", halo=((0, 1), (0, 0)), comm=comm.Dup(), timeout=10)
        a = one_way.zeros()
        for i in range(20):
            a[...] = 10.0 * i + me
            plan = one_way.plan(a)
            plan(a)
            assert me or a[-1, 2] == 10.0 * i + 1
            if me:
                a[...] = -1.0
                plan(a)  # which rank 0 leaves out: nobody asks for these values
            del plan
            with raises(gbd.DisagreementError, "left some out"):
                one_way.plan(a)(a)
    finally:
        tags.PLAN_TAGS = before
    works()


def debug_mode() -> None:
    os.environ["GRIDBUF_DEBUG"] = "1"
    try:
        a = grid.full(float(me))
        plan = grid.plan(a)
        plan(a)
        check(a, float(other))
        comm.Barrier()
        if me:
            time.sleep(0.2)
        with plan.start(a):
            if not me:
                assert np.isnan(a.numpy()[0, 1:-1]).all()
        check(a, float(other))
        if me:
            del os.environ["GRIDBUF_DEBUG"]
        with raises(gbd.DisagreementError, "GRIDBUF_DEBUG"):
            grid.plan(a)(a)
    finally:
        os.environ.pop("GRIDBUF_DEBUG", None)
    works()


for scenario in (
    works,
    ranks_that_describe_fields_differently,
    plans_in_another_order,
    a_field_that_one_rank_cannot_write,
    an_exchange_that_one_rank_leaves_out,
    an_error_of_one_rank_is_told_to_the_other,
    a_rank_that_comes_late,
    an_adjoint_that_is_given_up,
    first_uses_that_are_given_up,
    neighbours_that_only_send_or_only_receive,
    handles_that_are_dropped_or_started_twice,
    two_plans_under_way,
    ctrl_c_while_waiting,
    children_and_threads,
    grids_that_differ,
    other_communicators_and_ranks_without_blocks,
    many_plans_and_long_messages,
    tags_that_are_given_again,
    debug_mode,
):
    scenario()
    if me == 0:
        print(scenario.__name__, flush=True)
f = grid.full(float(me))
last = grid.plan(f).start(f)  # under way when the program ends
if len(sys.argv) > 1:
    last.wait()
    MPI.Finalize()
    with raises(RuntimeError, "finalized"):
        works()
if me == 0:
    print("end", flush=True)
