"""Messages under way: the persistent requests of one direction of a plan, and the copies at both ends.

One message a peer each way, in parts where it is larger than MPI's counts. Requests and buffers are made once; a start packs, and the
end unpacks. What a collected plan leaves under way stays with the hub until it has ended.
"""

import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from mpi4py import MPI

from gridbuf import _core
from gridbuf.distributed.debugging import Guard
from gridbuf.distributed.hub import Hub

PART = 2**30  # bytes in one request: MPI 3 counts with ints


def parts(buffer: Any) -> list[Any]:
    """A message as MPI takes it: one array of bytes, or several."""
    memory = np.asarray(buffer)
    return [memory[at : at + PART] for at in range(0, max(memory.nbytes, 1), PART)]


class Messages:
    """One direction: what goes to which peer, what comes from which, each with its buffer and its tag.

    Parameters
    ----------
    outgoing
        By peer: its buffer, and the tag that the peer receives with.
    incoming
        By peer: its buffer, and the tag that this rank receives with.
    programs
        Fields to messages, fields to fields, messages to fields.
    guard
        What looks after messages and halos in debug mode.
    """

    def __init__(
        self,
        hub: Hub,
        outgoing: Mapping[int, tuple[Any, int]],
        incoming: Mapping[int, tuple[Any, int]],
        programs: tuple[_core.CopyProgram, _core.CopyProgram | None, _core.CopyProgram | None],
        guard: Guard | None = None,
    ) -> None:
        comm = hub.comm
        self.pack, self.local, self.unpack = programs
        self.guard = guard
        self.sends = [
            comm.Send_init([part, MPI.BYTE], peer, its) for peer, (buffer, its) in outgoing.items() for part in parts(buffer)
        ]
        self.receives = [
            (peer, comm.Recv_init([part, MPI.BYTE], peer, ours))
            for peer, (buffer, ours) in incoming.items()
            for part in parts(buffer)
        ]
        self.to = [peer for peer, (buffer, _) in outgoing.items() for _ in parts(buffer)]
        receiving = [request for _, request in self.receives]
        self.all = [*receiving, *self.sends]
        hub.keep(receiving, self.sends, (outgoing, incoming))
        weakref.finalize(self, hub.leave, receiving, self.sends, (outgoing, incoming)).atexit = False

    def count(self, *ledgers: Mapping[int, list[int]]) -> None:
        """Say where exchanges are counted, by peer: those with values for it, and those with values from it."""
        self._counted = [ledger[peer] for ledger in ledgers for peer in dict.fromkeys(self.to)]
        self._expected = [ledger[peer] for ledger in ledgers for peer in dict.fromkeys(peer for peer, _ in self.receives)]

    def fill(self, fields: Sequence[Any]) -> None:
        """Nothing is under way: pack."""
        self.pack.run(*fields)
        if self.guard is not None:
            self.guard.close(fields)

    def start(self, fields: Sequence[Any]) -> None:
        """Send, and copy within the rank meanwhile."""
        MPI.Prequest.Startall(self.all)
        for line in self._counted:
            line[0] += 1
        for line in self._expected:
            line[1] += 1
        if self.local is not None:
            self.local.run(*fields)

    def finish(self, fields: Sequence[Any]) -> None:
        """All has arrived: unpack."""
        if self.guard is not None:
            self.guard.check()
        if self.unpack is not None:
            self.unpack.run(*fields)

    def arrived(self) -> bool:
        """Whether all messages have come and gone."""
        gone: bool = MPI.Request.Testall(self.all)
        return gone

    def missing(self) -> list[int]:
        """Peers whose messages have not come."""
        return sorted({peer for peer, request in self.receives if not request.Get_status()})

    def stuck(self) -> list[int]:
        """Peers that have not taken theirs."""
        return sorted({peer for peer, request in zip(self.to, self.sends, strict=True) if not request.Get_status()})

    def cancel(self, peer: int) -> int:
        """No longer receive from a peer in the exchange under way; how many messages of it had come after all."""
        came = 0
        for its, request in self.receives:
            if its == peer:
                status = MPI.Status()
                if not request.Get_status():
                    request.Cancel()
                request.Wait(status)
                came += not status.Is_cancelled()
        return came
