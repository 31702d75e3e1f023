"""Errors between ranks: the first one on any rank revokes the grids of its communicator, as
MPI_Comm_revoke of MPI's fault tolerance does.

The rank that fails raises its own error and sends a note to all others. A rank that waits in a call
of a revoked grid, or comes to one, raises RevokedError, which quotes the first error. A revoked
grid stays so: the next grid of the communicator is made on fresh duplicates, once this rank has
raised. An error revokes the grids of all communicators that this rank is in, so that coupled
programs end their wait as well.

A rank that ends sends a note too, with the number of exchanges and calls that it has begun: a rank
that waits for more than these raises at once. Notes go over the lobby, the duplicate on which grids
are made. Among more than FEW ranks each passes a note on to a few others.
"""

import json
import os
import sys
import weakref
from collections import deque
from typing import Any

import numpy as np
from mpi4py import MPI

from gridbuf._core import MessageExchange
from gridbuf.distributed.calls import DisagreementError, RevokedError
from gridbuf.distributed.ranks.pending_requests import NOTE, Pending, free, leave, left

FEW = 256  # ranks that are told directly
LONGEST = 2000  # characters of an error that are told: such a message needs no answer
_process = os.getpid()


class Revocation:
    """One error, and whether this process has raised for it.

    Attributes
    ----------
    disagreement : bool
        Whether two ranks differed.
    raised : bool
        Whether some call here has raised: then grids can be made again.
    key : str
        The error's own, the same in all notes of it.
    """

    def __init__(self, disagreement: bool, raised: bool, key: str | None = None) -> None:
        self.disagreement, self.raised = disagreement, raised
        self.key = os.urandom(8).hex() if key is None else key


class Revocable:
    """The ranks of a communicator, and whether its grids are revoked.

    Parameters
    ----------
    comm
        The lobby's duplicate.

    Attributes
    ----------
    revocation : Revocation or None
        The error that has revoked its grids.
    why : str
        The error in words: "rank 0: TypeError: ...".
    exchanges
        The plans of `gridbuf.interop.mpi4py.exchange_halos`, or None.
    reached : dict
        By grid: how many calls of all ranks had ended on the rank whose note came. A call that has
        ended there ends here as well.
    ended : dict
        By rank that has ended: the error that ended it, or "", and by grid how many exchanges it
        has begun to send to this rank and to receive from it, how many control messages it has
        sent, and how many calls of all ranks it has ended.
    """

    def __init__(self, comm: Any) -> None:
        self.comm, self.rank, self.size = comm, comm.rank, comm.size
        self.revocation: Revocation | None = None
        self.why = ""
        self.exchanges: Any = None
        self.reached: dict[str, int] = {}
        self.ended: dict[int, dict[str, Any]] = {}
        self._untold: deque[tuple[int, bytes]] = deque()
        alive.add(self)

    def fail(self, error: BaseException) -> None:
        """Revoke all grids that this rank is in: a call of a grid raises here. A communicator of
        one rank has none to tell.

        An error of this rank's own counts as raised also where a note of another's came first: the
        program has its exception, and makes the grid again.
        """
        if self.revocation is not None:
            self.revocation.raised = True
        elif self.size > 1 and os.getpid() == _process:
            text = words_of(error)
            why = text if text.startswith("rank ") else f"rank {self.rank}: {text}"
            revoke(Revocation(isinstance(error, DisagreementError), raised=True), self, why)

    def check(self, where: str) -> None:
        """Raise RevokedError where the grids are revoked."""
        if self.revocation is not None:
            self.revocation.raised = True
            kind = DisagreementError if self.revocation.disagreement else RevokedError
            raise kind(
                f"rank {self.rank}: {where}: revoked by {self.why}; to go on, all ranks make the"
                " grid again"
            )

    def hear(self) -> None:
        """Take the notes of other ranks that have come. A revoked grid's ranks may still end."""
        status = MPI.Status()
        while (message := self.comm.Improbe(MPI.ANY_SOURCE, NOTE, status)) is not None:
            text = np.empty(status.Get_count(MPI.BYTE), "u1")
            message.Recv([text, MPI.BYTE])
            words = json.loads(text.tobytes())
            if "ended" in words:
                self.ended[status.Get_source()] = words
                MessageExchange.disarm()
            elif self.revocation is None:
                self.reached = words["calls"]
                event = Revocation(words["disagreement"], raised=False, key=words["event"])
                revoke(event, self, words["revoked"], heard=True)

    def tell(self, words: dict[str, Any], heard: bool = False) -> None:
        """Send a note to all ranks, of more than FEW to some, which pass it on."""
        if heard and self.size <= FEW:
            return
        text = json.dumps(words | {"calls": self.calls()}).encode()
        others = (
            range(1, self.size)
            if self.size <= FEW
            else [s * 2**k for k in range(self.size.bit_length() - 1) for s in (1, -1)]
        )
        self._untold.extend(
            (peer, text) for peer in {(self.rank + by) % self.size for by in others} - {self.rank}
        )

    def post(self) -> None:
        """Send the notes that wait: MPI may not be called on every thread."""
        while self._untold:
            peer, text = self._untold.popleft()
            leave(Pending([], [self.comm.Isend([text, MPI.BYTE], peer, NOTE)], text))

    def calls(self) -> dict[int, int]:
        """How many calls of all ranks have ended here, by grid."""
        return {}

    def near(self) -> set[int]:
        """The ranks that are told of this one's end."""
        return {*range(self.size)} - {self.rank}

    def counts(self, peer: int) -> dict[int, list[int]]:
        """How far this rank has come with a peer, by grid."""
        return {}


alive: "weakref.WeakSet[Revocable]" = weakref.WeakSet()
_known: deque[str] = deque(maxlen=64)  # keys of the last errors that have revoked grids here


def revoke(event: Revocation, source: Revocable, why: str, heard: bool = False) -> None:
    """Revoke the grids of all communicators of this process, and tell their ranks; those of
    `source` know where the error was heard there.

    The note of an error that has revoked grids here before may come once more, over a communicator
    whose other ranks have heard of it later. It revokes the grids of that one alone.
    """
    reached = [source] if event.key in _known else [*alive]
    _known.append(event.key)
    for its in reached:
        if its.revocation is None and its.size > 1:
            its.revocation, its.exchanges = event, None
            its.why = (
                why
                if its is source
                else f"rank {its.rank}, by an error in another communicator: {why}"
            )
            its.tell(
                {"revoked": its.why, "disagreement": event.disagreement, "event": event.key},
                heard and its is source,
            )
            if callable_here():
                its.post()
    MessageExchange.disarm()


def hear() -> None:
    """Take the notes that have come on all communicators of this process: an error in one revokes
    the grids of the others.
    """
    for its in [*alive]:
        if its.revocation is None and its.size > 1:
            its.hear()


def words_of(error: BaseException) -> str:
    """An error as others hear of it, whatever its text."""
    try:
        text = str(error)
    except Exception:
        text = ""
    text = (
        text[: text.find("; to go on, all")]
        if isinstance(error, RevokedError) and "; to go on, all" in text
        else text
    )
    if not isinstance(error, RevokedError):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return text[:LONGEST].encode(errors="backslashreplace").decode()


def callable_here() -> bool:
    """Whether MPI may be called, now and on this thread."""
    return bool(
        os.getpid() == _process
        and MPI.Is_initialized()
        and not MPI.Is_finalized()
        and (MPI.Query_thread() >= MPI.THREAD_SERIALIZED or MPI.Is_thread_main())
    )


def say_ended() -> None:
    """Tell the ranks of all grids that this one ends, also of revoked ones that it has not made
    again. A rank that waits for less than what was begun here goes on waiting.
    """
    if not callable_here():
        return
    error = getattr(sys, "last_value", None)
    why = "" if error is None else words_of(error)
    for its in [*alive]:
        if its.size > 1:
            for peer in its.near():
                words = {"ended": why, "grids": its.counts(peer)}
                its._untold.append((peer, json.dumps(words).encode()))
            alive.discard(its)
        its.post()
    if left:
        free()
