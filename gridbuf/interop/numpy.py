"""NumPy's own arrays in gridbuf's memory: for unchanged code.

Inside `memory()`, or after `enable()`, every array that NumPy makes (np.empty, np.zeros, the
result of `a + b`, whatever gt4py or NDSL allocate) lies in gridbuf's heap: it starts at a
multiple of 64 bytes, large ones lie in huge pages and are reused instead of being
faulted in anew, and `gridbuf.memory.stats()` counts them.

NumPy keeps its memory handler (NEP 49) in a context variable. Consequences:

* `memory()` is for the code inside it, on this thread (and in asyncio tasks made there).
* `enable()` is for this thread and for every `threading.Thread` started after it, those of
  concurrent.futures included. A thread that already runs, or that C code started, keeps
  NumPy's memory until it calls `enable()` or enters `memory()` itself.
* A forked process inherits what its parent's thread had; a spawned one starts with NumPy's memory.
* A limit (`gridbuf.memory.set_limit`) holds for these arrays too; the MemoryError is then NumPy's.
* glibc is set to keep memory that other libraries free (`mallopt`: blocks up to 1 GiB from its
  heap, which is trimmed at 2 GiB), unless `MALLOC_MMAP_THRESHOLD_`, `MALLOC_TRIM_THRESHOLD_` or
  `GLIBC_TUNABLES` are set; this stays after `disable()`. With another C library nothing happens.
* An array keeps the handler it was made with: it may grow and be freed anywhere, also after
  `disable()`.

Examples
--------
>>> import gridbuf as gb, numpy as np
>>> from gridbuf.interop.numpy import memory
>>> with memory():
...     a = np.zeros((1000, 1000))
>>> a.ctypes.data % 64, gb.memory.buffer_id(a) is not None
(0, True)
>>> gb.memory.buffer_id(np.zeros(3)) is None
True
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from gridbuf import _core
from gridbuf.interop.exchanging import Installation
from gridbuf.interop.glibc import keep_blocks

__all__ = ["disable", "enable", "enabled", "memory"]


class _Block:
    """A block of `memory`. It may end elsewhere than where it began: a generator is closed
    where its last reference goes.
    """

    open = True


# A context has our handler while a block that was begun there is open, or the switch is on; then
# again what it had before.
_blocks: ContextVar[tuple[_Block, ...]] = ContextVar(
    "gridbuf.interop.numpy: blocks of memory()", default=()
)
_before: ContextVar[Any] = ContextVar("gridbuf.interop.numpy: the handler before ours")


def _put_ours() -> None:
    handler, ours = _core.numpy_handler()
    if not ours:
        _before.set(handler)
        _core.set_numpy_handler(None)


def _put_back() -> None:
    blocks = tuple(block for block in _blocks.get() if block.open)
    _blocks.set(blocks)
    before = _before.get(None)
    if before is not None and enabled() and not switch.is_on and not blocks:
        _core.set_numpy_handler(before)


@contextmanager
def memory() -> Iterator[None]:
    """Let NumPy allocate from gridbuf's heap in this block, on this thread.

    Also a decorator: ``@memory()``. Blocks nest. After the last one NumPy has the handler that it
    had before, and gridbuf's if `enable` was called meanwhile.

    Yields
    ------
    None

    Examples
    --------
    >>> import numpy as np
    >>> from gridbuf.interop.numpy import enabled, memory
    >>> with memory():
    ...     total = np.ones(1000) + 1
    ...     enabled()
    True
    >>> enabled()
    False
    """
    block = _Block()
    _blocks.set((*_blocks.get(), block))
    try:
        _put_ours()
        yield
    finally:
        block.open = False
        _put_back()


def enabled() -> bool:
    """Whether an array that NumPy makes here and now lies in gridbuf's memory.

    Returns
    -------
    bool

    Examples
    --------
    >>> from gridbuf.interop.numpy import enabled
    >>> enabled()
    False
    """
    return _core.numpy_handler()[1]


def enable() -> None:
    """Let NumPy allocate from gridbuf's heap from now on: on this thread and on those started
    later.

    Calling it again changes nothing. See the module's text for threads that already run.

    Examples
    --------
    >>> import gridbuf as gb, numpy as np
    >>> from gridbuf.interop import numpy as handler
    >>> handler.enable()
    >>> gb.memory.buffer_id(np.empty(10)) is not None
    True
    >>> handler.disable()
    """
    switch.on()
    _put_ours()


def hold() -> Callable[[], None]:
    """`enable`, until the result is called: for another installation that needs it."""
    release = switch.hold()
    _put_ours()

    def off() -> None:
        release()
        _put_back()

    return off


def disable() -> None:
    """Undo `enable`: on this thread and for threads started later.

    Arrays that live stay as they are. Threads started in between keep gridbuf's memory until they
    end.

    Examples
    --------
    >>> from gridbuf.interop import numpy as handler
    >>> handler.enable()
    >>> handler.disable()
    >>> handler.enabled()
    False
    """
    switch.off()
    _put_back()


class _Run:
    """A thread's run, in our memory: its context is empty when it starts, so it has to install the
    handler itself.
    """

    def __init__(self, thread: threading.Thread) -> None:
        self.thread, self.run = thread, thread.run

    def __call__(self) -> None:
        del self.thread.run  # no cycle: what the thread held goes when it ends
        _put_ours()
        self.run()


_thread_start = threading.Thread.start
_plain_start: Any = None  # threading.Thread.start, while the switch is on


def _start(thread: threading.Thread) -> None:
    """Thread.start, while the switch is on."""
    # The switch is off, or a wrapper of the program calls this function a second time
    if _plain_start is None or isinstance(thread.run, _Run):
        return _thread_start(thread)
    thread.run = _Run(thread)  # type: ignore[method-assign]
    try:
        _plain_start(thread)
    except BaseException:
        vars(thread).pop("run", None)
        raise


def _switch_on() -> Callable[[], None]:
    global _plain_start
    _plain_start = threading.Thread.start
    threading.Thread.start = _start  # type: ignore[assignment, method-assign]
    keep_blocks()
    return _switch_off


def _switch_off() -> None:
    global _plain_start
    if threading.Thread.start is _start:
        threading.Thread.start = _plain_start  # type: ignore[method-assign]
    _plain_start = None


# The switch is for threads that start; enable and disable set the handler of this context
switch = Installation(_switch_on)
