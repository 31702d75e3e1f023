"""A communicator of the user's: the duplicates of it that its grids have, one each, so that no
message of one grid meets another's.

The first duplicate is the lobby: all ranks meet there to make a grid, and notes of errors go over
it. MPI is called on the thread that calls gridbuf, and on no other: a plan that is collected leaves
its requests (pending_requests.py), and the next call frees them. Nothing is freed by a destructor,
so the end of a program is silent before and after MPI.Finalize.
"""

import gc
import os
import threading
import weakref
from collections import Counter, defaultdict, deque
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from gridbuf.distributed.calls import OneCall, RevokedError
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
from gridbuf.distributed.ranks.revoke import Revocable

_process = os.getpid()
_level = MPI.Query_thread()
NOTHING = [0, 0, 0, 0]


class Duplicate:
    """A duplicate of a communicator, which one grid after another uses. Its counts go on from one
    grid to the next.

    Attributes
    ----------
    number : int
        Its place among those of the communicator, the same on all ranks.
    ledger : dict
        By rank: how many exchanges have begun with values for it, and from it.
    said, heard : Counter
        By rank: how many control messages went to it, and have come from it.
    coming, mail : dict
        By rank: its control messages that are being received; its handshakes that have come.
    calls, reductions : int
        How many calls of all ranks have ended, and reductions begun.
    loose : int
        How many other messages were sent here less those received.
    """

    def __init__(self, communicator: "Communicator", comm: Any, number: int) -> None:
        self.communicator, self.comm, self.number = communicator, comm, number
        self.ledger: defaultdict[int, NDArray[np.int64]] = defaultdict(
            lambda: np.zeros(2, np.int64)
        )
        self.said: Counter[int] = Counter()
        self.heard: Counter[int] = Counter()
        self.coming: defaultdict[int, deque[tuple[Any, Any]]] = defaultdict(deque)
        self.mail: defaultdict[int, deque[dict[str, Any]]] = defaultdict(deque)
        self.calls = self.reductions = self.loose = 0
        self.user: Any = lambda: None  # a weak reference to the channel

    def idle(self) -> bool:
        """Whether no grid of this rank uses it, and nothing of one is under way."""
        return self.user() is None and not any(its.duplicate is self for its in pending())

    def balance(self) -> int:
        """How many messages this rank has sent here more than it has received: over all ranks 0
        where none is under way.
        """
        status = MPI.Status()
        for tag in (HANDSHAKE, ROLL):
            while (message := self.comm.Improbe(MPI.ANY_SOURCE, tag, status)) is not None:
                drop(message, status, None)
                self.loose -= 1
        values = sum(int(sent) - int(awaited) for sent, awaited in [*self.ledger.values()])
        return values + self.said.total() - self.heard.total() + self.loose


class Channel:
    """A grid's own duplicate: what its ranks count together, and what two of them have told each
    other.

    Attributes
    ----------
    one : OneCall
        The call of all ranks that is under way.
    agreements : dict
        By rank and digest of a kind of message: the agreements of plans that are kept for users.
        They stay: whether a plan is still alive is known on its own rank alone, and a rank that
        forgot what its peer remembers would wait for a handshake that the peer has no reason to
        make. Each has a tag, so there are never more of them with a peer than tags.
    tags : dict
        By rank: the tags of messages between the two.
    shaking : str or None
        The plan whose handshake is under way.
    waiting : dict
        By rank: in which reduction it waited when it last said so.
    far : set
        Ranks on other machines.
    swept : float
        When notes and control messages were last looked for without waiting.
    """

    def __init__(self, duplicate: Duplicate) -> None:
        self.duplicate = duplicate
        self.communicator = duplicate.communicator
        self.comm = duplicate.comm
        self.rank, self.size = self.communicator.rank, self.communicator.size
        self.ledger, self.mail = duplicate.ledger, duplicate.mail
        self.one = OneCall()
        self.agreements: dict[tuple[int, bytes], Any] = {}
        self.tags: defaultdict[int, Tags] = defaultdict(Tags)
        self.shaking: str | None = None
        self.waiting: dict[int, int] = {}
        self.far: set[int] = set()
        self.swept = 0.0
        self._plans = 0
        duplicate.user = weakref.ref(self)

    def number(self) -> int:
        """The next plan's number: plans are numbered within their grid."""
        self._plans += 1
        return self._plans

    def tag(self, peer: int) -> Tag:
        """A tag that nothing else between this rank and a peer uses; RuntimeError where there is
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
                f"rank {self.rank} gets as many kinds of messages from rank {peer} as MPI promises"
                " tags: let go of plans that are no longer used; a kind of fields that"
                " grid.exchange or exchange_halos was given keeps its tag"
            )
        status = MPI.Status()
        for number in both(tag.number):  # a plan that is gone may have left out what its peer sent
            while (message := self.comm.Improbe(peer, number, status)) is not None:
                drop(message, status, self.duplicate)
        return tag

    def check(self, where: str) -> None:
        """RuntimeError where MPI cannot be called, RevokedError where the grid is revoked."""
        check_mpi()
        if self.communicator.revocation is not None:
            self.communicator.post()
            self.communicator.check(where)

    def ready(self) -> bool:
        """Whether nothing has to be looked at before MPI is called; else check() does it."""
        return not (
            left
            or self.communicator.revocation is not None
            or MPI.Is_finalized()
            or _level < MPI.THREAD_SERIALIZED
        )

    def listen(self, where: str) -> None:
        """While this rank waits: RevokedError where some rank has failed."""
        revoke.hear()
        self.communicator.check(where)

    def ended(self, peer: int) -> list[int] | None:
        """How far a peer that has ended came on this grid; None: it has not ended."""
        if peer not in self.communicator.ended:
            return None
        found: list[int] = self.communicator.ended[peer]["grids"].get(
            str(self.duplicate.number), NOTHING
        )
        return found

    def raise_ended(self, peer: int, where: str) -> None:
        why = self.communicator.ended[peer]["ended"]
        raise RevokedError(
            f"rank {self.rank}: {where}: rank {peer} has ended{f' by {why}' * bool(why)}"
        )


class Communicator(Revocable):
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
        return {its.number: its.calls for its in self.duplicates}

    def counts(self, peer: int) -> dict[int, list[int]]:
        return {
            its.number: [*its.ledger[peer].tolist(), its.said[peer], its.calls]
            for its in self.duplicates
        }


def check_mpi() -> None:
    """RuntimeError where MPI cannot be called. Requests that were left are freed."""
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


def ranks(numbers: Any) -> str:
    """ "rank 2" or "ranks 2, 5"."""
    return f"rank{'s' * (len(numbers) > 1)} {', '.join(map(str, sorted(numbers)))}"
