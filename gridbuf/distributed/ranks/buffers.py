"""Memory of messages: buffers that MPI reads and writes, on the host or on a GPU, and messages that
need no packing, since their points lie in a field as they are sent.
"""

import ctypes
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

from gridbuf import _core
from gridbuf.distributed.arguments import read_switch
from gridbuf.distributed.plans.binding import Message

LEAST = 4096  # bytes: packing a smaller message costs no more than looking its place up


class Inside(NamedTuple):
    """Where a message lies: in which slot, how far from its first element."""

    slot: int
    offset: int
    nbytes: int

    def at(self, address: int) -> Any:
        """A view of the memory, where the slot's element 0 lies at this address. The view keeps
        nothing alive.
        """
        return MPI.memory.fromaddress(address + self.offset, self.nbytes)


def inside(message: Message) -> Inside | None:
    """Where a message lies; None where it has to be packed, or is too small to bother."""
    if message.nbytes < LEAST:
        return None
    first = message.chunks[0].place
    end = 0
    for chunk in message.chunks:
        if (
            chunk.at != end
            or chunk.mode
            or chunk.place.slot != first.slot
            or chunk.place.at - chunk.at != first.at
        ):
            return None
        if any(
            n > 1 and a != b
            for n, a, b in zip(chunk.shape, chunk.strides, chunk.place.strides, strict=True)
        ):
            return None
        end = chunk.at + chunk.nbytes
    return Inside(first.slot, first.at, end) if end == message.nbytes else None


VARIABLE = "GRIDBUF_GPU_AWARE_MPI"


def takes_gpus(said: bool | None) -> bool:
    """Whether MPI is given pointers of GPUs: by the argument, the environment, or the library's own
    answer.

    Parameters
    ----------
    said : bool or None
        The argument.

    Returns
    -------
    bool
        Whether messages lie on the GPU.

    Raises
    ------
    ValueError
        When the environment variable is neither 0 nor 1.
    """
    if said is not None:
        return said
    found = read_switch(VARIABLE)
    return library_takes_gpus() if found is None else found


@cache
def library_takes_gpus() -> bool:
    """Whether the library says so. Libraries without such a query count as unable."""
    try:
        symbols = ctypes.CDLL(MPI.__file__)
    except OSError:
        return False
    if hasattr(symbols, "MPIX_Query_cuda_support"):
        return bool(symbols.MPIX_Query_cuda_support())
    if hasattr(symbols, "MPIX_GPU_query_support"):
        found = ctypes.c_int(0)
        return symbols.MPIX_GPU_query_support(0, ctypes.byref(found)) == 0 and bool(found.value)
    return False


BOUNDARY = 256  # bytes, to which messages in one buffer of a GPU are aligned
NOTHING = np.empty(0, "u1")  # the message where values lie in shared memory
Turns = tuple[Any, Any]  # two buffers, and the counter whose lowest bit selects one


class Buffers:
    """Of the messages of one direction.

    Attributes
    ----------
    ends : dict
        By peer: the memory that MPI is given, or where in a field that lies.
    slots : list
        The arrays that programs of copies pack into, or unpack from.
    places : dict
        By peer: which of the slots its message lies in, and how many bytes from its start. Messages
        inside fields have none.
    """

    def __init__(self) -> None:
        self.ends: dict[int, Any] = {}
        self.slots: list[Any] = []
        self.places: dict[int, tuple[int, int]] = {}


def on_host(
    messages: Mapping[int, Message], more: int, in_fields: bool, shared: Mapping[int, Turns]
) -> Buffers:
    """A buffer for each message, with so many bytes more; none where one lies in a field just as it
    is sent, and may, or in shared memory.
    """
    found = Buffers()
    for peer, message in messages.items():
        if peer in shared:
            found.places[peer], found.ends[peer] = (len(found.slots), 0), NOTHING
            found.slots.append(shared[peer])
            continue
        lies = inside(message) if in_fields else None
        if lies is None:
            found.places[peer] = len(found.slots), 0
            found.slots.append(_core.empty((message.nbytes + more,), "uint8"))
        found.ends[peer] = found.slots[-1] if lies is None else lies
    return found


class GPUBuffers(Buffers):
    """One buffer on a GPU for all messages, and one of page-locked memory on the host, unless MPI
    takes pointers of GPUs.

    Attributes
    ----------
    there, here : Field
        The two; `here` is None where MPI is given the first.
    shared : list
        Where on the host messages lie that go through shared memory, and that memory.
    """

    def __init__(
        self,
        messages: Mapping[int, Message],
        more: int,
        gpu: int,
        direct: bool,
        shared: Mapping[int, Turns],
    ) -> None:
        super().__init__()
        self.shared: list[tuple[Any, Turns]] = []
        at = {}
        total = 0
        for peer, message in messages.items():
            at[peer] = total
            total += -(-(message.nbytes + more) // BOUNDARY) * BOUNDARY
        self.there = _core.Field.empty((total,), dtype="uint8", device=("gpu", gpu))
        self.here = None if direct else _core.Field.empty((total,), dtype="uint8", memory="pinned")
        self.slots = [self.there]
        self.places = {peer: (0, start) for peer, start in at.items()}
        host = None if self.here is None else self.here.numpy()
        first = pointer(self.there) if host is None and messages else 0
        for peer, message in messages.items():
            start, nbytes = at[peer], message.nbytes + more
            self.ends[peer] = (
                MPI.memory.fromaddress(first + start, nbytes)
                if host is None
                else host[start : start + nbytes]
            )
            if peer in shared:
                self.shared.append((self.ends[peer], shared[peer]))
                self.ends[peer] = NOTHING


def pointer(field: Any) -> int:
    """Where memory of a GPU lies, for an MPI that takes that."""
    return int(field.__cuda_array_interface__["data"][0])


class Carriage:
    """Copies packed messages from the GPU to the host for MPI, and received messages to the GPU.

    One copy each way serves all peers; where MPI takes pointers of GPUs, none is needed.
    """

    def __init__(self, out: GPUBuffers, come: GPUBuffers) -> None:
        self._out, self._come = out, come
        self._rising: Any = None  # the copy that is still reading what MPI has received into

    def down(self) -> None:
        """Wait for the GPU: messages have been packed, and receive buffers may be written."""
        out, come = self._out, self._come
        if out.here is None:
            _core.cuda_wait_for(out.there, come.there)
            return
        copy = (
            _core.cuda_copy_begin(out.here, out.there, "no", _core.cuda_get_stream())
            if out.ends
            else None
        )
        for each in (self._rising, copy):
            if each is not None:
                each.wait(-1)
        self._rising = None
        for memory, (rows, turns) in out.shared:
            rows[turns[0] & 1, : memory.nbytes] = memory

    def up(self) -> None:
        """Start the copy of received messages to the GPU, before work that is queued later."""
        for memory, (rows, turns) in self._come.shared:
            memory[:] = rows[turns[0] & 1, : memory.nbytes]
        if self._come.here is not None and self._come.ends:
            self._rising = _core.cuda_copy_begin(
                self._come.there, self._come.here, "no", _core.cuda_get_stream()
            )
