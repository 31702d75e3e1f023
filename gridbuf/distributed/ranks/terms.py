"""What one plan says to each of its peers before it is used, and what the two agree on then."""

from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any

from gridbuf.distributed.calls import attempt
from gridbuf.distributed.plans.binding import Binding, Message
from gridbuf.distributed.ranks.agreements import Agreement
from gridbuf.distributed.ranks.buffers import Turns
from gridbuf.distributed.ranks.handshake import chunks_of, facts_of, fields_differ, rule
from gridbuf.distributed.ranks.hub import Hub
from gridbuf.distributed.ranks.inside import inside
from gridbuf.distributed.ranks.mail import Words, send
from gridbuf.distributed.ranks.sharing import Lane, machine, offer, opened
from gridbuf.distributed.ranks.tags import Tag


class Terms:
    """Of one plan.

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
    what
        Which points it fills, as users say it.
    """

    def __init__(
        self,
        hub: Hub,
        binding: Binding,
        sends: Mapping[int, Message],
        receives: Mapping[int, Message],
        debug: bool,
        shares: bool,
        kept: bool,
        what: str,
    ) -> None:
        self._hub, self._binding, self._sends, self._receives = hub, binding, sends, receives
        self._debug, self._shares_any, self._what = debug, shares, what
        self.agreements = {peer: self._agreement(peer, kept) for peer in sorted({*sends, *receives})}

    def facts(self) -> list[Words]:
        return [facts_of(bound, rule(its)) for bound, its in zip(self._binding.bounds, self._binding.sources, strict=True)]

    def words(self, doubtful: Sequence[int]) -> dict[int, Words]:
        """What peers are told that this rank agrees with anew, or why there is no tag."""
        tags, short = {}, ""
        for peer in doubtful:
            agreement = self.agreements[peer]
            agreement.cancel(peer)
            tags[peer], error = attempt(partial(self._hub.tag, peer, agreement.epoch >= 0))
            short = short or str(error or "")
        return {peer: self._words(peer, tag, short) for peer, tag in tags.items()}

    def _words(self, peer: int, tag: Tag | None, short: str) -> Words:
        return self._kind(peer) | {
            "what": self._what,
            "orders": self.agreements[peer].ours,
            "tag": tag,
            "short": short,
            "memory": offer(self._longest(peer)) if self._shares(peer, self._sends) and peer not in self._hub.far else None,
        }

    def hear(self, peer: int, words: Words, told: Words) -> None:
        """A peer agrees, and hears whether this rank reads its memory."""
        rows = None
        if (memory := words["memory"]) is not None:
            if memory["machine"] != machine():
                self._hub.far.add(peer)
            if self._shares(peer, self._receives):
                rows = opened(memory, self._longest(peer))
            send(self._hub, peer, {"token": memory["token"], "taken": rows is not None})
        lane = Lane(told["memory"], rows) if told["memory"] is not None or rows is not None else None
        agreement, sending = self.agreements[peer], self._hub.sending
        sending.pop((peer, agreement.to.number), None)
        agreement.hear(words, told["tag"], lane, self._hub.epochs[peer])
        sending[peer, agreement.to.number] = agreement

    def doubtful(self) -> list[int]:
        """With whom there is no agreement in this epoch."""
        return [peer for peer, agreement in self.agreements.items() if agreement.epoch != self._hub.epochs[peer]]

    def silent(self) -> list[int]:
        """Who agrees, and has not said yet whether it reads this rank's memory."""
        late = [peer for peer, its in self.agreements.items() if its.lane is not None and not its.lane.known()]
        return [peer for peer in late if self.agreements[peer].epoch == self._hub.epochs[peer]]

    def elsewhere(self, peer: int, its: Words) -> str:
        """Where a peer is that shakes hands instead of an exchange."""
        problem = fields_differ(self.facts(), its["fields"], self._hub.rank, peer)
        anew = f"the fields are the same: rank {peer} has made that plan anew, and rank {self._hub.rank} has used its own before"
        return f"rank {peer} is at its {its['plan']}, whose first use it is; {problem or anew}"

    def late(self) -> list[int]:
        """Whose values are awaited by an exchange that another plan has begun, and given up."""
        busy = [(peer, its) for peer, its in self.agreements.items() if its.lane is not None and not its.lane.idle()]
        return [peer for peer, its in busy if not its.all_come(peer)]

    def lanes(self) -> tuple[dict[int, Turns], dict[int, Turns], list[Any]]:
        """By peer the memory that values are packed into, and that they are unpacked from, when its counter is one ahead; all counters."""
        found = [(peer, its.lane) for peer, its in self.agreements.items() if its.lane is not None]
        packed = {peer: (lane.out, lane.turns) for peer, lane in found if lane.out is not None}
        unpacked = {peer: (lane.come[::-1], lane.turns) for peer, lane in found if lane.come is not None}
        return packed, unpacked, [lane.turns for _, lane in found]

    def _shares(self, peer: int, ends: Mapping[int, Message]) -> bool:
        """Whether these messages may lie in memory that both have: not those that need no packing, nor where only one of the two sends."""
        return self._shares_any and peer in self._sends and peer in self._receives and inside(ends[peer]) is None

    def _longest(self, peer: int) -> int:
        """Of the two messages: an adjoint sends what the plan receives."""
        return max(self._sends[peer].nbytes, self._receives[peer].nbytes)

    def _kind(self, peer: int) -> Words:
        """What the messages between this rank and a peer are: both ends say the same."""
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
        return self._hub.agreements.setdefault((peer, blake2b(repr(self._kind(peer)).encode(), digest_size=16).digest()), fresh)
