"""Futures: calls that run while the caller goes on."""

import concurrent.futures
import os
import threading
from collections.abc import Callable
from typing import Any

_pool: concurrent.futures.ThreadPoolExecutor | None = None
_lock = threading.Lock()
_process = os.getpid()


class Future:
    """The result of a call that was submitted. It cannot be cancelled."""

    def __init__(self, inner: "concurrent.futures.Future[Any]") -> None:
        self._inner = inner

    def result(self, timeout: float | None = None) -> Any:
        """Wait, and return or raise what the call does; TimeoutError after timeout seconds."""
        return self._inner.result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait, and return what the call raises, or None."""
        return self._inner.exception(timeout)

    def done(self) -> bool:
        """Whether the call has ended."""
        return self._inner.done()

    def add_done_callback(self, callback: Callable[["Future"], object]) -> None:
        """Have callback(future) called once the call has ended, on a Python thread."""
        self._inner.add_done_callback(lambda _: callback(self))

    def __repr__(self) -> str:
        return f"<Future {'done' if self.done() else 'running'}>"


def start(run: Callable[[], Any]) -> Future:
    """Run on a thread of the pool."""
    global _pool
    if os.getpid() != _process:
        raise RuntimeError("submit: a forked child has no threads to run this; call the gufunc, or start processes with 'spawn'")
    with _lock:
        if _pool is None:
            _pool = concurrent.futures.ThreadPoolExecutor(2, "gridbuf-gufunc")
    return Future(_pool.submit(run))
