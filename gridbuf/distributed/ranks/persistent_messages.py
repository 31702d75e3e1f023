"""Messages under way: the persistent requests of one direction of a plan, and the copies at both
ends.

One message a peer each way, in parts where it is larger than MPI's counts. Requests are made once
for memory that stays where it is, and once for each memory that fields are given in.
`_core.MessageExchange` packs, starts, polls and unpacks. The requests that a collected plan leaves
under way stay (pending_requests.py) until they have ended.

Messages of one tag are distinguished by their order: parts of a long one, and a number behind
values. Startall may start its requests in any order; requests of one tag are started by one call
after the other.
"""

import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from mpi4py import MPI

from gridbuf import _core
from gridbuf._core import CopyProgram
from gridbuf.distributed.calls import SPIN, DisagreementError
from gridbuf.distributed.plans.binding import (
    ADD,
    CLEAR,
    Binding,
    Message,
    links_of,
    packing,
    program,
    unpacking,
)
from gridbuf.distributed.plans.debugging import SEAL, Guard, poisoning
from gridbuf.distributed.ranks.buffers import (
    Buffers,
    Carriage,
    GPUBuffers,
    Inside,
    Turns,
    on_host,
    takes_gpus,
)
from gridbuf.distributed.ranks.communicator import Channel
from gridbuf.distributed.ranks.pending_requests import Pending, Tag, cancel, keep, leave

PART = 2**30  # bytes in one request: MPI 3 counts with ints
MOST_PLACES = 16  # sets of addresses that keep requests: time levels alternate
# By peer: memory of the message, or its place in a field (Inside), and the tag
Ends = Mapping[int, tuple[Any, Tag]]
Entries = Sequence[tuple[int, Any, Tag]]  # peer, memory and tag


def spans(nbytes: int) -> range:
    """The offsets of a message's parts."""
    return range(0, max(nbytes, 1), PART)


def parts(buffer: Any) -> list[Any]:
    """A message in parts of at most PART bytes."""
    memory = np.asarray(buffer)
    return [memory[at : at + PART] for at in spans(memory.nbytes)]


class Numbers:
    """The numbers of exchanges behind values that go one way only, in one direction of a plan.

    Where both ranks send, a rank that skips an exchange is waited for, and noticed. No rank waits
    for one that only receives: the values of an exchange that it skipped would arrive in its next.
    So values for such a rank are followed by their number, which it compares with its own.

    Parameters
    ----------
    ledger
        By peer: how many exchanges have begun with values for it, and from it.
    to, come
        The peers that only receive, and those that only send.
    """

    def __init__(
        self,
        name: str,
        rank: int,
        ledger: Mapping[int, Any],
        to: Iterable[int],
        come: Iterable[int],
    ) -> None:
        self._name, self._rank, self._ledger = name, rank, ledger
        self.out = {peer: np.zeros(1, np.int64) for peer in to}
        self.come = {peer: np.zeros(1, np.int64) for peer in come}
        self._awaited: dict[int, int] = {}

    def write(self) -> None:
        """Write the number of the exchange that begins."""
        for peer, number in self.out.items():
            number[0] = self._ledger[peer][0] + 1
        self._awaited = {peer: int(self._ledger[peer][1]) + 1 for peer in self.come}

    def check(self) -> None:
        """DisagreementError where received values are those of another exchange."""
        for peer, number in self.come.items():
            if number[0] != self._awaited[peer]:
                raise DisagreementError(
                    f"rank {self._rank}: {self._name}: rank {peer} sent its exchange {number[0]}"
                    f" with values for rank {self._rank}, which is at its exchange"
                    f" {self._awaited[peer]}; one of the two ranks has skipped exchanges"
                )


class Requests:
    """Makes the requests of one direction: once, or for each address of fields with messages
    inside.
    """

    def __init__(
        self,
        channel: Channel,
        outgoing: Entries,
        incoming: Entries,
        back: bool,
        receives: list[Any],
        sends: list[Any],
    ) -> None:
        self._back, self._duplicate = back, channel.duplicate
        self._outgoing = outgoing
        self._incoming = incoming
        self._receives = receives
        self._sends = sends
        ends = [memory for _, memory, _ in (*outgoing, *incoming)]
        self.slots = sorted({memory.slot for memory in ends if isinstance(memory, Inside)})
        self.made: dict[tuple[int, ...], list[Any]] = {}

    def at(self, addresses: tuple[int, ...]) -> list[Any]:
        """Receives, then sends, where the fields with messages in them lie at these addresses."""
        if len(self.made) >= MOST_PLACES:
            leave(Pending([*self._receives], [*self._sends], None, self._duplicate))
            for each in (self.made, self._receives, self._sends):
                each.clear()
        where = dict(zip(self.slots, addresses, strict=True))
        comm, found = self._duplicate.comm, []
        for make, ends, kept in (
            (comm.Recv_init, self._incoming, self._receives),
            (comm.Send_init, self._outgoing, self._sends),
        ):
            for peer, memory, tag in ends:
                for part in parts(
                    memory.at(where[memory.slot]) if isinstance(memory, Inside) else memory
                ):
                    kept.append(make([part, MPI.BYTE], peer, tag.of(self._back)))
                    found.append(kept[-1])
        self.made[addresses] = found
        return found


class Receiving:
    """The receives of one direction. They outlive their plan while one is under way: the agreement,
    which other plans share, refers to them.
    """

    def __init__(self, come: Sequence[int], exchange: _core.MessageExchange) -> None:
        self._come, self._exchange = come, exchange

    def requests(self) -> "zip[tuple[int, Any]]":
        """The receives under way, each with its peer."""
        return zip(self._come, self._exchange.active or [], strict=False)

    def cancel(self) -> None:
        """Cancel the receives of an exchange that is given up with its grid, so that no value
        reaches its fields.
        """
        cancel([request for _, request in self.requests()])


class Messages:
    """One direction: the messages to each peer and from each, with their memory and their tags.

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
        The counters of exchanges that have begun; and ended, for shared memory.
    name
        The plan's.
    guard
        Checks messages and halos in debug mode.
    carriage
        Copies messages from a GPU, and to it.
    """

    def __init__(
        self,
        channel: Channel,
        outgoing: Ends,
        incoming: Ends,
        programs: tuple[_core.CopyProgram, _core.CopyProgram | None, _core.CopyProgram | None],
        ledgers: Sequence[Mapping[int, Any]],
        back: bool,
        counts: Sequence[Any],
        name: str,
        guard: Guard | None = None,
        carriage: Carriage | None = None,
    ) -> None:
        self.silent = sorted({*outgoing} - {*incoming})  # peers that send nothing back
        numbers = Numbers(
            name, channel.rank, channel.ledger, self.silent, sorted({*incoming} - {*outgoing})
        )
        sent, received = entries(outgoing, numbers.out), entries(incoming, numbers.come)
        self.to = [peer for peer, memory, _ in sent for _ in spans(memory.nbytes)]
        self.come = [peer for peer, memory, _ in received for _ in spans(memory.nbytes)]
        counters = [
            ledger[peer][i : i + 1]
            for ledger in ledgers
            for i, ends in enumerate((outgoing, incoming))
            for peer in ends
        ]
        counters.extend(counts)
        held: list[Any] = [sent, received]
        receives: list[Any] = []
        sends: list[Any] = []
        # The exchange refers to the requests, and they must not refer to it
        requests = Requests(channel, sent, received, back, receives, sends)
        left = Pending(receives, sends, held, channel.duplicate)
        # Registered before anything below can fail, so that requests are freed in any case
        weakref.finalize(self, leave, left).atexit = False
        before = [
            step
            for step in (
                carriage and carriage.down,
                guard and guard.close,
                (numbers.out or numbers.come) and numbers.write,
            )
            if step
        ]
        after = [
            step
            for step in (
                numbers.come and numbers.check,
                guard and guard.check,
                carriage and carriage.up,
            )
            if step
        ]
        order = in_turns(self.come, self.to)
        begin = following(before, order) if before or len(order) > 1 else MPI.Prequest.Startall
        check = each_of(after) if after else None
        self._guard, self.back = guard, back
        inside = (requests.at, tuple(requests.slots)) if requests.slots else ()
        of = requests.made if inside else requests.at(())
        self.exchange = _core.MessageExchange(
            programs, begin, MPI.Prequest.Testall, check, of, tuple(counters), SPIN, *inside
        )
        self.receiving = Receiving(self.come, self.exchange)
        held.append(self.receiving)
        keep(left)

    def start(self, fields: Sequence[Any]) -> None:
        """Pack, send, and copy within the rank meanwhile; no exchange may be under way."""
        if self._guard is not None:
            self._guard.fields = fields
        self.exchange.start(*fields)

    def missing(self) -> list[int]:
        """Peers whose messages have not arrived."""
        return sorted(
            {peer for peer, request in self.receiving.requests() if not request.Get_status()}
        )

    def stuck(self) -> list[int]:
        """Peers that have not received their messages."""
        sends = (self.exchange.active or [])[len(self.come) :]
        return sorted(
            {
                peer
                for peer, request in zip(self.to, sends, strict=False)
                if not request.Get_status()
            }
        )


def entries(ends: Ends, numbers: Mapping[int, Any]) -> Entries:
    """Messages, each followed by its number where it has one."""
    found: list[tuple[int, Any, Tag]] = []
    for peer, (memory, tag) in ends.items():
        found.append((peer, memory, tag))
        if peer in numbers:
            found.append((peer, numbers[peer], tag))
    return found


def in_turns(come: Sequence[int], to: Sequence[int]) -> list[list[int]]:
    """The requests that are started together, receives before sends: the first with each peer, then
    the second.
    """
    turns: defaultdict[int, list[int]] = defaultdict(list)
    times: Counter[tuple[bool, int]] = Counter()
    for i, end in enumerate([*((False, peer) for peer in come), *((True, peer) for peer in to)]):
        turns[times[end]].append(i)
        times[end] += 1
    return [*turns.values()] or [[]]


def following(steps: Sequence[Callable[[], None]], order: Sequence[Sequence[int]]) -> Any:
    """A function that runs the steps and starts requests in this order."""

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


class Connector:
    """Makes the messages of one plan, whose ranks have agreed, and of its adjoint.

    Parameters
    ----------
    name
        The plan's, for errors.
    slots
        The plan's fields, as programs take them.
    aware
        Whether MPI is given pointers of GPUs.

    Attributes
    ----------
    shared : pair of lists
        The peers to and from which values go through shared memory.
    """

    def __init__(
        self,
        channel: Channel,
        name: str,
        binding: Binding,
        slots: Sequence[Any],
        gpu: int | None,
        debug: bool,
        aware: bool | None,
    ) -> None:
        self._channel, self._name, self._binding, self._slots = channel, name, binding, slots
        self._gpu, self._debug, self._aware = gpu, debug, aware
        self.shared: tuple[list[int], list[int]] = [], []

    def connect(self, plan: Any, agreements: Any, count: Any, back: bool) -> Messages:
        """The plan's messages, or its adjoint's, by the terms of its handshake; `count`: of
        exchanges that have begun.
        """
        by_peer = agreements.by_peer
        sends = {
            peer: self._ordered(message, True, by_peer[peer].peer_order)
            for peer, message in plan.sends.items()
        }
        receives = {  # in the order of the handshake, perhaps of another plan
            peer: self._ordered(message, False, by_peer[peer].order)
            for peer, message in plan.receives.items()
        }
        mine, theirs = (receives, sends) if back else (sends, receives)
        packed, unpacked, turns = agreements.lanes()
        self.shared = [*packed], [*unpacked]
        out, come = self._buffers(mine, back, packed), self._buffers(theirs, back, unpacked)
        first, then = len(self._slots), len(self._slots) + len(out.slots)
        slots = [*self._slots, *out.slots, *come.slots]
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
        ledger = {peer: agreement.ledger[int(back)] for peer, agreement in by_peer.items()}
        guard = None
        if self._debug:
            poison = (
                None if back else poisoning(self._slots, plan.copies, receives.values(), self._gpu)
            )
            guard = Guard(self._name, poison, out.ends, come.ends, ledger)
        messages = Messages(
            self._channel,
            {peer: (memory, by_peer[peer].send_tag) for peer, memory in out.ends.items()},
            {peer: (memory, by_peer[peer].receive_tag) for peer, memory in come.ends.items()},
            (
                CopyProgram(slots, pack, self._gpu),
                program(self._slots, plan.adjoint() if back else plan.copies, self._gpu),
                program(slots, unpack, self._gpu),
            ),
            (self._channel.ledger, ledger),
            back,
            [count, *turns],
            self._name,
            guard,
            (
                Carriage(out, come)
                if isinstance(out, GPUBuffers) and isinstance(come, GPUBuffers)
                else None
            ),
        )
        for peer in come.ends:
            by_peer[peer].receiving.add(messages.receiving)
        return messages

    def _ordered(self, message: Message, sent: bool, orders: Sequence[list[str]]) -> Message:
        """A message with each field in the receiver's order of dims: worked out anew where that is
        not this rank's.
        """
        if orders == self._binding.orders:
            return message
        return self._binding.message(message.peer, links_of(message), sent, orders)

    def _buffers(
        self, messages: Mapping[int, Message], back: bool, shared: Mapping[int, Turns]
    ) -> Buffers:
        if self._gpu is None:
            return on_host(messages, SEAL * self._debug, not back and not self._debug, shared)
        # The guard of debug mode reads messages on the host
        direct = not self._debug and not any(self.shared) and takes_gpus(self._aware)
        return GPUBuffers(messages, SEAL * self._debug, self._gpu, direct, shared)
