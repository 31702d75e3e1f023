"""What two ranks have agreed on before they use a plan. Plans that a grid keeps for its user share it: then it is agreed on once.

Whether two fields of one rank have the same layout is that rank's own affair, and a plan is kept for each layout; so one rank may find
a plan where its peer makes a new one. What travels between the two is the same for both, so that is what is remembered.

The first layout of a kind fixes the order of its messages, as long as the communicator lives: fields of other layouts that are exchanged
later are turned where they are packed and unpacked. A plan of one's own (`Grid.plan`) has the order of its own fields.
"""

import weakref
from typing import Any

import numpy as np

from gridbuf.distributed.sharing import Lane
from gridbuf.distributed.tags import Tag

Orders = list[list[str]]


class Agreement:
    """What one rank knows of its agreement with a peer about one kind of message.

    Attributes
    ----------
    epoch : int
        The two ranks' when they agreed; -1: they have not.
    ledger : ndarray of two int64
        How many exchanges have begun with values for the peer, and from it.
    tag : Tag or None
        What the peer is told to send with; None: it has not been told yet.
    heard : Tag
        What it has been told when it agreed.
    to : Tag
        What it wants its values sent with.
    ours, its : list of lists of str
        For each field the order of dims in which this rank gets its values, and in which the peer does.
    ahead : int
        How many messages have come of exchanges that were cancelled, and are not in the ledger.
    owed : int
        How many messages the peer has sent that nobody wants, and that are received before any other.
    lane : Lane or None
        The memory that values lie in; None: all of them are sent.
    version : int
        Changes with heard, to, its and lane.
    receiving : WeakSet
        What all plans that share it receive with, also those that are gone: values of one could be those of another.
    """

    def __init__(self, ours: Orders) -> None:
        self.epoch, self.ledger, self.ours = -1, np.zeros(2, np.int64), ours
        self.tag: Tag | None = None
        self.heard = self.to = Tag(-1)
        self.its: Orders = []
        self.lane: Lane | None = None
        self.ahead = self.owed = 0
        self.version = 0
        self.receiving: weakref.WeakSet[Any] = weakref.WeakSet()

    def hear(self, words: dict[str, Any], told: Tag, parts: int, lane: Lane | None) -> None:
        """The peer agrees; it has said these words, and was told this tag. Its values come in so many parts, or in a lane."""
        parts = parts if self.lane is None or self.lane.come is None else 1
        self.owed += max((words["begun"] - int(self.ledger[1])) * parts - self.ahead, 0)
        self.tag, self.ahead, self.ledger[1] = told, 0, words["begun"]
        before = self.heard.number, self.to.number, self.its, self.lane
        self.heard, self.to, self.its, self.lane = told, words["tag"], words["orders"], lane
        self.version += before != (told.number, words["tag"].number, self.its, lane)

    def all_come(self, peer: int) -> bool:
        """Whether no exchange that began here awaits values of the peer."""
        return all(request.Get_status() for receiving in self.receiving for its, request in receiving.requests() if its == peer)

    def cancel(self, peer: int) -> None:
        """Before the two agree anew: values that are still awaited are those of exchanges that this rank gave up."""
        for receiving in self.receiving:
            never, came = receiving.cancel(peer, f"rank {peer} may have left out the exchange that this rank gave up")
            if never:
                self.ledger[1] -= 1
                self.ahead += came
