"""Tags of messages, and requests that may outlive their plan and their communicator.

A rank receives with tags of its own choice. A tag is free again when no plan here receives with it,
and the peer has confirmed as often as the tag was sent that it no longer sends with it. Agreements
and handshakes hold Tag objects, so the use of a tag ends with the last of them.

The memory of a request stays until MPI is done with it. A collected plan leaves its requests here,
and the next call of any grid frees them. They refer to no plan and no grid, so that neither lives
longer because of them.
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

LARGEST_TAG = 2**15 - 1  # the largest that MPI guarantees everywhere
HANDSHAKE, ROLL, CALL, NOTE = range(LARGEST_TAG, LARGEST_TAG - 4, -1)
PLAN_TAGS = (LARGEST_TAG - 7) // 2  # plans have the tags from 0 on, their adjoints as many beyond
LAST_WORDS = 5.0  # seconds at exit for messages under way
_process = os.getpid()


# ---- tags ----


class Tag:
    """One tag, in use as long as this object is alive."""

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
        self._sent: Counter[int] = Counter()  # how often the peer may still use each
        self._unused: deque[int] = deque()  # the peer's tags whose use has ended here
        self._next = 0

    def new(self) -> Tag | None:
        """A free tag; None where all are used."""
        for i in range(PLAN_TAGS):
            number = (self._next + i) % PLAN_TAGS
            if number not in self._sent and number not in self._alive:
                self._next = number + 1
                tag = self._alive[number] = Tag(number)
                return tag
        return None

    def to_message(self, tag: Tag | None) -> dict[str, Any]:
        """The entries of a message: the tag to send with, and the peer's tags that are free."""
        if tag is not None:
            self._sent[tag.number] += 1
        return {
            "tag": None if tag is None else tag.number,
            "gone": [self._unused.popleft() for _ in range(len(self._unused))],
        }

    def from_message(self, message: dict[str, Any]) -> None:
        """Read these entries of the peer's message: its tag becomes an object, whose end the peer
        is sent with a later message.
        """
        for number in message.pop("gone", ()):
            self._sent[number] -= 1
            if self._sent[number] <= 0:
                del self._sent[number]
        if message.get("tag") is not None:
            number = message["tag"]
            message["tag"] = tag = Tag(number)
            weakref.finalize(tag, self._unused.append, number).atexit = False


# ---- requests ----


class Pending(NamedTuple):
    """The requests of a plan, or of one message, and all that keeps their memory."""

    receives: list[Any]
    sends: list[Any]
    memory: Any
    duplicate: Any = None  # the communicator's; None: one that no later grid uses


left: deque[Pending] = deque()  # requests of collected plans
abandoned: deque[Pending] = deque()  # requests of revoked grids: they may never end
_kept: dict[int, Pending] = {}


def keep(requests: Pending) -> None:
    """Keep persistent requests and their memory until they are left and have ended."""
    _kept[id(requests.receives)] = requests


def leave(requests: Pending) -> None:
    """Leave requests whose plan is collected. Any thread may call this, also during a garbage
    collection.
    """
    left.append(requests)
    MessageExchange.disarm()  # the next call frees them


def free() -> None:
    """Free the requests that have ended; those under way keep their buffers. Receives of revoked
    grids are cancelled.
    """
    for queue in (left, abandoned):
        for _ in range(len(queue)):
            try:
                requests = queue.popleft()
            except IndexError:  # another thread frees them as well
                break
            revoked = queue is abandoned or is_revoked(requests)
            if revoked:
                cancel(requests.receives)
            every = [*requests.receives, *requests.sends]
            if not MPI.Request.Testall(every):
                (abandoned if revoked else left).append(requests)
                continue
            _kept.pop(id(requests.receives), None)
            for request in every:
                if request != MPI.REQUEST_NULL:  # a persistent one
                    request.Free()


def is_revoked(requests: Pending) -> bool:
    duplicate = requests.duplicate
    return duplicate is not None and duplicate.communicator.revocation is not None


def cancel(receives: list[Any]) -> None:
    """Cancel the receives that no message has reached."""
    for request in receives:
        if request != MPI.REQUEST_NULL and not request.Get_status():
            request.Cancel()


def drop(message: Any, status: Any, duplicate: Any) -> None:
    """Receive an unwanted message, without waiting for it."""
    memory = np.empty(status.Get_count(MPI.BYTE), "u1")
    leave(Pending([message.Irecv([memory, MPI.BYTE])], [], memory, duplicate))


def pending() -> Iterator[Pending]:
    """All requests that MPI may still use."""
    yield from [*left, *abandoned, *_kept.values()]


@atexit.register
def _finish() -> None:
    """At exit: give messages that were sent some time to arrive, and cancel receives. Memory is
    freed before MPI is finalized.
    """
    if os.getpid() != _process or not MPI.Is_initialized() or MPI.Is_finalized():
        return
    end = time.monotonic() + LAST_WORDS
    for requests in _kept.values():
        while not all(each.Get_status() for each in requests.sends) and time.monotonic() < end:
            time.sleep(0.001)
    for requests in _kept.values():
        for request in requests.receives:
            if not request.Get_status():
                request.Cancel()
                while not request.Test() and time.monotonic() < end:
                    time.sleep(0.001)
