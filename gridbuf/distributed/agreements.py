"""What two ranks have agreed on before they use a plan. Plans that a grid keeps for its user share it: then it is agreed on once.

Whether two fields of one rank have the same layout is that rank's own affair, and a plan is kept for each layout; so one rank may find
a plan where its peer makes a new one. What travels between the two is the same for both, so that is what is remembered.

The first layout of a kind fixes the order of its messages, as long as the communicator lives: fields of other layouts that are exchanged
later are turned where they are packed and unpacked. A plan of one's own (`Grid.plan`) has the order of its own fields.
"""

import weakref
from typing import Any

import numpy as np

from gridbuf.distributed.tags import Tag

Orders = list[list[str]]


class Agreement:
    """What one rank knows of its agreement with a peer about one kind of message.

    Attributes
    ----------
    doubts : int
        How often the two had disagreed when they agreed; -1: they have not.
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
    version : int
        Changes with heard, to and its.
    receiving : WeakSet
        What all plans that share it receive with, also those that are gone: values of one could be those of another.
    """

    def __init__(self, ours: Orders) -> None:
        self.doubts, self.ledger, self.ours = -1, np.zeros(2, np.int64), ours
        self.tag: Tag | None = None
        self.heard = self.to = Tag(-1)
        self.its: Orders = []
        self.version = 0
        self.receiving: weakref.WeakSet[Any] = weakref.WeakSet()

    def hear(self, words: dict[str, Any], told: Tag) -> None:
        """The peer agrees; it has said these words, and was told this tag."""
        before = self.heard.number, self.to.number, self.its
        self.heard, self.to, self.its = told, words["tag"], words["orders"]
        self.version += before != (told.number, words["tag"].number, self.its)

    def awaits(self, peer: int) -> bool:
        """Whether values that the peer sends with the tag may be taken for those of an exchange that was given up."""
        return self.tag is not None and any(receiving.awaits(peer, self.tag) for receiving in self.receiving)

    def reckon(self, peer: int, begun: int) -> None:
        """The peer has begun so many exchanges with values: the others that were awaited never come, and nothing may wait for them."""
        if self.ledger[1] > begun:
            for receiving in self.receiving:
                receiving.cancel(peer, f"rank {peer} has left out the exchange that this rank gave up")
            self.ledger[1] = begun
