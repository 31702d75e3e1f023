"""The mpi engine: each plan's messages by persistent requests, one a peer each way, and copies within the rank meanwhile.

An exchange that was given up (a timeout, Ctrl-C, a dropped handle) counts as made: the next start lets it end first. A rank that
leaves an exchange out is noticed at the next handshake; the two then shake hands anew, and values that nobody wants any more are
received and dropped.
"""

import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from typing import Any

from gridbuf._core import CopyProgram
from gridbuf.debugging import debugging
from gridbuf.distributed.calls import Steps
from gridbuf.distributed.errors import DisagreementError
from gridbuf.distributed.geometry.linking import LinkBuilder
from gridbuf.distributed.plans.binding import Binding, Message
from gridbuf.distributed.plans.engine import Quick
from gridbuf.distributed.ranks.agreements import Agreement
from gridbuf.distributed.ranks.connecting import Connector
from gridbuf.distributed.ranks.crossing import Telling, crossed, in_exchange, not_made, unsay
from gridbuf.distributed.ranks.everyone import Everyone, words_of
from gridbuf.distributed.ranks.handshake import fields_differ, shake
from gridbuf.distributed.ranks.hub import hub_of, ranks
from gridbuf.distributed.ranks.mail import Words, collect, head
from gridbuf.distributed.ranks.messages import Messages
from gridbuf.distributed.ranks.raising import tell
from gridbuf.distributed.ranks.sharing import wanted
from gridbuf.distributed.ranks.standing import Standing
from gridbuf.distributed.ranks.terms import Terms
from gridbuf.distributed.waiting import LOOK, Waiting

FILLS = {"sides": "halos without their corners (corners=False)", "sync": "points that exist twice"}


class MPIEngine:
    """The ranks of a communicator."""

    name = "mpi"

    def __init__(self, comm: Any, timeout: float | None = None, aware: bool | None = None) -> None:
        self.hub = hub_of(comm)
        self.rank, self.size, self.timeout, self.aware, self.shares = self.hub.rank, self.hub.size, timeout, aware, wanted()
        self.around: Callable[[], Iterable[int]] = tuple  # until a grid says it
        self.hub.users.add(self)

    def failed(self, error: Exception) -> None:
        if not isinstance(error, DisagreementError | TimeoutError):  # of the ranks together: they know
            tell(self.hub, f"rank {self.rank}: {words_of(error).decode()}")

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
        self._there: Messages | None = None
        self._back: Messages | None = None  # the adjoint's
        self._latest: Messages | None = None  # that were started
        self._epochs: list[int] = []  # of its agreements, when it was connected
        self._refused = 0, ""
        self._standing = Standing(self.hub, self.sends, self.receives)
        self._telling: Telling | None = None  # of the exchange that was waited for last
        self.hub.peers.update(self.sends, self.receives)

    # ---- what is worked out when it is used: many plans are made that never are ----

    @cached_property
    def name(self) -> str:
        return f"plan {self.number} ({', '.join(bound.name for bound in self.binding.bounds)})"

    @cached_property
    def slots(self) -> list[Any]:
        found: list[Any] = self._made().slots()
        return found

    @property
    def exchange(self) -> int:
        return self._standing.exchange

    @cached_property
    def _connector(self) -> Connector:
        return Connector(self.hub, self.name, self.binding, self.slots, self.gpu, self.debug, self.engine.aware)

    @property
    def shared(self) -> tuple[list[int], list[int]]:
        """To whom and from whom values go through memory that both have."""
        return self._connector.shared

    @cached_property
    def _terms(self) -> Terms:
        shares = self.engine.shares and not self.debug and self.gpu is None
        plan = self._made()
        what = FILLS.get(plan.what, plan.what)
        return Terms(self.hub, self.binding, self.sends, self.receives, self.debug, shares, plan.shared, what)

    @property
    def _with(self) -> dict[int, Agreement]:
        return self._terms.agreements

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
            self._latest, self._standing.kinds = there, there.kinds
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
        self._look(may_go_on=True)
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
            collect(hub, LOOK)
        if (note := self._standing.raised_instead(back)) is not None:
            CopyProgram(self.slots, [], self.gpu).check(*fields)  # what is wrong here as well is raised here
            self._raise(note["raised"], note["origin"])
        self._look_behind(back)
        if self._doubted != hub.doubted:
            self._agree(fields, partial(self._standing.raised_instead, back))
            self._doubted = hub.doubted
        if (before := self._under_way()) is not None:  # given up: it counts as made, and its values are not wanted
            of_the_past = before not in (self._there, self._back)  # what it has sent, others receive when they come to it
            self._wait(None, (lambda: not before.missing()) if of_the_past else before.exchange.drop, back)
        messages = self._connected(back)
        if self._terms.late():  # another plan's exchange was given up: peers may still read what it sent
            others = Waiting(self.timeout, lambda: f"{self._waits(self._terms.late())}, values of an exchange that was given up")
            others.until(lambda: self._doubted != hub.doubted or not self._terms.late(), partial(self._look_ahead, back))
        if self._doubted != hub.doubted:  # an error meanwhile that this rank has raised already
            return self._begin(fields, back)
        if self._there is not None:
            self._there.exchange.arm(False)
        self._latest, self._standing.kinds = messages, messages.kinds  # before anything is under way: Ctrl-C may come between
        messages.start(fields)
        self._standing.counts()

    def _look_behind(self, back: bool) -> None:
        """Before an exchange whose values nobody here waits for: a peer waits in another, or shakes hands and has left one out."""
        hub, (to, come) = self.hub, (self.receives, self.sends) if back else (self.sends, self.receives)
        for peer in to.keys() - come.keys():
            its, agreement = crossed(hub, peer), self._with[peer]
            if its is not None and (its["with"], its["back"]) != (agreement.to.number, back):
                self._raise_crossed(peer, its, "is at", False)
            its = head(hub, peer)
            if its is not None and its["awaited"] < hub.ledger[peer][0] and agreement.epoch == hub.epochs[peer]:
                text = f"rank {hub.rank}: {self.name}: rank {peer} has left out an exchange with values for it"
                self._raise(f"{text}; {self._terms.elsewhere(peer, its)}")

    def _wait(self, timeout: float | None, ended: Callable[[], bool] | None = None, back: bool | None = None) -> None:
        messages = self._under_way()
        if messages is None:
            return
        look = partial(self._look, ended is not None, back, timeout is not None)
        if ended is None:
            ended = messages.exchange.test
            if messages.exchange.poll():
                return
        self._standing.counts()  # before others begin: Ctrl-C may come
        try:
            Waiting(self.timeout if timeout is None else timeout, self._missing).until(ended, look)
        except (TimeoutError, KeyboardInterrupt):
            unsay(self.hub)
            raise

    def _missing(self) -> str:
        messages = self._under_way()
        late = [] if messages is None else messages.missing() or messages.stuck()
        return f"{self._waits(late)}, exchange {self.exchange}"

    def _waits(self, late: Sequence[int]) -> str:
        return f"rank {self.hub.rank} waits for {ranks(late)}: {self.name}"

    def _look(self, quiet: bool = False, back: bool | None = None, may_go_on: bool = False) -> None:
        """While values are awaited: a peer has raised, or it shakes hands and has left an exchange out, or is ahead.

        What this rank has raised already may have been about another exchange, and then it is no word on this one: each raises once.
        `quiet`: nobody asks, since it was given up. `back`: which way the next goes, which waits for this one's end and may be left out meanwhile.
        `may_go_on`: the caller asks for a moment only, so that others wait for it proves nothing, and it does not wait.
        """
        hub, messages = self.hub, self._under_way()
        self._standing.counts()
        collect(hub)
        if messages is None:
            return
        if back is not None and (left_out := self._standing.raised_instead(back)) is not None:
            self._raise(left_out["raised"], left_out["origin"])
        missing, stuck = messages.missing(), messages.stuck()
        for peer in sorted({*missing, *stuck}):
            found = self._standing.left_out(peer, peer in missing, peer in stuck)
            if found is None:
                if not may_go_on:
                    self._look_across(peer, peer in missing)
                continue
            its, note, known = found
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

    def _look_across(self, peer: int, missing: bool) -> None:
        """A peer is late: it may wait for this rank in another exchange, and hears where this one waits."""
        hub, standing = self.hub, self._standing
        begun = standing.counts()[peer]
        if begun.epoch != hub.epochs[peer]:
            return
        if (its := crossed(hub, peer, begun if missing else None)) is not None:
            self._raise_crossed(peer, its, f"waits for rank {peer} in", missing)
        where = f"{self.name}, exchange {self.exchange}"
        if self._telling is None or self._telling.where != where:
            self._telling = Telling(hub, where)
        if (by := self._telling.cycle()) is not None:
            if missing:
                self._with[peer].cancel(peer)
            self._raise(not_made(hub, by, f"waits for rank {peer} in {where}"))
        self._telling.tell(peer, lambda: in_exchange(hub, peer, self._with[peer], begun, not missing, self._terms.facts()))

    def _raise_crossed(self, peer: int, its: Words, does: str, missing: bool) -> None:
        if missing:
            self._with[peer].cancel(peer)
        problem = fields_differ(self._terms.facts(), its["fields"], self.hub.rank, peer)
        self._raise(not_made(self.hub, peer, f"{does} {self.name}, exchange {self.exchange}", problem))

    def _look_ahead(self, back: bool) -> None:
        """Before an exchange begins: a peer has raised instead, or it shakes hands and has left out what is awaited."""
        collect(self.hub)
        if (note := self._standing.raised_instead(back)) is not None:
            self._raise(note["raised"], note["origin"])
        for peer in self._terms.late():
            if (other := crossed(self.hub, peer)) is not None:
                self._raise_crossed(peer, other, "is at", False)
            its = head(self.hub, peer)
            if its is not None and its["sent"] < self.hub.ledger[peer][1]:
                self._with[peer].cancel(peer)
                self._raise(f"{self._waits([peer])}, values of an exchange that was given up; {self._terms.elsewhere(peer, its)}")

    def _raise(self, raised: str, origin: list[int] | None = None) -> None:
        """The exchange is given up, and told to all that it is joined to; they shake hands anew."""
        text = f"rank {self.hub.rank}: {self.name}: {raised}" if origin else raised
        if self._under_way() is not None:
            self._refused = self.exchange, text
        tell(self.hub, raised, origin)
        raise DisagreementError(text)

    def _out_of_turn(self, peer: int, number: int, awaited: int) -> None:
        """What has come is another exchange's; this one is over."""
        text = f"rank {peer} sent its exchange {number} with values for rank {self.hub.rank}, which makes its {awaited}; one of them left some out"
        self._refused = self.exchange, f"rank {self.hub.rank}: {self.name}, exchange {self.exchange}: {text}"
        tell(self.hub, self._refused[1])
        raise DisagreementError(self._refused[1])

    # ---- before the first ----

    def _agree(self, fields: Sequence[Any], left_out: Callable[[], Words | None]) -> None:
        """Shake hands with all peers that this rank has not agreed with in this epoch."""
        hub, terms = self.hub, self._terms
        while (doubtful := terms.doubtful()) or terms.silent():
            if doubtful:
                CopyProgram(self.slots, [], self.gpu).check(*fields)
                shake(hub, self.name, self.timeout, terms.words(doubtful), terms.hear, left_out)
            else:
                unsaid = Waiting(self.timeout, lambda: f"{self._waits(terms.silent())}, its first use")
                unsaid.until(partial(self._answered, left_out))
        epochs = [agreement.epoch for agreement in self._with.values()]
        if self._epochs != epochs:
            self._epochs, self._there, self._back = epochs, None, None

    def _answered(self, left_out: Callable[[], Words | None]) -> bool:
        """Whether all have said whether they read this rank's memory, or have raised."""
        collect(self.hub)
        if (note := left_out()) is not None:
            self._raise(note["raised"], note["origin"])
        return not self._terms.silent()

    def _connected(self, back: bool) -> Messages:
        found = self._back if back else self._there
        if found is None:
            found = self._connector.connect(
                self._made(), self._terms, self._standing.count, back, weakref.WeakMethod(self._out_of_turn)
            )
            self.hub.transports.add(self._standing)
            if back:
                self._back = found
            else:
                self._there = found
        return found
