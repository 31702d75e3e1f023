"""A communicator of the user's and its duplicates: one for each grid, so that no message of one
grid meets another's.

The first duplicate is the lobby: all ranks meet there to make a grid, and notes of errors go over
it. MPI is called on the thread that calls gridbuf, and on no other: a collected plan leaves its
requests (pending_requests.py), and the next call frees them. Destructors free nothing, so the end
of a program is silent before and after MPI.Finalize.
"""

import gc
import os
import threading
import time
import weakref
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from gridbuf.distributed.calls import LOOK, OneCall, RevokedError
from gridbuf.distributed.ranks import revoke
from gridbuf.distributed.ranks.pending_requests import (
    HANDSHAKE,
    ROLL,
    Tag,
    Tags,
    both,
    drop,
    free,
    left,
    pending,
)

_process = os.getpid()
_level = MPI.Query_thread()
NO_COUNTS = [0, 0, 0, 0]


class Duplicate:
    """A duplicate of a communicator, which one grid after another uses. Its counts go on from one
    grid to the next.

    Attributes
    ----------
    number : int
        Its place among those of the communicator, the same on all ranks.
    ledger : dict
        By rank: how many exchanges have begun with values for that rank, and with values from it.
    control_sent, control_received : Counter
        By rank: the numbers of control messages.
    arriving, handshakes : dict
        By rank: control messages that are being received; handshakes that have arrived.
    calls, reductions : int
        How many collective calls have ended, and reductions begun.
    other_sent : int
        How many other messages were sent here, less those received.
    user : weak reference
        The channel that uses it.
    """

    def __init__(self, communicator: "Communicator", comm: Any, number: int) -> None:
        self.communicator, self.comm, self.number = communicator, comm, number
        self.ledger: defaultdict[int, NDArray[np.int64]] = defaultdict(
            lambda: np.zeros(2, np.int64)
        )
        self.control_sent: Counter[int] = Counter()
        self.control_received: Counter[int] = Counter()
        self.arriving: defaultdict[int, deque[tuple[Any, Any]]] = defaultdict(deque)
        self.handshakes: defaultdict[int, deque[dict[str, Any]]] = defaultdict(deque)
        self.calls = self.reductions = self.other_sent = 0
        self.user: Any = lambda: None

    def idle(self) -> bool:
        """Whether no grid of this rank uses the duplicate, and no request is under way."""
        return self.user() is None and not any(each.duplicate is self for each in pending())

    def balance(self) -> int:
        """How many messages this rank has sent here more than it has received: over all ranks 0
        where none is under way.
        """
        status = MPI.Status()
        for tag in (HANDSHAKE, ROLL):
            while (message := self.comm.Improbe(MPI.ANY_SOURCE, tag, status)) is not None:
                drop(message, status, None)
                self.other_sent -= 1
        values = sum(int(sent) - int(awaited) for sent, awaited in [*self.ledger.values()])
        control = self.control_sent.total() - self.control_received.total()
        return values + control + self.other_sent


class Channel:
    """A grid's use of its own duplicate: the collective call under way, agreements and tags.

    Attributes
    ----------
    one : OneCall
        The collective call that is under way.
    agreements : dict
        By rank and digest of a kind of message: the agreements of kept plans. They stay: whether a
        plan is still alive is known on its own rank alone, and a rank that forgot an agreement
        would wait for a handshake that the peer has no reason to make. Each has a tag, so there
        are never more of them with a peer than tags.
    tags : dict
        By rank: the tags of messages between the two.
    handshake_of : str or None
        The plan whose handshake is under way.
    waiting : dict
        By rank: the reduction in which it waited, by its last message about that.
    far : set
        Ranks on other machines.
    polled : float
        The time when notes and control messages were last looked for.
    """

    def __init__(self, duplicate: Duplicate) -> None:
        self.duplicate, self.communicator = duplicate, duplicate.communicator
        self.comm, self.ledger = duplicate.comm, duplicate.ledger
        self.rank, self.size = self.communicator.rank, self.communicator.size
        self.handshakes = duplicate.handshakes
        self.one = OneCall()
        self.agreements: dict[tuple[int, bytes], Any] = {}
        self.tags: defaultdict[int, Tags] = defaultdict(Tags)
        self.handshake_of: str | None = None
        self.waiting: dict[int, int] = {}
        self.far: set[int] = set()
        self.polled = 0.0
        self._plans = 0
        duplicate.user = weakref.ref(self)

    def number(self) -> int:
        """The next plan's number: plans are numbered within their grid."""
        self._plans += 1
        return self._plans

    def tag(self, peer: int) -> Tag:
        """An unused tag for messages between this rank and a peer; RuntimeError where there is
        none.
        """
        tags = self.tags[peer]
        tag = tags.new()
        if tag is None:
            gc.collect()  # plans may be dead and not collected
            check_mpi()
            tag = tags.new()
        if tag is None:
            raise RuntimeError(
                f"rank {self.rank}: all tags that MPI guarantees for messages from rank {peer} are"
                " in use; delete plans that are no longer used. Each layout of fields that was"
                " given to grid.exchange or exchange_halos keeps a tag"
            )
        status = MPI.Status()
        for number in both(tag.number):  # a dead plan may have skipped a message of its peer
            while (message := self.comm.Improbe(peer, number, status)) is not None:
                drop(message, status, self.duplicate)
        return tag

    def check(self, where: str) -> None:
        """RuntimeError where MPI cannot be called, RevokedError where the grid is revoked."""
        check_mpi()
        if self.communicator.revocation is not None:
            self.communicator.send_notes()
            self.communicator.check(where)

    def ready(self) -> bool:
        """Whether check() has nothing to do."""
        return not (
            left
            or self.communicator.revocation is not None
            or MPI.Is_finalized()
            or _level < MPI.THREAD_SERIALIZED
        )

    def notes_are_due(self) -> bool:
        """Whether notes of errors were not looked at for LOOK seconds."""
        return time.perf_counter() >= self.polled + LOOK

    def check_notes(self, where: str, ended: Callable[[], bool]) -> None:
        """While this rank waits: RevokedError where some rank has failed, unless the wait has
        `ended`. A rank that fails after an exchange has sent its values before the note of its
        error: the exchange ends on all ranks, and the next call raises.
        """
        revoke.receive_notes()
        if self.communicator.revocation is not None and not ended():
            self.communicator.check(where)

    def counts_at_end(self, peer: int) -> list[int] | None:
        """The counts of a peer that has ended, on this grid; None: it has not ended."""
        if peer not in self.communicator.ended:
            return None
        grids = self.communicator.ended[peer]["grids"]
        found: list[int] = grids.get(str(self.duplicate.number), NO_COUNTS)
        return found

    def raise_ended(self, peer: int, where: str) -> None:
        reason = self.communicator.ended[peer]["ended"]
        raise RevokedError(
            f"rank {self.rank}: {where}: rank {peer} has ended{f' by {reason}' * bool(reason)}"
        )


class Communicator(revoke.Revocable):
    """The duplicates of one communicator, kept with it as an attribute until they are revoked."""

    def __init__(self, comm: Any) -> None:
        super().__init__(comm)
        self.duplicates: list[Duplicate] = []
        self.lobby = self.channel(comm)

    def channel(self, comm: Any) -> Channel:
        """A channel on one more duplicate."""
        self.duplicates.append(Duplicate(self, comm, len(self.duplicates)))
        return Channel(self.duplicates[-1])

    def near(self) -> set[int]:
        if self.size <= revoke.FEW:
            return super().near()
        return {peer for duplicate in self.duplicates for peer in [*duplicate.ledger]}

    def calls(self) -> dict[int, int]:
        return {each.number: each.calls for each in self.duplicates}

    def counts(self, peer: int) -> dict[int, list[int]]:
        return {
            each.number: [*each.ledger[peer].tolist(), each.control_sent[peer], each.calls]
            for each in self.duplicates
        }


def check_mpi() -> None:
    """RuntimeError where MPI cannot be called. Free the requests of collected plans."""
    if os.getpid() != _process:
        raise RuntimeError(
            "a forked child has no MPI: exchange in the process that made the grid, or start one"
            " afresh"
        )
    if MPI.Is_finalized():
        raise RuntimeError("MPI is finalized: grids with a communicator can no longer be used")
    if _level < MPI.THREAD_SERIALIZED and not MPI.Is_thread_main():
        raise RuntimeError(
            f"MPI was initialized for one thread (level {_level}), and"
            f" {threading.current_thread().name!r} is another; exchange on the main thread, or"
            " initialize MPI with THREAD_SERIALIZED or more"
        )
    if left:
        free()


def ranks(numbers: Collection[int]) -> str:
    """ "rank 2" or "ranks 2, 5"."""
    return f"rank{'s' * (len(numbers) > 1)} {', '.join(map(str, sorted(numbers)))}"
