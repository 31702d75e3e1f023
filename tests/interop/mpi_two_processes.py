"""Run by two processes under mpirun: padded, sliced and reversed memory from one to the other, and
halos both ways.
"""

import sys

import numpy as np
from mpi4py import MPI

import gridbuf as gb
import gridbuf.interop.mpi4py as gbm
from gridbuf.consumers import DTYPES, LAYOUTS, Cell
from gridbuf.consumers.consumer import field, values
from gridbuf.distributed import RevokedError

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
assert comm.Get_size() == 2
VALUES = np.arange(4 * 5 * 6.0).reshape(4, 5, 6)


def send_every_layout_into_every_layout() -> int:
    """The layouts of the matrix, each from one process into each of the same shape in the other."""
    count = 0
    for dtype in ("float64", "complex64", "int16", "float16"):
        for outgoing in LAYOUTS:
            for incoming in LAYOUTS:
                count += sent(Cell("take", outgoing, dtype), Cell("take", incoming, dtype))
    return count + sum(
        sent(Cell("take", "padded", dtype), Cell("take", "sliced", dtype)) for dtype in NATIVE
    )


def sent(outgoing: Cell, incoming: Cell) -> int:
    expected = values(outgoing.layout, outgoing.dtype)
    if (
        expected.shape != values(incoming.layout, incoming.dtype).shape
        or incoming.layout == "read-only"
    ):
        return 0
    if rank == 0:
        comm.Send(gbm.buffer(field(outgoing)), 1)
    else:
        target = field(incoming)
        target[...] = 0
        comm.Recv(gbm.buffer(target), 0)
        assert (target.numpy() == expected).all()
    return 1


NATIVE = [dtype for dtype in DTYPES if dtype != ">f8"]  # MPI does not swap bytes


def nothing_beside_is_written() -> None:
    padded = gb.Field.full((6, 7), -1.0, backend="gtmc")
    if rank == 0:
        comm.Send(gbm.buffer(gb.Field.ones((2, 3))), 1)
    else:
        comm.Recv(gbm.buffer(padded[2:4, 1:6:2]), 0)
        assert (padded[2:4, 1:6:2].numpy() == 1.0).all() and (padded.numpy() == 1.0).sum() == 6


def an_exchange_that_one_rank_left_out_is_noticed() -> None:
    ring = comm.Create_cart([2], periods=[True])
    f = gb.Field.full((6,), float(rank), dims="I", halo=(1,))
    gbm.exchange_halos(ring, f, dims="I")
    comm.Barrier()  # else rank 1 may still wait for its first exchange when rank 0 revokes the grid
    kind, given = (RevokedError, f) if rank else (TypeError, 3)
    try:
        gbm.exchange_halos(ring, given, dims="I")
    except kind as error:
        assert rank == 0 or "rank 0: TypeError: fields: argument 0 is a int" in str(error), str(
            error
        )
    else:
        raise AssertionError(kind)
    f[...] = 5.0 + rank
    gbm.exchange_halos(ring, f, dims="I")
    assert f[0] == f[-1] == 6.0 - rank


def immediate_calls_keep_their_memory() -> None:
    if rank == 0:
        requests = [
            comm.Isend(gbm.buffer(gb.Field.full((64, 64), float(i), backend="gtmc")), 1, i)
            for i in range(8)
        ]
    else:
        targets = [gb.Field.zeros((64, 64), backend="F") for _ in range(8)]
        requests = [comm.Irecv(gbm.buffer(target), 0, i) for i, target in enumerate(targets)]
    MPI.Request.Waitall(requests)
    if rank == 1:
        assert all((target.numpy() == i).all() for i, target in enumerate(targets))


def collective_calls() -> None:
    f = gb.Field.from_array(
        VALUES if rank == 0 else np.zeros((4, 5, 6)), backend="gtmc" if rank else "F"
    )
    comm.Bcast(gbm.buffer(f), 0)
    assert (f.numpy() == VALUES).all()


def contiguous_fields_go_without_help() -> None:
    f = gb.Field.from_array(VALUES if rank == 0 else np.zeros((4, 5, 6)), backend="F")
    if rank == 0:
        comm.Send(f, 1)
    else:
        comm.Recv(f, 0)
        assert (f.numpy() == VALUES).all()
    padded = gb.Field.zeros((4, 5), backend="gtmc")
    try:
        comm.Send(padded, 1 - rank)
    except BufferError as error:
        assert "not contiguous" in str(error)
    else:
        raise AssertionError("mpi4py took padded memory as contiguous")


def halos() -> None:
    """A 12 x 6 periodic field cut in two along I, each process with its own layout."""
    cart = comm.Create_cart([2, 1], periods=[True, True])
    me = cart.Get_coords(cart.Get_rank())[0]
    whole = np.arange(72.0).reshape(12, 6)
    wrapped = np.pad(whole, ((2, 1), (1, 2)), mode="wrap")
    spec = {"backend": "gt:cpu_ifirst", "padding": True} if rank else {"backend": "C"}
    dims, halo = ("IJ", ((2, 1), (1, 2))) if rank else ("JI", ((1, 2), (2, 1)))
    shape = (9, 9)
    field = gb.Field.full(shape, -1.0, dims=dims, halo=halo, **spec)
    column = gb.Field.full(4, -1.0, dims="K", halo=(0,))
    by_ij = field.transpose("IJ")
    by_ij.domain[...] = whole[6 * me : 6 * me + 6]
    gbm.exchange_halos(cart, field, column)
    assert (by_ij.numpy() == wrapped[6 * me : 6 * me + 9]).all(), by_ij.numpy()
    open_ends = comm.Create_cart([2], periods=[False])
    edge = gb.Field.full(5, float(rank), dims="I", halo=(1,))
    gbm.exchange_halos(open_ends, edge, dims="I")
    assert edge.numpy().tolist() == ([0, 0, 0, 0, 1] if rank == 0 else [0, 1, 1, 1, 1])


count = send_every_layout_into_every_layout()
nothing_beside_is_written()
an_exchange_that_one_rank_left_out_is_noticed()
immediate_calls_keep_their_memory()
collective_calls()
contiguous_fields_go_without_help()
halos()
comm.Barrier()
if rank == 0:
    print(f"passed: {count} messages")
sys.exit(0)
