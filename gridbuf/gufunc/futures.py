"""Futures: calls that run while the caller goes on."""

import concurrent.futures
import os
import threading
from collections.abc import Callable, Generator
from typing import Any

_pool: concurrent.futures.ThreadPoolExecutor | None = None
_lock = threading.Lock()
_pending: dict[int, "Future"] = {}


class Future(concurrent.futures.Future[Any]):
    """The result of a call that was submitted: a `concurrent.futures.Future`, which can be awaited
    as well.

    It can be cancelled as long as its call has not begun. In a forked child a call that
    was not done when the process was forked raises RuntimeError, for its threads are not there.
    """

    def __await__(self) -> Generator[Any, None, Any]:
        import asyncio

        return asyncio.wrap_future(self).__await__()


def _work(future: Future, run: Callable[[], Any]) -> None:
    try:
        if not future.set_running_or_notify_cancel():
            return
        try:
            result = run()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)
    finally:
        _pending.pop(id(future), None)


def start(run: Callable[[], Any]) -> Future:
    """Run on a thread of the pool."""
    global _pool
    if _forked:
        raise RuntimeError(
            "submit: a forked child has no threads to run this; call the gufunc, or start processes"
            " with 'spawn'"
        )
    with _lock:
        if _pool is None:
            _pool = concurrent.futures.ThreadPoolExecutor(2, "gridbuf-gufunc")
    future = Future()
    _pending[id(future)] = future
    _pool.submit(_work, future, run)
    return future


_forked = False


def _after_fork() -> None:
    """Nobody will finish what is pending: its locks may be held, and its callbacks are the
    parent's.
    """
    global _forked
    _forked = True
    for future in _pending.values():
        future._condition = threading.Condition()
        vars(future).update(_waiters=[], _done_callbacks=[])
        if not future.done():
            future._state = "RUNNING"
            future.set_exception(
                RuntimeError(
                    "submit: this process was forked before the call was done; its threads are the"
                    " parent's"
                )
            )
    _pending.clear()


os.register_at_fork(after_in_child=_after_fork)
