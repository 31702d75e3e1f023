"""Run by some processes: what one rank raises is raised soon by all, once each, also in the very first exchange; then the grid goes on working."""

import gc
import time
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
from common import me, raises
from mpi4py import MPI

import gridbuf as gb
import gridbuf.distributed as gbd
import gridbuf.interop.mpi4py as gbm
from gridbuf.distributed.ranks import connecting, mail, messages, mpi, raising

world = MPI.COMM_WORLD
n = world.size
SOON = 100.0  # of 200 seconds that the ranks have: no machine is so busy


def ring(comm: Any = None, **more: Any) -> gbd.Grid:
    """On a duplicate whose ranks have told each other nothing yet, unless one is given."""
    more = {"periodic": "I", "halo": ((1, 1), (0, 0)), "blocks": (n, 1), "timeout": 200} | more
    return gbd.grid((4 * n, 6), comm=world.Dup() if comm is None else comm, **more)


def works(grid: gbd.Grid, f: Any = None) -> None:
    world.Barrier()
    f = grid.zeros() if f is None else f
    for i in range(3):
        f[...] = 100.0 * i + me
        grid.exchange(f)
        assert [f[0, 0], f[-1, 0]] == [100.0 * i + (me - 1) % n, 100.0 * i + (me + 1) % n], (me, i, f.numpy())
    world.Barrier()


def until_told(call: Callable[[], Any], *words: str) -> None:
    """Who is not beside the rank that raises may end this exchange, and hear of it in the next."""
    began = time.monotonic()
    with raises(gbd.DisagreementError, *words):
        while time.monotonic() - began < SOON:
            call()
    assert time.monotonic() - began < SOON, (me, time.monotonic() - began)


def one_raises(rank: int, kind: type[Exception], wrong: Callable[[], Any], right: Callable[[], Any], *words: str) -> None:
    if me == rank:
        with raises(kind, *words):
            wrong()
    else:
        until_told(right, f"rank {rank}: {kind.__name__}", *words)


def locked(f: Any) -> gb.Field:
    array = np.zeros(f.shape)
    array.flags.writeable = False
    return gb.Field(array, dims="IJ", halo=f.halo)


WRONG: tuple[tuple[type[Exception], Callable[[gbd.Grid, Any], Any], str], ...] = (
    (TypeError, lambda grid, f: grid.exchange(3), "expected a Field"),
    (ValueError, lambda grid, f: grid.plan([]), "got 0 fields"),
    (TypeError, lambda grid, f: grid.exchange(), "fields: none were given"),
    (ValueError, lambda grid, f: grid.exchange(gb.Field.zeros((9, 9), dims="IJ", halo=(1, 1))), "its domain has"),
    (ValueError, lambda grid, f: grid.exchange(locked(f)), "read-only"),
    (ValueError, lambda grid, f: grid.plan(f)(grid.zeros(dtype="i4")), "dtype"),
)


def the_first_exchange_of_a_communicator() -> None:
    for i, (kind, wrong, word) in enumerate(WRONG):
        grid = ring()
        f = grid.zeros()
        one_raises(i % n, kind, lambda: wrong(grid, f), lambda: grid.exchange(f), word)  # noqa: B023
        works(grid)


def an_exchange_that_was_made_before() -> None:
    grid = ring()
    f = grid.zeros()
    works(grid, f)
    for i, (kind, wrong, word) in enumerate(WRONG):
        one_raises(i % n, kind, lambda: wrong(grid, f), lambda: grid.exchange(f), word)  # noqa: B023
        works(grid, f)


def the_first_exchange_after_a_disagreement() -> None:
    grid = ring()
    f = grid.zeros()
    works(grid, f)
    for i, (kind, wrong, word) in enumerate(WRONG):
        until_told(lambda: grid.exchange(grid.zeros(dtype=("f8", "f4")[me == 0])), "fields[0]: its dtype", "on rank 0")
        world.Barrier()
        one_raises(i % n, kind, lambda: wrong(grid, f), lambda: grid.exchange(f), word)  # noqa: B023
        works(grid, f)


def several_ranks_raise_for_one_call() -> None:
    """Each its own error; who has none is told; nobody hears of it twice."""
    grid = ring()
    f = grid.zeros()
    for _ in range(3):
        if me % 2 == 0:
            with raises(TypeError, "expected a Field"):
                grid.exchange(3)
        else:
            until_told(lambda: grid.exchange(f), "TypeError")
        works(grid, f)
        with raises(TypeError, "expected a Field"):
            grid.exchange(3)
        works(grid, f)


def two_disagree_and_a_third_has_begun() -> None:
    """In a chain: the third agrees with its neighbour, which does not agree with the one beyond."""
    for first in (True, False):
        grid = ring(periodic="")
        f = grid.zeros()
        if not first:
            grid.exchange(f)
        if me == 0:
            time.sleep(0.5)
        mine = grid.zeros(dtype=("f8", "i4")[me == 0])
        until_told(partial(grid.exchange, mine), "fields[0]: its dtype", "on rank 0", "on rank 1")
        world.Barrier()
        f[...] = float(me)
        grid.exchange(f)
        assert (me == 0 or f[0, 0] == me - 1) and (me == n - 1 or f[-1, 0] == me + 1)


def halos_on_one_side() -> None:
    """Who only sends runs ahead; who only receives and leaves an exchange out is not one behind afterwards."""
    grid = ring(periodic="", halo=((1, 0), (0, 0)))
    f = grid.zeros()
    plan = grid.plan(f)
    for call in (grid.exchange, plan):
        for rank in (n - 1, 0, n // 2):
            one_raises(rank, TypeError, lambda: call(3), lambda: (call(f), time.sleep(0.01)))  # noqa: B023
            world.Barrier()
            for i in range(3):
                f[...] = 10.0 * i + me
                call(f)
                assert me == 0 or f[0, 0] == 10.0 * i + me - 1, (me, i, f.numpy())
            world.Barrier()


def a_plan_that_is_under_way_elsewhere() -> None:
    """What was begun before the error ends as it should; what came after it is refused."""
    grid = ring()
    a, b = grid.full(1.0 + me), grid.full(10 + me, dtype="i8")
    first, second = grid.plan(a), grid.plan(b)
    first(a)
    second(b)
    for _ in range(3):
        world.Barrier()
        handle = first.start(a)
        if me == 0:
            with raises(ValueError, "dtype"):
                second(grid.zeros(dtype="f4"))
            handle.wait()
        else:
            until_told(lambda: second(b), "rank 0: ValueError")
            handle.wait()
        assert a[0, 0] == 1.0 + (me - 1) % n and a[-1, 0] == 1.0 + (me + 1) % n
        world.Barrier()
        b[...] = 20 + me
        second(b)
        assert b[0, 0] == 20 + (me - 1) % n and b[-1, 0] == 20 + (me + 1) % n


def tried(call: Callable[[], Any]) -> str:
    """What is raised, in words; nobody waits for it."""
    began = time.monotonic()
    try:
        call()
        return ""
    except (gbd.DisagreementError, TypeError) as error:
        return str(error)
    finally:
        assert time.monotonic() - began < SOON, (me, time.monotonic() - began)


def several_plans_under_way_that_all_raise() -> None:
    """Caught call by call each of them raises once on each rank, whatever the order in which they are waited for, and the next does not."""
    grid = ring(periodic="I" if n < 4 else "")
    for both, backwards, late in ((True, False, False), (True, True, False), (False, False, False), (False, True, True)):
        fields = [grid.full(1.0 + me), grid.full(10 + me, dtype="i8")]
        plans = [grid.plan(f) for f in fields]
        for plan, f in zip(plans, fields, strict=True):
            plan(f)
        world.Barrier()
        if me == 0:
            if late:
                world.Barrier()
            raised = [tried(lambda: plans[0].start(3)), tried(lambda: plans[1].start(3 if both else fields[1]).wait())]  # noqa: B023
        else:
            handles = [plan.start(f) for plan, f in zip(plans, fields, strict=True)]
            if late:
                world.Barrier()
            raised = [tried(handle.wait) for handle in handles[:: 1 - 2 * backwards]]
        while n > 3 and len([each for each in raised if each]) < 2:  # who is not beside rank 0 hears of it in the next
            raised.append(tried(lambda: grid.exchange(fields[0])))  # noqa: B023
        assert all(raised[:2]) or n > 3, (me, raised)
        world.Barrier()
        for plan, f in zip(plans, fields, strict=True):
            f[...] = 20 + me
            plan(f)
            assert me == 0 or f[0, 0] == 20 + me - 1, (me, raised)
        grid.exchange(fields[0])


def a_handle_that_is_kept_over_several_errors() -> None:
    """What it awaits was left out before the first of them: it says so at once, and the others hear of it."""
    grid = ring()
    for errors in (1, 2, 5):
        f, g = grid.full(float(me)), grid.zeros(dtype="i8")
        kept, plan = grid.plan(f), grid.plan(g)
        kept(f)
        plan(g)
        world.Barrier()
        if me == 0:
            raised = [tried(lambda: kept(3)), *[tried(lambda: plan(3)) for _ in range(errors)]]  # noqa: B023
            world.Barrier()
        else:
            handle = kept.start(f)
            world.Barrier()
            raised = [tried(lambda: plan(g)) for _ in range(errors)]  # noqa: B023
            raised.append(tried(handle.test if errors == 2 else handle.wait))
            assert tried(handle.wait) == raised[-1]  # the same again
        assert all(raised), (me, raised)
        f[...] = 7.0 + me
        kept(f)
        assert f[0, 0] == 7.0 + (me - 1) % n
        works(grid)


def notes_of(hub: Any, rank: int) -> list[Any]:
    return [note for (peer, _), note in hub.notes.items() if peer == rank]


def errors_that_a_rank_does_not_come_to_hear() -> None:
    """MPI keeps no more than some of them; then it has raised these, and all go on."""
    grid = ring()
    hub, f = grid._engine.hub, grid.zeros()
    works(grid, f)
    for errors in (10, raising.MOST, 300):
        if me == 0:
            for _ in range(errors):
                assert tried(lambda: grid.exchange(3))
        world.Barrier()
        told = min(errors, raising.MOST) if me else 0
        end = time.monotonic() + SOON
        while time.monotonic() < end and len(notes_of(hub, 0)) < told:
            mail.collect(hub)
        mail.collect(hub)
        assert len(notes_of(hub, 0)) == told, (me, errors, hub.notes)
        assert all([tried(lambda: grid.exchange(f)) for _ in range(told)])
        works(grid, f)
        assert len({*hub.epochs.values()}) == 1 and not hub.notes


def an_error_that_leaves_several_blocks() -> None:
    """It is one error of the program, and not told once more by every block that it leaves."""
    grid = ring()
    f, g = grid.full(float(me)), grid.zeros(dtype="i8")
    first, second = grid.plan(f), grid.plan(g)
    first(f)
    second(g)
    for _ in range(3):
        world.Barrier()
        if me == 0:
            with raises(TypeError, "expected a Field"):
                first.start(3)
        else:
            with raises(gbd.DisagreementError, "rank 0: TypeError"), first.start(f), second.start(g):
                pass
        first(f)
        second(g)
        assert f[0, 0] == (me - 1) % n


def no_memory(times: list[int], make: Callable[..., Any]) -> Callable[..., Any]:
    """What makes something, and fails at its so manieth call."""

    def made(*args: Any, **keywords: Any) -> Any:
        times[0] -= 1
        if times[0] == 0:
            raise MemoryError("no memory")
        return make(*args, **keywords)

    return made


class Counting(MPI.Intracomm):
    """A communicator that keeps what it makes, and may have no memory for it."""

    made: ClassVar[list[Any]] = []
    times: ClassVar[list[int]] = [0]

    def Send_init(self, *args: Any) -> Any:
        self.made.append(no_memory(self.times, super().Send_init)(*args))
        return self.made[-1]

    def Recv_init(self, *args: Any) -> Any:
        self.made.append(no_memory(self.times, super().Recv_init)(*args))
        return self.made[-1]


def no_memory_while_connecting() -> None:
    """Wherever it fails: the neighbours hear of it, no request is left, the grid works."""
    grid = ring()
    hub = grid._engine.hub
    hub.comm = Counting(hub.comm)
    failed = 0
    places = [
        (mpi, "CopyProgram"),
        (mpi, "shake"),
        *[(connecting, name) for name in ("CopyProgram", "program", "on_host", "Messages")],
    ]
    for where, name in [*places, (messages, "Receiving"), (messages, "keep"), (Counting, "times")]:
        for k in range(1, 20):
            f = grid.zeros(dtype=("f8", "f4")[k % 2])
            plan = grid.plan(f)
            before, times = getattr(where, name), [k if me == 0 else 0]
            setattr(where, name, times if name == "times" else no_memory(times, before))
            fails = False
            try:
                plan(f)
            except MemoryError:
                fails = me == 0
            except gbd.DisagreementError as error:
                fails = "rank 0: MemoryError: no memory" in str(error)
            setattr(where, name, before)
            del plan
            assert world.allreduce(fails) in (0, 2)
            failed += fails
            works(grid)
            if not world.bcast(fails):
                break
    assert failed >= 8
    works(grid)
    for each in (grid._kept.plans, grid._kept.recent, hub.agreements):
        each.clear()
    gc.collect()
    for _ in range(2):
        world.Barrier()
        hub.check()  # which frees what was left
    assert len(Counting.made) > 20
    assert not [request for request in Counting.made if request != MPI.REQUEST_NULL]


def exchange_halos_of_a_cartesian_communicator() -> None:
    for _ in range(2):
        cart = world.Create_cart([n], periods=[True])
        f = gb.Field.zeros((4,), dims="I", halo=(1,))
        for _ in range(2):
            one_raises(
                n - 1,
                ValueError,
                lambda: gbm.exchange_halos(cart, f, dims="IJ"),  # noqa: B023
                lambda: gbm.exchange_halos(cart, f, dims="I"),  # noqa: B023
                "dims",
            )
            world.Barrier()
            f[...] = float(me)
            gbm.exchange_halos(cart, f, dims="I")
            assert f[0] == (me - 1) % n and f[-1] == (me + 1) % n


for scenario in (
    the_first_exchange_of_a_communicator,
    an_exchange_that_was_made_before,
    the_first_exchange_after_a_disagreement,
    several_ranks_raise_for_one_call,
    two_disagree_and_a_third_has_begun,
    halos_on_one_side,
    a_plan_that_is_under_way_elsewhere,
    several_plans_under_way_that_all_raise,
    *[a_handle_that_is_kept_over_several_errors, an_error_that_leaves_several_blocks][: 2 * (n < 4)],
    *[errors_that_a_rank_does_not_come_to_hear][: n < 4],
    *[no_memory_while_connecting][: n == 2],
    exchange_halos_of_a_cartesian_communicator,
):
    scenario()
    world.Barrier()
if me == 0:
    print("told", n)
