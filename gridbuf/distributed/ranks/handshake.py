"""Control messages between two ranks of a grid, in the order in which they were sent: handshakes of
plans and answers to them.

The handshake of two ranks before a plan is used first: that it is the same plan, and in which
order of dims the receiver has its values.

A handshake is one small message each way. Plans that a grid keeps for its user share an agreement
with all plans of the same messages: whether two fields of one rank have the same layout is that
rank's own affair, so one rank may find a plan where its peer makes a new one. The first layout of a
kind fixes the order of its messages; fields of other layouts are turned where they are packed and
unpacked. A plan of one's own (`Grid.plan`) has the order of its own fields.
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

Words = dict[str, Any]


def send(channel: Channel, peer: int, words: Words) -> None:
    """Send words, which are kept until they have gone."""
    text = json.dumps(words | channel.tags[peer].tell(words.get("tag"))).encode()
    channel.duplicate.said[peer] += 1
    leave(
        Pending(
            [], [channel.comm.Isend([text, MPI.BYTE], peer, HANDSHAKE)], text, channel.duplicate
        )
    )


def collect(channel: Channel, every: float = 0.0) -> None:
    """Keep the handshakes that have come in the mail; a long message may take its time. At most
    once in `every` seconds.
    """
    now = time.perf_counter()
    if every and now < channel.swept + every:
        return
    channel.swept = now
    status, its = MPI.Status(), channel.duplicate
    while (message := channel.comm.Improbe(MPI.ANY_SOURCE, HANDSHAKE, status)) is not None:
        text = np.empty(status.Get_count(MPI.BYTE), "u1")
        its.coming[status.Get_source()].append((message.Irecv([text, MPI.BYTE]), text))
    for peer, coming in its.coming.items():
        while coming and coming[0][0].Test():
            words: Words = json.loads(coming.popleft()[1].tobytes())
            its.heard[peer] += 1
            channel.tags[peer].hear(words)
            if "taken" in words:
                answered(words)
            else:
                its.mail[peer].append(words)


Orders = list[list[str]]


class Agreement:
    """One rank's side of an agreement with a peer about one kind of message.

    Attributes
    ----------
    made : bool
        Whether the two have agreed.
    ledger : ndarray of two times two int64
        How many exchanges have begun with values for the peer, and from it; and how many adjoints.
    heard : Tag
        The tag that the peer has been told to send with.
    to : Tag
        The tag that the peer wants its values sent with.
    ours, its : list of lists of str
        For each field the order of dims in which this rank gets its values, and in which the peer
        does.
    lane : Lane or None
        The memory that values lie in; None: all of them are sent.
    receiving : WeakSet
        The receives of all plans that share it, also of those that are gone: values of one could be
        those of another.
    """

    def __init__(self, ours: Orders) -> None:
        self.made, self.ledger, self.ours = False, np.zeros((2, 2), np.int64), ours
        self.heard = self.to = Tag(-1)
        self.its: Orders = []
        self.lane: Lane | None = None
        self.receiving: weakref.WeakSet[Any] = weakref.WeakSet()

    def all_come(self, peer: int) -> bool:
        """Whether no exchange that began here awaits values of the peer."""
        return all(
            request.Get_status()
            for receiving in self.receiving
            for its, request in receiving.requests()
            if its == peer
        )


class Terms:
    """The terms of one plan: its agreements with each of its peers.

    Parameters
    ----------
    sends, receives
        Its messages by peer.
    debug
        Whether messages carry their checksums.
    shares
        Whether messages may lie in memory that both ranks have.
    kept
        Whether it agrees once with all plans that send the same.
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
        self._channel = channel
        self._binding = binding
        self._sends = sends
        self._receives = receives
        self._debug, self._shares_any, self._fills = debug, shares, fills
        self.agreements = {
            peer: self._agreement(peer, kept) for peer in sorted({*sends, *receives})
        }

    def shake(self, name: str, timeout: float | None) -> None:
        """Agree with all peers that have not agreed: tell each its words and hear its own.
        DisagreementError where one says something else.
        """
        channel = self._channel
        doubtful = [peer for peer, agreement in self.agreements.items() if not agreement.made]
        late, told = set(doubtful), self.words(doubtful)
        for peer, words in told.items():
            words.update(
                plan=name, sent=int(channel.ledger[peer][0]), awaited=int(channel.ledger[peer][1])
            )
            send(channel, peer, words)

        def settled() -> bool:
            collect(channel)
            for peer in sorted(late):
                mail = channel.mail[peer]
                if mail:
                    its = mail.popleft()
                    if problem := differs(told[peer], its, peer, channel.rank):
                        raise DisagreementError(f"rank {channel.rank}: {name}: {problem}")
                    late.discard(peer)
                    self._hear(peer, its, told[peer])
            return not late and not self._silent()

        def look() -> None:
            where = f"{name}, its first use"
            channel.listen(where)
            for peer in late:
                end = channel.ended(peer)
                if end is not None and end[2] <= channel.duplicate.heard[peer]:
                    channel.raise_ended(peer, where)

        Waiting(
            timeout,
            lambda: (
                f"rank {channel.rank} waits for {ranks([*late] or self._silent())}: {name}, its"
                " first use"
            ),
        ).until(settled, look)

    def words(self, peers: Sequence[int]) -> dict[int, Words]:
        """The words for peers that this rank agrees with."""
        return {
            peer: (
                self._kind(peer)
                | {
                    "fills": self._fills,
                    "orders": self.agreements[peer].ours,
                    "tag": self._channel.tag(peer),
                    "memory": (
                        offer(self._longest(peer))
                        if self._shares(peer, self._sends) and peer not in self._channel.far
                        else None
                    ),
                }
            )
            for peer in peers
        }

    def _hear(self, peer: int, words: Words, told: Words) -> None:
        """A peer agrees, and hears whether this rank reads its memory."""
        rows = None
        if (memory := words["memory"]) is not None:
            if memory["machine"] != machine():
                self._channel.far.add(peer)
            if self._shares(peer, self._receives):
                rows = opened(memory, self._longest(peer))
            send(self._channel, peer, {"token": memory["token"], "taken": rows is not None})
        its = self.agreements[peer]
        its.lane = (
            Lane(told["memory"], rows) if told["memory"] is not None or rows is not None else None
        )
        its.heard, its.to, its.its, its.made = told["tag"], words["tag"], words["orders"], True

    def _silent(self) -> list[int]:
        """The peers that agree, and have not said yet whether they read this rank's memory."""
        return [
            peer
            for peer, its in self.agreements.items()
            if its.made and its.lane is not None and not its.lane.known()
        ]

    def facts(self) -> list[Words]:
        return [
            facts_of(bound, rule(its))
            for bound, its in zip(self._binding.bounds, self._binding.sources, strict=True)
        ]

    def elsewhere(self, peer: int, its: Words) -> str:
        """Where a peer is that shakes hands instead of an exchange."""
        problem = fields_differ(self.facts(), its["fields"], self._channel.rank, peer)
        anew = (
            f"the fields are the same: rank {peer} has made that plan anew, and rank"
            f" {self._channel.rank} has used its own before"
        )
        return f"rank {peer} is at its {its['plan']}, whose first use it is; {problem or anew}"

    def late(self) -> list[int]:
        """The peers whose values are awaited by an exchange that another plan has begun, and given
        up.
        """
        busy = [
            (peer, its)
            for peer, its in self.agreements.items()
            if its.lane is not None and not its.lane.idle()
        ]
        return [peer for peer, its in busy if not its.all_come(peer)]

    def lanes(self) -> tuple[dict[int, Turns], dict[int, Turns], list[Any]]:
        """By peer the memory that values are packed into, and that they are unpacked from, when its
        counter is one ahead; all counters.
        """
        found = [(peer, its.lane) for peer, its in self.agreements.items() if its.lane is not None]
        packed = {peer: (lane.out, lane.turns) for peer, lane in found if lane.out is not None}
        unpacked = {
            peer: (lane.come[::-1], lane.turns) for peer, lane in found if lane.come is not None
        }
        return packed, unpacked, [lane.turns for _, lane in found]

    def _shares(self, peer: int, ends: Mapping[int, Message]) -> bool:
        """Whether these messages may lie in memory that both have: not those that need no packing,
        nor where only one of the two sends.
        """
        return (
            self._shares_any
            and peer in self._sends
            and peer in self._receives
            and inside(ends[peer]) is None
        )

    def _longest(self, peer: int) -> int:
        """The longer of the two messages: an adjoint sends what the plan receives."""
        return max(self._sends[peer].nbytes, self._receives[peer].nbytes)

    def _kind(self, peer: int) -> Words:
        """The messages between this rank and a peer: both ends say the same."""
        there, here = self._sends.get(peer), self._receives.get(peer)
        return {
            "fields": self.facts(),
            "sends": [there.nbytes if there else 0, chunks_of(there)],
            "receives": [here.nbytes if here else 0, chunks_of(here)],
            "debug": self._debug,
        }

    def _agreement(self, peer: int, kept: bool) -> Agreement:
        fresh = Agreement(self._binding.orders)
        if not kept:
            return fresh
        kind = blake2b(repr(self._kind(peer)).encode(), digest_size=16).digest()
        found: Agreement = self._channel.agreements.setdefault((peer, kind), fresh)
        return found


def chunks_of(message: Message | None) -> str:
    """A digest of the points of the fields in a message, as both ends see them."""
    digest = blake2b(digest_size=8)
    for chunk in message.chunks if message else ():
        digest.update(repr((chunk.field, tuple(chunk.link), chunk.nbytes)).encode())
    return digest.hexdigest()


def facts_of(bound: Bound, rule: str) -> Words:
    """The facts of a field that all ranks must say alike."""
    return {
        "rule": rule,
        "dtype": dtype_name(bound.dtype),
        "dims": sorted(bound.dims),
        "halo": [list(pair) for pair in bound.geometry.halos],
        "positions": [POSITIONS[p] for p in bound.geometry.positions],
        "sizes": sorted([dim, n, list(pair)] for dim, n, pair in bound.extra),
    }


def rule(sources: Sources) -> str:
    """How a field's values change on their way, in words that both ends share."""
    return (
        f"{sources.item.kind}, sign {sources.item.sign}, component {sources.component} of fields"
        f" {list(sources.fields)}"
    )


def differs(ours: Words, theirs: Words, peer: int, rank: int) -> str | None:
    """The difference between the words of two ranks; None where they agree."""
    problem = _difference(ours, theirs, peer, rank)
    return problem and f"{problem}; rank {peer} is at its {theirs['plan']}"


def fields_differ(ours: list[Words], theirs: list[Words], rank: int, peer: int) -> str | None:
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


def _difference(ours: Words, theirs: Words, peer: int, rank: int) -> str | None:
    if ours["debug"] != theirs["debug"]:
        here, there = "" if ours["debug"] else "not ", "" if theirs["debug"] else " not"
        return f"GRIDBUF_DEBUG is {here}set on rank {rank}, on rank {peer} it is{there}"
    for a, b, first, second in ((ours, theirs, rank, peer), (theirs, ours, peer, rank)):
        if a["sent"] != b["awaited"]:
            return (
                f"rank {first} has made {a['sent']} exchanges with values for rank {second}, which"
                f" has begun {b['awaited']}; one of them left some out"
            )
    if problem := fields_differ(ours["fields"], theirs["fields"], rank, peer):
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
