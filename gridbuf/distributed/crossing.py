"""Two ranks that wait for each other in different exchanges: both have agreed on theirs, so nothing comes that would tell them.

Who has waited for a while says in which exchange, and how many it has begun with that peer. If the peer has begun as many, and fewer of
that kind, it has made others instead: neither will end. Nor will it where the peer waits as well, for what the first has not sent by then. A peer that is always late and never waits reads nothing, and is sent few of them.
"""

from typing import Any

from gridbuf.distributed.agreements import Agreement
from gridbuf.distributed.hub import Hub
from gridbuf.distributed.mail import Words, send
from gridbuf.distributed.standing import Begun

FIRST = 0.25  # seconds of waiting before the first letter; each lasts for as long again
MOST = 8  # letters that a peer has not read: MPI keeps them


def say(hub: Hub, peer: int, agreement: Agreement, back: bool, at: int, words: dict[str, Any]) -> None:
    """Tell a peer where this rank waits for it: in the exchange of theirs with the number `at`, of this kind and direction."""
    if hub.unread[peer] >= MOST:
        return
    hub.unread[peer] += 1
    hub.told.add(peer)
    its = {"with": agreement.heard.number, "back": back, "nth": int(agreement.ledger[int(back)][1])}
    send(
        hub,
        peer,
        {"waits": words["plan"], **its, "at": at, "awaited": int(hub.ledger[peer][1]), "kinds": hub.kinds(peer), **words},
    )


def unsay(hub: Hub) -> None:
    """This rank has given up waiting, and goes on."""
    while hub.told:
        send(hub, hub.told.pop(), {"waits": None})


def crossed(hub: Hub, peer: int, begun: Begun | None = None) -> Words | None:
    """Where a peer waits for values that this rank has not sent, although it has made as many exchanges with it, or waits for those of one that has begun."""
    its = hub.stalled.get(peer)
    if its is None or its["epoch"] != hub.epochs[peer]:
        return None
    kind = its["kinds"].get(str(begun.tag)) if begun is not None else None
    if hub.ledger[peer][0] < its["awaited"] and (begun is None or kind is None or kind[begun.back][0] >= begun.of_kind[1]):
        return None
    agreement = hub.sending.get((peer, its["with"]))
    if agreement is None or agreement.ledger[int(its["back"])][0] >= its["nth"]:
        return None
    return its
