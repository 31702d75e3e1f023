"""The MPI attributes of a communicator of the user's: its duplicates, until it is freed."""

import atexit
import gc
from contextlib import suppress
from typing import Any

import numpy as np
from mpi4py import MPI

from gridbuf._core import MessageExchange
from gridbuf.distributed.calls import Agreed, Integers, Said, Waiting
from gridbuf.distributed.ranks.collectives import Collectives
from gridbuf.distributed.ranks.communicator import Channel, Communicator, Duplicate, check_mpi
from gridbuf.distributed.ranks.pending_requests import LAST_WORDS, left
from gridbuf.distributed.ranks.revoke import alive, say_ended

IDLE = 2**32  # added by a rank for a duplicate that it does not use, beside its balance
_keys: list[int] = []


def idle_words(communicator: Communicator, room: int) -> Integers:
    """This rank's words about the first duplicates: whether it needs each, and how many messages
    are on their way.
    """
    check_mpi()
    words = np.zeros(room, np.uint64)
    for its in communicator.duplicates[1 : room + 1]:
        if its.idle():
            words[its.number - 1] = (IDLE + its.balance()) % 2**64
    return words


def idle_on_all(communicator: Communicator, agreed: Agreed) -> list[Duplicate]:
    """The duplicates that no rank needs, and that have no message under way: the same ones on all
    ranks.
    """
    whole = communicator.size * IDLE % 2**64
    return [
        its
        for its in communicator.duplicates[1 : len(agreed.values) + 1]
        if int(agreed.values[its.number - 1]) == whole
    ]


def channel_for(communicator: Communicator, said: Said, call: str, ranks: Collectives) -> Channel:
    """A duplicate for a grid that all ranks make: one that no grid uses any more, or a new one."""
    agreed = ranks.agree(call, said, values=idle_words(communicator, ranks.room))
    idle = idle_on_all(communicator, agreed)
    return Channel(idle[0]) if idle else communicator.channel(ranks.duplicated())


def free(communicator: Communicator) -> None:
    """The user frees the communicator, on all ranks: so are the duplicates that no rank needs any
    more.
    """
    check_mpi()
    communicator.exchanges = None
    if left or any(its.user() is not None for its in communicator.duplicates[1:]):
        gc.collect()  # grids may be dead and not collected
        check_mpi()
    ranks = Collectives(communicator.lobby, LAST_WORDS)
    idle = idle_on_all(
        communicator, ranks.agree("comm.Free()", {}, values=idle_words(communicator, ranks.room))
    )
    if len(idle) == len(communicator.duplicates) - 1:
        idle.append(communicator.duplicates[0])
    for its in idle:
        its.comm.Free()
    if len(idle) == len(communicator.duplicates):
        alive.discard(communicator)


def _freed(comm: Any, keyval: int, its: Communicator) -> None:
    """MPI calls this when a communicator goes: an error here would be that of comm.Free()."""
    with suppress(
        RuntimeError, TimeoutError, MPI.Exception
    ):  # MPI is finalized, this is another thread: the duplicates stay
        if its.revocation is None:
            free(its)


def _ending(comm: Any, keyval: int, value: Any) -> None:
    """MPI.Finalize calls this first: it frees the attributes of COMM_SELF before anything else."""
    MessageExchange.disarm()
    say_ended()


def communicator_of(comm: Any, timeout: float | None = None) -> Communicator:
    """The duplicates of a communicator. The first time, and after an error, all ranks call this."""
    if MPI.Is_finalized():
        raise RuntimeError("MPI is finalized: grids with a communicator can no longer be used")
    if not _keys:
        _keys.extend(
            (MPI.Comm.Create_keyval(delete_fn=_freed), MPI.Comm.Create_keyval())
        )  # these, a duplicate on its way
        MPI.COMM_SELF.Set_attr(MPI.Comm.Create_keyval(delete_fn=_ending), True)
        atexit.register(say_ended)
    found: Communicator | None = comm.Get_attr(_keys[0])
    revoked = found
    if found is not None:
        check_mpi()
    if found is not None and found.revocation is not None:
        if not found.revocation.raised:
            found.check("a grid")
        found = None
    if found is None:
        begun = comm.Get_attr(_keys[1])  # by a call that was given up: the others have made it once
        if begun is None:
            comm.Set_attr(_keys[1], begun := (*comm.Idup(), revoked))
            if revoked is not None:
                alive.discard(revoked)  # a rank that ends now has begun the next duplicate
        duplicate, request, before = begun

        def look() -> None:
            if before is not None:
                before.hear()
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
