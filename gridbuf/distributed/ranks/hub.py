"""A hub: the duplicate of a communicator that all grids of it share, and what its ranks must count together.

MPI is called on the thread of whoever calls gridbuf, and by nothing else: a plan that is collected leaves its requests (left.py), and the
next call frees them. Nothing is freed by a destructor, so the end of a program is silent before and after MPI.Finalize.
"""

import gc
import os
import threading
import weakref
from collections import defaultdict, deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from gridbuf._core import MessageExchange
from gridbuf.distributed.calls import ENDS, IDLE, MEETING, Call, attempt
from gridbuf.distributed.ranks.agreements import Agreement
from gridbuf.distributed.ranks.left import LAST_WORDS, drop, free, left
from gridbuf.distributed.ranks.tags import LARGEST_TAG, PLAN_TAGS, Tag, Tags, both
from gridbuf.distributed.waiting import Waiting

FEW = 256  # ranks that tell each other whatever they raise, and where they wait
MOST_KINDS = 256  # the newest kinds of messages, of which a peer is told how many there were; of others it knows their sum
HANDSHAKE = LARGEST_TAG
ROLL = HANDSHAKE - 1
CALL_TAGS = range(2 * PLAN_TAGS, ROLL)  # of calls that all ranks make, in turn: what one leaves behind is not the next one's


class Hub:
    """One for each communicator, kept with it as an attribute.

    Attributes
    ----------
    comm : MPI.Intracomm
        The duplicate: no message of ours meets one of the user's.
    epochs : dict
        By rank: how many errors have come between it and this one. Plans that were agreed on before the last shake hands anew.
    reached : dict
        By rank: the epoch in which it was when it was last heard of.
    ledger : dict
        By rank: how many exchanges have begun with values for it, and from it, in this epoch. Who compares the two sides sees an exchange
        that one left out.
    doubted : int
        How many epochs have begun.
    peers : set
        Ranks that plans exchange with, and those that this one has heard of.
    coming, mail : dict
        By rank: its messages that are being received; its handshakes that have come.
    notes : dict
        By rank and the epoch that it begins: what that rank has raised, and this one has not heard of.
    transports : WeakSet
        What may be under way: each is told of what a peer raises, which it may leave out.
    raised : dict
        By rank: the last error which began there that this one has raised as well.
    errors : int
        How many this rank has raised.
    step : int
        How many steps of the program errors have ended: calls of all ranks are made in one step.
    ended : deque
        What ended the last of them.
    untold : deque
        What its peers have not been told of that.
    stalled : dict
        By rank: where it waited for this one when it last said so.
    told : set
        Ranks that were told where this one waits.
    unread : dict
        By rank: how often it has been told where this one waits, and has not read it.
    sending : WeakValueDictionary
        By rank and the tag that it has told: what was agreed on.
    unanswered : dict
        By rank: the handshake of this epoch that it has not answered. There is one at most: an answer says nothing of which it is for.
    agreements : dict
        By rank and digest of a kind of message: what plans that are kept for users have agreed on. They stay: whether a plan is
        still alive is known on its own rank alone, and a rank that forgot what its peer remembers would wait for a handshake that
        the peer has no reason to make. Each has a tag, so there are never more of them with a peer than tags.
    tags : dict
        By rank: the tags of messages between the two.
    exchanges : object or None
        What `gridbuf.interop.mpi4py.exchange_halos` remembers of the communicator.
    call : Call or None
        What all ranks do together and this one has not ended: given up, or under way.
    calls : int
        How many of them there were, those left out that some rank has not come to.
    reductions : int
        How many reductions this rank has begun: all ranks the same ones.
    waiting : dict
        By rank: in which of them it waited when it last said so.
    users : WeakSet
        Engines, which grids and plans hold: while there is one on any rank the duplicate is needed.
    """

    def __init__(self, comm: Any, timeout: float | None) -> None:
        begun = comm.Get_attr(_keys[1])  # by a call that was given up: the others have made it once
        if begun is None:
            comm.Set_attr(_keys[1], begun := comm.Idup())
        self.comm, request = begun
        Waiting(timeout, lambda: f"rank {comm.rank} waits for the other ranks of {comm.size}: they make no grid").until(
            request.Test
        )
        comm.Delete_attr(_keys[1])
        self.rank, self.size = self.comm.rank, self.comm.size
        self.ledger: defaultdict[int, NDArray[np.int64]] = defaultdict(lambda: np.zeros(2, np.int64))
        self.epochs: defaultdict[int, int] = defaultdict(int)
        self.reached: defaultdict[int, int] = defaultdict(int)
        self.peers: set[int] = set()
        self.coming: defaultdict[int, deque[tuple[Any, Any]]] = defaultdict(deque)
        self.mail: defaultdict[int, deque[dict[str, Any]]] = defaultdict(deque)
        self.notes: dict[tuple[int, int], dict[str, Any]] = {}
        self.transports: weakref.WeakSet[Any] = weakref.WeakSet()
        self.raised: defaultdict[int, int] = defaultdict(int)
        self.untold: deque[tuple[int, dict[str, Any]]] = deque()
        self.stalled: dict[int, dict[str, Any]] = {}
        self.told: set[int] = set()
        self.unread: defaultdict[int, int] = defaultdict(int)
        self.sending: weakref.WeakValueDictionary[tuple[int, int], Agreement] = weakref.WeakValueDictionary()
        self.unanswered: dict[int, dict[str, Any]] = {}
        self.doubted = self.errors = self.step = 0
        self.ended: deque[dict[str, Any]] = deque(maxlen=FEW)
        self.swept = 0.0  # when values that are nobody's were last asked for
        self.far: set[int] = set()  # ranks on other machines
        self.agreements: dict[tuple[int, bytes], Agreement] = {}
        self.tags: defaultdict[int, Tags] = defaultdict(Tags)
        self.exchanges: Any = None
        self._process = os.getpid()
        self._level = MPI.Query_thread()
        self._plans = 0
        self.call: Call | None = None
        self.calls = self.reductions = 0
        self.waiting: dict[int, int] = {}
        self.users: weakref.WeakSet[Any] = weakref.WeakSet()

    def number(self) -> int:
        """The next plan's number: what this rank calls it."""
        self._plans += 1
        return self._plans

    def tag(self, peer: int, again: bool) -> Tag:
        """A tag that nothing else between this rank and a peer uses; RuntimeError where there is none."""
        tags = self.tags[peer]
        tag = tags.new(again)
        if tag is None:
            gc.collect()  # plans may be dead and not collected
            self.check()
            tag = tags.new(again)
        if tag is None:
            raise RuntimeError(
                f"rank {self.rank} gets {tags.limit()} kinds of messages from rank {peer}, and MPI promises no more tags: let go of plans that "
                "are no longer used; a kind of fields that grid.exchange or exchange_halos was given keeps its tag"
            )
        self.forget(peer, tag.number)
        return tag

    def forget(self, peer: int, tag: int) -> None:
        """Receive what has come with a tag, and drop it: nobody wants it, and its sender may wait until it is taken."""
        status = MPI.Status()
        for number in both(tag):
            while (message := self.comm.Improbe(peer, number, status)) is not None:
                drop(message, status)

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
        if left:
            free()

    def ready(self) -> bool:
        """Whether nothing has to be looked at before MPI is called; else check() does it."""
        return not (left or MPI.Is_finalized() or self._level < MPI.THREAD_SERIALIZED)

    def joined(self) -> set[int]:
        """The ranks that hear of what this one raises: all where they are few, else those of its plans, and those beside it in a grid."""
        if self.size <= FEW:
            return {*range(self.size)} - {self.rank}
        return self.peers.union(*(attempt(engine.around)[0] or () for engine in [*self.users]))

    def ended_by(self, step: int) -> dict[str, Any] | None:
        """What ended the step before this one, as far as this rank remembers."""
        return self.ended[max(step - 1 - self.step, -len(self.ended))] if self.ended and step <= self.step else None

    def kinds(self, peer: int) -> dict[int, list[list[int]]]:
        """By tag that a peer has told: how many exchanges have begun in this epoch to it, and from it; and how many adjoints."""
        agreed = [(tag, its) for (who, tag), its in [*self.sending.items()] if who == peer and its.epoch == self.epochs[peer]]
        return {tag: its.ledger.tolist() for tag, its in agreed[-MOST_KINDS:]}

    def renew(self, peer: int) -> None:
        """An error has come between the two ranks: all plans between them shake hands before they are used again."""
        self.epochs[peer] += 1
        self.notes.pop((peer, self.epochs[peer]), None)
        mail = self.mail[peer]
        while mail and mail[0]["epoch"] < self.epochs[peer]:
            mail.popleft()
        self.ledger[peer][:] = 0, 0
        self.tags[peer].end()
        self.unanswered.pop(peer, None)
        self.doubted += 1
        MessageExchange.disarm()

    def end(self) -> None:
        """The user frees the communicator, on all ranks: so is the duplicate, where no rank needs it any more."""
        self.check()
        self.exchanges = None
        ours, found = np.zeros(MEETING, np.uint64), np.zeros(MEETING, np.uint64)
        while found[ENDS] < self.size:  # else some have said there what they say in a call that others have left out
            if self.call is not None:
                self._end_call(self.call)
            if self.users or left:
                gc.collect()  # grids may be dead and not collected
                self.check()
            ours[ENDS], ours[IDLE] = 1, not (self.users or left)
            request = self.comm.Iallreduce(ours, found, MPI.SUM)
            self.reductions += 1
            _asked.append((self, request, ours, found))
            Waiting(LAST_WORDS, lambda: "a rank has no duplicate: it gave up when the grid was made").until(request.Test)
            _asked.pop()
        if found[IDLE] == self.size:
            self.comm.Free()

    def _end_call(self, call: Call) -> None:
        """Let one end that was given up, or that others have left out: nobody asks what became of it."""
        try:
            call.drive(LAST_WORDS)
        except Exception:
            if not call.over:
                raise
        self.call = None


_keys: list[int] = []
_asked: list[Any] = []  # what MPI may still write to


def _freed(comm: Any, keyval: int, hub: Hub) -> None:
    """What MPI calls when a communicator goes: an error here would be that of comm.Free()."""
    with suppress(RuntimeError, TimeoutError, MPI.Exception):  # MPI is finalized, this is another thread: the duplicate stays
        hub.end()


def _ending(comm: Any, keyval: int, value: Any) -> None:
    """What MPI.Finalize calls first: it frees the attributes of COMM_SELF before anything else."""
    MessageExchange.disarm()


def hub_of(comm: Any, timeout: float | None = None) -> Hub:
    """The hub of a communicator: every grid of it has the same. The first time all ranks call this."""
    if MPI.Is_finalized():
        raise RuntimeError("MPI is finalized: grids with a communicator can no longer be used")
    if not _keys:
        _keys.extend((MPI.Comm.Create_keyval(delete_fn=_freed), MPI.Comm.Create_keyval()))  # a hub, a duplicate on its way
        MPI.COMM_SELF.Set_attr(MPI.Comm.Create_keyval(delete_fn=_ending), True)
    found: Hub | None = comm.Get_attr(_keys[0])
    if found is None:
        found = Hub(comm, timeout)
        comm.Set_attr(_keys[0], found)
    return found


def ranks(numbers: Sequence[int]) -> str:
    """ "rank 2" or "ranks 2, 5"."""
    return f"rank{'s' * (len(numbers) > 1)} {', '.join(map(str, sorted(numbers)))}"
