"""What watching cost: the clock around our own code, and what the clock cannot see, measured at the end."""

import timeit
from typing import Any

from gridbuf.watch import allocations
from gridbuf.watch.book import Book, clock


def own_costs(book: Book, noted: int, seconds: float) -> dict[str, Any]:
    """Seconds of our own, in all and by cause, and as a part of the program's; `noted` blocks were put down to a line."""
    each = allocations.seconds_each() if noted else 0.0
    entering = timeit.timeit(lambda: _through(book, key=1), number=2000) / 2000 - timeit.timeit(_nothing, number=2000) / 2000
    calls = book.own + book.events * max(0.0, entering)
    whole = calls + noted * each
    return {
        "seconds": whole,
        "part": whole / seconds if seconds > 0 else 0.0,
        "calls": book.events,
        "seconds_in_calls": calls,
        "blocks": noted,
        "seconds_each_block": each,
    }


def _nothing(*args: Any, **kwargs: Any) -> None:
    """What a program would call."""


def _through(book: Book, *args: Any, **kwargs: Any) -> Any:
    """The way into a function of ours and on to what the program calls, with one look at the clock."""
    if book.on or args or "never" in kwargs:
        return None
    clock()
    return _nothing(*args, **kwargs)
