"""What two ranks tell each other before they use a plan: that it is the same plan, and in which order the receiver has its dims.

A handshake is one small message each way. A rank that meets one while it waits for values looks whether its peer has left an exchange out, and
raises then. Whatever is wrong, both ends raise (raising.py), and both begin anew with their next handshake.
"""

from collections.abc import Callable, Mapping
from functools import partial
from hashlib import blake2b

from gridbuf.distributed.dtype_names import dtype_name
from gridbuf.distributed.errors import DisagreementError
from gridbuf.distributed.plans.binding import Message, Sources
from gridbuf.distributed.plans.layouts import POSITIONS, Bound
from gridbuf.distributed.ranks.crossing import Telling, not_made, unsay
from gridbuf.distributed.ranks.hub import Hub, ranks
from gridbuf.distributed.ranks.mail import Words, collect, head, send
from gridbuf.distributed.ranks.raising import heard, post, tell
from gridbuf.distributed.waiting import Waiting

ALIKE = ("fields", "sends", "receives", "orders", "debug", "short")  # what two plans have in common that can stand for each other


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
        "dtype": dtype_name(bound.dtype),
        "dims": sorted(bound.dims),
        "halo": [list(pair) for pair in bound.geometry.halos],
        "positions": [POSITIONS[p] for p in bound.geometry.positions],
        "sizes": sorted([dim, n, list(pair)] for dim, n, pair in bound.extra),
    }


def rule(sources: Sources) -> str:
    """How a field's values change on their way, in words that both ends share."""
    return f"{sources.item.kind}, sign {sources.item.sign}, component {sources.component} of fields {list(sources.fields)}"


def shake(
    hub: Hub,
    name: str,
    timeout: float | None,
    words: Mapping[int, Words],
    agree: Callable[[int, Words, Words], None],
    left_out: Callable[[], Words | None],
) -> None:
    """Tell each rank its words and hear what each says: that, and what it was told, go to `agree` as they come.

    DisagreementError at the first that says something else, and where one has raised: it will not answer. While others are awaited, so may
    one that has answered: `left_out` says what it has raised then.
    """
    late, telling = set(words), Telling(hub, f"{name}, its first use")
    began = {peer: hub.epochs[peer] for peer in words}  # a tag is told in one epoch alone: with the next all is said anew
    wrong: list[tuple[str, list[int] | None]] = []

    def settled() -> bool:
        collect(hub)
        for peer in sorted(late):
            if peer not in hub.unanswered:  # else one that was given up: the answer to it comes first
                sent, awaited = hub.ledger[peer].tolist()
                hub.unanswered[peer] = dict(words[peer], plan=name, sent=sent, awaited=awaited)
                send(hub, peer, hub.unanswered[peer])
            if (its := head(hub, peer)) is None:
                continue
            told = hub.unanswered[peer]
            problem = differs(told, its, peer, hub.rank)
            if not problem and any(told[what] != words[peer][what] for what in ALIKE):
                problem = f"rank {peer} has agreed to {told['plan']} of this rank, which was given up"
            if problem:
                wrong.append((f"rank {hub.rank}: {name}: {problem}", None))
                return True
            hub.mail[peer].popleft()
            del hub.unanswered[peer]
            late.discard(peer)
            agree(peer, its, told)
        notes = [heard(hub, peer) for peer in late]
        if late:
            notes.append(left_out())
        wrong.extend((note["raised"], note["origin"]) for note in notes if note)
        return bool(wrong) or not late or any(hub.epochs[peer] != began[peer] for peer in late)

    def look() -> None:
        if (by := telling.cycle()) is not None:
            wrong.append((not_made(hub, by, f"waits for {ranks([*late])} in {telling.where}"), None))
        for peer in sorted(late):
            if peer in hub.unanswered and (tag := hub.unanswered[peer]["tag"]) is not None:
                telling.tell(peer, partial(dict, first=tag.number))

    post(hub)
    try:
        Waiting(timeout, lambda: f"rank {hub.rank} waits for {ranks([*late])}: {telling.where}").until(settled, look)
    except (TimeoutError, KeyboardInterrupt):
        unsay(hub)
        raise
    for raised, origin in wrong:
        tell(hub, raised, origin)
        raise DisagreementError(f"rank {hub.rank}: {name}: {raised}" if origin else raised)


def differs(ours: Words, theirs: Words, peer: int, rank: int) -> str | None:
    """What two ranks say differently, in words of this rank; None where they agree."""
    problem = _differs(ours, theirs, peer, rank)
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
    if (
        short := ours["short"] or theirs["short"]
    ):  # of tags: said here, where each hears as well which of them the other has let go of
        return str(short)
    if ours["debug"] != theirs["debug"]:
        return f"GRIDBUF_DEBUG is {'' if ours['debug'] else 'not '}set on rank {rank}, on rank {peer} it is{'' if theirs['debug'] else ' not'}"
    for a, b, first, second in ((ours, theirs, rank, peer), (theirs, ours, peer, rank)):
        if a["sent"] != b["awaited"]:
            return f"rank {first} has made {a['sent']} exchanges with values for rank {second}, which has begun {b['awaited']}; one of them left some out"
    if problem := fields_differ(ours["fields"], theirs["fields"], rank, peer):
        return problem
    for what, other in (("sends", "receives"), ("receives", "sends")):
        if ours[what] != theirs[other]:
            if ours["what"] != theirs["what"]:
                return f"rank {rank} fills {ours['what']}, rank {peer} {theirs['what']}"
            return f"what this rank {what} is not what rank {peer} {other}: {ours[what]} and {theirs[other]} (bytes, points)"
    return None
