"""The mpi engine: each plan's messages by persistent requests, one a peer each way, and copies
within the rank meanwhile.

An exchange that is given up (a wait with its own timeout, a dropped handle) counts as made: the
next start completes it first. All other errors revoke the grid (revoke.py).
"""

import time
import weakref
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gridbuf._core import CopyProgram
from gridbuf.common import debugging
from gridbuf.distributed.calls import DisagreementError, Waiting
from gridbuf.distributed.geometry.linking import LinkBuilder
from gridbuf.distributed.plans.binding import Binding, Message
from gridbuf.distributed.plans.engines import Quick
from gridbuf.distributed.ranks import revoke
from gridbuf.distributed.ranks.collectives import Collectives
from gridbuf.distributed.ranks.communicator import Channel, ranks
from gridbuf.distributed.ranks.handshake import Agreements, collect
from gridbuf.distributed.ranks.persistent_messages import Connector, Messages
from gridbuf.distributed.ranks.shared_memory import wanted

FILLS = {"sides": "halos without their corners (corners=False)", "sync": "points that exist twice"}
# seconds of waiting after which a peer's handshake for another plan means a skipped exchange
PATIENCE = 0.25
T = TypeVar("T")


class MPIEngine:
    """The ranks of a communicator."""

    name = "mpi"

    def __init__(self, comm: Any, timeout: float | None = None, aware: bool | None = None) -> None:
        self.rank = comm.rank
        self.size = comm.size
        self.timeout = timeout
        self.aware = aware
        self.shares = wanted()
        self.channel: Channel | None = None  # None until all ranks have agreed on the grid

    def connect(self, channel: Channel) -> None:
        """All ranks have made the grid."""
        self.channel = channel

    def failed(self, error: BaseException) -> None:
        if self.channel is not None:
            self.channel.communicator.fail(error)

    def run(self, name: str, make: Callable[[Any], T]) -> T:
        assert self.channel is not None
        return Collectives(self.channel, self.timeout).run(name, make)

    def serve(self, links: LinkBuilder) -> None:
        pass

    def prepare(self, plan: Any) -> Any:
        return MPITransport(plan, self)


class MPITransport:
    """Moves one plan."""

    def __init__(self, plan: Any, engine: MPIEngine) -> None:
        assert engine.channel is not None
        self.gpu: int | None = plan.gpu
        self._plan = weakref.ref(plan)  # the plan has a reference to the transport
        self.engine = engine
        self.channel = engine.channel
        self.timeout = engine.timeout
        self.number = engine.channel.number()
        self.binding: Binding = plan.binding
        self.sends: dict[int, Message] = plan.sends
        self.receives: dict[int, Message] = plan.receives
        self.debug = debugging()
        self._forward: Messages | None = None
        self._adjoint: Messages | None = None
        self._latest: Messages | None = None  # those of the last start
        # the exchange under way, and by peer the ledger at its start
        self._at_start: tuple[int, dict[int, list[int]]] = (0, {})
        self._first_look = 0.0  # when _look() first ran in this exchange

    # ---- made at the first use: many plans are never used ----

    @cached_property
    def name(self) -> str:
        return f"plan {self.number} ({', '.join(bound.name for bound in self.binding.bounds)})"

    @cached_property
    def slots(self) -> list[Any]:
        found: list[Any] = self._live_plan().slots()
        return found

    @cached_property
    def _count(self) -> NDArray[np.int64]:
        """The number of exchanges that have begun, counted by C."""
        return np.zeros(1, np.int64)

    @property
    def exchange(self) -> int:
        return int(self._count[0])

    @property
    def _where(self) -> str:
        return f"{self.name}, exchange {self.exchange}"

    @cached_property
    def _connector(self) -> Connector:
        return Connector(
            self.channel,
            self.name,
            self.binding,
            self.slots,
            self.gpu,
            self.debug,
            self.engine.aware,
        )

    @property
    def shared(self) -> tuple[list[int], list[int]]:
        """The peers to and from which values go through shared memory."""
        return self._connector.shared

    @cached_property
    def _agreements(self) -> Agreements:
        shares = self.engine.shares and not self.debug and self.gpu is None
        plan = self._live_plan()
        fills = FILLS.get(plan.what, plan.what)
        return Agreements(
            self.channel,
            self.binding,
            self.sends,
            self.receives,
            self.debug,
            shares,
            plan.shared,
            fills,
        )

    def _live_plan(self) -> Any:
        plan = self._plan()
        assert plan is not None  # the caller holds it
        return plan

    # ---- the calls of a plan ----

    def run(self, fields: Sequence[Any]) -> Quick | None:
        messages = self._forward
        if messages is None or messages.silent or self.debug or not self.channel.ready():
            return None
        if self.channel.notes_are_due():  # _begin looks at notes
            return None
        if self._latest is not messages:
            if self._under_way() is not None:  # an adjoint that was given up ends first
                return None
            self._latest = messages
        ended = messages.exchange.run(*fields)
        if ended is None:  # other objects than host Fields, or an exchange is under way
            return None
        messages.exchange.arm(True)
        if not ended:
            self._wait(None)
        return Quick(messages.exchange.again, partial(self.wait, None, None))

    def start(self, fields: Sequence[Any]) -> int:
        self._begin(fields, False)
        return self.exchange

    def test(self, exchange: int) -> bool:
        self.channel.check(self._where)
        messages = self._under_way()
        if messages is None or exchange != self.exchange:
            return True
        try:
            if messages.exchange.test():
                return True
            if self.channel.notes_are_due():
                self._look(messages.exchange.test)
                return self._under_way() is None
        except BaseException as error:
            self.abandon(error)
            raise
        return False

    def wait(self, exchange: int | None, timeout: float | None) -> None:
        """Wait for an exchange; None: the last one. A timeout of the call's own is no error of the
        grid.
        """
        self.channel.check(self._where)
        if exchange in (None, self.exchange):
            try:
                self._wait(timeout)
            except TimeoutError as error:
                if timeout is None:
                    self.abandon(error)
                raise
            except BaseException as error:
                self.abandon(error)
                raise

    def accumulate(self, fields: Sequence[Any]) -> None:
        self._begin(fields, True)
        self._wait(None)

    def abandon(self, error: BaseException) -> None:
        """Revoke the grid: an error ends the exchange under way. Receives that no message has
        reached are cancelled, and write nothing into the fields.
        """
        self.engine.failed(error)
        if self.channel.communicator.revocation is not None:
            for each in (self._forward, self._adjoint):
                if each is not None:
                    each.receiving.cancel()

    # ---- one exchange ----

    def _under_way(self) -> Messages | None:
        return (
            self._latest
            if self._latest is not None and self._latest.exchange.active is not None
            else None
        )

    def _begin(self, fields: Sequence[Any], back: bool) -> None:
        channel = self.channel
        channel.check(self.name)
        if channel.notes_are_due():
            # Notes are read here, for ranks whose exchanges never wait: those of other
            # communicators, and on a rank that only sends those of this one.
            collect(channel)
            waits = self.sends.keys() == self.receives.keys()
            revoke.receive_notes(but=channel.communicator if waits else None)
            channel.check(self.name)
        if (self._adjoint if back else self._forward) is None:
            self._agree(fields)
        before = self._under_way()
        if before is not None:  # given up: it counts as made, and its values are dropped
            self._wait(None, before.exchange.drop)
        messages = self._connected(back)
        late = self._agreements.late
        if late():  # another plan's exchange was given up: peers may still read its values
            ended: Callable[[], bool] = lambda: not late()  # noqa: E731
            Waiting(
                self.timeout,
                lambda: f"{self._waits(late())}, values of an exchange that was given up",
            ).until(ended, partial(channel.check_notes, self.name, ended))
        if self._forward is not None:
            self._forward.exchange.arm(False)
        self._latest = messages  # before the start: Ctrl-C may come in between
        messages.start(fields)
        self._counts()

    def _agree(self, fields: Sequence[Any]) -> None:
        """Shake hands with the peers that have not agreed."""
        channel = self.channel
        if all(each.made for each in self._agreements.by_peer.values()):
            return
        if channel.handshake_of is not None:
            raise RuntimeError(
                f"{self.name}: the first use of {channel.handshake_of} is under way in another"
                " thread; threads that exchange at once have a grid each"
            )
        CopyProgram(self.slots, [], self.gpu).check(*fields)
        channel.handshake_of = self.name
        try:
            self._agreements.shake(self.name, self.timeout)
        finally:
            channel.handshake_of = None

    def _connected(self, back: bool) -> Messages:
        found = self._adjoint if back else self._forward
        if found is None:
            found = self._connector.connect(self._live_plan(), self._agreements, self._count, back)
            if back:
                self._adjoint = found
            else:
                self._forward = found
        return found

    def _counts(self) -> dict[int, list[int]]:
        """By peer the ledger when the last exchange began: exchanges to it, and from it."""
        if self._at_start[0] != self.exchange:
            ledger = self.channel.ledger
            self._at_start = (
                self.exchange,
                {peer: ledger[peer].tolist() for peer in (*self.sends, *self.receives)},
            )
            self._first_look = 0.0
        return self._at_start[1]

    def _wait(self, timeout: float | None, ended: Callable[[], bool] | None = None) -> None:
        messages = self._under_way()
        if messages is None:
            return
        if ended is None:
            ended = messages.exchange.test
            if messages.exchange.poll():
                return
        self._counts()
        Waiting(self.timeout if timeout is None else timeout, self._missing).until(
            ended, partial(self._look, ended)
        )

    def _missing(self) -> str:
        messages = self._under_way()
        late = [] if messages is None else messages.missing() or messages.stuck()
        return f"{self._waits(late)}, exchange {self.exchange}"

    def _waits(self, late: Sequence[int]) -> str:
        return f"rank {self.channel.rank} waits for {ranks(late)}: {self.name}"

    def _look(self, ended: Callable[[], bool]) -> None:
        """While values are awaited: raise where some rank has failed, a peer has ended, or a peer
        shakes hands for another plan and skips the exchange.
        """
        channel, counts = self.channel, self._counts()
        collect(channel)
        channel.check_notes(self._where, ended)
        messages = self._under_way()
        if messages is None:
            return
        missing, stuck = messages.missing(), messages.stuck()
        self._first_look = self._first_look or time.perf_counter()
        for peer in sorted({*missing, *stuck}):
            sent, awaited = counts[peer]
            end = channel.counts_at_end(peer)
            if end is not None and (
                (peer in missing and end[0] < awaited) or (peer in stuck and end[1] < sent)
            ):
                channel.raise_ended(peer, self._where)
            if not channel.handshakes[peer] or time.perf_counter() < self._first_look + PATIENCE:
                continue
            other = channel.handshakes[peer][0]
            if (peer in missing and other["sent"] < awaited) or (
                peer in stuck and other["awaited"] < sent
            ):
                awaits = "the values of" if peer in missing else "its values to be taken by"
                raise DisagreementError(
                    f"rank {channel.rank} waits for {awaits} rank {peer}: {self._where};"
                    f" {self._agreements.other_plan(peer, other)}"
                )
