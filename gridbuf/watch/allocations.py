"""NumPy's and gridbuf's memory by line.

A handler of NumPy's (NEP 49), in C, passes everything on to the one it found and notes the line.
"""

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from gridbuf import _core
from gridbuf.watch.lines import Line, pass_over, passed_over
from gridbuf.watch.records import Book, clock

LEAST = 4096  # bytes: smaller blocks are counted, not looked at
GRIDBUF, ZEROS = 1, 2  # owners of a block besides NumPy's empty ones: `enum owner` in C
_found: list[Any] = []  # the handler that was there


def install(book: Book) -> Callable[[], None]:
    """Note allocations from now on, on this thread and on those started later; the result stops
    it.
    """
    found = _core.numpy_handler()[0]
    handler = _core.watch_start(passed_over(), LEAST)
    _found[:] = [found]
    if not _core.numpy_handler()[1]:  # gridbuf's own memory is noted without it
        _core.set_numpy_handler(handler)
    start: Any = threading.Thread.start

    @functools.wraps(start)
    def watched_start(thread: threading.Thread) -> None:
        if book.on and getattr(thread, "_ident", 0) is None:  # a thread not started yet
            own = [vars(thread)["run"]] if "run" in vars(thread) else []
            with suppress(AttributeError):  # run may be a property
                run = functools.partial(_core.run_with_handler, thread, thread.run, handler, *own)
                thread.run = run  # type: ignore[method-assign]
        start(thread)

    threading.Thread.start = watched_start  # type: ignore[assignment, method-assign]

    def uninstall() -> None:
        if threading.Thread.start is watched_start:
            threading.Thread.start = start  # type: ignore[method-assign]
        if _core.numpy_handler()[0] is handler:
            _core.set_numpy_handler(found)
        _core.watch_stop()
        _found.clear()

    return uninstall


def pass_over_from_now_on(folder: str) -> None:
    """Credit allocations of code in this folder to the line that calls it."""
    if pass_over(folder) and _found:
        _core.watch_start(passed_over(), LEAST)


@contextmanager
def paused() -> Iterator[None]:
    """Note nothing in the with block, whose allocations are ours."""
    _core.watch_stop()
    try:
        yield
    finally:
        if _found:
            _core.watch_start(passed_over(), LEAST)


@contextmanager
def aside(book: Book) -> Iterator[None]:
    """Measure something of our own: its time and memory are not credited to the program."""
    began, book.on = clock(), False
    try:
        with paused():
            yield
    finally:
        book.on = True
        seconds = clock() - began
        book.aside += seconds
        _core.watch_apart(seconds)


def plain_handler() -> Any:
    """The handler of NumPy's memory without ours."""
    return _found[0] if _found else _core.numpy_handler()[0]


def maker(address: int | None) -> Line | None:
    """The line that allocated the block which an address lies in."""
    found = None if address is None else _core.watch_block(address)
    return None if found is None else (found[0], found[1])


def is_of_gridbuf(address: int | None) -> bool:
    """Whether the block which an address lies in is of gridbuf's memory, and not NumPy's."""
    found = None if address is None else _core.watch_block(address)
    return found is not None and found[4] == GRIDBUF


def rows() -> list[dict[str, Any]]:
    """The allocations of each line, the most bytes first; `sizes` has (bytes, how many, most that
    lived at once, whether zeros).
    """
    lines: dict[tuple[str, int, bool], dict[str, Any]] = {}
    for file, number, nbytes, owner, count, nanoseconds, faults, _, peak in _core.watch_lines():
        row = lines.setdefault(
            (file, number, owner == GRIDBUF),
            {
                "line": (file, number),
                "own": owner == GRIDBUF,
                "count": 0,
                "bytes": 0,
                "seconds": 0.0,
                "page_faults": 0,
                "sizes": [],
            },
        )
        row["count"] += count
        row["bytes"] += count * nbytes
        row["seconds"] += nanoseconds * 1e-9
        row["page_faults"] += faults
        row["sizes"].append((nbytes, count, peak, owner == ZEROS))
    return sorted(lines.values(), key=lambda row: -row["bytes"])
