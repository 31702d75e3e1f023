"""What two ranks have agreed on before they use a plan. Plans that a grid keeps for its user share it: then it is agreed on once.

Whether two fields of one rank have the same layout is that rank's own affair, and a plan is kept for each layout; so one rank may find
a plan where its peer makes a new one. What travels between the two is the same for both, so that is what is remembered.

The first layout of a kind fixes the order of its messages, as long as the communicator lives: fields of other layouts that are exchanged
later are turned where they are packed and unpacked. A plan of one's own (`Grid.plan`) has the order of its own fields.
"""

import weakref
from typing import Any

import numpy as np

from gridbuf.distributed.ranks.sharing import Lane
from gridbuf.distributed.ranks.tags import Tag

Orders = list[list[str]]


class Agreement:
    """What one rank knows of its agreement with a peer about one kind of message.

    Attributes
    ----------
    epoch : int
        The two ranks' when they agreed; -1: they have not.
    ledger : ndarray of two times two int64
        How many exchanges have begun since then with values for the peer, and from it; and how many adjoints.
    heard : Tag
        What the peer has been told to send with.
    to : Tag
        What it wants its values sent with.
    ours, its : list of lists of str
        For each field the order of dims in which this rank gets its values, and in which the peer does.
    lane : Lane or None
        The memory that values lie in; None: all of them are sent.
    receiving : WeakSet
        What all plans that share it receive with, also those that are gone: values of one could be those of another.
    """

    def __init__(self, ours: Orders) -> None:
        self.epoch, self.ledger, self.ours = -1, np.zeros((2, 2), np.int64), ours
        self.heard = self.to = Tag(-1)
        self.its: Orders = []
        self.lane: Lane | None = None
        self.receiving: weakref.WeakSet[Any] = weakref.WeakSet()

    def hear(self, words: dict[str, Any], told: Tag, lane: Lane | None, epoch: int) -> None:
        """The peer agrees; it has said these words, and was told this tag. Its values come with that, or in a lane."""
        self.heard, self.to, self.its, self.lane, self.epoch = told, words["tag"], words["orders"], lane, epoch
        self.ledger[:] = 0

    def all_come(self, peer: int) -> bool:
        """Whether no exchange that began here awaits values of the peer."""
        return all(request.Get_status() for receiving in self.receiving for its, request in receiving.requests() if its == peer)

    def cancel(self, peer: int) -> None:
        """Values that are still awaited, of exchanges that this rank gave up, are awaited no longer."""
        for receiving in self.receiving:
            receiving.cancel(peer, f"rank {peer} may have left out the exchange that this rank gave up")
