"""Run by some processes: whatever is wrong on one rank ends the calls of all at once, and grids
that are made again work.
"""

import gc
import os
import signal
import tempfile
import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from common import last, me, n, raises, ring, until_revoked, works, world
from mpi4py import MPI

import gridbuf as gb
import gridbuf.distributed as gbd
import gridbuf.interop.mpi4py as gbm
from gridbuf.distributed import calls
from gridbuf.distributed.ranks import pending_requests, persistent_messages, revoke


def locked(f: Any) -> gb.Field:
    array = np.zeros(f.shape)
    array.flags.writeable = False
    return gb.Field(array, dims="IJ", halo=f.halo)


class Unwilling:
    """A tensor that requires a gradient, as torch has it."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **given: object) -> object:
        raise BufferError("not exported")


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError


def speechless(f: Any) -> Any:
    raise Unspeakable


def bad_words(part: float) -> None:
    raise ValueError("bad \udcff")


def inside_a_block(grid: gbd.Grid, f: Any, error: BaseException) -> None:
    with grid.plan(f).start(f):
        raise error


class Wrong(NamedTuple):
    """A call that fails on one rank, and the call that the others make meanwhile."""

    kind: type[BaseException]
    words: str
    call: Callable[[gbd.Grid, Any], Any]
    others: Callable[[gbd.Grid, Any], Any]


def exchange(grid: gbd.Grid, f: Any) -> None:
    grid.exchange(f)


def fresh(grid: gbd.Grid, f: Any) -> None:
    grid.plan(f)(f)


def total(grid: gbd.Grid, f: Any) -> None:
    grid.sum(f)


def saved(grid: gbd.Grid, f: Any, **more: Any) -> None:
    grid.save(folder + "/x", T=f, format="npy", **more)


folder = world.bcast(tempfile.mkdtemp() if me == 0 else None)
CALLS = [
    Wrong(TypeError, "expected a Field", lambda grid, f: grid.exchange(3), exchange),
    Wrong(ValueError, "got 0 fields", lambda grid, f: grid.plan([]), exchange),
    Wrong(TypeError, "fields: none were given", lambda grid, f: grid.exchange(), exchange),
    Wrong(TypeError, "corners: expected", lambda grid, f: grid.plan(f, corners=3), exchange),
    Wrong(
        ValueError,
        "its domain has",
        lambda grid, f: grid.exchange(gb.Field.zeros((99, 9), halo=(1, 1))),
        exchange,
    ),
    Wrong(ValueError, "read-only", lambda grid, f: grid.exchange(locked(f)), exchange),
    Wrong(ValueError, "dtype", lambda grid, f: grid.plan(f)(grid.zeros(dtype="i4")), exchange),
    Wrong(BufferError, "not exported", lambda grid, f: grid.exchange(Unwilling()), exchange),
    Wrong(
        KeyError,
        "of the user's",
        lambda grid, f: inside_a_block(grid, f, KeyError("of the user's")),
        fresh,
    ),
    Wrong(TypeError, "timeout", lambda grid, f: grid.plan(f).start(f).wait("x"), fresh),
    Wrong(Unspeakable, "", lambda grid, f: grid._call("sum", speechless), total),
    Wrong(TypeError, "expected a Field", lambda grid, f: grid.exchange(3), total),
    Wrong(
        ValueError,
        "its domain has",
        lambda grid, f: grid.sum(gb.Field.zeros((99, 9), dims="IJ")),
        total,
    ),
    Wrong(
        ValueError, "no rank 99", lambda grid, f: grid.gather(f, 99), lambda grid, f: grid.gather(f)
    ),
    Wrong(TypeError, "expected a Field", lambda grid, f: grid.sum("x"), exchange),
    Wrong(TypeError, "halo", lambda grid, f: ring(halo="x"), lambda grid, f: ring()),
    Wrong(ValueError, "bad ", lambda grid, f: saved(grid, f, progress=bad_words), saved),
    Wrong(TypeError, "attributes", lambda grid, f: saved(grid, f, attributes=3), saved),
]


def errors_of_one_rank() -> None:
    """In what was never made before, and in what was."""
    for wrong in CALLS:
        for before, culprit in ((0, 0), (2, last)):
            grid = ring()
            f = grid.zeros()
            for _ in range(before):
                wrong.others(grid, f)
            world.Barrier()
            if me == culprit:
                with raises(wrong.kind, wrong.words):
                    wrong.call(grid, f)
            else:
                words = f"rank {culprit}: {wrong.kind.__name__}"
                until_revoked(
                    lambda: wrong.others(grid, f),  # noqa: B023
                    gbd.RevokedError,
                    words,
                    "make the grid again",
                )
            for call in (exchange, total, fresh, lambda grid, f: grid.gather(f)):
                # It stays so
                with (
                    raises(gbd.RevokedError, f"revoked by rank {culprit}")
                    if n > 1
                    else nullcontext()
                ):
                    call(grid, f)
            works(ring())


def several_ranks_fail_for_one_call() -> None:
    for culprits in ({0, 1}, {*range(n)}):
        grid = ring()
        f = grid.zeros()
        works(grid)
        if me in culprits:
            with raises((TypeError, gbd.RevokedError)):
                grid.exchange(3)
        else:
            until_revoked(lambda: grid.exchange(f), gbd.RevokedError, "TypeError")  # noqa: B023
        works(ring())


def an_own_error_after_that_of_another_rank() -> None:
    """Rank 0 has received the note of another rank's error and raises its own: that is its error of
    the revoked grid, and the next grid is made at once.
    """
    for own in (
        lambda grid, f: grid.exchange(3),
        lambda grid, f: grid.plan(f)(grid.zeros(dtype="i4")),
        lambda grid, f: inside_a_block(grid, f, KeyError("of the user's")),
        lambda grid, f: grid.gather(f, 99),
        lambda grid, f: ring(halo="x"),
        lambda grid, f: saved(grid, f, attributes=3),
    ):
        grid = ring()
        f = grid.zeros()
        world.Barrier()
        if me == last:
            with raises(TypeError):
                grid.exchange(3)
        else:
            communicator = grid._engine.channel.communicator  # type: ignore[attr-defined]
            while communicator.revocation is None:
                revoke.receive_notes()
            with raises((TypeError, ValueError, KeyError, gbd.RevokedError)):
                own(grid, f)
        works(ring())


def ranks_that_differ() -> None:
    """Both ends can say it."""

    def of(*kinds: dict[str, Any]) -> Callable[[gbd.Grid], Any]:
        return lambda grid: grid.exchange(grid.zeros(**kinds[me == 0]))

    deep = [{"dims": "IJK", "sizes": {"K": k}} for k in (2, 3)]
    rows: list[tuple[Callable[[gbd.Grid], Any], tuple[str, ...]]] = [
        (of({"dtype": "f8"}, {"dtype": "f4"}), ("fields[0]: its dtype", "on rank 0")),
        (of({"dtype": "<f8"}, {"dtype": ">f8"}), ("fields[0]: its dtype",)),
        (of({"halo": ((1, 1), (0, 0))}, {"halo": ((2, 2), (0, 0))}), ("fields[0]: its halo",)),
        (of(*deep), ("fields[0]: its sizes",)),
        (of({"faces": ""}, {"faces": "I"}), ("fields[0]: its positions",)),
        (of(deep[0], {"dims": "IJ"}), ("fields[0]: its dims",)),
        (
            lambda grid: grid.exchange(grid.zeros(), edges=None if me else {"J": "zero"}),
            ("fields[0]: its edges is ", "none on rank "),
        ),
        (
            lambda grid: grid.exchange(*(grid.zeros() for _ in range(1 + (me == 0)))),
            ("fields: there are",),
        ),
        (
            lambda grid: grid.sum(grid.zeros()) if me else grid.gather(grid.zeros()),
            ("rank 0 calls gather, rank 1 calls sum",),
        ),
        (lambda grid: grid.gather(grid.zeros(), int(me > 0)), ("root: rank 0 says 0, rank 1 1",)),
        (
            lambda grid: grid.gather(grid.zeros(dtype="f8" if me else "f4")),
            ("field: its dtype is",),
        ),
        (lambda grid: grid.sum(*[grid.zeros()] * (1 + (me > 0))), ("fields",)),
        (
            lambda grid: gbd.grid((8, 6 + (me > 0)), comm=world, timeout=200),
            ("shape: rank 0 says ((8, 6),), rank 1 ((8, 7),)",),
        ),
    ]
    for call, words in rows:
        grid = ring()
        with raises(gbd.DisagreementError, *words):
            call(grid)
            while n > 2:  # where two agree, and neither is beside the one that differs
                grid.exchange(grid.zeros())
        works(ring())


def an_exchange_that_one_rank_leaves_out() -> None:
    grid = ring()
    a, b = grid.full(float(me)), grid.zeros(dtype="i8")
    plan = grid.plan(a, names=["a"])
    plan(a)
    with raises(gbd.DisagreementError):
        plan(a) if me == 0 else grid.plan(b, names=["b"])(b)
        while n > 2:
            plan(a)
    works(ring())


def values_that_go_one_way() -> None:
    """No values of another exchange are taken, and a rank that only sends hears as well."""
    for culprit in (0, last):
        grid = ring(periodic="", halo=((0, 1), (0, 0)))  # rank r sends to r - 1
        f, g = grid.zeros(), grid.zeros(dtype="i4")
        plan = grid.plan(f)
        for i in range(3):
            f[...] = 10.0 * i + me
            plan(f)
            assert me == last or f[-1, 0] == 10.0 * i + me + 1
        world.Barrier()
        if me == culprit:
            with raises(TypeError):
                plan.start(g, g)
        else:
            until_revoked(lambda: plan(f), gbd.RevokedError, f"rank {culprit}: TypeError")  # noqa: B023
        grid = ring(periodic="", halo=((0, 1), (0, 0)))
        plan = grid.plan(f)
        for i in range(3):
            f[...] = 1000.0 + 10.0 * i + me
            plan(f)
            assert me == last or f[-1, 0] == 1000.0 + 10.0 * i + me + 1


def a_rank_that_does_not_come() -> None:
    """The others name it; then it hears of that, and a grid is made again."""
    for call, words in (
        (lambda grid, f: grid.exchange(f), f"rank {last}: plan"),
        (lambda grid, f: grid.plan(f)(f), "its first use"),
        (lambda grid, f: grid.sum(f), f"waits for rank {last}: sum, call"),
        (lambda grid, f: grid.gather(f, last), f"waits for rank {last}: gather, call"),
        (lambda grid, f: ring(), f"waits for rank {last}: a grid, call"),
    ):
        grid = ring()  # which may take its time, as what is agreed on first
        f = grid.zeros()
        if words.startswith("rank"):
            grid.exchange(f)
        for of in (
            (grid._engine, *[plan._transport for plan in grid._kept.plans.values()])
            if me != last
            else ()
        ):
            of.timeout = 0.4  # type: ignore[attr-defined]
        world.Barrier()
        if me != last:
            with raises(
                (TimeoutError, gbd.RevokedError),
                words if n == 2 and "a grid" not in words and revoke.FEW > 1 else "",
            ):
                if "a grid" in words:
                    ring(timeout=0.4)
                while True:
                    call(grid, f)
            world.Barrier()
        else:
            world.Barrier()
            until_revoked(lambda: grid.exchange(f), gbd.RevokedError, "TimeoutError: rank")  # noqa: B023
        works(ring())


def a_wait_with_its_own_timeout_goes_on() -> None:
    grid = ring()
    f = grid.full(float(me))
    plan = grid.plan(f)
    plan(f)
    world.Barrier()
    if me == last:
        world.Barrier()
        plan(f)
    else:
        handle = plan.start(f)
        if n == 2:
            with raises(TimeoutError, "exchange 2"):
                handle.wait(0.05)
        world.Barrier()
        handle.wait()
    plan.start(f)  # dropped: no error
    f2 = grid.full(50.0 + me)
    plan(f2)
    assert f2[0, 0] == 50.0 + (me - 1) % n
    works(grid)


def ctrl_c() -> None:
    for call in (exchange, total):
        grid = ring()
        f = grid.zeros()
        call(grid, f)
        world.Barrier()
        if me == 0:
            timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
            give_way = calls._give_way

            def begin() -> None:
                calls._give_way = give_way  # noqa: B023
                timer.start()  # noqa: B023

            calls._give_way = begin
            with raises(KeyboardInterrupt):
                call(grid, f)
            timer.join()
            world.Barrier()
        else:
            world.Barrier()
            until_revoked(lambda: call(grid, f), gbd.RevokedError, "rank 0: KeyboardInterrupt")  # noqa: B023
        works(ring())


def coupled_communicators() -> None:
    """An error in one communicator revokes the grids of the others that the rank is in: no rank of
    those waits for it.
    """
    left = world.Split(0 if me <= 1 else MPI.UNDEFINED, me)  # ranks 0 and 1
    # Ranks 1 to the last: rank 1 is in both
    right = world.Split(0 if me >= 1 else MPI.UNDEFINED, me)
    more = world.Split(0 if me >= 1 else MPI.UNDEFINED, me)  # told by ranks that were told
    for _ in range(2):
        grids = [
            gbd.grid((8 * n, 3), halo=1, periodic="I", comm=c, timeout=200)
            for c in (left, right, more)
            if c != MPI.COMM_NULL
        ]
        fields = [grid.zeros() for grid in grids]
        for grid, f in zip(grids, fields, strict=True):
            grid.exchange(f)
        world.Barrier()
        if me == 0:
            with raises(TypeError):
                grids[0].exchange(3)
        else:
            k = max(k for k, grid in enumerate(grids) if grid.size > 1)
            until_revoked(
                lambda: grids[k].exchange(fields[k]),  # noqa: B023
                gbd.RevokedError,
                "rank 0: TypeError",
            )
        for grid in grids:
            with raises(gbd.RevokedError) if grid.size > 1 else nullcontext([]) as caught:
                grid.sum(grid.zeros())
            assert all(str(error).count("another communicator") < 2 for error in caught), caught
    for c in (left, right, more):
        if c != MPI.COMM_NULL:
            c.Free()


def a_program_that_goes_on() -> None:
    """The recipe of docs/distributed.md: fields are kept, the grid is made again."""
    grid, step, errors = ring(), 0, 0
    T = grid.full(float(me))
    while step < 12:
        try:
            if step in (3, 7) and errors == step // 4 and me == step % n:
                errors += 1
                grid.exchange("wrong")
            grid.exchange(T)
            step = int(grid.max(grid.full(step + 1, dtype="i8")))
        except (gbd.RevokedError, TypeError):
            errors += me != step % n
            grid = ring()
            step = int(grid.min(grid.full(step, dtype="i8")))
    assert errors == 2 and T[0, 0] == (me - 1) % n


def exchange_halos_of_a_cartesian_communicator() -> None:
    cart = world.Create_cart([n], periods=[True])
    f = gb.Field.zeros((4,), dims="I", halo=(1,))
    for _ in range(2):
        world.Barrier()
        if me == last:
            with raises(ValueError, "dims"):
                gbm.exchange_halos(cart, f, dims="IJ")
        else:
            until_revoked(
                lambda: gbm.exchange_halos(cart, f, dims="I"),
                gbd.RevokedError,
                f"rank {last}: ValueError",
            )
        f[...] = float(me)
        gbm.exchange_halos(cart, f, dims="I")
        assert f[0] == (me - 1) % n and f[-1] == (me + 1) % n


def no_memory(times: list[int], make: Callable[..., Any]) -> Callable[..., Any]:
    """A function that fails at its so manieth call."""

    def made(*args: Any, **keywords: Any) -> Any:
        times[0] -= 1
        if times[0] == 0:
            raise MemoryError("no memory")
        return make(*args, **keywords)

    return made


def no_memory_while_connecting() -> None:
    """Wherever it fails: the neighbours hear of it, no request is left, and a grid works."""
    failed = 0
    for name in ("CopyProgram", "program", "on_host", "Messages", "Receiving", "keep"):
        for k in range(1, 20):
            grid = ring()
            f = grid.zeros(dtype=("f8", "f4")[k % 2])
            before = getattr(persistent_messages, name)
            setattr(persistent_messages, name, no_memory([k if me == 0 else 0], before))
            fails = False
            try:
                grid.exchange(f)
                grid.exchange(f)
                grid.sum(f)
            except MemoryError:
                fails = True
            except gbd.RevokedError as error:
                fails = "rank 0: MemoryError: no memory" in str(error)
            setattr(persistent_messages, name, before)
            fails = world.bcast(fails)
            failed += fails
            if not fails:
                break
    assert failed >= 6
    for _ in range(3):
        gc.collect()
        works(ring())
    revoked = [
        each
        for each in pending_requests.pending()
        if each.duplicate and each.duplicate.communicator.revocation
    ]
    # A reduction that was given up cannot be cancelled
    assert not [each for each in revoked if each.receives], me


def messages_of_a_revoked_grid_reach_no_other() -> None:
    """Rank 0 has sent long and short values, and the others have left them out; what was awaited is
    cancelled.
    """
    for points in (6, 40000):
        grid = ring(points=points)
        f = grid.full(-1.0 - me)
        plan = grid.plan(f)
        plan(f)
        world.Barrier()
        f[...] = 666.0
        if me == 0:
            plan.start(f)
        with raises((TypeError, gbd.RevokedError)):
            grid.exchange(3)
        grid = ring(points=points)
        for i in range(4):
            f[...] = 10.0 * i + me
            grid.exchange(f)
            assert (f[0].numpy() == 10.0 * i + (me - 1) % n).all(), (me, i)
        gc.collect()


for scenario in (
    errors_of_one_rank,
    a_wait_with_its_own_timeout_goes_on,
    a_program_that_goes_on,
    *[
        several_ranks_fail_for_one_call,
        an_own_error_after_that_of_another_rank,
        ranks_that_differ,
        an_exchange_that_one_rank_leaves_out,
        values_that_go_one_way,
        a_rank_that_does_not_come,
        ctrl_c,
        coupled_communicators,
        exchange_halos_of_a_cartesian_communicator,
        no_memory_while_connecting,
        messages_of_a_revoked_grid_reach_no_other,
    ][: 99 * (n > 1)],
):
    scenario()
    world.Barrier()
    if me == 0 and os.environ.get("TOLD"):
        print(scenario.__name__, flush=True)
if me == 0:
    print("revoked", n, flush=True)
