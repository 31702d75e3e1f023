"""Copies between host and GPU that go on while the program does something else, and copies that the
kernels leave to NumPy.
"""

import os
import time
from _thread import allocate_lock, get_ident  # threading itself is loaded with the first callback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gridbuf import _core
from gridbuf.names import get_dims
from gridbuf.wrapping import host_array, naming, values

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_STEP = 0.02  # seconds between two looks
_workers: "ThreadPoolExecutor | None" = None
_worker_threads: set[int] = set()
_lock = allocate_lock()


class _Begin:
    """The start of a copy, made already or on a worker's thread: the driver's handle, or the error.

    The worker releases a lock at the end. Acquiring and releasing a lock runs no Python code, so a
    copy may be deleted, and waited for, wherever the garbage collector happens to run.
    """

    def __init__(self, handle: "_core._AsyncCopy | None" = None) -> None:
        self.handle, self.error = (
            handle,
            None,
        )  # type: tuple[_core._AsyncCopy | None, BaseException | None]
        self._running = allocate_lock()
        self._process = os.getpid()
        if handle is None:
            self._running.acquire()

    def run(self, *args: Any) -> None:
        try:
            self.handle = _core.cuda_copy_begin(*args)
        except BaseException as error:
            self.error = error
        del args
        self._running.release()

    def is_over(self) -> bool:
        return self.handle is not None or self.error is not None

    def wait(self, timeout: float = -1) -> bool:
        if self.is_over():
            return True
        if os.getpid() != self._process:
            raise RuntimeError(
                "copy: it was begun before the fork, by a thread that this process does not have"
            )
        over = self._running.acquire(timeout=timeout)
        if over:
            self._running.release()
        return over

    def result(self) -> "_core._AsyncCopy":
        if self.error is not None:
            raise self.error
        assert self.handle is not None
        return self.handle


class Copy:
    """A copy on its way; it keeps both sides alive until it has arrived.

    Made by `gridbuf.copy_async`. Deleting it earlier waits for the end of the copy.
    """

    _workers = _worker_threads

    def __init__(self, dst: Any, src: Any, begin: _Begin) -> None:
        self._sides: tuple[Any, Any] | None = (dst, src)
        self._begin = begin
        self._callbacks: list[Callable[[Copy], object]] = []
        self._watched = False
        self._guard = allocate_lock()

    def __del__(
        self, _here: Callable[[], int] = get_ident, _process: Callable[[], int] = os.getpid
    ) -> None:
        # A copy that has begun waits in its own finaliser. A worker may collect this object as
        # garbage: it goes on working. The functions are at hand also when the module's names are
        # gone, as the process ends.
        begin = getattr(self, "_begin", None)
        if (
            begin is not None
            and not begin.is_over()
            and _here() not in self._workers
            and _process() == begin._process
        ):
            begin.wait()

    def done(self) -> bool:
        """Whether the values are there, or the copy has failed.

        Returns
        -------
        bool
            The call does not wait. `wait` raises the copy's error.

        Examples
        --------
        >>> import gridbuf as gb
        >>> if gb.cuda.available():
        ...     there = gb.Field.empty((64, 64), device="gpu")
        ...     copy = gb.copy_async(there, gb.ones((64, 64), memory="pinned"))
        ...     while not copy.done():
        ...         pass  # something else
        """
        if not self._begin.is_over():
            return False
        if self._begin.error is not None or self._begin.result().wait(0):
            self._sides = None
            return True
        return False

    def host_free(self) -> bool:
        """Whether the host's side may be written again.

        Returns
        -------
        bool
            True when all of it has been read; the copy may still be under way.

        Examples
        --------
        >>> import gridbuf as gb
        >>> if gb.cuda.available():
        ...     there = gb.Field.empty((64, 64), device="gpu")
        ...     copy = gb.copy_async(there, gb.ones((64, 64), memory="pinned"))
        ...     assert copy.wait() and copy.host_free()
        """
        return self.done() or (self._begin.is_over() and bool(self._begin.result().host_free))

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the copy has ended. Ctrl-C interrupts.

        Parameters
        ----------
        timeout : float, optional
            The most seconds to wait; None: no limit.

        Returns
        -------
        bool
            Whether the copy has ended.

        Raises
        ------
        Exception
            The error of the copy.

        Examples
        --------
        >>> import gridbuf as gb
        >>> if gb.cuda.available():
        ...     there = gb.Field.empty((64, 64), device="gpu")
        ...     copy = gb.copy_async(there, gb.ones((64, 64), memory="pinned"))
        ...     assert copy.wait(timeout=10.0)
        """
        end = None if timeout is None else time.monotonic() + timeout
        if not self._begin.wait(-1 if timeout is None else max(0, timeout)):
            return False
        left = -1 if end is None else max(0, int((end - time.monotonic()) * 1e9))
        arrived = bool(self._begin.result().wait(left))
        if arrived:
            self._sides = None
        return arrived

    def add_done_callback(self, function: "Callable[[Copy], object]") -> None:
        """Call a function once the copy is done.

        Parameters
        ----------
        function : callable
            Called with the copy, on another thread; at once when it is done already.

        Examples
        --------
        >>> import gridbuf as gb
        >>> if gb.cuda.available():
        ...     there = gb.Field.empty((64, 64), device="gpu")
        ...     copy = gb.copy_async(there, gb.ones((64, 64), memory="pinned"))
        ...     copy.add_done_callback(lambda copy: print(copy))  # doctest: +SKIP
        """
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
            except BaseException:  # wait() raises it again
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
        return (
            "<gridbuf copy that failed>"
            if self._begin.error is not None
            else "<gridbuf copy that has arrived>"
        )


def _executor() -> "ThreadPoolExecutor":
    global _workers
    from concurrent.futures import ThreadPoolExecutor

    with _lock:
        if _workers is None:
            _workers = ThreadPoolExecutor(
                2, "gridbuf-copy", lambda: _worker_threads.add(get_ident())
            )
    return _workers


def _in_child() -> None:
    """A forked child has none of the threads."""
    global _workers, _lock
    _workers, _lock = None, allocate_lock()
    _worker_threads.clear()


os.register_at_fork(after_in_child=_in_child)


def copy_async(dst: Any, src: Any, *, stream: Any = None, casting: str = "same_kind") -> Copy:
    """Begin a copy to, from or between GPUs, and return at once.

    Parameters
    ----------
    dst, src
        Fields or arrays of the same shape; at least one lies on a GPU. src may also be a list or a
        number. Values are laid out and converted as by `gridbuf.copyto`.
    stream : int or stream object, optional
        The stream that runs the copy, after the work queued there before; default the thread's
        stream (`gridbuf.cuda.stream`). Between two GPUs it is a stream of either, and the default
        stream of the other one waits for the copy, too. Work queued later follows the copy only
        once `host_free()` or, for a copy to the host, `done()` is true: pageable memory and other
        dtypes take a thread of the host, which queues the parts one by one.
    casting
        As in `gridbuf.copyto`.

    Returns
    -------
    Copy
        With `done()`, `wait(timeout=None)`, `add_done_callback(function)` and `host_free()`:
        whether the host's side may be written again.

    Raises
    ------
    TypeError, ValueError
        When the sides do not fit, as for `gridbuf.copyto`, when neither lies on a GPU, or when
        stream is no stream.
    RuntimeError
        When there is no driver, or in a forked child. `wait` raises later errors.

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
    to, values, at_once = _core.cuda_copy_sides(dst, src, handle, stream is not None)
    if at_once:
        return Copy(dst, src, _Begin(_core.cuda_copy_begin(to, values, casting, handle)))
    begin = _Begin()
    copy = Copy(dst, src, begin)
    # A thread's default stream is another one in a worker; the legacy one is behind it and before
    # it.
    _executor().submit(begin.run, to, values, casting, 1 if handle == 2 else handle)
    return copy


# ---- sources that are no arrays, and dtypes that are not plain bytes ----


Progress = Callable[[float], object] | None


def _plain(dtype: np.dtype[Any]) -> bool:
    return not dtype.hasobject and dtype.itemsize > 0


def apart(target: np.ndarray[Any, Any], source: Any) -> Any:
    """The source, copied where NumPy (up to 2.5) might read of it what it has already
    overwritten.
    """
    return (
        source.copy()
        if isinstance(source, np.ndarray) and np.may_share_memory(target, source)
        else source
    )


def _source(src: Any) -> np.ndarray[Any, Any]:
    # host_array refuses masked arrays, whose masked elements would be copied
    return host_array(src) if isinstance(src, np.ndarray) else values(src)


def _target(dst: Any) -> np.ndarray[Any, Any]:
    with naming("dst"):
        target = host_array(dst)
    if not target.flags.writeable:
        raise ValueError("dst: it is read-only")
    return target


def _converted(
    source: Any, dtype: "np.dtype[Any]", casting: Any, progress: Progress
) -> np.ndarray[Any, Any]:
    """The values as a new array of the dtype, for memory that only whole items can be moved to."""
    source = values(source)
    array = np.empty_like(source, dtype)
    np.copyto(array, source, casting=casting)
    return array


def _copyto_any(dst: Any, src: Any, casting: Any, progress: Progress) -> None:
    """`gridbuf.copyto` for whatever the kernels did not take."""
    casting = casting or "same_kind"
    if (
        not isinstance(dst, (np.ndarray, _core.Field))
        and get_dims(dst) is not None
        and get_dims(src) is not None
    ):
        # Both have names of indices
        _core.copyto(_core.Field(dst), src, casting=casting, progress=progress)
        return
    target, number = _target(dst), isinstance(src, (bool, int, float, complex, np.generic))
    with naming("src"):
        source = src if number else _source(src)
    scalar = number or source.ndim == 0
    # A Python number takes dst's dtype, by NumPy's rules
    if scalar and _plain(target.dtype):
        value = np.empty((), target.dtype)
        with naming("src"):
            np.copyto(value, source, casting=casting)
        _core.fill(target, value, progress=progress)
    elif not scalar and (target is not dst or source is not src):
        _core.copyto(target, source, casting=casting, progress=progress)
    else:
        with naming("src"):
            np.copyto(target, apart(target, source), casting=casting)
        if progress is not None:
            progress(1.0)


def _fill_any(dst: Any, value: Any, progress: Progress) -> None:
    """`gridbuf.fill` for whatever the kernels did not take."""
    target = _target(dst)
    if target is not dst and _plain(target.dtype):
        _core.fill(target, value, progress=progress)
        return
    with naming("value"):
        target[...] = apart(target, _core.values(value))
    if progress is not None:
        progress(1.0)


__all__ = ["Copy", "copy_async"]
