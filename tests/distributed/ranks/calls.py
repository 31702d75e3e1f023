"""Run by two processes: calls that all ranks make, made differently, late, with errors or given up; both learn of it, and the grid goes on working."""

import os
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
from common import raises, raises_on
from mpi4py import MPI
from pair import comm, grid, in_vain, interrupted, me, perform, refused_in_a_child

import gridbuf as gb
import gridbuf.distributed as gbd
from gridbuf import _core
from gridbuf.distributed.files import stores
from gridbuf.distributed.whole_fields import extremes, transfers

T = grid.full(1.0 + me)


def works(its: gbd.Grid = grid) -> None:
    f = its.full(1.0 + its.rank)
    assert its.sum(f) == 24.0 * 3
    found = its.gather(f, 1)
    assert (found is None) == (its.rank == 0) and (found is None or found.numpy()[:, 0].tolist() == [1.0] * 4 + [2.0] * 4)
    its.exchange(f)
    assert f[0, 2] == 2.0 - its.rank


def calls_that_differ() -> None:
    with raises(gbd.DisagreementError, "rank 0 calls gather, rank 1 calls sum"):
        grid.sum(T) if me else grid.gather(T)
    works()
    with raises(gbd.DisagreementError, "root: rank 0 says 0, rank 1 1"):
        grid.gather(T, me)
    works()
    with raises(gbd.DisagreementError, "rank 0 calls min, rank 1 calls a grid"):
        gbd.grid((3, 3), comm=comm, timeout=200) if me else grid.min(T)
    works()
    for kinds, word in (
        ([{"dtype": "f8"}, {"dtype": "f4"}], "field: its dtype is <f8 on rank 0 and <f4 on rank 1"),
        ([{"dims": "IJK", "sizes": {"K": 2}}, {"dims": "IJK", "sizes": {"K": 3}}], "field: its sizes is"),
        ([{"faces": ""}, {"faces": "I"}], "field: its positions is"),
        ([{"dims": "IJK", "sizes": {"K": 2}}, {"dims": "IJ"}], "field: its dims is"),
    ):
        f = grid.zeros(**kinds[me])
        for call in (grid.gather, grid.sum, grid.checksum):
            with raises(gbd.DisagreementError, word):
                call(f)
        works()
    with raises(gbd.DisagreementError, "fields"):
        grid.sum(*[T] * (1 + me))
    works()


def errors_of_one_rank_are_told() -> None:
    bad = gb.Field.zeros((9, 9), dims="IJ")
    for call in (grid.gather, grid.sum, grid.argmax, grid.checksum, grid.all, lambda f: grid.scatter(np.zeros((8, 6)), f)):
        with raises_on(1, ValueError, "field: its domain has"):
            call(bad if me else T)
        works()
    with raises_on(0, ValueError, "array: its shape"):
        grid.scatter(np.zeros((8, 7)), T)
    with raises_on(1, ValueError, "field: it is read-only"):
        array = np.zeros((4, 6))
        array.flags.writeable = me == 0
        grid.scatter(np.zeros((8, 6)), gb.Field(array, "IJ"))
    one = gbd.grid((4, 4), blocks=(1, 1), comm=comm, timeout=200)  # rank 1 has no block, and does not know what to expect
    for wrong, kind, word in ((np.zeros((4, 5)), ValueError, "array: its shape"), ("no", TypeError, "array: expected an array")):
        with raises_on(1, kind, word):
            one.scatter(wrong if me else None, one.zeros(), root=1)
    f = one.zeros()
    one.scatter(np.ones((4, 4)), f, root=1)
    assert one.sum(f) == 16.0 and one.argmax(f) == (0, 0)
    with raises(ValueError, "no rank 2"):
        grid.gather(T, 2)
    works()


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError


def one_rank(kind: type[Exception], word: str, call: Callable[[bool], Any]) -> None:
    """What is wrong on rank 0 is raised there as it is, and told to the other."""
    with raises_on(0, kind, word):
        call(me == 0)
    works()


def whatever_is_wrong_on_one_rank_is_told() -> None:
    """Also what cannot be said in an agreement, and what fails before or after it."""
    path = comm.bcast(tempfile.mkdtemp() if me == 0 else None) + "/x"
    grid.save(path, format="npy", T=T)
    within: dict[str, Any] = {}
    within["within"] = within

    def surrogate(part: float) -> None:
        raise ValueError("bad \udcff")

    def unspeakable(part: float) -> None:
        raise Unspeakable

    one_rank(TypeError, "fields: none were given", lambda bad: grid.sum(*[T][bad:]))
    one_rank(TypeError, "names: expected", lambda bad: grid.load(path, b"T" if bad else "T"))  # type: ignore[arg-type]
    one_rank(TypeError, "verify: expected", lambda bad: grid.load(path, verify=np.ones(2) if bad else True))  # type: ignore[arg-type]
    one_rank(TypeError, "attributes: they", lambda bad: grid.save(path, format="npy", T=T, attributes=within if bad else {}))
    one_rank(TypeError, "path: expected", lambda bad: grid.load(3 if bad else path))
    one_rank(ValueError, "bad ", lambda bad: grid.load(path, progress=surrogate if bad else None))
    one_rank(ValueError, "bad ", lambda bad: grid.save(path, format="npy", T=T, progress=surrogate if bad else None))
    with raises_on(0, Unspeakable):
        grid.load(path, progress=None if me else unspeakable)
    works()
    one_rank(TypeError, "NoneType", lambda bad: grid.gather(gbd.scalar(T)._replace(fields=None) if bad else T))  # type: ignore[arg-type]
    with raises_on(0, OverflowError):
        gbd.grid((8, 6), comm=comm, timeout=10 if me else 10**400)
    works()
    if stores.zarr_is_there():
        one_rank(TypeError, "chunks: expected", lambda bad: grid.save(path, T=T, chunks={"I"} if bad else {"I": 4}))  # type: ignore[arg-type]
        one_rank(TypeError, "chunks: expected", lambda bad: grid.save(path, T=T, chunks={b"I" if bad else "I": 4}))  # type: ignore[dict-item]
        one_rank(TypeError, "shards: expected", lambda bad: grid.save(path, T=T, shards=np.ones(2) if bad else True))  # type: ignore[arg-type]
        grid.save(path, format="zarr", T=T, chunks={"I": np.int64(2) if me else 2})  # type: ignore[dict-item]
        assert grid.sum(grid.load(path)["T"]) == 24.0 * 3


class NoMemory:
    """gridbuf._core when there is none left."""

    def empty(self, *args: Any) -> Any:
        raise MemoryError("no memory")

    def __getattr__(self, name: str) -> Any:
        return getattr(_core, name)


def messages_that_one_rank_cannot_make() -> None:
    """Nobody waits for them; and what cannot be unpacked has come all the same."""
    columns = gbd.grid((8, 6), blocks=(1, 2), comm=comm, timeout=200)
    path = comm.bcast(tempfile.mkdtemp() if me == 0 else None) + "/x"
    whole = np.zeros((8, 6)) if me == 0 else None
    before = transfers.Transfer._pack, transfers.Transfer._unpack, transfers.Transfer._copy

    def fails(*args: Any) -> None:
        raise MemoryError("no memory")

    for call in (
        lambda: grid.gather(T, 1),
        lambda: grid.scatter(whole, T),
        lambda: grid.redistribute(T, columns),
        lambda: columns.save(path, format="npy", T=columns.ones()),
    ):
        if me == 0:
            transfers.Transfer._pack = fails  # type: ignore[method-assign,assignment]
        with raises_on(0, MemoryError, "no memory"):
            call()
        transfers.Transfer._pack = before[0]  # type: ignore[method-assign]
        works()
    if me == 0:
        transfers._core = NoMemory()
    with raises_on(0, MemoryError, "no memory"):
        grid.gather(T, 0)  # for what comes
    transfers._core = _core
    works()
    numbers = extremes.numbers
    if me == 0:
        extremes.numbers = fails
    with raises_on(0, MemoryError, "no memory"):
        grid.argmin(T)  # when the smallest value is known
    extremes.numbers = numbers
    works()
    for name, old in (("_unpack", before[1]), ("_copy", before[2])):
        if me == 0:
            setattr(transfers.Transfer, name, fails)
        try:
            with raises(MemoryError) if me == 0 else nullcontext():
                grid.redistribute(T, columns)
            with raises_on(0, MemoryError, "no memory"):
                columns.save(path, format="npy", T=columns.ones())
        finally:
            setattr(transfers.Transfer, name, old)
        works()
    assert not os.path.exists(path) and not os.path.exists(f"{path}.unfinished")


def ranks_that_come_late() -> None:
    for call in (grid.sum, grid.gather, grid.argmin):
        in_vain(grid._engine, lambda: call(T), "call")  # noqa: B023
        found = call(T)  # goes on
        assert found is None or isinstance(found, gb.Field) or found in (72.0, (0, 0))
        works()
    its = gbd.grid((8, 6), blocks=(2, 1), periodic="I", halo=1, comm=comm, timeout=200)
    for call, others in ((its.sum, grid.sum), (its.gather, its.sum)):
        in_vain(its._engine, lambda: call(T), "call")  # noqa: B023
        if me:
            call(T)
        assert others(T) == 72.0  # what was given up ends first, and counts as made
        works()


def ctrl_c_while_waiting() -> None:
    for call in (grid.sum, grid.gather):
        interrupted(lambda call=call: call(T))
        works()


def children_and_many_calls() -> None:
    refused_in_a_child(lambda: grid.sum(T))
    for i in range(300):
        T[...] = i + me
        found = grid.gather(T, i % 2)
        assert found is None or (found[0, 0] == i and found[7, 5] == i + 1)
    works()


def a_grid_of_one_of_them() -> None:
    if me == 0:
        alone = gbd.grid((8, 6), blocks=(2, 1), comm=MPI.COMM_SELF)
        assert alone.sum(alone.ones()) == 48.0


perform(
    works,
    calls_that_differ,
    errors_of_one_rank_are_told,
    whatever_is_wrong_on_one_rank_is_told,
    messages_that_one_rank_cannot_make,
    ranks_that_come_late,
    ctrl_c_while_waiting,
    children_and_many_calls,
    a_grid_of_one_of_them,
)
