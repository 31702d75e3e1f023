"""The handshake of two ranks before the first use of a plan: both have the same plan, and the
sender learns in which order of dims the receiver has its values.

A handshake is one small control message each way; a second one answers an offer of shared memory.
Kept plans of a grid share an agreement with all plans of the same messages: whether two fields of
one rank have the same layout is known on that rank alone, so one rank may find a plan where its
peer makes a new one. The first layout of a kind fixes the order of its messages; fields of other
layouts are turned where they are packed and unpacked. A plan of `Grid.plan` has the order of its
own fields.
"""

import json
import time
import weakref
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from mpi4py import MPI

from gridbuf.distributed.calls import DisagreementError, Waiting
from gridbuf.distributed.plans.binding import Binding, Message
from gridbuf.distributed.plans.layouts import POSITIONS, Bound, dtype_name
from gridbuf.distributed.plans.vectors import Sources
from gridbuf.distributed.ranks.buffers import Turns, inside
from gridbuf.distributed.ranks.communicator import Channel, ranks
from gridbuf.distributed.ranks.pending_requests import HANDSHAKE, Pending, Tag, leave
from gridbuf.distributed.ranks.shared_memory import Lane, answered, machine, offer, opened

Args = dict[str, Any]  # the contents of a control message
Orders = list[list[str]]


# ---- control messages ----


def send(channel: Channel, peer: int, args: Args) -> None:
    """Send a control message, whose text is kept until MPI has sent it."""
    text = json.dumps(args | channel.tags[peer].to_message(args.get("tag"))).encode()
    channel.duplicate.control_sent[peer] += 1
    request = channel.comm.Isend([text, MPI.BYTE], peer, HANDSHAKE)
    leave(Pending([], [request], text, channel.duplicate))


def collect(channel: Channel) -> None:
    """Receive control messages: handshakes are queued by rank, answers are read. A long message is
    received without waiting for it.
    """
    channel.polled = time.perf_counter()
    status, duplicate = MPI.Status(), channel.duplicate
    while (message := channel.comm.Improbe(MPI.ANY_SOURCE, HANDSHAKE, status)) is not None:
        memory = np.empty(status.Get_count(MPI.BYTE), "u1")
        request = message.Irecv([memory, MPI.BYTE])
        duplicate.arriving[status.Get_source()].append((request, memory))
    for peer, arriving in duplicate.arriving.items():
        while arriving and arriving[0][0].Test():
            args: Args = json.loads(arriving.popleft()[1].tobytes())
            duplicate.control_received[peer] += 1
            channel.tags[peer].from_message(args)
            if "taken" in args:
                answered(args)
            else:
                duplicate.handshakes[peer].append(args)


# ---- agreements ----


class Agreement:
    """One rank's side of an agreement with a peer about one kind of message.

    Attributes
    ----------
    made : bool
        Whether the two have agreed.
    ledger : ndarray of two times two int64
        How many exchanges have begun with values for the peer, and with values from it; and how
        many adjoints.
    receive_tag, send_tag : Tag
        The tag that this rank receives with, and the tag that the peer receives with.
    order, peer_order : list of lists of str
        For each field the order of dims in which this rank receives its values, and in which the
        peer does.
    lane : Lane or None
        The shared memory of messages; None: all of them are sent.
    receiving : WeakSet
        The receives of all plans that share it, also of dead ones: a value of one could be that of
        another.
    """

    def __init__(self, order: Orders) -> None:
        self.made, self.ledger, self.order = False, np.zeros((2, 2), np.int64), order
        self.receive_tag = self.send_tag = Tag(-1)
        self.peer_order: Orders = []
        self.lane: Lane | None = None
        self.receiving: weakref.WeakSet[Any] = weakref.WeakSet()

    def all_arrived(self, peer: int) -> bool:
        """Whether no exchange that began here awaits values of the peer."""
        return all(
            request.Get_status()
            for receiving in self.receiving
            for source, request in receiving.requests()
            if source == peer
        )


class Agreements:
    """The agreements of one plan with each of its peers.

    Parameters
    ----------
    sends, receives
        Its messages by peer.
    debug
        Whether messages carry their checksums.
    shares
        Whether messages may lie in memory that both ranks have mapped.
    kept
        Whether plans of the same messages share its agreements.
    fills
        The points that it fills, in words for users.
    """

    def __init__(
        self,
        channel: Channel,
        binding: Binding,
        sends: Mapping[int, Message],
        receives: Mapping[int, Message],
        debug: bool,
        shares: bool,
        kept: bool,
        fills: str,
    ) -> None:
        self._channel, self._binding = channel, binding
        self._sends, self._receives = sends, receives
        self._debug, self._may_share, self._fills = debug, shares, fills
        self.by_peer = {peer: self._agreement(peer, kept) for peer in sorted({*sends, *receives})}

    def shake(self, name: str, timeout: float | None) -> None:
        """Agree with all peers that have not agreed: send each its handshake and compare the
        peer's. DisagreementError where they differ.
        """
        channel = self._channel
        late = {peer for peer, agreement in self.by_peer.items() if not agreement.made}
        sent = self.handshakes(sorted(late))
        for peer, args in sent.items():
            counts = channel.ledger[peer].tolist()
            args.update(plan=name, sent=counts[0], awaited=counts[1])
            send(channel, peer, args)

        def done() -> bool:
            collect(channel)
            for peer in sorted(late):
                if channel.handshakes[peer]:
                    received = channel.handshakes[peer].popleft()
                    if problem := difference(sent[peer], received, peer, channel.rank):
                        raise DisagreementError(f"rank {channel.rank}: {name}: {problem}")
                    late.discard(peer)
                    self._accept(peer, sent[peer], received)
            return not late and not self._unanswered()

        def look() -> None:
            where = f"{name}, its first use"
            channel.check_notes(where, done)
            for peer in late:
                end = channel.counts_at_end(peer)
                if end is not None and end[2] <= channel.duplicate.control_received[peer]:
                    channel.raise_ended(peer, where)

        def missing() -> str:
            peers = ranks([*late] or self._unanswered())
            return f"rank {channel.rank} waits for {peers}: {name}, its first use"

        Waiting(timeout, missing).until(done, look)

    def handshakes(self, peers: Sequence[int]) -> dict[int, Args]:
        """The handshakes for peers."""
        found = {}
        for peer in peers:
            shares = self._shares(peer, self._sends) and peer not in self._channel.far
            found[peer] = self._kind(peer) | {
                "fills": self._fills,
                "orders": self.by_peer[peer].order,
                "tag": self._channel.tag(peer),
                "memory": offer(self._longest(peer)) if shares else None,
            }
        return found

    def _accept(self, peer: int, sent: Args, received: Args) -> None:
        """Take a peer's handshake over, and answer its offer of memory."""
        rows = None
        if (memory := received["memory"]) is not None:
            if memory["machine"] != machine():
                self._channel.far.add(peer)
            if self._shares(peer, self._receives):
                rows = opened(memory, self._longest(peer))
            send(self._channel, peer, {"token": memory["token"], "taken": rows is not None})
        agreement = self.by_peer[peer]
        offered = sent["memory"]
        agreement.lane = None if offered is None and rows is None else Lane(offered, rows)
        agreement.receive_tag, agreement.send_tag = sent["tag"], received["tag"]
        agreement.peer_order, agreement.made = received["orders"], True

    def _unanswered(self) -> list[int]:
        """The peers that have not yet answered this rank's offer of memory."""
        return [
            peer
            for peer, each in self.by_peer.items()
            if each.made and each.lane is not None and not each.lane.is_answered()
        ]

    def facts(self) -> list[Args]:
        """The facts of the plan's fields, which all ranks have alike."""
        rows = zip(self._binding.bounds, self._binding.sources, strict=True)
        edges = self._binding.edges or "none"
        return [facts_of(bound, rule_of(sources)) | {"edges": edges} for bound, sources in rows]

    def other_plan(self, peer: int, handshake: Args) -> str:
        """Describe the plan of a peer that shakes hands instead of an exchange."""
        rank = self._channel.rank
        problem = fields_difference(self.facts(), handshake["fields"], rank, peer) or (
            f"the fields are the same: rank {peer} has made that plan anew, and rank {rank} has"
            " used its own before"
        )
        return f"rank {peer} is at its {handshake['plan']}, whose first use it is; {problem}"

    def late(self) -> list[int]:
        """The peers from which a given-up exchange of another plan still awaits values."""
        return [
            peer
            for peer, each in self.by_peer.items()
            if each.lane is not None and not each.lane.idle() and not each.all_arrived(peer)
        ]

    def lanes(self) -> tuple[dict[int, Turns], dict[int, Turns], list[Any]]:
        """By peer the memory that values are packed into, and that they are unpacked from, when its
        counter is one ahead; all counters.
        """
        lanes = [(peer, each.lane) for peer, each in self.by_peer.items() if each.lane is not None]
        packed = {peer: (lane.out, lane.turns) for peer, lane in lanes if lane.out is not None}
        unpacked = {
            peer: (lane.come[::-1], lane.turns) for peer, lane in lanes if lane.come is not None
        }
        return packed, unpacked, [lane.turns for _, lane in lanes]

    def _shares(self, peer: int, messages: Mapping[int, Message]) -> bool:
        """Whether these messages may lie in shared memory: both ranks send, and must pack them."""
        both_send = peer in self._sends and peer in self._receives
        return self._may_share and both_send and inside(messages[peer]) is None

    def _longest(self, peer: int) -> int:
        """The longer of the two messages: an adjoint sends what the plan receives."""
        return max(self._sends[peer].nbytes, self._receives[peer].nbytes)

    def _kind(self, peer: int) -> Args:
        """The kind of the messages between this rank and a peer, alike on both ends."""
        sent, received = self._sends.get(peer), self._receives.get(peer)
        return {
            "fields": self.facts(),
            "sends": [sent.nbytes if sent else 0, chunks_digest(sent)],
            "receives": [received.nbytes if received else 0, chunks_digest(received)],
            "debug": self._debug,
        }

    def _agreement(self, peer: int, kept: bool) -> Agreement:
        fresh = Agreement(self._binding.orders)
        if not kept:
            return fresh
        kind = blake2b(repr(self._kind(peer)).encode(), digest_size=16).digest()
        found: Agreement = self._channel.agreements.setdefault((peer, kind), fresh)
        return found


# ---- the contents of handshakes ----


def chunks_digest(message: Message | None) -> str:
    """A digest of the points of the fields in a message, the same at both ends."""
    digest = blake2b(digest_size=8)
    for chunk in message.chunks if message else ():
        digest.update(repr((chunk.field, tuple(chunk.link), chunk.nbytes)).encode())
    return digest.hexdigest()


def facts_of(bound: Bound, rule: str) -> Args:
    """The facts of a field that are the same on all ranks."""
    return {
        "rule": rule,
        "dtype": dtype_name(bound.dtype),
        "dims": sorted(bound.dims),
        "halo": [list(pair) for pair in bound.geometry.halos],
        "positions": [POSITIONS[p] for p in bound.geometry.positions],
        "sizes": sorted([dim, n, list(pair)] for dim, n, pair in bound.extra),
    }


def rule_of(sources: Sources) -> str:
    """The text of a field's rule, the same at both ends."""
    item, fields = sources.item, list(sources.fields)
    return f"{item.kind}, sign {item.sign}, component {sources.component} of fields {fields}"


def difference(ours: Args, theirs: Args, peer: int, rank: int) -> str | None:
    """The difference between the handshakes of two ranks; None where they agree."""
    problem = _difference(ours, theirs, peer, rank)
    return problem and f"{problem}; rank {peer} is at its {theirs['plan']}"


def fields_difference(ours: list[Args], theirs: list[Args], rank: int, peer: int) -> str | None:
    """The difference between the fields of two ranks' plans."""
    if len(ours) != len(theirs):
        return f"fields: there are {len(ours)} on rank {rank} and {len(theirs)} on rank {peer}"
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        for fact in a:
            if a[fact] != b[fact]:
                return (
                    f"fields[{i}]: its {fact} is {a[fact]} on rank {rank} and {b[fact]} on rank"
                    f" {peer}"
                )
    return None


def _difference(ours: Args, theirs: Args, peer: int, rank: int) -> str | None:
    if ours["debug"] != theirs["debug"]:
        here, there = "" if ours["debug"] else "not ", "" if theirs["debug"] else " not"
        return f"GRIDBUF_DEBUG is {here}set on rank {rank}, on rank {peer} it is{there}"
    for a, b, first, second in ((ours, theirs, rank, peer), (theirs, ours, peer, rank)):
        if a["sent"] != b["awaited"]:
            return (
                f"rank {first} has made {a['sent']} exchanges with values for rank {second}, which"
                f" has begun {b['awaited']}; one of the two ranks has skipped exchanges"
            )
    if problem := fields_difference(ours["fields"], theirs["fields"], rank, peer):
        return problem
    for side, other in (("sends", "receives"), ("receives", "sends")):
        if ours[side] != theirs[other]:
            if ours["fills"] != theirs["fills"]:
                return f"rank {rank} fills {ours['fills']}, rank {peer} {theirs['fills']}"
            return (
                f"what this rank {side} is not what rank {peer} {other}: {ours[side]} and"
                f" {theirs[other]} (bytes, points)"
            )
    return None
