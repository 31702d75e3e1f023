"""How far this rank and its peers have come: who has left an exchange out, or raised instead of one."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gridbuf.distributed.ranks.hub import Hub
from gridbuf.distributed.ranks.mail import Words, head
from gridbuf.distributed.ranks.raising import heard


class Begun(NamedTuple):
    """The last exchange, as one peer may have it."""

    epoch: int
    counts: list[int]  # of their exchanges in this epoch: to the peer, and from it
    tag: int  # what the peer was told to send with
    back: bool
    of_kind: list[int]  # of these those with that tag, in that direction


class LeftOut(NamedTuple):
    """An exchange that a peer has left out."""

    its: Words  # how far it had come, by what it has raised or by its handshake
    note: Words | None  # what it has raised, if this rank has not
    known: bool  # whether this rank has raised since the exchange began


class Standing:
    """Of one plan.

    Parameters
    ----------
    sends, receives
        To whom and from whom it has values.
    """

    def __init__(self, hub: Hub, sends: Iterable[int], receives: Iterable[int]) -> None:
        self._hub, self._sends, self._receives = hub, frozenset(sends), frozenset(receives)
        self._begun: tuple[int, dict[int, Begun]] = 0, {}  # an exchange, and by peer what it began with
        self.kinds: Mapping[int, tuple[int, bool, Any]] = {}  # by peer, of what moves it: tag, direction and counts
        self._ends: dict[int, Words] = {}  # by peer: what it has raised, if that ended the epoch in which the exchange began

    @cached_property
    def count(self) -> NDArray[np.int64]:
        """How many exchanges have begun, which C counts."""
        return np.zeros(1, np.int64)

    @property
    def exchange(self) -> int:
        return int(self.count[0])

    @cached_property
    def peers(self) -> list[int]:
        return sorted(self._sends | self._receives)

    def counts(self) -> dict[int, Begun]:
        """By peer the epoch in which the last exchange began, and which of its exchanges that is."""
        if self._begun[0] != self.exchange:
            hub = self._hub
            self._begun = (
                self.exchange,
                {
                    peer: Begun(hub.epochs[peer], hub.ledger[peer].tolist(), tag, back, its.tolist())
                    for peer, (tag, back, its) in self.kinds.items()
                },
            )
            self._ends = {peer: note for (peer, epoch), note in hub.notes.items() if epoch == hub.epochs[peer] + 1}
        return self._begun[1]

    def hear(self, peer: int, note: Words) -> None:
        """A peer has raised, and says how far it had come until then."""
        if (begun := self.counts().get(peer)) is not None and begun.epoch == note["epoch"] - 1:
            self._ends[peer] = note

    def raised_instead(self, back: bool) -> Words | None:
        """What a peer has raised instead of the exchange that is to begin."""
        hub, (to, come) = self._hub, (self._receives, self._sends) if back else (self._sends, self._receives)
        for peer in self.peers:
            if (note := heard(hub, peer)) is not None:
                sent, awaited = hub.ledger[peer]
                if (peer in come and awaited >= note["sent"]) or (peer in to and sent >= note["awaited"]):
                    return note
        return None

    def left_out(self, peer: int, missing: bool, stuck: bool) -> LeftOut | None:
        """Whether a peer has left out the exchange under way: its values are missing, or it has not taken this rank's."""
        hub, begun = self._hub, self.counts()[peer]
        note = heard(hub, peer)
        known = hub.epochs[peer] > begun.epoch
        its = self._ends.get(peer) or (None if known else head(hub, peer))
        if its is None:
            return None
        (sent, awaited), ours = (its["sent"], its["awaited"]), begun.counts
        kind = its.get("kinds", {}).get(str(begun.tag))
        if kind is not None:  # it has raised, and may have made others in the place of this one
            (sent, awaited), ours = kind[begun.back], begun.of_kind
        return LeftOut(its, note, known) if (missing and sent < ours[1]) or (stuck and awaited < ours[0]) else None
