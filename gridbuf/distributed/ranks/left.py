"""Requests that may outlive their plan, and their communicator: their memory stays until MPI is done with it.

A plan that is collected leaves its requests here, and the next call of any hub frees them. They are nobody's in particular, so that neither
a hub nor a grid lives longer than its user wants because of them.
"""

import atexit
import os
import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

from gridbuf._core import MessageExchange

LAST_WORDS = 5.0  # seconds at exit for messages under way


class Left(NamedTuple):
    """What outlives its plan while messages are under way: all requests ever made, and what keeps their memory."""

    receives: list[Any]
    sends: list[Any]
    memory: Any
    over: Callable[[], list[Any]] = list  # the receives to which nothing comes any more


left: deque[Left] = deque()  # that nobody needs any more
_kept: dict[int, Left] = {}
_process = os.getpid()


def keep(requests: Left) -> None:
    """Persistent requests and their memory, until they are left and have ended."""
    _kept[id(requests.receives)] = requests


def leave(requests: Left) -> None:
    """Requests that nobody needs any more. May be called by any thread, also while objects are collected."""
    left.append(requests)
    MessageExchange.disarm()  # the next call frees them


def drop(message: Any, status: Any) -> None:
    """Receive what nobody wants, and wait for none of it."""
    memory = np.empty(status.Get_count(MPI.BYTE), "u1")
    leave(Left([message.Irecv([memory, MPI.BYTE])], [], memory))


def free() -> None:
    """Free what has ended; what is under way keeps its buffers."""
    for _ in range(len(left)):
        receives, sends, _, over = its = left.popleft()
        for request in over():
            if not request.Get_status():
                request.Cancel()
        if MPI.Request.Testall([*receives, *sends]):
            _kept.pop(id(receives), None)
            for request in (*receives, *sends):
                if request != MPI.REQUEST_NULL:  # a persistent one
                    request.Free()
        else:
            left.append(its)


@atexit.register
def _stop() -> None:
    """At exit what was sent still goes, for a while, and nothing is received any more: memory goes before MPI does."""
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
