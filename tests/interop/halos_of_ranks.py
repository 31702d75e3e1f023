"""Run by any number of processes: exchange_halos leaves in every field what an exchange axis by
axis, written with plain sendrecv, leaves there.
"""

import sys
from itertools import product
from typing import Any

import numpy as np
from mpi4py import MPI

import gridbuf as gb
import gridbuf.distributed as gbd
import gridbuf.interop.mpi4py as gbm

comm = MPI.COMM_WORLD
rng = np.random.default_rng(comm.rank)
Pairs = tuple[tuple[int, int], ...]


def axis_by_axis(cart: Any, values: np.ndarray, dims: str, halo: Pairs, cut: str) -> np.ndarray:
    """Each axis after the other, with the halos along the others."""
    whole = values.copy()
    values = whole.transpose(np.argsort(list(dims)))  # one order on all ranks; a view
    halo = tuple(pair for _, pair in sorted(zip(dims, halo, strict=True)))
    dims = "".join(sorted(dims))
    for direction, dim in enumerate(cut):
        if dim not in dims:
            continue
        i = dims.index(dim)
        view, (low, high) = np.moveaxis(values, i, 0), halo[i]
        n = len(view)
        below, above = cart.Shift(direction, 1)
        came = cart.sendrecv(view[n - high - low : n - high].copy(), above, 1, None, below, 1)
        back = cart.sendrecv(view[low : low + high].copy(), below, 2, None, above, 2)
        if below != MPI.PROC_NULL:
            view[:low] = came
        if above != MPI.PROC_NULL:
            view[n - high :] = back
    return whole


def made(
    dims: str, shape: tuple[int, ...], halo: Pairs, dtype: str = "f8", **spec: Any
) -> gb.Field:
    field = gb.Field.zeros(shape, dtype, dims=dims, halo=halo, **spec)
    field.numpy()[...] = rng.integers(0, 100, shape) if dtype != "?" else rng.integers(0, 2, shape)
    return field


def compare(cart: Any, fields: list[gb.Field], cut: str) -> None:
    expected = [axis_by_axis(cart, f.numpy(), "".join(f.dims), f.halo, cut) for f in fields]
    gbm.exchange_halos(cart, *fields, dims=cut)
    for i, (f, its) in enumerate(zip(fields, expected, strict=True)):
        assert np.array_equal(f.numpy(), its), (comm.rank, cut, i, f.dims, f.numpy(), its)


def refused(
    kind: type[Exception], says: tuple[str, ...], cart: Any, *fields: gb.Field, dims: Any = "I"
) -> None:
    try:
        gbm.exchange_halos(cart, *fields, dims=dims)
    except kind as error:
        assert all(word in str(error) for word in says), (comm.rank, str(error))
    else:
        raise AssertionError(says)


def everything() -> None:
    """Communicators of 1 to 3 dimensions, closed and periodic; extents that differ from rank to
    rank, as do layouts and orders of dims.
    """
    for ndim in (1, 2, 3):
        shape = MPI.Compute_dims(comm.size, ndim)
        for periodic in product([False, True], repeat=ndim):
            cart = comm.Create_cart(shape, periodic)
            place = cart.Get_coords(cart.rank)
            cut = "IJK"[:ndim]
            n = {dim: 4 + place["IJK".index(dim)] if dim in cut else 3 for dim in "IJK"}
            wide: dict[str, tuple[int, int]] = {"I": (2, 1), "J": (1, 2), "K": (0, 2)}
            fields = []
            for dims, dtype, grows, spec in (
                ("IJK", "f8", "", {"backend": "gt:cpu_ifirst"}),
                ("KJI" if comm.rank % 2 else "JIK", "f4", "", {"padding": comm.rank % 2 == 0}),
                (
                    "IJK",
                    "c16",
                    "I",
                    {"backend": "F" if comm.rank % 2 else "C"},
                ),  # more points on the last rank
                ("IJ", "?", "", {}),
                ("J", "i2", "", {}),
                ("K", "u8", "", {}),
                ("IJ", "S3", "", {}),
            ):
                last = {
                    dim: place["IJK".index(dim)] == shape["IJK".index(dim)] - 1 for dim in grows
                }
                own = {dim: n[dim] + last.get(dim, False) for dim in dims}
                halo = tuple(wide[dim] for dim in dims)
                size = tuple(own[dim] + sum(wide[dim]) for dim in dims)
                fields.append(made(dims, size, halo, dtype, **spec))
            for _ in range(2):
                compare(cart, fields, cut)
            compare(cart, fields[2:3], cut)
            compare(cart, fields[:1], cut)
            cart.Free()


def layouts_are_each_rank_s_own_affair() -> None:
    """Two fields that one rank cannot tell apart, and the other can: found there, new here."""
    cart = comm.Create_cart([comm.size], [True])
    mine = ("IJ", ((1, 1), (0, 0))) if comm.rank % 2 else ("JI", ((0, 0), (1, 1)))
    for spec in (
        {},
        {"backend": "F"} if comm.rank % 2 else {},
        {},
        {"padding": 8} if comm.rank == 0 else {},
    ):
        shape = (6, 4) if mine[0] == "IJ" else (4, 6)
        for _ in range(2):
            compare(cart, [made(mine[0], shape, mine[1], **spec)], "I")
    closed = comm.Create_cart([comm.size], [False])
    for more in (0, comm.rank == comm.size - 1, 0):  # the last rank has a point more
        compare(closed, [made("I", (6 + more,), ((1, 1),))], "I")


def neighbours_that_disagree() -> None:
    if comm.size != 2:
        return
    cart = comm.Create_cart([2], [True])
    one = made("I", (6,), ((1, 1),))
    for mine, theirs, says in (
        ([one], [made("I", (6,), ((1, 1),), "f4")], "fields[0]: its dtype is"),
        (
            [made("IJ", (6, 3), ((1, 1), (0, 0)))],
            [made("IJ", (6, 4), ((1, 1), (0, 0)))],
            "its sizes",
        ),
        ([one, one], [one], "fields: there are"),
        ([made("I", (7,), ((2, 1),))], [made("I", (7,), ((1, 1),))], "rank 1"),
        ([made("I", (7,), ((0, 0),))], [made("I", (7,), ((1, 1),))], "rank 1"),
    ):
        refused(gbd.DisagreementError, (says,), cart, *(theirs if comm.rank else mine))
        compare(cart, [one], "I")
    for fields, dims, kind, says in (
        ([one, gb.Field.zeros(3, dims="I")], "I", ValueError, "no halo"),
        ([one], None, TypeError, "dims: expected names"),
    ):
        if comm.rank == 1:  # an error of one rank alone, which the other hears of
            refused(kind, (says,), cart, *fields, dims=dims)
        else:
            refused(gbd.RevokedError, (f"rank 1: {kind.__name__}", says), cart, one)
        compare(cart, [one], "I")


everything()
layouts_are_each_rank_s_own_affair()
neighbours_that_disagree()
comm.Barrier()
if comm.rank == 0:
    print("same", comm.size)
sys.stdout.flush()
