"""Who else waits: so that a rank which has waited too long can name those that did not come.

A reduction says nothing of who is late. A rank that has waited for half of its time tells all others where it waits, and who waits there too
answers; so at the end each knows who has not come. Nobody sends anything while all is well.
"""

import time
from collections.abc import Callable

import numpy as np
from mpi4py import MPI

from gridbuf.distributed.ranks.hub import FEW, ROLL, Hub, ranks
from gridbuf.distributed.ranks.left import Left, leave
from gridbuf.distributed.waiting import LOOK

LATEST = 30.0  # seconds after which a rank tells where it waits, when it has no timeout


class RollCall:
    """One reduction, in which all ranks meet; they are numbered alike."""

    def __init__(self, hub: Hub, number: int, timeout: float | None) -> None:
        self._hub, self._number = hub, number
        self._tell = time.perf_counter() + (LATEST if timeout is None else min(timeout / 2, LATEST))
        self._look = 0.0
        self._told: set[int] = set()

    def waiting(self, come: Callable[[], bool]) -> Callable[[], bool]:
        """The same question, and the call of the roll while the answer is no."""

        def asked() -> bool:
            if come():
                return True
            now = time.perf_counter()
            if now >= self._look and self._hub.size <= FEW:
                self._look = now + LOOK
                self._hear()
                if now >= self._tell:
                    for peer in range(self._hub.size):
                        self._say(peer)
            return False

        return asked

    def missing(self) -> str:
        """Those who do not wait here."""
        hub = self._hub
        if hub.size > FEW:
            return f"the other ranks of {hub.size}"
        self._hear()
        late = [peer for peer in range(hub.size) if peer != hub.rank and hub.waiting.get(peer, -1) < self._number]
        return ranks(late) if late else f"the other ranks of {hub.size}"

    def _say(self, peer: int) -> None:
        if peer not in self._told and peer != self._hub.rank:
            self._told.add(peer)
            number = np.array([self._number])
            leave(Left([], [self._hub.comm.Isend(number, peer, ROLL)], number))

    def _hear(self) -> None:
        status, number = MPI.Status(), np.zeros(1, np.int64)
        while self._hub.comm.Iprobe(MPI.ANY_SOURCE, ROLL, status):
            peer = status.Get_source()
            self._hub.comm.Recv(number, peer, ROLL)
            self._hub.waiting[peer] = int(number[0])
            if number[0] == self._number:
                self._say(peer)
