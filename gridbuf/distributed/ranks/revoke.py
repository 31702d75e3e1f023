"""Errors between ranks: the first one on any rank revokes the grids of its communicator, as
MPI_Comm_revoke of MPI's fault tolerance does.

The failing rank raises its own error and sends a note to all others. A rank that waits in a call of
a revoked grid, or comes to one, raises RevokedError, which quotes the first error. An exchange
whose values have all come ends as usual. A revoked grid stays so: the next grid of the communicator
is made on fresh duplicates, once this rank has raised. An error revokes the grids of all
communicators that this rank is in, so that coupled programs end their wait as well.

A rank that ends sends a note too, with the numbers of exchanges and calls that it has begun: a rank
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

FEW = 256  # ranks that a note is sent to directly
LONGEST = 2000  # characters of an error in a note: MPI sends so short a message without an answer
ADVICE = "; to go on, all"  # begins the end of RevokedError's text
ELSEWHERE = ", by an error in another communicator: "
_process = os.getpid()


class Revocation:
    """One error, as this process knows it.

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
    reason : str
        The error's text: "rank 0: TypeError: ...".
    exchanges
        The plans of `gridbuf.interop.mpi4py.exchange_halos`, or None.
    reached : dict
        By grid: how many collective calls had ended on the rank whose note came. A call that has
        ended there ends here as well.
    ended : dict
        By rank that has ended: the error that ended it, or "", and by grid how many exchanges it
        has begun to send to this rank and to receive from it, how many control messages it has
        sent, and how many collective calls it has ended.
    """

    def __init__(self, comm: Any) -> None:
        self.comm, self.rank, self.size = comm, comm.rank, comm.size
        self.revocation: Revocation | None = None
        self.reason = ""
        self.exchanges: Any = None
        self.reached: dict[str, int] = {}
        self.ended: dict[int, dict[str, Any]] = {}
        self._unsent: deque[tuple[int, bytes]] = deque()
        alive.add(self)

    def fail(self, error: BaseException) -> None:
        """Revoke all grids that this rank is in: a call of a grid raises here. A communicator of
        one rank stays as it is.

        An error of this rank's own counts as raised also where a note of another's came first: the
        program has its exception, and makes the grid again.
        """
        if self.revocation is not None:
            self.revocation.raised = True
        elif self.size > 1 and os.getpid() == _process:
            text = text_of(error)
            reason = text if text.startswith("rank ") else f"rank {self.rank}: {text}"
            revoke(Revocation(isinstance(error, DisagreementError), raised=True), self, reason)

    def check(self, where: str) -> None:
        """Raise RevokedError where the grids are revoked."""
        if self.revocation is not None:
            self.revocation.raised = True
            kind = DisagreementError if self.revocation.disagreement else RevokedError
            raise kind(
                f"rank {self.rank}: {where}: revoked by {self.reason}{ADVICE} ranks make the grid"
                " again"
            )

    def receive_notes(self) -> None:
        """Receive the notes that have arrived. Ranks of a revoked grid may still end."""
        status = MPI.Status()
        while (message := self.comm.Improbe(MPI.ANY_SOURCE, NOTE, status)) is not None:
            memory = np.empty(status.Get_count(MPI.BYTE), "u1")
            message.Recv([memory, MPI.BYTE])
            note = json.loads(memory.tobytes())
            if "ended" in note:
                self.ended[status.Get_source()] = note
                MessageExchange.disarm()
            elif self.revocation is None:
                self.reached = note["calls"]
                event = Revocation(note["disagreement"], raised=False, key=note["event"])
                revoke(event, self, note["revoked"], received=True)

    def queue_note(self, note: dict[str, Any], received: bool) -> None:
        """Queue a note for all ranks. Of more than FEW ranks some get it, and pass it on; of fewer
        a note that was `received` is passed on to none.
        """
        if received and self.size <= FEW:
            return
        text = json.dumps(note | {"calls": self.calls()}).encode()
        distances: Any = range(1, self.size)
        if self.size > FEW:
            powers = [2**k for k in range(self.size.bit_length() - 1)]
            distances = [*powers, *(-power for power in powers)]
        peers = {(self.rank + distance) % self.size for distance in distances} - {self.rank}
        self._unsent.extend((peer, text) for peer in peers)

    def send_notes(self) -> None:
        """Send the queued notes: some were queued on a thread that may not call MPI."""
        while self._unsent:
            peer, text = self._unsent.popleft()
            leave(Pending([], [self.comm.Isend([text, MPI.BYTE], peer, NOTE)], text))

    def calls(self) -> dict[int, int]:
        """How many collective calls have ended here, by grid."""
        return {}

    def near(self) -> set[int]:
        """The ranks that get a note of this one's end."""
        return {*range(self.size)} - {self.rank}

    def counts(self, peer: int) -> dict[int, list[int]]:
        """The numbers of exchanges, control messages and calls with a peer, by grid."""
        return {}


alive: "weakref.WeakSet[Revocable]" = weakref.WeakSet()
_known: deque[str] = deque(maxlen=64)  # keys of the last errors that have revoked grids here


def revoke(event: Revocation, source: Revocable, reason: str, received: bool = False) -> None:
    """Revoke the grids of all communicators of this process, and send notes to their ranks.

    The note of an error that has revoked grids here before may come once more, over a communicator
    whose other ranks received it later. Such a note revokes the grids of that one alone.
    """
    affected = [source] if event.key in _known else [*alive]
    _known.append(event.key)
    for each in affected:
        if each.revocation is None and each.size > 1:
            each.revocation, each.exchanges, each.reason = event, None, reason
            if each is not source:
                first = reason.partition(ELSEWHERE)[2] or reason
                each.reason = f"rank {each.rank}{ELSEWHERE}{first}"
            note = {
                "revoked": each.reason, "disagreement": event.disagreement, "event": event.key
            }  # fmt: skip
            each.queue_note(note, received and each is source)
            if may_call_mpi():
                each.send_notes()
    MessageExchange.disarm()


def receive_notes(but: Revocable | None = None) -> None:
    """Receive the notes that have arrived on all communicators of this process, or on all but one:
    an error in one revokes the grids of the others.
    """
    for each in [*alive]:
        if each.revocation is None and each.size > 1 and each is not but:
            each.receive_notes()


def text_of(error: BaseException) -> str:
    """The text of an error in notes, also of one whose `str` raises."""
    try:
        text = str(error)
    except Exception:
        text = ""
    if isinstance(error, RevokedError):
        text = text.partition(ADVICE)[0]
    else:
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return text[:LONGEST].encode(errors="backslashreplace").decode()


def may_call_mpi() -> bool:
    """Whether MPI may be called, now and on this thread."""
    return bool(
        os.getpid() == _process
        and MPI.Is_initialized()
        and not MPI.Is_finalized()
        and (MPI.Query_thread() >= MPI.THREAD_SERIALIZED or MPI.Is_thread_main())
    )


def announce_end() -> None:
    """Send the ranks of all grids a note that this one ends, also of revoked grids that were not
    made again. A rank that waits for less than was begun here goes on waiting.
    """
    if not may_call_mpi():
        return
    error = getattr(sys, "last_value", None)
    reason = "" if error is None else text_of(error)
    for each in [*alive]:
        if each.size > 1:
            for peer in each.near():
                note = {"ended": reason, "grids": each.counts(peer)}
                each._unsent.append((peer, json.dumps(note).encode()))
            alive.discard(each)
        each.send_notes()
    if left:
        free()
