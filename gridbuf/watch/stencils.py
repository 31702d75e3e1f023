"""What the collectors of stencil calls have in common: timing a call, and noting once how its fields lie."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from gridbuf import _core
from gridbuf.watch.allocations import aside, maker
from gridbuf.watch.book import Book, Combination, Layout, Stencil, clock
from gridbuf.watch.layouts import address
from gridbuf.watch.lines import here

Described = Iterable[tuple[str, Any, dict[str, Any]]]  # name, whose memory, facts
LOOKED_UP = 64  # calls, and sets of arguments, whose lines are looked up; of later calls each 16th


def timed(book: Book, record: Stencil, call: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Make the call, which is entered and left inside `record`; what our own code takes meanwhile is not the stencil's.

    What is allocated in it is put down to the line that makes the call: nobody has to look for it each time.
    """
    inside = book.inside
    above = inside.depth
    inside.depth = above + 1
    if not above:
        _core.watch_line(*here(3))
    own = book.own + book.aside
    start = clock()
    try:
        return call(*args, **kwargs)
    finally:
        record.times.add(clock() - start - (book.own + book.aside - own))
        inside.depth = above
        if not above:
            _core.watch_line(None, 0)
        book.events += 2  # two clocks, and what stands around them


def note_layouts(record: Stencil, key: Hashable, described: Described) -> bool:
    """Take down how the fields of a call lie; `key` is all their strides, which were not seen before.

    The answer: whether any is not as the backend wants it.
    """
    known = record.combinations[key] = Combination()
    known.calls = 1
    for name, _, facts in described:
        layouts = record.layouts.setdefault(name, {})
        token = tuple(facts["strides"]), tuple(facts["shape"]), facts["dtype"]
        layout = layouts.get(token)
        if layout is None:
            layout = layouts[token] = Layout(facts)
        known.layouts.append(layout)
    return any(layout.facts["order"] != layout.facts["wanted"] for layout in known.layouts)


def is_looked_up(record: Stencil) -> bool:
    """Whether the lines of this call are asked for."""
    calls = record.times.count
    return calls < LOOKED_UP or not calls & 15


def note_lines(record: Stencil, arguments: Sequence[tuple[str, Any]]) -> None:
    """Who calls, and who allocated the arguments: once for each set of arguments."""
    record.callers.setdefault(here(2))
    key = tuple([id(value) for _, value in arguments])
    if key in record.seen or len(record.seen) >= LOOKED_UP:
        return
    record.seen.add(key)
    for name, value in arguments:
        at = address(value)
        line = maker(at)
        if at is None or line is None:
            continue
        strides = getattr(value, "strides", None)
        for layout in record.layouts.get(name, {}).values():
            if strides is None or sorted(map(abs, layout.facts["strides"])) == sorted(map(abs, strides)):
                layout.lines.setdefault(line)


def measured_beside(book: Book, record: Stencil, measure: Callable[[], dict[str, Any]]) -> None:
    """After a call with layouts that are not wanted: what they cost, until that is known. What fails in it is not the program's failure."""
    if record.measured and "ratio" in record.measured:
        return
    with aside(book):
        try:
            record.measured = measure()
        except Exception as error:
            record.measured = {"why": f"{type(error).__name__}: {error}"}
