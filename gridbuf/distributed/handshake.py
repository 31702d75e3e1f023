"""What two ranks tell each other before they use a plan: that it is the same plan, and in which order the receiver has its dims.

A handshake is one small message each way. A rank that meets a handshake while it waits for values looks whether its peer has left an
exchange out, and refuses then; so both learn of it. Whatever is wrong, both ends raise, and both begin anew with their next handshake.
"""

import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

import numpy as np
from mpi4py import MPI

from gridbuf.distributed.binding import Message, Sources
from gridbuf.distributed.hub import HANDSHAKE, Hub, ranks
from gridbuf.distributed.layouts import Bound
from gridbuf.distributed.left import Left, leave
from gridbuf.distributed.tags import Tag
from gridbuf.distributed.waiting import Waiting

Words = dict[str, Any]
ALIKE = ("fields", "sends", "receives", "orders", "debug", "error")  # what two plans have in common that can stand for each other


def chunks_of(message: Message | None) -> str:
    """Which points of which fields a message has, as both ends see them."""
    digest = blake2b(digest_size=8)
    for chunk in message.chunks if message else ():
        digest.update(repr((chunk.field, tuple(chunk.link), chunk.nbytes)).encode())
    return digest.hexdigest()


def facts_of(bound: Bound, rule: str) -> Words:
    """What all ranks must say of a field."""
    return {
        "rule": rule,
        "dtype": bound.dtype.str if bound.dtype.names is None else str(bound.dtype.descr),
        "dims": sorted(bound.dims),
        "halo": [list(pair) for pair in bound.geometry.halos],
        "positions": ["centre" if position else "face" for position in bound.geometry.positions],
        "sizes": sorted([dim, n] for dim, n in bound.extra),
    }


def rule(sources: Sources) -> str:
    """How a field's values change on their way, in words that both ends share."""
    return f"{sources.item.kind}, sign {sources.item.sign}, component {sources.component} of fields {list(sources.fields)}"


class Handshakes:
    """The handshakes of one plan with its peers. What has been heard stays heard when the rest is late."""

    def __init__(self, hub: Hub, name: str, timeout: float | None) -> None:
        self.hub, self.name, self.timeout = hub, name, timeout
        self._told: dict[int, Words] = {}
        self._heard: dict[int, Words] = {}

    def shake(self, words: Mapping[int, Words]) -> tuple[dict[int, tuple[Words, Tag]], str]:
        """Tell each peer its words and hear what each says.

        What each says who agrees, with the tag that it was told to send with; and what the others say differently.
        """
        hub = self.hub
        for peer, its in words.items():
            if peer in self._told:
                continue
            if peer in hub.unanswered:  # one that was given up: the answer to it comes first
                self._told[peer] = hub.unanswered[peer]
            else:
                sent, awaited = hub.ledger[peer].tolist()
                words_to = dict(its, plan=self.name, sent=sent, awaited=awaited, trouble=hub.trouble)
                send(hub, peer, words_to)
                self._told[peer] = hub.unanswered[peer] = words_to
        Waiting(self.timeout, lambda: self._missing(words)).until(lambda: self._all_heard(words))
        hub.trouble = ""
        found = {peer: self._heard.pop(peer) for peer in words}
        told = {peer: self._told.pop(peer) for peer in words}
        problems = {}
        for peer, its in words.items():
            hub.unanswered.pop(peer, None)
            problem = differs(told[peer], found[peer], peer, hub.rank)
            if not problem and any(told[peer][what] != its[what] for what in ALIKE):
                problem = f"rank {peer} has agreed to {told[peer]['plan']} of this rank, which was given up"
            if problem:
                hub.doubt(peer)
                problems[peer] = problem
            elif hub.asked.get(peer) is not told[peer]:
                hub.asked.pop(peer, None)
        agreed = {peer: (found[peer], told[peer]["tag"]) for peer in words if peer not in problems}
        return agreed, "; ".join(problems.values())

    def _all_heard(self, words: Mapping[int, Words]) -> bool:
        for peer in words:
            if peer not in self._heard:
                heard = receive(self.hub, peer)
                if heard is not None:
                    self._heard[peer] = heard
        return len(self._heard) >= len(words)

    def _missing(self, words: Iterable[int]) -> str:
        late = [peer for peer in words if peer not in self._heard]
        return f"rank {self.hub.rank} waits for {ranks(late)}: {self.name}, its first use"


def send(hub: Hub, peer: int, words: Words) -> None:
    """The hub keeps the message until it has gone."""
    if "tag" in words:
        words = words | hub.tags[peer].tell(words["tag"])
    text = json.dumps(words).encode()
    leave(Left([], [hub.comm.Isend([text, MPI.BYTE], peer, HANDSHAKE)], text))


def receive(hub: Hub, peer: int) -> Words | None:
    """The next handshake of a peer, or None."""
    if hub.mail[peer]:
        return hub.mail[peer].popleft()
    found = receive_any(hub, peer)
    return None if found is None else found[1]


def receive_any(hub: Hub, peer: int = MPI.ANY_SOURCE) -> tuple[int, Words] | None:
    """A handshake of anybody that has come, and who sent it."""
    status = MPI.Status()
    message = hub.comm.Improbe(peer, HANDSHAKE, status)
    if message is None:
        return None
    text = np.empty(status.Get_count(MPI.BYTE), "u1")
    message.Recv([text, MPI.BYTE])
    words: Words = json.loads(text.tobytes())
    hub.tags[status.Get_source()].hear(words)
    return status.Get_source(), words


def collect(hub: Hub) -> None:
    """Keep the handshakes that have come for who looks at them."""
    while (found := receive_any(hub)) is not None:
        hub.mail[found[0]].append(found[1])


def refuse(hub: Hub, peer: int, text: str) -> None:
    """Answer a handshake that does not fit what this rank is doing."""
    send(hub, peer, {"refused": text})


def differs(ours: Words, theirs: Words, peer: int, rank: int) -> str | None:
    """What two ranks say differently, in words of this rank; None where they agree."""
    if "refused" in theirs:
        return str(theirs["refused"])
    for whose, said in ((rank, ours["error"]), (peer, theirs["error"])):
        if said:
            return f"rank {whose}: {said}"
    problem = _differs(ours, theirs, peer, rank)
    if problem and theirs["trouble"]:
        problem += f" (before, rank {peer} raised {theirs['trouble']})"
    return problem and f"{problem}; rank {peer} is at its {theirs['plan']}"


def fields_differ(ours: list[Words], theirs: list[Words], rank: int, peer: int) -> str | None:
    """What two ranks say differently of the fields of a plan."""
    if len(ours) != len(theirs):
        return f"fields: there are {len(ours)} on rank {rank} and {len(theirs)} on rank {peer}"
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        for what in a:
            if a[what] != b[what]:
                return f"fields[{i}]: its {what} is {a[what]} on rank {rank} and {b[what]} on rank {peer}"
    return None


def _differs(ours: Words, theirs: Words, peer: int, rank: int) -> str | None:
    if ours["debug"] != theirs["debug"]:
        return f"GRIDBUF_DEBUG is {'' if ours['debug'] else 'not '}set on rank {rank}, on rank {peer} it is{'' if theirs['debug'] else ' not'}"
    for a, b, first, second in ((ours, theirs, rank, peer), (theirs, ours, peer, rank)):
        if a["sent"] != b["awaited"]:
            return f"rank {first} has made {a['sent']} exchanges with values for rank {second}, which has begun {b['awaited']}; one of them left some out"
    if problem := fields_differ(ours["fields"], theirs["fields"], rank, peer):
        return problem
    for what, other in (("sends", "receives"), ("receives", "sends")):
        if ours[what] != theirs[other]:
            return f"what this rank {what} is not what rank {peer} {other}: {ours[what]} and {theirs[other]} (bytes, points)"
    return None
