"""Tags of messages: a rank receives with tags of its own choice, and gives none twice while it or
its peer may still use it.

A tag is free again when no plan here receives with it, and the peer has said as often as it was
told that it no longer sends with it. All that uses a tag holds its object (agreements, handshakes),
so the use ends with the last of them.

Requests that may outlive their plan, and their communicator: their memory stays until MPI is
done with it.

A plan that is collected leaves its requests here, and the next call of any grid frees them. They
belong to no plan and no grid, so that neither lives longer than its user wants because of them.
"""

import atexit
import os
import time
import weakref
from collections import Counter, deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

from gridbuf._core import MessageExchange

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


LAST_WORDS = 5.0  # seconds at exit for messages under way


class Pending(NamedTuple):
    """Requests that were ever made for a plan, or for one message, and all that keeps their
    memory.
    """

    receives: list[Any]
    sends: list[Any]
    memory: Any
    duplicate: Any = (
        None  # of the communicator that they belong to; None: none that a later grid uses
    )


left: deque[Pending] = deque()  # of plans that are gone
abandoned: deque[Pending] = (
    deque()
)  # of revoked grids: they may never end, and no call looks at them for that
_kept: dict[int, Pending] = {}
_process = os.getpid()


def keep(requests: Pending) -> None:
    """Keep persistent requests and their memory until they are left and have ended."""
    _kept[id(requests.receives)] = requests


def leave(requests: Pending) -> None:
    """Leave requests that no plan needs any more. Any thread may call this, also while objects are
    collected.
    """
    left.append(requests)
    MessageExchange.disarm()  # the next call frees them


def free() -> None:
    """Free the requests that have ended; those under way keep their buffers. Receives of revoked
    grids are cancelled.
    """
    for each in (left, abandoned):
        for _ in range(len(each)):
            try:
                receives, sends, _, duplicate = its = each.popleft()
            except IndexError:  # another thread frees them as well
                break
            revoked = each is abandoned or (
                duplicate is not None and duplicate.communicator.revocation is not None
            )
            if revoked:
                cancel(receives)
            if MPI.Request.Testall([*receives, *sends]):
                _kept.pop(id(receives), None)
                for request in (*receives, *sends):
                    if request != MPI.REQUEST_NULL:  # a persistent one
                        request.Free()
            else:
                (abandoned if revoked else left).append(its)


def cancel(receives: list[Any]) -> None:
    """Cancel the receives that no message has reached."""
    for request in receives:
        if request != MPI.REQUEST_NULL and not request.Get_status():
            request.Cancel()


def drop(message: Any, status: Any, duplicate: Any) -> None:
    """Receive a message that is not wanted, without waiting for it."""
    memory = np.empty(status.Get_count(MPI.BYTE), "u1")
    leave(Pending([message.Irecv([memory, MPI.BYTE])], [], memory, duplicate))


def pending() -> Iterator[Pending]:
    """All requests that MPI may still use."""
    yield from [*left, *abandoned]
    yield from [*_kept.values()]


@atexit.register
def _stop() -> None:
    """At exit messages that were sent still go, for a while, and receives are cancelled: memory
    goes before MPI does.
    """
    if os.getpid() != _process or not MPI.Is_initialized() or MPI.Is_finalized():
        return
    end = time.monotonic() + LAST_WORDS
    for _, sends, *_ in _kept.values():
        while not all(request.Get_status() for request in sends) and time.monotonic() < end:
            time.sleep(0.001)
    for receives, *_ in _kept.values():
        for request in receives:
            if not request.Get_status():
                request.Cancel()
                while not request.Test() and time.monotonic() < end:
                    time.sleep(0.001)
