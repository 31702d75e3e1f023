"""Ranks that wait for each other in different exchanges: they have agreed on theirs, so nothing comes that would tell them.

Who has waited for a while says in which exchange, and how many it has begun with that peer. If the peer has begun as many, and fewer of
that kind, it has made others instead: neither will end. Nor will it where the peer waits as well, for what the first has not sent by then. A peer that is always late and never waits reads nothing, and is sent few of them.

Such a letter also names all waits that wait for its sender, through others or not. So a cycle of any length is found by who reads its own wait
there: each rank of it has looked whether it is waited for while it waited itself, and none of them goes on before the next does. A rank in a call of
all ranks waits for everybody: there one letter is enough (listening.py).
"""

import time
from collections.abc import Callable, Mapping

from gridbuf.distributed.ranks.agreements import Agreement
from gridbuf.distributed.ranks.hub import Hub
from gridbuf.distributed.ranks.mail import Words, head, send
from gridbuf.distributed.ranks.standing import Begun

FIRST = 0.25  # seconds of waiting before the first letter; each lasts for as long again
MOST = 8  # letters that a peer has not read: MPI keeps them
MOST_BEHIND = 64  # waits that a letter names


class Telling:
    """What peers are told of one wait.

    Parameters
    ----------
    where
        In which exchange this rank waits, in words.
    """

    def __init__(self, hub: Hub, where: str) -> None:
        self.since, self.where, self._hub = time.perf_counter(), where, hub
        self._here = f"{hub.rank} {hub.doubted} {where}"
        self._due: dict[int, float] = {}  # by peer: when it is told again
        self._told: dict[int, int] = {}  # and how many were behind this rank when it was told

    def cycle(self) -> int | None:
        """The peer that waits for this rank, and so does this rank for it through others."""
        return behind(self._hub).get(self._here)

    def tell(self, peer: int, words: Callable[[], Words]) -> None:
        """Tell a peer that this rank waits for it, and who waits for this rank: at first after a while, then ever more rarely, or as there are more."""
        hub, now, waits = self._hub, time.perf_counter(), behind(self._hub)
        if now < self._due.get(peer, self.since + FIRST) and len(waits) <= self._told.get(peer, MOST_BEHIND):
            return
        self._due[peer], self._told[peer] = 2 * now - self.since, len(waits)
        if hub.unread[peer] < MOST:
            hub.unread[peer] += 1
            hub.told.add(peer)
            said = {"waits": self.where, "here": self._here, "behind": [*waits][:MOST_BEHIND], "calls": hub.calls}
            send(hub, peer, said | words())


def in_exchange(hub: Hub, peer: int, agreement: Agreement, begun: Begun, sent: bool, fields: list[Words]) -> Words:
    """Of a wait in an exchange that has begun: for a peer's values, or until it takes those that were sent."""
    end = int(sent)
    nth = int(agreement.ledger[int(begun.back)][1 - end])
    its = {"with": agreement.heard.number, "back": begun.back, "end": end, "nth": nth, "at": begun.counts[1 - end]}
    return its | {"awaited": int(hub.ledger[peer][1]), "kinds": hub.kinds(peer), "fields": fields}


def awaits(hub: Hub, peer: int) -> Words | None:
    """Where a peer waits for this rank, if it has said so: until it has what it awaits it makes nothing else."""
    its = hub.stalled.get(peer)
    if its is None or its["epoch"] != hub.epochs[peer]:
        return None
    if "first" in its:
        hand = head(hub, peer)
        return its if hand is not None and hand["tag"] is not None and hand["tag"].number == its["first"] else None
    agreement = hub.sending.get((peer, its["with"]))
    return its if agreement is not None and agreement.ledger[int(its["back"])][its["end"]] < its["nth"] else None


def behind(hub: Hub) -> Mapping[str, int]:
    """The waits that end no sooner than this rank makes what others wait for, and through which peer it knows of them."""
    found: dict[str, int] = {}
    for peer in [*hub.stalled]:
        if (its := awaits(hub, peer)) is not None:
            for here in (its["here"], *its["behind"]):
                found.setdefault(here, peer)
    return found


def not_made(hub: Hub, peer: int, does: str, problem: str | None = None) -> str:
    """What this rank has made is not what a peer awaits that has said so: in words."""
    its = hub.stalled[peer]
    if "at" in its:
        hub.ledger[peer][its["end"]] = min(hub.ledger[peer][its["end"]], its["at"] - 1)
    text = f"rank {hub.rank} {does}, and rank {peer} waits for it in its {its['waits']}"
    return f"{text}; {problem or 'all ranks make the same exchanges, in one order'}"


def unsay(hub: Hub) -> None:
    """This rank has given up waiting, and goes on."""
    while hub.told:
        send(hub, hub.told.pop(), {"waits": None})


def crossed(hub: Hub, peer: int, begun: Begun | None = None) -> Words | None:
    """Where a peer waits for values that this rank has not sent, although it has made as many exchanges with it, or waits for those of one that has begun."""
    its = awaits(hub, peer)
    if its is None or "first" in its or its["end"]:
        return None
    kind = its["kinds"].get(str(begun.tag)) if begun is not None else None
    if hub.ledger[peer][0] < its["awaited"] and (begun is None or kind is None or kind[begun.back][0] >= begun.of_kind[1]):
        return None
    return its
