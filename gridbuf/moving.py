"""Copies between host and GPU that go on while the program does something else."""

import time
from _thread import allocate_lock  # threading itself is loaded with the first callback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gridbuf import _core

if TYPE_CHECKING:  # modules that only copies on their way need
    from concurrent.futures import ThreadPoolExecutor

__all__ = ["Copy", "copy_async"]

_STEP = 0.02  # seconds between two looks
_workers: "ThreadPoolExecutor | None" = None
_lock = allocate_lock()


class Copy:
    """A copy on its way; it keeps both sides alive until it has arrived.

    Made by `gridbuf.copy_async`. Letting go of it before waits for the end.
    """

    def __init__(self, dst: Any, src: Any) -> None:
        from concurrent.futures import Future

        self._sides: tuple[Any, Any] | None = (dst, src)
        self._begun: Future[Any] = Future()
        self._callbacks: list[Callable[[Copy], object]] = []
        self._watched = False
        self._guard = allocate_lock()

    def done(self) -> bool:
        """Whether the values are there, or the copy has failed."""
        if not self._begun.done():
            return False
        if self._begun.exception() is not None or self._begun.result().wait(0):
            self._sides = None
            return True
        return False

    def host_free(self) -> bool:
        """Whether the host's side may be written again: all of it has been read, though it may not have arrived."""
        return self.done() or (self._begun.done() and bool(self._begun.result().host_free))

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end, at most timeout seconds; whether it has come. Raises what went wrong. Ctrl-C works."""
        end = None if timeout is None else time.monotonic() + timeout
        try:
            transit = self._begun.result(timeout)
        except TimeoutError:
            if self._begun.done():  # the copy's own
                raise
            return False
        left = -1 if end is None else max(0, int((end - time.monotonic()) * 1e9))
        arrived = bool(transit.wait(left))
        if arrived:
            self._sides = None
        return arrived

    def add_done_callback(self, function: "Callable[[Copy], object]") -> None:
        """Call function(copy) once it is done, on another thread; at once when it is done already."""
        with self._guard:
            waits = not self.done()
            if waits:
                self._callbacks.append(function)
            start = waits and not self._watched
            self._watched = self._watched or waits
        if start:
            import threading

            threading.Thread(target=self._watch, name="gridbuf-copy", daemon=True).start()
        if not waits:
            function(self)

    def _watch(self) -> None:
        while True:
            try:
                over = self.wait(_STEP)
            except BaseException:  # wait() has it for whoever asks
                over = True
            if over:
                break
        with self._guard:
            callbacks, self._callbacks, self._watched = self._callbacks, [], False
        for function in callbacks:
            try:
                function(self)
            except Exception as error:
                import threading

                told = (type(error), error, error.__traceback__, threading.current_thread())
                threading.excepthook(threading.ExceptHookArgs(told))

    def __repr__(self) -> str:
        if not self.done():
            return "<gridbuf copy on its way>"
        return "<gridbuf copy that failed>" if self._begun.exception() is not None else "<gridbuf copy that has arrived>"


def _at_once(array: Any, other: Any) -> bool:
    """Whether the host only has to hand the copy to the driver: its side is pinned, or there is none."""
    if _has_gpu(array):
        return True
    if not isinstance(array, (np.ndarray, _core.Field)):
        return False
    return array.dtype == other.dtype and _core.plan_of(array).memory is not None


def _executor() -> "ThreadPoolExecutor":
    global _workers
    from concurrent.futures import ThreadPoolExecutor

    with _lock:
        if _workers is None:
            _workers = ThreadPoolExecutor(2, thread_name_prefix="gridbuf-copy")
    return _workers


def copy_async(dst: Any, src: Any, *, stream: Any = None, casting: str = "same_kind") -> Copy:
    """Begin a copy in which a GPU takes part; the program goes on.

    Parameters
    ----------
    dst, src
        Fields or arrays of the same shape; at least one lies on a GPU. Values are laid out and converted as by
        `gridbuf.copyto`.
    stream : int or stream object, optional
        Where the copy is queued; the thread's stream (`gridbuf.cuda.stream`) unless given. It is queued behind what is there
        already. What is queued on it later is behind the copy only once `host_free()` or, for a copy to the host, `done()`
        is true: pageable memory and other dtypes take a thread of the host, which queues the parts one by one.
    casting
        As in `gridbuf.copyto`.

    Returns
    -------
    Copy
        With `done()`, `wait(timeout=None)`, `add_done_callback(function)` and `host_free()`: whether the host's side may be
        written again.

    Examples
    --------
    >>> import gridbuf as gb
    >>> if gb.cuda.available():
    ...     host, field = gb.ones((64, 64), memory="pinned"), gb.Field.empty((64, 64), device="gpu")
    ...     copy = gb.copy_async(field, host)
    ...     assert copy.wait() and copy.host_free()
    """
    from gridbuf.cuda import handle_of

    handle = _core.cuda_get_stream() if stream is None else handle_of(stream)
    copy = Copy(dst, src)
    if _at_once(dst, src) and _at_once(src, dst):
        copy._begun.set_result(_core.cuda_copy_begin(dst, src, casting, handle))
        return copy
    if not (_has_gpu(dst) or _has_gpu(src)):
        raise TypeError("copy_async: neither dst nor src is memory of a GPU; gridbuf.copyto copies on the host")
    copy._begun = _executor().submit(_core.cuda_copy_begin, dst, src, casting, handle)
    return copy


def _has_gpu(obj: Any) -> bool:
    return hasattr(type(obj), "__cuda_array_interface__") and not isinstance(obj, np.ndarray)
