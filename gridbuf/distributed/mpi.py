"""The mpi engine: each plan's messages by persistent requests, one a peer each way, and copies within the rank meanwhile.

An exchange that was given up (a timeout, Ctrl-C, a dropped handle) counts as made: the next start lets it end first. A rank that
leaves an exchange out is noticed at the next handshake; the two then shake hands anew, and values that nobody wants any more are
received and dropped.
"""

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridbuf import _core
from gridbuf.distributed.agreements import Agreement, Orders
from gridbuf.distributed.aware import takes_gpus
from gridbuf.distributed.binding import ADD, CLEAR, Binding, Message, adjoint, links_of, packing, program, unpacking
from gridbuf.distributed.buffers import Buffers, Carriage, GPUBuffers, Turns, on_host
from gridbuf.distributed.calls import Steps
from gridbuf.distributed.debugging import SEAL, Guard, debugging, poisoning
from gridbuf.distributed.engine import Quick
from gridbuf.distributed.errors import DisagreementError
from gridbuf.distributed.everyone import Everyone, words_of
from gridbuf.distributed.handshake import shake
from gridbuf.distributed.hub import hub_of, ranks
from gridbuf.distributed.linking import LinkBuilder
from gridbuf.distributed.mail import Words, collect, head
from gridbuf.distributed.messages import Messages, forget
from gridbuf.distributed.raising import heard, tell
from gridbuf.distributed.sharing import wanted
from gridbuf.distributed.terms import Terms
from gridbuf.distributed.waiting import Waiting

CopyProgram = _core.CopyProgram


class MPIEngine:
    """The ranks of a communicator."""

    name = "mpi"

    def __init__(self, comm: Any, timeout: float | None = None, aware: bool | None = None) -> None:
        self.hub = hub_of(comm)
        self.rank, self.size, self.timeout, self.aware, self.shares = self.hub.rank, self.hub.size, timeout, aware, wanted()
        self.hub.users.add(self)

    def failed(self, error: Exception, peers: Iterable[int]) -> None:
        if not isinstance(error, DisagreementError | TimeoutError):  # of the ranks together: they know
            tell(self.hub, f"rank {self.rank}: {words_of(error).decode()}", peers)

    def run(self, key: Any, make: Callable[[Any], Steps[Any]]) -> Any:
        return Everyone(self.hub, self.timeout).run(key, make)

    def serve(self, links: LinkBuilder) -> None:
        pass

    def prepare(self, plan: Any) -> Any:
        return MPITransport(plan, self)


class MPITransport:
    """Moves one plan."""

    def __init__(self, plan: Any, engine: MPIEngine) -> None:
        self.gpu: int | None = plan.gpu
        self._plan = weakref.ref(plan)  # which has the transport
        self.engine, self.hub, self.timeout, self.number = engine, engine.hub, engine.timeout, engine.hub.number()
        self.binding: Binding = plan.binding
        self.sends: dict[int, Message] = plan.sends
        self.receives: dict[int, Message] = plan.receives
        self.debug = debugging()
        self._doubted = -1  # the hub's, when this plan was last used
        self._begun: tuple[int, dict[int, Any]] = 0, {}  # an exchange, and by peer the epoch and the counts it began with
        self._ends: dict[int, Words] = {}  # by peer: what it has raised, if that ended the epoch in which the exchange began
        self._there: Messages | None = None
        self._back: Messages | None = None  # the adjoint's
        self._latest: Messages | None = None  # that were started
        self._refused = 0, ""
        self.shared: tuple[list[int], list[int]] = [], []  # to whom and from whom values go through memory that both have

    # ---- what is worked out when it is used: many plans are made that never are ----

    @cached_property
    def name(self) -> str:
        return f"plan {self.number} ({', '.join(bound.name for bound in self.binding.bounds)})"

    @cached_property
    def slots(self) -> list[Any]:
        found: list[Any] = self._made().slots()
        return found

    @cached_property
    def _count(self) -> NDArray[np.int64]:
        """How many exchanges have begun, which C counts."""
        return np.zeros(1, np.int64)

    @property
    def exchange(self) -> int:
        return int(self._count[0])

    @cached_property
    def peers(self) -> list[int]:
        return sorted({*self.sends, *self.receives})

    @cached_property
    def _terms(self) -> Terms:
        shares = self.engine.shares and not self.debug and self.gpu is None
        return Terms(self.hub, self.binding, self.sends, self.receives, self.debug, shares, self._made().shared)

    @property
    def _with(self) -> dict[int, Agreement]:
        return self._terms.agreements

    @cached_property
    def _versions(self) -> dict[int, int]:
        return dict.fromkeys(self.peers, 0)

    @cached_property
    def _ledger(self) -> dict[int, Any]:
        return {peer: agreement.ledger for peer, agreement in self._with.items()}

    def _made(self) -> Any:
        plan = self._plan()
        assert plan is not None  # it called us
        return plan

    # ---- what a plan asks for ----

    def run(self, fields: Sequence[Any]) -> Quick | None:
        there, hub = self._there, self.hub
        if there is None or there.silent or self.debug or self._doubted != hub.doubted or not hub.ready():
            return None
        if self._latest is not there:
            if self._under_way() is not None:  # an adjoint that was given up: it ends first
                return None
            self._latest = there
        ended = there.exchange.run(*fields)
        if ended is None:  # not the objects for it, or something is under way
            return None
        there.exchange.arm(True)
        if not ended:
            self._wait(None)
        return Quick(there.exchange.again, partial(self._wait, None))

    def start(self, fields: Sequence[Any]) -> int:
        self._begin(fields, False)
        return self.exchange

    def test(self, exchange: int) -> bool:
        self._check(exchange)
        messages = self._under_way()
        if messages is None or exchange != self.exchange or messages.exchange.test():
            return True
        self._look()
        return False

    def wait(self, exchange: int, timeout: float | None, leaving: bool = False) -> None:
        messages = self._under_way()
        if leaving and (exchange == self._refused[0] or messages is None):
            return
        self._check(exchange)
        if exchange == self.exchange and messages is not None:
            self._wait(timeout, (lambda: bool(messages.receiving.lost) or messages.exchange.test()) if leaving else None)

    def _check(self, exchange: int) -> None:
        """DisagreementError where it has been refused, or another plan has learnt that its values never come."""
        self.hub.check()
        if exchange == self._refused[0]:
            raise DisagreementError(self._refused[1])
        messages = self._under_way()
        if messages is not None and exchange == self.exchange and messages.receiving.lost:
            raise DisagreementError(f"rank {self.hub.rank}: {self.name}, exchange {exchange}: {messages.receiving.lost}")

    def accumulate(self, fields: Sequence[Any]) -> None:
        self._begin(fields, True)
        self._wait(None)

    # ---- one exchange ----

    def _under_way(self) -> Messages | None:
        return self._latest if self._latest is not None and self._latest.exchange.active is not None else None

    def _begin(self, fields: Sequence[Any], back: bool) -> None:
        hub = self.hub
        hub.check()
        if self.sends.keys() != self.receives.keys():  # values that go at once are not waited for, so letters are looked at now
            collect(hub)
        if (note := self._left_out(back)) is not None:
            CopyProgram(self.slots, [], self.gpu).check(*fields)  # what is wrong here as well is raised here
            self._raise(note["raised"], note["origin"])
        if self._doubted != hub.doubted:
            self._agree(fields, partial(self._left_out, back))
            self._doubted = hub.doubted
        if (before := self._under_way()) is not None:  # given up: it counts as made, and its values are not wanted
            self._wait(None, before.exchange.drop, back)
        messages = self._connected(back)
        if self._terms.late():  # another plan's exchange was given up: peers may still read what it sent
            others = Waiting(self.timeout, lambda: f"{self._waits(self._terms.late())}, values of an exchange that was given up")
            others.until(lambda: self._doubted != hub.doubted or not self._terms.late(), partial(self._look_ahead, back))
            if self._doubted != hub.doubted:
                return self._begin(fields, back)
        if self._there is not None:
            self._there.exchange.arm(False)
        self._latest = messages  # before anything is under way: Ctrl-C may come between
        messages.start(fields)
        self._counts()

    def _wait(self, timeout: float | None, ended: Callable[[], bool] | None = None, back: bool | None = None) -> None:
        messages = self._under_way()
        if messages is None:
            return
        look = partial(self._look, ended is not None, back)
        if ended is None:
            ended = messages.exchange.test
            if messages.exchange.poll():
                return
        Waiting(self.timeout if timeout is None else timeout, self._missing).until(ended, look)

    def _missing(self) -> str:
        messages = self._under_way()
        late = [] if messages is None else messages.missing() or messages.stuck()
        return f"{self._waits(late)}, exchange {self.exchange}"

    def _waits(self, late: Sequence[int]) -> str:
        return f"rank {self.hub.rank} waits for {ranks(late)}: {self.name}"

    def _counts(self) -> dict[int, Any]:
        """By peer the epoch in which the exchange under way began, and which of its exchanges that is: to it, and from it."""
        if self._begun[0] != self.exchange:
            hub = self.hub
            self._begun = self.exchange, {peer: (hub.epochs[peer], *hub.ledger[peer].tolist()) for peer in self.peers}
            self._ends = {peer: note for (peer, epoch), note in hub.notes.items() if epoch == hub.epochs[peer] + 1}
        return self._begun[1]

    def hear(self, peer: int, note: Words) -> None:
        """A peer has raised, and says how far it had come until then."""
        if self._under_way() is not None and self._counts().get(peer, (None,))[0] == note["epoch"] - 1:
            self._ends[peer] = note

    def _left_out(self, back: bool) -> Words | None:
        """What a peer has raised instead of the exchange that is to begin."""
        hub, (to, come) = self.hub, (self.receives, self.sends) if back else (self.sends, self.receives)
        for peer in self.peers:
            if (note := heard(hub, peer)) is not None:
                sent, awaited = hub.ledger[peer]
                if (peer in come and awaited >= note["sent"]) or (peer in to and sent >= note["awaited"]):
                    return note
        return None

    def _look(self, quiet: bool = False, back: bool | None = None) -> None:
        """While values are awaited: a peer has raised, or it shakes hands and has left an exchange out, or is ahead.

        What this rank has raised already may have been about another exchange, and then it is no word on this one: each raises once.
        `quiet`: nobody asks, since it was given up. `back`: which way the next goes, which waits for this one's end and may be left out meanwhile.
        """
        hub, messages, begun = self.hub, self._under_way(), self._counts()
        collect(hub)
        if messages is None:
            return
        if back is not None and (left_out := self._left_out(back)) is not None:
            self._raise(left_out["raised"], left_out["origin"])
        missing, stuck = messages.missing(), messages.stuck()
        for peer in sorted({*missing, *stuck}):
            epoch, sent, awaited = begun[peer]
            note = heard(hub, peer)
            known = hub.epochs[peer] > epoch
            its = self._ends.get(peer) or (None if known else head(hub, peer))
            if its is None or not ((peer in missing and its["sent"] < awaited) or (peer in stuck and its["awaited"] < sent)):
                continue
            text = f"rank {hub.rank}: {self.name}, exchange {self.exchange}: rank {peer} has left it out"
            if known and quiet:
                messages.receiving.lost = text
                continue
            if peer in missing:  # else what is awaited would be left for ever by a plan that goes
                self._with[peer].cancel(peer)
            if note is not None:
                self._raise(note["raised"], note["origin"])
            if known:
                self._raise(f"{text}: {its['raised']}")
            awaits = "the values of" if peer in missing else "its values to be taken by"
            where = f"{self.name}, exchange {self.exchange}; {self._terms.elsewhere(peer, its)}"
            self._raise(f"rank {hub.rank} waits for {awaits} rank {peer}: {where}")

    def _look_ahead(self, back: bool) -> None:
        """Before an exchange begins: a peer has raised instead, or it shakes hands and has left out what is awaited."""
        collect(self.hub)
        if (note := self._left_out(back)) is not None:
            self._raise(note["raised"], note["origin"])
        for peer in self._terms.late():
            its = head(self.hub, peer)
            if its is not None and its["sent"] < self.hub.ledger[peer][1]:
                self._with[peer].cancel(peer)
                self._raise(f"{self._waits([peer])}, values of an exchange that was given up; {self._terms.elsewhere(peer, its)}")

    def _raise(self, raised: str, origin: list[int] | None = None) -> None:
        """The exchange is given up, and told to all of its peers; they shake hands anew."""
        text = f"rank {self.hub.rank}: {self.name}: {raised}" if origin else raised
        if self._under_way() is not None:
            self._refused = self.exchange, text
        tell(self.hub, raised, self.peers, origin)
        raise DisagreementError(text)

    # ---- before the first ----

    def _agree(self, fields: Sequence[Any], left_out: Callable[[], Words | None]) -> None:
        """Shake hands with all peers that this rank has not agreed with in this epoch."""
        hub, terms = self.hub, self._terms
        while (doubtful := terms.doubtful()) or terms.silent():
            if doubtful:
                CopyProgram(self.slots, [], self.gpu).check(*fields)
                short = [terms.prepare(peer, self.number) for peer in doubtful]
                words = {peer: terms.words(peer, next(filter(None, short), "")) for peer in doubtful}
                shake(hub, self.name, self.timeout, words, self.peers, terms.hear, left_out)
            else:
                unsaid = Waiting(self.timeout, lambda: f"{self._waits(terms.silent())}, its first use")
                unsaid.until(partial(self._answered, left_out))
        for peer, agreement in self._with.items():
            if self._versions[peer] != agreement.version:
                self._versions[peer], self._there, self._back = agreement.version, None, None
            if agreement.owed:
                missing = f"{self._waits([peer])}, values of an exchange that it has made alone"
                Waiting(self.timeout, missing.__str__).until(partial(forget, hub, peer, agreement))

    def _answered(self, left_out: Callable[[], Words | None]) -> bool:
        """Whether all have said whether they read this rank's memory, or have raised."""
        collect(self.hub)
        if (note := left_out()) is not None:
            self._raise(note["raised"], note["origin"])
        return not self._terms.silent()

    def _connected(self, back: bool) -> Messages:
        found = self._back if back else self._there
        if found is None:
            found = self._connect(back)
            if back:
                self._back = found
            else:
                self._there = found
        return found

    def _connect(self, back: bool) -> Messages:
        """Requests and programs of one way: what the plan sends and receives, or the adjoint, which sends what that receives."""
        sends = {peer: self._ordered(message, True, self._with[peer].its) for peer, message in self.sends.items()}
        receives = {  # in the order that the peer was told, perhaps by another plan
            peer: self._ordered(message, False, self._with[peer].ours) for peer, message in self.receives.items()
        }
        mine, theirs = (receives, sends) if back else (sends, receives)
        packed, unpacked, turns = self._terms.lanes()
        self.shared = [*packed], [*unpacked]
        out, come = self._buffers(mine, back, packed), self._buffers(theirs, back, unpacked)
        first, then = len(self.slots), len(self.slots) + len(out.slots)
        slots = [*self.slots, *out.slots, *come.slots]
        pack = [
            entry
            for peer, (slot, at) in out.places.items()
            for entry in packing(mine[peer], first + slot, at, CLEAR if back else 0)
        ]
        unpack = [
            entry
            for peer, (slot, at) in come.places.items()
            for entry in unpacking(theirs[peer], then + slot, at, ADD if back else 0)
        ]
        guard = None
        if self.debug:
            poison = None if back else poisoning(self.slots, self._made().copies, receives.values(), self.gpu)
            guard = Guard(self.name, poison, out.ends, come.ends, self._ledger)
        self.hub.transports.add(self)
        messages = Messages(
            self.hub,
            {peer: (memory, self._with[peer].to) for peer, memory in out.ends.items()},
            {peer: (memory, self._with[peer].heard) for peer, memory in come.ends.items()},
            (
                CopyProgram(slots, pack, self.gpu),
                program(self.slots, adjoint(self._made().copies) if back else self._made().copies, self.gpu),
                program(slots, unpack, self.gpu),
            ),
            (self.hub.ledger, self._ledger),
            [self._count, *turns],
            guard,
            Carriage(out, come) if isinstance(out, GPUBuffers) and isinstance(come, GPUBuffers) else None,
        )
        for peer in come.ends:
            self._with[peer].receiving.add(messages.receiving)
        return messages

    def _ordered(self, message: Message, sent: bool, orders: Orders) -> Message:
        """A message with each field in the receiver's order of dims: worked out anew where that is not this rank's."""
        if orders == self.binding.orders:
            return message
        return self.binding.message(message.peer, links_of(message), sent, orders)

    def _buffers(self, messages: Mapping[int, Message], back: bool, shared: Mapping[int, Turns]) -> Buffers:
        if self.gpu is None:
            return on_host(messages, SEAL * self.debug, not back and not self.debug, shared)
        direct = (
            not self.debug and not any(self.shared) and takes_gpus(self.engine.aware)
        )  # what looks after messages is on the host
        return GPUBuffers(messages, SEAL * self.debug, self.gpu, direct, shared)
