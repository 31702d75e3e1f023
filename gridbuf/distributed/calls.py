"""The exceptions of ranks: what another rank has raised, and where two of them differ.

Calls that all ranks of a grid make together, one after the other.

All ranks of a grid without a communicator: this one. Calls of all ranks end at once.

Waiting for other ranks: at first without letting go of the core, then politely, never longer
than asked, and never deaf to Ctrl-C.

A loop of Python sees signals between any two polls; MPI's own Wait would sleep through them.
"""

import json
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class RevokedError(RuntimeError):
    """An error on some rank has revoked this rank's grids: the message quotes the rank and its
    error. Make the grid again to go on.
    """


class DisagreementError(RevokedError):
    """Ranks do not agree about an exchange or a call: the message names the ranks, the field and
    the difference.
    """


MEETING = 512  # words of the reduction in which all ranks meet before they do anything else


class OneCall:
    """The call of all ranks that is under way on a grid, of which there is one at a time.

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


Integers = NDArray[np.uint64]
Said = Mapping[str, Any]


class Topic(NamedTuple):
    """Facts that some ranks know, and say alike, and that the others are told."""

    facts: Said | None  # None: this rank does not know
    speaks: bool  # whether the others hear this rank, of those that know
    told: Any = None  # an addition of the speaker's, which need not be alike


class Agreed(NamedTuple):
    """The outcome of an agreement."""

    topics: list[
        tuple[Any, Any]
    ]  # of each its facts and the speaker's addition, where they were asked for; else (None, None)
    known: list[int]  # how many ranks know each
    values: Integers


class Alone:
    """One rank that agrees with itself."""

    rank, size = 0, 1
    room = 2**62  # for values in an agreement

    def fail(self, error: BaseException) -> None:
        pass

    def agree(
        self,
        call: str,
        said: Said,
        topics: Sequence[Topic] = (),
        values: Integers | None = None,
        needed: bool = False,
    ) -> Agreed:
        heard = [json.loads(json.dumps([topic.facts, topic.told])) for topic in topics]
        known = [int(topic.facts is not None) for topic in topics]
        return Agreed(
            [(facts, told) for facts, told in heard],
            known,
            np.zeros(0, np.uint64) if values is None else values,
        )

    def reduce(self, values: Any, operation: str) -> Any:
        return values

    def move(
        self,
        outgoing: Mapping[int, Any],
        incoming: Mapping[int, int],
        room: Any,
        arrived: Callable[[int, Any], None],
    ) -> None:
        return None


SPIN = 50e-6  # seconds: small messages have come by then, and giving the core away costs as much
LOOK = 5e-3  # seconds between looks at what else has come
WARNING = 60.0  # seconds until somebody who set no timeout is told what is awaited


_give_way: Callable[[], object] = getattr(os, "sched_yield", lambda: time.sleep(0))


class Waiting:
    """One wait, with its end.

    Parameters
    ----------
    timeout
        Seconds from now; None: no end, and a warning after a minute.
    missing
        Who is awaited, in words: "rank 3 waits for ranks 2, 5: plan 7 (T, q), exchange 1204".
    """

    def __init__(self, timeout: float | None, missing: Callable[[], str]) -> None:
        self.began = self._looked = time.perf_counter()
        self._timeout, self._missing, self._warned = timeout, missing, False

    def until(self, come: Callable[[], bool], look: Callable[[], object] | None = None) -> None:
        """Poll until it has come, and look now and then at what else has; TimeoutError at the end.

        To find out who is missing asks MPI, which moves messages on: so after that it is polled
        once more, and nobody hears of a wait that is over.
        """
        while not come():
            now = time.perf_counter()
            waited = now - self.began
            if waited < SPIN:
                continue
            if self._timeout is not None and waited >= self._timeout:
                if (
                    look is not None
                ):  # else who asks often and waits for less than LOOK would never hear
                    look()
                missing = self._missing()
                if come():
                    return
                raise TimeoutError(f"{missing} ({self._timeout:g} s)")
            if self._timeout is None and waited >= WARNING and not self._warned:
                self._warned, missing = True, self._missing()
                if come():
                    return
                warnings.warn(f"{missing}, for {WARNING:g} s already", RuntimeWarning, stacklevel=5)
            _give_way()
            if look is not None and now - self._looked >= LOOK:
                self._looked = now
                look()
