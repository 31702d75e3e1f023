"""Tags of messages: a rank receives with tags of its own choice, and gives none twice while it or
its peer may still use it.

A tag is free again when no plan here receives with it, and the peer has said as often as it was
told that it no longer sends with it. All that uses a tag holds its object (agreements, handshakes),
so the use ends with the last of them.
"""

import weakref
from collections import Counter, deque
from typing import Any

LARGEST_TAG = 2**15 - 1  # the largest that MPI promises everywhere
HANDSHAKE, ROLL, CALL, NOTE = range(LARGEST_TAG, LARGEST_TAG - 4, -1)
PLAN_TAGS = (LARGEST_TAG - 7) // 2  # plans have 0 to here, and their adjoints as many beyond


class Tag:
    """One tag, as long as this object is alive."""

    __slots__ = ("__weakref__", "number")

    def __init__(self, number: int) -> None:
        self.number = number

    def of(self, back: bool) -> int:
        """The tag of a plan's messages, or of its adjoint's."""
        return both(self.number)[back]


def both(number: int) -> tuple[int, int]:
    """The tags of a plan's messages, and of its adjoint's."""
    return number, PLAN_TAGS + number


class Tags:
    """The tags of messages between this rank and one peer, on one grid."""

    def __init__(self) -> None:
        self._alive: weakref.WeakValueDictionary[int, Tag] = weakref.WeakValueDictionary()
        self._told: Counter[int] = (
            Counter()
        )  # how often the peer was told each, and has not let go of it
        self._gone: deque[int] = (
            deque()
        )  # the peer's that are no longer used here, and it does not know
        self._next = 0

    def new(self) -> Tag | None:
        """A free tag; None where all are used."""
        for i in range(PLAN_TAGS):
            number = (self._next + i) % PLAN_TAGS
            if number not in self._told and number not in self._alive:
                self._next = number + 1
                tag = self._alive[number] = Tag(number)
                return tag
        return None

    def tell(self, tag: Tag | None) -> dict[str, Any]:
        """The words for the peer: the tag to send with, and those of its own that are free."""
        if tag is not None:
            self._told[tag.number] += 1
        return {
            "tag": None if tag is None else tag.number,
            "gone": [self._gone.popleft() for _ in range(len(self._gone))],
        }

    def hear(self, words: dict[str, Any]) -> None:
        """The words of the peer: its tag becomes an object, and the peer is told of its end."""
        for number in words.pop("gone", ()):
            self._told[number] -= 1
            if self._told[number] <= 0:
                del self._told[number]
        if words.get("tag") is not None:
            number = words["tag"]
            words["tag"] = tag = Tag(number)
            weakref.finalize(tag, self._gone.append, number).atexit = False
