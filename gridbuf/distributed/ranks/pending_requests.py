"""Requests that may outlive their plan, and their communicator: their memory stays until MPI is
done with it.

A plan that is collected leaves its requests here, and the next call of any grid frees them. They
belong to no plan and no grid, so that neither lives longer than its user wants because of them.
"""

import atexit
import os
import time
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

from gridbuf._core import MessageExchange

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
