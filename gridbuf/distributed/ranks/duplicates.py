"""The duplicates of a communicator that grids get: MPI attributes of the user's communicator, until
that is freed or revoked.
"""

import atexit
import gc
from contextlib import suppress
from typing import Any

import numpy as np
from mpi4py import MPI

from gridbuf._core import MessageExchange
from gridbuf.distributed.calls import Agreed, Args, Integers, Waiting
from gridbuf.distributed.ranks.collectives import Collectives
from gridbuf.distributed.ranks.communicator import Channel, Communicator, Duplicate, check_mpi
from gridbuf.distributed.ranks.pending_requests import LAST_WORDS, left
from gridbuf.distributed.ranks.revoke import alive, announce_end

IDLE = 2**32  # added by a rank for a duplicate that it does not use, beside its balance
_keys: list[int] = []  # of the attributes: the Communicator, and a duplicate that is being made


def idle_here(communicator: Communicator, room: int) -> Integers:
    """For each of the first duplicates: whether this rank does not use it, and its balance of
    messages.
    """
    check_mpi()
    values = np.zeros(room, np.uint64)
    for each in communicator.duplicates[1 : room + 1]:
        if each.idle():
            values[each.number - 1] = (IDLE + each.balance()) % 2**64
    return values


def idle_on_all(communicator: Communicator, agreed: Agreed) -> list[Duplicate]:
    """The duplicates that no rank uses, and that have no message under way: the same ones on all
    ranks.
    """
    whole = communicator.size * IDLE % 2**64
    return [
        each
        for each in communicator.duplicates[1 : len(agreed.values) + 1]
        if int(agreed.values[each.number - 1]) == whole
    ]


def channel_for(communicator: Communicator, args: Args, call: str, ranks: Collectives) -> Channel:
    """A duplicate for a grid that all ranks make: an idle one, or a new one."""
    agreed = ranks.agree(call, args, values=idle_here(communicator, ranks.room))
    idle = idle_on_all(communicator, agreed)
    return Channel(idle[0]) if idle else communicator.channel(ranks.duplicated())


def free(communicator: Communicator) -> None:
    """Free the duplicates that no rank uses: the user frees the communicator, on all ranks."""
    check_mpi()
    communicator.exchanges = None
    if left or any(each.user() is not None for each in communicator.duplicates[1:]):
        gc.collect()  # grids may be dead and not collected
        check_mpi()
    ranks = Collectives(communicator.lobby, LAST_WORDS)
    agreed = ranks.agree("comm.Free()", {}, values=idle_here(communicator, ranks.room))
    idle = idle_on_all(communicator, agreed)
    if len(idle) == len(communicator.duplicates) - 1:
        idle.append(communicator.duplicates[0])
    for each in idle:
        each.comm.Free()
    if len(idle) == len(communicator.duplicates):
        alive.discard(communicator)


def _freed(comm: Any, keyval: int, communicator: Communicator) -> None:
    """Called by MPI when a communicator is freed: an error here would be that of comm.Free().
    Duplicates stay where MPI is finalized, or on another thread.
    """
    with suppress(RuntimeError, TimeoutError, MPI.Exception):
        if communicator.revocation is None:
            free(communicator)


def _ending(comm: Any, keyval: int, value: Any) -> None:
    """Called first by MPI.Finalize, which frees the attributes of COMM_SELF before all else."""
    MessageExchange.disarm()
    announce_end()


def communicator_of(comm: Any, timeout: float | None = None) -> Communicator:
    """The duplicates of a communicator. The first time, and after an error, all ranks call this."""
    if MPI.Is_finalized():
        raise RuntimeError("MPI is finalized: grids with a communicator can no longer be used")
    if not _keys:
        _keys.extend((MPI.Comm.Create_keyval(delete_fn=_freed), MPI.Comm.Create_keyval()))
        MPI.COMM_SELF.Set_attr(MPI.Comm.Create_keyval(delete_fn=_ending), True)
        atexit.register(announce_end)
    found: Communicator | None = comm.Get_attr(_keys[0])
    if found is not None:
        check_mpi()
        if found.revocation is None:
            return found
        if not found.revocation.raised:
            found.check("a grid")
    return _made(comm, found, timeout)


def _made(comm: Any, revoked: Communicator | None, timeout: float | None) -> Communicator:
    """A first duplicate, after a revoked one or none."""
    begun = comm.Get_attr(_keys[1])  # by a call that timed out: the other ranks have made it once
    if begun is None:
        comm.Set_attr(_keys[1], begun := (*comm.Idup(), revoked))
        if revoked is not None:
            alive.discard(revoked)  # a rank that ends now has begun the next duplicate
    duplicate, request, before = begun

    def look() -> None:
        if before is not None:
            before.receive_notes()
            for peer in before.ended:
                if not request.Test():
                    before.lobby.raise_ended(peer, "a grid")

    Waiting(
        timeout,
        lambda: f"rank {comm.rank} waits for the other ranks of {comm.size}: they make no grid",
    ).until(request.Test, look)
    comm.Delete_attr(_keys[1])
    comm.Set_attr(_keys[0], found := Communicator(duplicate))
    return found
