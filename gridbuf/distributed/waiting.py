"""Waiting for other ranks: at first without letting go of the core, then politely, never longer
than asked, and never deaf to Ctrl-C.

A loop of Python sees signals between any two polls; MPI's own Wait would sleep through them.
"""

import os
import time
import warnings
from collections.abc import Callable

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
