"""Messages that need no packing: all points of one lie in one field's memory just as they are
sent.
"""

from typing import Any, NamedTuple

from mpi4py import MPI

from gridbuf.distributed.plans.binding import Message

LEAST = 4096  # bytes: packing less costs no more than looking up where it lies


class Inside(NamedTuple):
    """Where a message lies: in which slot, how far from its first element."""

    slot: int
    offset: int
    nbytes: int

    def at(self, address: int) -> Any:
        """Its memory, which nobody keeps alive, where the slot's element 0 lies at this address."""
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
