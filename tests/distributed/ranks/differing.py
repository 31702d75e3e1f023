"""Run by two processes: exchanges and grids that ranks describe differently; both learn of it, and the same grid goes on working."""

import os
import time

import numpy as np
from common import raises, raises_on
from mpi4py import MPI
from pair import check, comm, grid, me, other, perform, soon, works

import gridbuf as gb
import gridbuf.distributed as gbd


def ranks_that_describe_fields_differently() -> None:
    for kinds, word in (
        ([{"dtype": "f8"}, {"dtype": "f4"}], "fields[0]: its dtype"),
        ([{"dtype": "<f8"}, {"dtype": ">f8"}], "fields[0]: its dtype"),
        ([{"halo": 1}, {"halo": 2}], "fields[0]: its halo"),
        ([{"dims": "IJK", "sizes": {"K": 2}}, {"dims": "IJK", "sizes": {"K": 3}}], "fields[0]: its sizes"),
        ([{"dims": "IJK", "sizes": {"K": 2}, "halo": (1, 1, (2 - r, 1 + r))} for r in range(2)], "fields[0]: its sizes"),
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
    """At once, also in the first exchange of its kind, and each raises once."""
    a = grid.zeros(dtype="i1")
    memory = np.zeros(100)
    over = [gb.Field(memory[i : i + 48].reshape(6, 8), dims="IJ", halo=(1, 1)) for i in (0, 40)]
    for wrong, kind, word in (
        (lambda: grid.exchange(gb.Field.zeros((9, 9), dtype="i1", halo=(1, 1))), ValueError, "fields[0]: its domain has"),
        (lambda: grid.exchange(3), TypeError, "fields: expected"),
        (lambda: grid.plan([]), ValueError, "fields[0]: got 0 fields"),
        (lambda: grid.plan(a, corners=3), TypeError, "corners: expected"),
        (lambda: grid.exchange(*over), ValueError, "shares memory"),
    ):
        with soon(), raises_on(1, kind, word):
            wrong() if me == 1 else grid.exchange(a)
        works()


def an_error_of_one_rank_in_what_was_agreed_before() -> None:
    """The values that its peer has sent are not taken for those of the next exchange, which rank 0 makes."""
    field = grid.full(-1.0)
    array = field.numpy()
    array.flags.writeable = False
    plan = grid.plan(field, names=["T"])
    plan(field)
    for wrong, kind, word in (
        (lambda: grid.exchange(gb.Field(array, dims="IJ", halo=(1, 1))), ValueError, "read-only"),
        (lambda: grid.exchange(3), TypeError, "expected a Field"),
        (lambda: plan(grid.zeros(dtype="i4")), ValueError, "dtype"),
    ):
        works()
        with soon(), raises_on(0, kind, word):
            if me == 0:
                wrong()
            else:
                grid.exchange(field) if kind is not ValueError or word == "read-only" else plan(field)
        works()
        with raises(kind, word):
            wrong()  # on both ranks: nobody has left anything out
        works()
        a = grid.full(3.0 + me)
        plan(a)
        check(a, 3.0 + other)


class Unwilling:
    """What torch does with a tensor that requires a gradient."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **given: object) -> object:
        raise BufferError("not exported")


def an_error_of_any_kind_in_what_any_grid_has_agreed() -> None:
    """Neither is it a TypeError always, nor has the grid the plan always that the hub has agreed on."""
    f = grid.full(float(me))
    alike = gbd.grid((8, 6), blocks=(2, 1), periodic="I", halo=1, comm=comm, timeout=200)
    plan = grid.plan(f)
    plan(f)
    for call, wrong, kind in (
        (grid.exchange, lambda: grid.exchange(Unwilling()), BufferError),
        (plan, lambda: plan(Unwilling()), BufferError),
        (alike.exchange, lambda: alike.exchange(3), TypeError),
        (plan, lambda: plan.start(f), RuntimeError),
        (plan, lambda: plan.accumulate(f), RuntimeError),
    ):
        works()
        before = plan.start(f)
        if kind is not RuntimeError:
            before.wait()
        if me == 0:
            with raises(kind, "not waited for" if kind is RuntimeError else ""):
                wrong()
        before.wait()
        if me == 1:
            with soon(), raises(gbd.DisagreementError, f"rank 0: {kind.__name__}"):
                call(f)
        f[...] = 5.0 + me
        call(f)
        check(f, 5.0 + other)
    works()
    grid._kept.plans.clear()  # as where there are too many
    grid._kept.recent.clear()
    with soon(), raises_on(0, TypeError, "expected a Field"):
        grid.exchange(3 if me == 0 else f)
    works()


def neighbours_that_only_send_or_only_receive() -> None:
    one_way = gbd.grid((8, 40000), blocks=(2, 1), periodic="", halo=((0, 1), (0, 0)), comm=comm, timeout=200)
    a, b = one_way.full(float(me)), one_way.zeros(dtype="i8")  # rank 1 sends, more than MPI takes without a receiver
    plan = one_way.plan(a)
    plan(a)
    with raises(gbd.DisagreementError, "rank 1 waits for its values to be taken by rank 0: plan"):
        plan(a) if me else one_way.plan(b)(b)
    for value in (11.0, 21.0):
        a[...] = value + me
        plan(a)
        assert me or a[-1, 2] == value + other


def grids_that_differ() -> None:
    with raises(gbd.DisagreementError, "shape: rank 0 says ((8, 6),), rank 1 ((8, 7),)"):
        gbd.grid((8, 6 + me), comm=comm, timeout=200)
    kind = (gbd.DisagreementError, "rank 1: ValueError: halo") if me == 0 else (ValueError, "halo")
    with raises(*kind):  # type: ignore[arg-type]
        gbd.grid((8, 6), halo=-me, comm=comm, timeout=200)
    with raises(ValueError, "halo"):
        gbd.grid((8, 6), halo=-1, comm=comm, timeout=200)
    for kind, wrong in ((TypeError, 3), (ValueError, MPI.COMM_NULL)):
        with raises(kind, "comm"):
            gbd.grid((8, 6), comm=wrong)
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


perform(
    works,
    ranks_that_describe_fields_differently,
    plans_in_another_order,
    a_field_that_one_rank_cannot_write,
    an_exchange_that_one_rank_leaves_out,
    an_error_of_one_rank_is_told_to_the_other,
    an_error_of_one_rank_in_what_was_agreed_before,
    an_error_of_any_kind_in_what_any_grid_has_agreed,
    neighbours_that_only_send_or_only_receive,
    grids_that_differ,
    debug_mode,
)
