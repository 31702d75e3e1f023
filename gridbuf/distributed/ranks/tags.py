"""Tags of messages: a rank receives with tags of its own choice, and gives none twice while it or its peer may still use it.

Each handshake tells a peer another tag to send with, so what was sent before an error is never taken for what is sent after it: whatever comes
with a tag of an epoch that is over is nobody's, and is received and dropped. A tag is free again when nothing here receives with it, and the
peer has said as often as it was told that it no longer sends with it. Whatever uses a tag holds its object (agreements, requests under way,
handshakes that nobody has answered), so the use ends with the last of them.
"""

import weakref
from collections import Counter, deque
from typing import Any

LARGEST_TAG = 2**15 - 1  # what MPI promises everywhere
PLAN_TAGS = (LARGEST_TAG - 7) // 2  # plans have 0 to here, and their adjoints as many beyond
SPARE = 64  # of them for plans that agree anew: the old one is free when the peer has said so
MOST_OVER = 64  # that are looked at together


class Tag:
    """One tag, as long as this object is alive."""

    __slots__ = ("__weakref__", "number")

    def __init__(self, number: int) -> None:
        self.number = number

    def of(self, back: bool) -> int:
        """What messages of a plan have, or of its adjoint."""
        return both(self.number)[back]


def both(number: int) -> tuple[int, int]:
    """What messages of a plan have, and of its adjoint."""
    return number, PLAN_TAGS + number


class Tags:
    """Of the messages between this rank and one peer."""

    def __init__(self) -> None:
        self._alive: weakref.WeakValueDictionary[int, Tag] = weakref.WeakValueDictionary()
        self._told: Counter[int] = Counter()  # how often the peer was told each, and has not let go of it
        self._over: dict[int, None] = {}  # of these, those of epochs that are over
        self._gone: deque[int] = deque()  # the peer's that are no longer used here, and it does not know
        self._next = 0

    def new(self, again: bool) -> Tag | None:
        """A tag that nobody uses; None where all are used, or all but those for who agrees `again`."""
        if not again and len({*self._told, *self._alive}) >= self.limit():
            return None
        for i in range(PLAN_TAGS):
            number = (self._next + i) % PLAN_TAGS
            if number not in self._told and number not in self._alive:
                self._next = number + 1
                tag = self._alive[number] = Tag(number)
                return tag
        return None

    def limit(self) -> int:
        """How many kinds of messages there may be."""
        return PLAN_TAGS - SPARE

    def end(self) -> None:
        """An epoch is over, and so is what was told in it."""
        self._over = dict.fromkeys(self._told)

    def is_over(self, tag: Tag) -> bool:
        """Whether nothing comes any more with a tag that the peer was told."""
        return tag.number in self._over or tag.number not in self._told

    def over(self) -> list[int]:
        """Some of those with which nobody's messages come, in turn."""
        some = [*self._over][:MOST_OVER]
        for number in some:
            del self._over[number]
            self._over[number] = None
        return some

    def tell(self, tag: Tag | None) -> dict[str, Any]:
        """What the peer is told: the tag to send with, and which of its own are free."""
        if tag is not None:
            self._told[tag.number] += 1
        return {"tag": None if tag is None else tag.number, "gone": [self._gone.popleft() for _ in range(len(self._gone))]}

    def hear(self, words: dict[str, Any]) -> list[int]:
        """What the peer has told: its tag becomes an object, whose end it hears of. Those of ours with which nobody's messages have come."""
        nobodys = []
        for number in words.pop("gone", ()):
            self._told[number] -= 1
            if self._told[number] <= 0:
                del self._told[number]
                if number in self._over or number not in self._alive:  # else a plan here may still ask for what it was sent
                    self._over.pop(number, None)
                    nobodys.append(number)
        if words.get("tag") is not None:
            number = words["tag"]
            words["tag"] = tag = Tag(number)
            weakref.finalize(tag, self._gone.append, number).atexit = False
        return nobodys
