"""The mpi engine: each plan's messages by persistent requests, one a peer each way, and copies within the rank meanwhile.

An exchange that was given up (a timeout, Ctrl-C, a dropped handle) counts as made: the next start lets it end first. A rank that
leaves an exchange out is noticed at the next handshake; the two then shake hands anew, and values that nobody wants any more are
received and dropped.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
from mpi4py import MPI

from gridbuf import _core
from gridbuf.distributed.binding import ADD, CLEAR, Entry, Message, Sources, adjoint
from gridbuf.distributed.debugging import SEAL, Guard, debugging, poisoning
from gridbuf.distributed.errors import DisagreementError
from gridbuf.distributed.handshake import Handshakes, Words, chunks_of, facts_of, fields_differ, receive_any, refuse
from gridbuf.distributed.hub import PLAN_TAGS, Hub, hub_of, ranks
from gridbuf.distributed.messages import Messages, parts
from gridbuf.distributed.waiting import Waiting

CopyProgram = _core.CopyProgram


class MPIEngine:
    """The ranks of a communicator."""

    name = "mpi"

    def __init__(self, comm: Any, timeout: float | None = None) -> None:
        self.hub = hub_of(comm)
        self.rank, self.size, self.timeout = self.hub.rank, self.hub.size, timeout

    def failed(self, error: Exception) -> None:
        self.hub.trouble = f"{type(error).__name__}: {error}"

    def total(self, number: int) -> int:
        self.hub.check()
        mine = np.array([number], np.uint64)
        return int(self.hub.reduce(mine, MPI.SUM, self.timeout, "they have not asked for this sum")[0])

    def prepare(self, plan: Any) -> "MPITransport":
        return MPITransport(plan, self.hub, self.timeout)


class MPITransport:
    """Moves one plan."""

    def __init__(self, plan: Any, hub: Hub, timeout: float | None) -> None:
        self.hub, self.timeout, self.number = hub, timeout, hub.number()
        self.name = f"plan {self.number} ({', '.join(bound.name for bound in plan.bounds)})"
        self.slots, self.copies, self.binding = plan.slots(), plan.copies, plan.binding
        self.sends: dict[int, Message] = plan.sends
        self.receives: dict[int, Message] = plan.receives
        self.peers = sorted({*self.sends, *self.receives})
        self.exchange, self.debug = 0, debugging()
        self._agreed = dict.fromkeys(self.peers, -1)
        self._ledger = {peer: [0, 0] for peer in self.peers}  # exchanges of this plan with values for a peer, and from it
        self._handshakes = Handshakes(hub, self.name, timeout)
        self._their: dict[int, tuple[int, list[list[str]]]] = {}  # by peer: its tag, and its order of each field's dims
        self._tags: dict[int, int] = {}  # by peer: the tag that it sends with
        self._ways: tuple[Messages, Messages] | None = None  # there, and the adjoint's back
        self._under_way: Messages | None = None
        self._fields: Sequence[Any] = ()
        self._refused = 0, ""

    # ---- what a plan asks for ----

    def start(self, fields: Sequence[Any]) -> int:
        self._begin(fields, 0)
        return self.exchange

    def test(self, exchange: int) -> bool:
        self.hub.check()
        if exchange == self._refused[0]:
            raise DisagreementError(self._refused[1])
        if self._under_way is None or exchange != self.exchange:
            return True
        if not self._under_way.arrived():
            self._look()
            return False
        self._finish()
        return True

    def wait(self, exchange: int, timeout: float | None) -> None:
        self.hub.check()
        if exchange == self._refused[0]:
            raise DisagreementError(self._refused[1])
        if self._under_way is not None and exchange == self.exchange:
            self._wait(timeout)
            self._finish()

    def accumulate(self, fields: Sequence[Any]) -> None:
        self._begin(fields, 1)
        self._wait(None)
        self._finish()

    # ---- one exchange ----

    def _begin(self, fields: Sequence[Any], way: int) -> None:
        hub = self.hub
        hub.check()
        for peer in self.peers:
            if self._agreed[peer] != hub.doubts[peer]:
                self._agree(fields)
                break
        if self._under_way is not None:  # given up: it counts as made
            self._wait(None)
            self._under_way = None
        if self._ways is None:
            self._ways = self._connect()
        messages = self._ways[way]
        messages.fill(fields)
        self.exchange += 1
        self._under_way, self._fields = messages, fields  # before anything is: Ctrl-C may come between
        messages.start(fields)

    def _wait(self, timeout: float | None) -> None:
        messages = self._under_way
        assert messages is not None
        if messages.arrived():
            return
        waiting = Waiting(self.timeout if timeout is None else timeout, self._missing)
        while not messages.arrived():
            if waiting.pause():
                self._look()

    def _finish(self) -> None:
        messages, fields = self._under_way, self._fields
        self._under_way, self._fields = None, ()
        assert messages is not None
        messages.finish(fields)

    def _missing(self) -> str:
        assert self._under_way is not None
        late = self._under_way.missing() or self._under_way.stuck()
        return f"rank {self.hub.rank} waits for {ranks(late)}: {self.name}, exchange {self.exchange}"

    def _look(self) -> None:
        """A handshake that came while values are awaited: its sender has left an exchange out, or is ahead."""
        hub = self.hub
        while (found := receive_any(hub)) is not None:
            hub.mail[found[0]].append(found[1])
        assert self._under_way is not None
        missing, stuck = self._under_way.missing(), self._under_way.stuck()
        for peer in sorted({*missing, *stuck}):
            if not hub.mail[peer]:
                continue
            words = hub.mail[peer][0]
            if "refused" in words:  # what this rank had told it before it gave up
                hub.unanswered.pop(peer, None)
                self._give_up(peer, hub.mail[peer].popleft()["refused"])
            sent, awaited = hub.ledger[peer]
            if (peer in missing and words["sent"] < awaited) or (peer in stuck and words["awaited"] < sent):
                self._refuse(peer, hub.mail[peer].popleft())

    def _refuse(self, peer: int, words: Words) -> None:
        """The values that this rank waits for will not come, or nobody takes those that it has sent."""
        hub = self.hub
        text = f"rank {hub.rank} waits for the values of rank {peer}: {self.name}, exchange {self.exchange}"
        text += f"; rank {peer} is at its {words['plan']}, whose first use it is"
        if problem := fields_differ(self._facts(), words["fields"], hub.rank, peer):
            text += f"; {problem}"
        if words["trouble"]:
            text += f"; before, it raised {words['trouble']}"
        refuse(hub, peer, text)
        self._give_up(peer, text)

    def _give_up(self, peer: int, text: str) -> None:
        """The exchange under way does not end with this peer; both shake hands anew."""
        assert self._under_way is not None
        if peer in self._under_way.missing():
            self._ledger[peer][1] -= self._under_way.cancel(peer) == 0
        self.hub.doubt(peer)
        self._refused = self.exchange, text
        raise DisagreementError(text)

    # ---- before the first ----

    def _agree(self, fields: Sequence[Any]) -> None:
        """Shake hands with all peers that this rank has not agreed with, or no longer does."""
        error: Exception | None = None
        try:
            CopyProgram(self.slots, []).check(*fields)
        except (TypeError, ValueError) as found:
            error = found
        wrong = "" if error is None else f"{type(error).__name__}: {error}"
        doubtful = [peer for peer in self.peers if self._agreed[peer] != self.hub.doubts[peer]]
        heard, problem = self._handshakes.shake({peer: self._words(peer, wrong) for peer in doubtful})
        for peer, (words, tag) in heard.items():
            if self._tags.get(peer) != tag:
                self._tags[peer], self._ways = tag, None
            self._drop(peer, words["begun"])
            if self._ledger[peer][1] > words["begun"]:  # given up, and never to come
                if self._under_way is not None:
                    self._under_way.cancel(peer)
                self._ledger[peer][1] = words["begun"]
            self._agreed[peer] = self.hub.doubts[peer]
            its = (words["tag"], words["orders"])
            if self._their.get(peer) != its:
                self._their[peer], self._ways = its, None
        if error is not None:
            raise error
        if problem:
            raise DisagreementError(f"rank {self.hub.rank}: {self.name}: {problem}")

    def _facts(self) -> list[Words]:
        return [facts_of(bound, rule(sources)) for bound, sources in zip(self.binding.bounds, self.binding.sources, strict=True)]

    def _words(self, peer: int, error: str) -> Words:
        there, here = self.sends.get(peer), self.receives.get(peer)
        return {
            "fields": self._facts(),
            "sends": [there.nbytes if there else 0, chunks_of(there)],
            "receives": [here.nbytes if here else 0, chunks_of(here)],
            "orders": [list(order) for order in self.binding.orders],
            "tag": self.number % PLAN_TAGS,
            "begun": self._ledger[peer][0],
            "debug": self.debug,
            "error": error,
        }

    def _drop(self, peer: int, begun: int) -> None:
        """Receive and forget the values that a peer has sent by this plan and this rank never asked for."""
        while self._ledger[peer][1] < begun:
            for _ in parts(np.empty((self.receives.get(peer) or self.sends[peer]).nbytes, "u1")):
                status = MPI.Status()
                message = self.hub.comm.Mprobe(peer, self._tags[peer], status)
                message.Recv([np.empty(status.Get_count(MPI.BYTE), "u1"), MPI.BYTE])
            self._ledger[peer][1] += 1

    def _connect(self) -> tuple[Messages, Messages]:
        """Requests and programs of both ways, over one buffer for each message."""
        sends = {
            peer: self.binding.message(peer, links_of(message), True, [tuple(order) for order in self._their[peer][1]])
            for peer, message in self.sends.items()
        }
        more = SEAL if self.debug else 0
        out = {peer: _core.empty((message.nbytes + more,), "uint8") for peer, message in sends.items()}
        come = {peer: _core.empty((message.nbytes + more,), "uint8") for peer, message in self.receives.items()}
        tags = {peer: tag for peer, (tag, _) in self._their.items()}
        first = len(self.slots)
        slots = [*self.slots, *out.values()]
        pack = [entry for i, message in enumerate(sends.values()) for entry in packed(message, first + i)]
        added = [entry for i, message in enumerate(sends.values()) for entry in unpacked(message, first + i, ADD)]
        slots_in = [*self.slots, *come.values()]
        unpack = [entry for i, message in enumerate(self.receives.values()) for entry in unpacked(message, first + i, 0)]
        cleared = [entry for i, message in enumerate(self.receives.values()) for entry in packed(message, first + i, CLEAR)]
        there = Messages(
            self.hub,
            {peer: (buffer, tags[peer]) for peer, buffer in out.items()},
            {peer: (buffer, self._tags[peer]) for peer, buffer in come.items()},
            (CopyProgram(slots, pack), program(self.slots, self.copies), program(slots_in, unpack)),
            Guard(self.name, poisoning(self.slots, self.copies, self.receives.values()), out, come, self._ledger)
            if self.debug
            else None,
        )
        back = Messages(
            self.hub,
            {peer: (buffer, tags[peer]) for peer, buffer in come.items()},
            {peer: (buffer, self._tags[peer]) for peer, buffer in out.items()},
            (CopyProgram(slots_in, cleared), program(self.slots, adjoint(self.copies)), program(slots, added)),
            Guard(self.name, None, come, out, self._ledger) if self.debug else None,
        )
        for messages in (there, back):
            messages.count(self.hub.ledger, self._ledger)
        return there, back


def rule(sources: Sources) -> str:
    """How a field's values change on their way, in words that both ends share."""
    return f"{sources.item.kind}, sign {sources.item.sign}, component {sources.component} of fields {list(sources.fields)}"


def program(slots: Sequence[Any], entries: Sequence[Entry]) -> Any:
    return CopyProgram(slots, entries) if entries else None


def links_of(message: Message) -> list[tuple[int, list[Any]]]:
    return [(field, [chunk.link for chunk in its]) for field, its in groupby(message.chunks, lambda chunk: chunk.field)]


def packed(message: Message, slot: int, mode: int = 0) -> list[Entry]:
    """Fields into a message."""
    return [
        (slot, c.at, c.strides, c.place.slot, c.place.at, c.place.strides, c.shape, c.dtype, mode or c.mode)
        for c in message.chunks
    ]


def unpacked(message: Message, slot: int, mode: int) -> list[Entry]:
    """A message into fields."""
    return [
        (c.place.slot, c.place.at, c.place.strides, slot, c.at, c.strides, c.shape, c.dtype, mode and mode | c.mode)
        for c in message.chunks
    ]
