"""Run by two processes under mpirun: padded, sliced and reversed memory from one to the other, and halos both ways."""

import sys

import numpy as np
from mpi4py import MPI

import gridbuf as gb
import gridbuf.interop.mpi4py as gbm

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
assert comm.Get_size() == 2


def values() -> np.ndarray:
    return np.arange(4 * 5 * 6.0).reshape(4, 5, 6)


LAYOUTS = {
    "C": lambda f: f.to(backend="C"),
    "F": lambda f: f.to(backend="F"),
    "permuted": lambda f: f.to(layout=(1, 2, 0), padding=False),
    "padded": lambda f: f.to(backend="gt:cpu_ifirst", padding=True),
    "backwards": lambda f: gb.Field.from_array(f[::-1, ::-1], dtype=None, backend="gtmc")[::-1, ::-1],
    "sliced": lambda f: every_second(f),
}


def every_second(f: gb.Field) -> gb.Field:
    wide = gb.Field.zeros((4, 10, 13), f.dtype, backend="gtmc")
    wide[:, ::2, 1::2] = f
    return wide[:, ::2, 1::2]


def send_every_layout_into_every_layout() -> int:
    count = 0
    for dtype in ("float64", "complex64", "int16", "float16"):
        source = gb.Field.from_array(values().astype(dtype), dtype=None)
        for outgoing in LAYOUTS.values():
            for incoming in LAYOUTS.values():
                if rank == 0:
                    comm.Send(gbm.buffer(outgoing(source)), 1)
                else:
                    target = incoming(gb.Field.zeros((4, 5, 6), dtype))
                    comm.Recv(gbm.buffer(target), 0)
                    assert (target.numpy() == source.numpy()).all()
                count += 1
    return count


def nothing_beside_is_written() -> None:
    padded = gb.Field.full((6, 7), -1.0, backend="gtmc")
    if rank == 0:
        comm.Send(gbm.buffer(gb.Field.ones((2, 3))), 1)
    else:
        comm.Recv(gbm.buffer(padded[2:4, 1:6:2]), 0)
        assert (padded[2:4, 1:6:2].numpy() == 1.0).all() and (padded.numpy() == 1.0).sum() == 6


def immediate_calls_keep_their_memory() -> None:
    if rank == 0:
        requests = [comm.Isend(gbm.buffer(gb.Field.full((64, 64), float(i), backend="gtmc")), 1, i) for i in range(8)]
    else:
        targets = [gb.Field.zeros((64, 64), backend="F") for _ in range(8)]
        requests = [comm.Irecv(gbm.buffer(target), 0, i) for i, target in enumerate(targets)]
    MPI.Request.Waitall(requests)
    if rank == 1:
        assert all((target.numpy() == i).all() for i, target in enumerate(targets))


def collective_calls() -> None:
    f = gb.Field.from_array(values() if rank == 0 else np.zeros((4, 5, 6)), backend="gtmc" if rank else "F")
    comm.Bcast(gbm.buffer(f), 0)
    assert (f.numpy() == values()).all()


def contiguous_fields_go_without_help() -> None:
    f = gb.Field.from_array(values() if rank == 0 else np.zeros((4, 5, 6)), backend="F")
    if rank == 0:
        comm.Send(f, 1)
    else:
        comm.Recv(f, 0)
        assert (f.numpy() == values()).all()
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
immediate_calls_keep_their_memory()
collective_calls()
contiguous_fields_go_without_help()
halos()
comm.Barrier()
if rank == 0:
    print(f"passed: {count} messages")
sys.exit(0)
