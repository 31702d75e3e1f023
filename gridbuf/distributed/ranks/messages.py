"""Messages under way: the persistent requests of one direction of a plan, and the copies at both ends.

One message a peer each way, in parts where it is larger than MPI's counts. Requests are made once for memory that stays where it is, and
once for each memory that fields are given in. `_core.MessageExchange` packs, starts, polls and unpacks. What a collected plan leaves
under way stays (left.py) until it has ended.

Messages of one tag are told apart by their order: parts of a long one, and a number behind values. Startall starts its requests in any order, MPI
says; so those of one tag are never started together, but one call after the other.
"""

import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from mpi4py import MPI

from gridbuf import _core
from gridbuf.distributed.plans.debugging import Guard
from gridbuf.distributed.ranks.buffers import Carriage
from gridbuf.distributed.ranks.hub import Hub
from gridbuf.distributed.ranks.inside import Inside
from gridbuf.distributed.ranks.left import Left, keep, leave
from gridbuf.distributed.ranks.numbering import Numbers, Wrong
from gridbuf.distributed.ranks.tags import Tag
from gridbuf.distributed.waiting import SPIN

PART = 2**30  # bytes in one request: MPI 3 counts with ints
MOST_PLACES = 16  # memories of fields that requests are kept for: time levels take turns
Ends = Mapping[int, tuple[Any, Tag]]  # by peer: the memory of its message, or where in a field that lies, and the tag
Entries = Sequence[tuple[int, Any, Tag]]  # peer, memory and tag


def spans(nbytes: int) -> range:
    """Where the parts of a message begin."""
    return range(0, max(nbytes, 1), PART)


def parts(buffer: Any) -> list[Any]:
    """A message as MPI takes it: one array of bytes, or several."""
    memory = np.asarray(buffer)
    return [memory[at : at + PART] for at in spans(memory.nbytes)]


def of_the_past(hub: "weakref.ref[Hub]", sources: Sequence[tuple[int, Tag]], receives: Sequence[Any]) -> list[Any]:
    """Receives to which nobody's values come: those of epochs that are over, or of a communicator that nobody uses."""
    its = hub()
    pairs = zip(sources, receives, strict=False)
    return [request for (peer, tag), request in pairs if its is None or its.tags[peer].is_over(tag)]


class Requests:
    """Makes the requests of one direction; where messages lie inside fields, for each memory of these."""

    def __init__(self, hub: Hub, outgoing: Entries, incoming: Entries, back: bool, receives: list[Any], sends: list[Any]) -> None:
        self._back = back
        self._hub, self._outgoing, self._incoming, self._receives, self._sends = hub, outgoing, incoming, receives, sends
        ends = [memory for _, memory, _ in (*outgoing, *incoming)]
        self.slots = sorted({memory.slot for memory in ends if isinstance(memory, Inside)})
        self.made: dict[tuple[int, ...], list[Any]] = {}
        self.sources: list[tuple[int, Tag]] = []  # of the receives

    def at(self, addresses: tuple[int, ...]) -> list[Any]:
        """Receives, then sends, where the fields with messages in them lie at these addresses."""
        if len(self.made) >= MOST_PLACES:
            leave(Left([*self._receives], [*self._sends], None))
            for each in (self.made, self._receives, self._sends, self.sources):
                each.clear()
        where = dict(zip(self.slots, addresses, strict=True))
        comm, found = self._hub.comm, []
        for make, ends, kept in ((comm.Recv_init, self._incoming, self._receives), (comm.Send_init, self._outgoing, self._sends)):
            for peer, memory, tag in ends:
                for part in parts(memory.at(where[memory.slot]) if isinstance(memory, Inside) else memory):
                    kept.append(make([part, MPI.BYTE], peer, tag.of(self._back)))
                    found.append(kept[-1])
                    if kept is self._receives:
                        self.sources.append((peer, tag))
        self.made[addresses] = found
        return found


class Receiving:
    """What is received in one direction. It outlives its plan while that is under way: the agreement, which other plans share, ends it.

    Attributes
    ----------
    lost : str
        Why messages of the exchange under way do not come: those are cancelled.
    """

    def __init__(self, come: Sequence[int], exchange: _core.MessageExchange) -> None:
        self._come, self._exchange, self.lost = come, exchange, ""

    def requests(self) -> "zip[tuple[int, Any]]":
        """Those under way, each with its peer."""
        return zip(self._come, self._exchange.active or [], strict=False)

    def cancel(self, peer: int, why: str) -> None:
        """No longer receive from a peer in the exchange under way."""
        for its, request in self.requests():
            if its == peer:
                status = MPI.Status()
                if not request.Get_status():
                    request.Cancel()
                if request.Test(status) and status.Is_cancelled():
                    self.lost = why


class Messages:
    """One direction: what goes to which peer, what comes from which, each with its memory and its tag.

    Parameters
    ----------
    outgoing
        By peer: its memory, and the tag that the peer receives with.
    incoming
        By peer: its memory, and the tag that this rank receives with.
    programs
        Fields to messages, fields to fields, messages to fields.
    ledgers
        By peer: how many exchanges have begun with values for it, and from it.
    back
        Whether it is the adjoint's.
    counts
        How many exchanges have begun in all; and ended, where that counts as well.
    wrong
        What is called where a number is not the one that was awaited.
    guard
        What looks after messages and halos in debug mode.
    carriage
        What brings messages from a GPU, and to it.

    Attributes
    ----------
    kinds : dict
        By peer: the tag that it was told, the direction, and how many exchanges with these have begun.
    """

    def __init__(
        self,
        hub: Hub,
        outgoing: Ends,
        incoming: Ends,
        programs: tuple[_core.CopyProgram, _core.CopyProgram | None, _core.CopyProgram | None],
        ledgers: Sequence[Mapping[int, Any]],
        back: bool,
        counts: Sequence[Any],
        wrong: Wrong,
        guard: Guard | None = None,
        carriage: Carriage | None = None,
    ) -> None:
        self.silent = sorted({*outgoing} - {*incoming})  # peers that send nothing back
        numbers = Numbers(hub.ledger, self.silent, sorted({*incoming} - {*outgoing}), wrong)
        sent, received = entries(outgoing, numbers.out), entries(incoming, numbers.come)
        self.to = [peer for peer, memory, _ in sent for _ in spans(memory.nbytes)]
        self.come = [peer for peer, memory, _ in received for _ in spans(memory.nbytes)]
        counters = [ledger[peer][i : i + 1] for ledger in ledgers for i, ends in enumerate((outgoing, incoming)) for peer in ends]
        counters.extend(counts)
        held: list[Any] = [sent, received]
        receives: list[Any] = []
        sends: list[Any] = []
        requests = Requests(hub, sent, received, back, receives, sends)  # which the exchange keeps, so it knows nothing of that
        left = Left(receives, sends, held, partial(of_the_past, weakref.ref(hub), requests.sources, receives))
        weakref.finalize(self, leave, left).atexit = False  # first of all: whatever fails below, its requests are freed
        before = [
            step
            for step in (carriage and carriage.down, guard and guard.close, (numbers.out or numbers.come) and numbers.write)
            if step
        ]
        after = [step for step in (numbers.come and numbers.check, guard and guard.check, carriage and carriage.up) if step]
        order = in_turns(self.come, self.to)
        begin = following(before, order) if before or len(order) > 1 else MPI.Prequest.Startall
        check = each_of(after) if after else None
        self._guard, self.back = guard, back
        self.kinds: dict[int, tuple[int, bool, Any]] = {}
        inside = (requests.at, tuple(requests.slots)) if requests.slots else ()
        of = requests.made if inside else requests.at(())
        self.exchange = _core.MessageExchange(programs, begin, MPI.Prequest.Testall, check, of, tuple(counters), SPIN, *inside)
        self.receiving = Receiving(self.come, self.exchange)
        held.append(self.receiving)
        keep(left)

    def start(self, fields: Sequence[Any]) -> None:
        """Nothing is under way: pack, send, and copy within the rank meanwhile."""
        if self._guard is not None:
            self._guard.fields = fields
        self.receiving.lost = ""
        self.exchange.start(*fields)

    def missing(self) -> list[int]:
        """Peers whose messages have not come."""
        return sorted({peer for peer, request in self.receiving.requests() if not request.Get_status()})

    def stuck(self) -> list[int]:
        """Peers that have not taken theirs."""
        sends = (self.exchange.active or [])[len(self.come) :]
        return sorted({peer for peer, request in zip(self.to, sends, strict=False) if not request.Get_status()})


def entries(ends: Ends, numbers: Mapping[int, Any]) -> Entries:
    """Messages, each followed by its number where it has one."""
    found: list[tuple[int, Any, Tag]] = []
    for peer, (memory, tag) in ends.items():
        found.append((peer, memory, tag))
        if peer in numbers:
            found.append((peer, numbers[peer], tag))
    return found


def in_turns(come: Sequence[int], to: Sequence[int]) -> list[list[int]]:
    """Which requests are started together, receives before sends: the first with each peer, then the second."""
    turns: defaultdict[int, list[int]] = defaultdict(list)
    times: Counter[tuple[bool, int]] = Counter()
    for i, end in enumerate([*((False, peer) for peer in come), *((True, peer) for peer in to)]):
        turns[times[end]].append(i)
        times[end] += 1
    return [*turns.values()] or [[]]


def following(steps: Sequence[Callable[[], None]], order: Sequence[Sequence[int]]) -> Any:
    """What starts requests after these steps, and in this order."""

    def begin(requests: list[Any]) -> None:
        for step in steps:
            step()
        for turn in order:
            MPI.Prequest.Startall([requests[i] for i in turn])

    return begin


def each_of(steps: Sequence[Callable[[], None]]) -> Callable[[], None]:
    def check() -> None:
        for step in steps:
            step()

    return check
