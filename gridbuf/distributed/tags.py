"""Tags of messages: a rank receives with tags of its own choice, and gives none twice while it or its peer may still use it.

The handshake tells a peer the tag to send with. It is free again when nothing here receives with it, and the peer has said as often as it
was told that it no longer sends with it. Whatever uses a tag holds its object (agreements, requests under way, handshakes that nobody has
answered), so the use ends with the last of them.
"""

import weakref
from collections import Counter, deque
from typing import Any

LARGEST_TAG = 2**15 - 1  # what MPI promises everywhere
PLAN_TAGS = LARGEST_TAG - 7  # plans have 0 to here


class Tag:
    """One tag, as long as this object is alive."""

    __slots__ = ("__weakref__", "number")

    def __init__(self, number: int) -> None:
        self.number = number


class Tags:
    """Of the messages between this rank and one peer."""

    def __init__(self) -> None:
        self._alive: weakref.WeakValueDictionary[int, Tag] = weakref.WeakValueDictionary()
        self._told: Counter[int] = Counter()  # how often the peer was told each, and has not let go of it
        self._before: set[int] = set()  # that the peer had been told, and let go of
        self._gone: deque[int] = deque()  # the peer's that are no longer used here, and it does not know

    def new(self, wanted: int) -> Tag | None:
        """A tag that nobody uses, this one or the next that is free; None where all are used."""
        for i in range(PLAN_TAGS):
            number = (wanted + i) % PLAN_TAGS
            if number not in self._told and number not in self._alive:
                tag = self._alive[number] = Tag(number)
                return tag
        return None

    def limit(self) -> int:
        """How many there are in all."""
        return PLAN_TAGS

    def again(self, tag: Tag) -> bool:
        """Whether it has been another's: values that nobody asked for may have come with it."""
        return tag.number in self._before

    def tell(self, tag: Tag | None) -> dict[str, Any]:
        """What the peer is told: the tag to send with, and which of its own are free."""
        if tag is not None:
            self._told[tag.number] += 1
        return {"tag": None if tag is None else tag.number, "gone": [self._gone.popleft() for _ in range(len(self._gone))]}

    def hear(self, words: dict[str, Any]) -> None:
        """What the peer has told: its tag becomes an object, whose end it hears of."""
        for number in words.pop("gone", ()):
            self._told[number] -= 1
            if self._told[number] <= 0:
                del self._told[number]
                self._before.add(number)
        if words.get("tag") is not None:
            number = words["tag"]
            words["tag"] = tag = Tag(number)
            weakref.finalize(tag, self._gone.append, number).atexit = False
