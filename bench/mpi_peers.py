"""What an exchange of halos is measured against, each over the same fields: raw messages, derived
datatypes, GHEX.
"""

import importlib.util
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mpi4py import MPI

from gridbuf.interop.mpi4py import SIDES, buffer, edge, halo


class Raw:
    """Persistent messages of as many contiguous bytes, and nothing else: the floor."""

    def __init__(self, comm: Any, sends: dict[int, int], receives: dict[int, int]) -> None:
        self.sources = [np.zeros(n, "u1") for n in sends.values()]
        self.targets = [np.zeros(n, "u1") for n in receives.values()]
        own = comm.Dup()
        self.requests = [
            *(
                own.Recv_init([b, MPI.BYTE], peer, 1)
                for b, peer in zip(self.targets, receives, strict=True)
            ),
            *(
                own.Send_init([b, MPI.BYTE], peer, 1)
                for b, peer in zip(self.sources, sends, strict=True)
            ),
        ]

    def touch(self, value: int) -> None:
        for memory in (*self.sources, *self.targets):
            memory.fill(value % 256)

    def __call__(self) -> None:
        MPI.Prequest.Startall(self.requests)
        MPI.Prequest.Waitall(self.requests)


def derived_datatypes(
    cart: Any, fields: Sequence[Any], dims: Sequence[str] = "IJ"
) -> Callable[[], None]:
    """A message for each slab of each field by a derived datatype, axis after axis: what
    `exchange_halos` was before it had plans.
    """

    def exchange() -> None:
        for direction, dim in enumerate(dims):
            below, above = cart.Shift(direction, 1)
            messages = []
            for tag, field in enumerate(fields):
                for start, part, rank, number in (
                    (cart.Irecv, halo(field, dim, SIDES[0]), below, 2 * tag),
                    (cart.Irecv, halo(field, dim, SIDES[1]), above, 2 * tag + 1),
                    (cart.Isend, edge(field, dim, SIDES[1]), above, 2 * tag),
                    (cart.Isend, edge(field, dim, SIDES[0]), below, 2 * tag + 1),
                ):
                    messages.append((start, buffer(part), rank, number))
            MPI.Request.Waitall(
                [start(memory, rank, number) for start, memory, rank, number in messages]
            )

    return exchange


def packed_by_numpy(plan: Any, comm: Any, fields: Sequence[Any]) -> Callable[[], None]:
    """One message a peer, packed and unpacked by a NumPy assignment for each slab: what a careful
    user of mpi4py writes.
    """
    arrays = [f.numpy() for f in fields]

    def views(messages: dict[int, Any]) -> tuple[list[Any], list[tuple[Any, Any]]]:
        buffers, pairs = [], []
        for message in messages.values():
            buffers.append(np.zeros(message.nbytes, "u1"))
            for c in message.chunks:
                inside = np.ndarray(c.shape, c.dtype, buffers[-1], c.at, c.strides)
                pairs.append(
                    (inside, view(arrays[c.place.slot], c.shape, c.place.at, c.place.strides))
                )
        return buffers, pairs

    (out, packs), (come, unpacks), own = views(plan.sends), views(plan.receives), comm.Dup()
    requests = [
        own.Recv_init([b, MPI.BYTE], peer, 1) for b, peer in zip(come, plan.receives, strict=True)
    ]
    requests += [
        own.Send_init([b, MPI.BYTE], peer, 1) for b, peer in zip(out, plan.sends, strict=True)
    ]

    def exchange() -> None:
        for message, field in packs:
            message[...] = field
        MPI.Prequest.Startall(requests)
        MPI.Prequest.Waitall(requests)
        for message, field in unpacks:
            field[...] = message

    return exchange


class Part:
    """Elements of an array from a byte on; it keeps the memory alive."""

    def __init__(
        self, array: Any, shape: tuple[int, ...], at: int, strides: tuple[int, ...]
    ) -> None:
        self.array, whole = array, array.__array_interface__
        data = (whole["data"][0] + at, False)
        self.__array_interface__ = {
            "shape": shape,
            "typestr": whole["typestr"],
            "strides": strides,
            "data": data,
            "version": 3,
        }


def view(array: Any, shape: tuple[int, ...], at: int, strides: tuple[int, ...]) -> Any:
    return np.asarray(Part(array, shape, at, strides))


def split(plan: Any, comm: Any, fields: Sequence[Any]) -> Callable[[], float]:
    """What packing and unpacking take inside an exchange: hot loops of them alone flatter."""
    from gridbuf._core import CopyProgram
    from gridbuf.distributed.plans.binding import packing, unpacking

    own, slots, programs, requests = comm.Dup(), plan.slots(), [], []
    for messages, entries, init in (
        (plan.receives, unpacking, own.Recv_init),
        (plan.sends, packing, own.Send_init),
    ):
        buffers = [np.zeros(message.nbytes, "u1") for message in messages.values()]
        requests += [
            init([b, MPI.BYTE], peer, 1) for b, peer in zip(buffers, messages, strict=True)
        ]
        each = [
            e for i, m in enumerate(messages.values()) for e in entries(m, len(slots) + i, 0, 0)
        ]
        programs.append(CopyProgram([*slots, *buffers], each))
    unpack, pack = programs

    def exchange() -> float:
        clock = time.perf_counter
        start = clock()
        pack.run(*fields)
        packing = clock() - start
        MPI.Prequest.Startall(requests)
        MPI.Prequest.Waitall(requests)
        start = clock()
        unpack.run(*fields)
        return packing + clock() - start

    return exchange


def by_ghex(make: Callable[..., Any], fields: Sequence[Any]) -> Callable[[], None] | None:
    """The same halos by GHEX, which has been told of the fields' memory before; None where it is
    not installed.
    """
    if importlib.util.find_spec("ghex") is None:
        return None
    plan = make(engine="ghex").plan(*fields)
    plan(*fields)
    (group,) = plan._transport._groups
    known = [
        group.pattern(plan._transport._descriptor(group, slot, fields[slot]))
        for slot in group.slots
    ]

    def exchange() -> None:
        group.exchanger.exchange(known).wait()

    exchange.plan = plan  # type: ignore[attr-defined]  # keeps what GHEX points to
    return exchange
