"""Calls of several ranks: the errors that they raise, waiting for other ranks, and the collective
calls of a grid without a communicator.

Waiting polls in a loop of Python, which sees signals between any two polls: MPI's own Wait would
not.
"""

import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MEETING = 512  # integers of the reduction with which each collective call begins
SPIN = 50e-6  # seconds of polling without a yield: small messages arrive in this time
LOOK = 5e-3  # seconds between looks at notes of errors
WARNING = 60.0  # seconds until a warning names the missing ranks, where no timeout was set
Integers = NDArray[np.uint64]
Args = Mapping[str, Any]

_give_way: Callable[[], object] = getattr(os, "sched_yield", lambda: time.sleep(0))


class RevokedError(RuntimeError):
    """An error on some rank has revoked this rank's grids: the message quotes the rank and its
    error. Make the grid again to go on.
    """


class DisagreementError(RevokedError):
    """Ranks do not agree about an exchange or a call: the message names the ranks, the field and
    the difference.
    """


# ---- waiting ----


class Waiting:
    """One wait for other ranks.

    Parameters
    ----------
    timeout
        Seconds from now; None: no end, and a warning after a minute.
    missing
        The message of the error: "rank 3 waits for ranks 2, 5: plan 7 (T, q), exchange 1204".
    """

    def __init__(self, timeout: float | None, missing: Callable[[], str]) -> None:
        self.began = self._looked = time.perf_counter()
        self._timeout, self._missing, self._warned = timeout, missing, False

    def until(self, done: Callable[[], bool], look: Callable[[], object] | None = None) -> None:
        """Poll `done` until it is true, and call `look` every few milliseconds; TimeoutError at the
        end.

        `missing` drives MPI's progress and may complete the request: `done` is polled once more
        before an error or a warning.
        """
        while not done():
            now = time.perf_counter()
            waited = now - self.began
            if waited < SPIN:
                continue
            if self._timeout is not None and waited >= self._timeout:
                if look is not None:  # also for waits that are shorter than LOOK
                    look()
                missing = self._missing()
                if done():
                    return
                raise TimeoutError(f"{missing} ({self._timeout:g} s)")
            if self._timeout is None and waited >= WARNING and not self._warned:
                self._warned, missing = True, self._missing()
                if done():
                    return
                warnings.warn(f"{missing}, for {WARNING:g} s already", RuntimeWarning, stacklevel=5)
            _give_way()
            if look is not None and now - self._looked >= LOOK:
                self._looked = now
                look()


# ---- collective calls ----


class OneCall:
    """The collective call of a grid that is under way, of which there is one at a time.

    A second one, made by another thread or by a callback of the first, would take the messages of
    the first.
    """

    def __init__(self) -> None:
        self._name: str | None = None

    @contextmanager
    def during(self, name: str) -> Iterator[None]:
        """Enter a call; RuntimeError where another one has not ended."""
        if self._name is not None:
            raise RuntimeError(
                f"{name}: {self._name} of the same grid is under way on this rank, in a callback"
                " (progress=) or another thread; calls of all ranks are made one after the other,"
                " and threads that call at once have a grid each"
            )
        self._name = name
        try:
            yield
        finally:
            self._name = None


class Topic(NamedTuple):
    """Facts that some ranks know and the others receive: all that know them give the same."""

    facts: Args | None  # None: unknown on this rank
    speaks: bool  # True on the one rank whose text the others receive
    extra: Any = None  # an addition of the speaker's, which may differ between ranks


class Agreed(NamedTuple):
    """The outcome of an agreement."""

    topics: list[tuple[Any, Any]]  # facts and extra of each; (None, None) where not needed
    known: list[int]  # how many ranks know each topic
    values: Integers


class SerialCollectives:
    """The collective calls of a single rank, which end at once."""

    rank, size = 0, 1
    room = 2**62  # integers that fit into an agreement

    def fail(self, error: BaseException) -> None:
        pass

    def agree(
        self, call: str, args: Args, topics: Sequence[Topic] = (), values: Integers | None = None,
        needed: bool = False,
    ) -> Agreed:  # fmt: skip
        import json  # most programs make no such call

        received = [json.loads(json.dumps([topic.facts, topic.extra])) for topic in topics]
        known = [int(topic.facts is not None) for topic in topics]
        none = np.zeros(0, np.uint64)
        pairs = [(facts, extra) for facts, extra in received]
        return Agreed(pairs, known, none if values is None else values)

    def reduce(self, values: Any, operation: str) -> Any:
        return values

    def move(
        self, outgoing: Mapping[int, Any], incoming: Mapping[int, int], room: Any,
        arrived: Callable[[int, Any], None],
    ) -> None:  # fmt: skip
        return None
