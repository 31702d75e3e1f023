"""A hub: the duplicate of a communicator that all grids of it share, and what its ranks must count together.

MPI is called on the thread of whoever calls gridbuf, and by nothing else: a plan that is collected leaves its requests here, and the
next call frees them. Nothing is freed by a destructor, so the end of a program is silent before and after MPI.Finalize.
"""

import atexit
import os
import threading
import time
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from mpi4py import MPI

from gridbuf.distributed.errors import DisagreementError
from gridbuf.distributed.waiting import Waiting

LARGEST_TAG = 2**15 - 1  # what MPI promises everywhere
HANDSHAKE = LARGEST_TAG
LAST_WORDS = 5.0  # seconds at exit for messages under way
PLAN_TAGS = LARGEST_TAG - 7  # plans have 0 to here; between the two are those of what is not a plan


class Hub:
    """One for each communicator, kept with it as an attribute.

    Attributes
    ----------
    comm : MPI.Intracomm
        The duplicate: no message of ours meets one of the user's.
    ledger : dict
        By rank: how many exchanges have begun with values for it, and from it, since the two last disagreed. Who compares the
        two sides sees an exchange that one left out.
    doubts : dict
        How often this rank and another disagreed: plans that were agreed on before that shake hands anew.
    mail : dict
        By rank: its handshakes that came while something else was awaited.
    unanswered : dict
        By rank: the handshake that it has not answered. There is one at most: an answer says nothing of which it is for.
    trouble : str
        What this rank raised last where its peers could not see it; the next handshake tells them.
    """

    def __init__(self, comm: Any, timeout: float | None) -> None:
        self.comm, request = comm.Idup()
        waiting = Waiting(timeout, lambda: f"rank {comm.rank} waits for the other ranks of {comm.size}: they make no grid")
        while not request.Test():
            waiting.pause()
        self.rank, self.size = self.comm.rank, self.comm.size
        self.ledger: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0])
        self.mail: defaultdict[int, deque[dict[str, Any]]] = defaultdict(deque)
        self.unanswered: dict[int, dict[str, Any]] = {}
        self.doubts: defaultdict[int, int] = defaultdict(int)
        self.trouble = ""
        self._process = os.getpid()
        self._level = MPI.Query_thread()
        self._plans = 0
        self._late: Any = None  # a reduction that was given up, with its memory
        self._left: deque[tuple[list[Any], list[Any], Any]] = deque()
        self._kept: dict[int, tuple[list[Any], list[Any], Any]] = {}
        atexit.register(self._stop)

    def number(self) -> int:
        """The next plan's number: what this rank calls it, and the tag of the messages that it gets."""
        self._plans += 1
        return self._plans

    def check(self) -> None:
        """RuntimeError where MPI cannot be called."""
        if os.getpid() != self._process:
            raise RuntimeError("a forked child has no MPI: exchange in the process that made the grid, or start one afresh")
        if MPI.Is_finalized():
            raise RuntimeError("MPI is finalized: grids with a communicator can no longer be used")
        if self._level < MPI.THREAD_SERIALIZED and not MPI.Is_thread_main():
            raise RuntimeError(
                f"MPI was initialized for one thread (level {self._level}), and {threading.current_thread().name!r} is another; "
                "exchange on the main thread, or initialize MPI with THREAD_SERIALIZED or more"
            )
        if self._left:
            self._free()

    def doubt(self, peer: int) -> None:
        """The two ranks disagree: all plans between them shake hands before they are used again."""
        self.doubts[peer] += 1
        self.ledger[peer][:] = 0, 0

    def reduce(self, values: Any, operation: Any, timeout: float | None, missing: str) -> Any:
        """An array made of those of all ranks, which all call this; they are told what the others lack."""
        self.check()
        key = missing, values.tobytes()
        waiting = Waiting(timeout, lambda: f"rank {self.rank} waits for the other ranks of {self.size}: {missing}")
        if self._late is not None and self._late[0] != key:  # given up: it counts as made
            while not self._late[1].Test():
                waiting.pause()
            self._late = None
        if self._late is None:
            found = np.empty_like(values)
            self._late = key, self.comm.Iallreduce(values, found, operation), values, found
        _, request, _, found = self._late
        while not request.Test():
            waiting.pause()
        self._late = None
        return found

    def keep(self, receives: list[Any], sends: list[Any], buffers: Any) -> None:
        """Persistent requests and their memory, until they are left and have ended."""
        self._kept[id(receives)] = receives, sends, buffers

    def leave(self, receives: list[Any], sends: list[Any], buffers: Any) -> None:
        """Requests that nobody needs any more. May be called by any thread, also while objects are collected."""
        self._left.append((receives, sends, buffers))

    def _free(self) -> None:
        """Free what has ended; what is under way keeps its buffers."""
        for _ in range(len(self._left)):
            receives, sends, _ = left = self._left.popleft()
            if MPI.Request.Testall([*receives, *sends]):
                self._kept.pop(id(receives), None)
                for request in (*receives, *sends):
                    if request != MPI.REQUEST_NULL:  # a persistent one
                        request.Free()
            else:
                self._left.append(left)

    def _stop(self) -> None:
        """At exit what was sent still goes, for a while, and nothing is received any more: memory goes before MPI does."""
        if os.getpid() != self._process or MPI.Is_finalized():
            return
        end = time.monotonic() + LAST_WORDS
        for _, sends, _ in self._kept.values():
            while not all(request.Get_status() for request in sends) and time.monotonic() < end:
                time.sleep(0.001)
        for receives, _, _ in self._kept.values():
            for request in receives:
                if not request.Get_status():
                    request.Cancel()
                    request.Wait()


_keys: list[int] = []


ARGUMENTS = "the arguments of a grid"  # what was wrong with them


def agree(hub: Hub, said: Mapping[str, str], timeout: float | None) -> None:
    """Hold what all ranks say to be the same. All of them call this, also one that has an error to tell.

    Raises
    ------
    DisagreementError
        Names a rank, and what it says otherwise than rank 0.
    TimeoutError
        When the others do not come.
    """
    digest = np.frombuffer(blake2b(repr(sorted(said.items())).encode(), digest_size=8).digest(), "i8").copy()
    both = np.concatenate((digest, ~digest))  # the largest of the complements is the complement of the smallest
    most = hub.reduce(both, MPI.MAX, timeout, "they have not made their grids")
    if most[0] == ~most[1]:
        return
    for rank, other in enumerate(everybody := hub.comm.allgather(dict(said))):
        for what in sorted({*everybody[0], *other}, key=lambda what: (what != ARGUMENTS, what)):
            if everybody[0].get(what) != other.get(what):
                raise DisagreementError(
                    f"{what}: rank 0 says {everybody[0].get(what, 'nothing')}, rank {rank} {other.get(what, 'nothing')}"
                )


def hub_of(comm: Any, timeout: float | None = None) -> Hub:
    """The hub of a communicator: every grid of it has the same. The first time all ranks call this."""
    if MPI.Is_finalized():
        raise RuntimeError("MPI is finalized: grids with a communicator can no longer be used")
    if not _keys:
        _keys.append(MPI.Comm.Create_keyval())
    found: Hub | None = comm.Get_attr(_keys[0])
    if found is None:
        found = Hub(comm, timeout)
        comm.Set_attr(_keys[0], found)
    return found


def ranks(numbers: Sequence[int]) -> str:
    """ "rank 2" or "ranks 2, 5"."""
    return f"rank{'s' * (len(numbers) > 1)} {', '.join(map(str, sorted(numbers)))}"
