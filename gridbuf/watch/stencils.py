"""What the collectors of stencil calls have in common: timing a call, and noting once how its fields lie."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from gridbuf import _core
from gridbuf.watch.allocations import aside, maker
from gridbuf.watch.book import Book, Combination, Layout, Stencil, clock
from gridbuf.watch.layouts import address
from gridbuf.watch.lines import here

Arrays = Callable[[Any, Any, dict[str, Any]], Sequence[tuple[str, Any]]]  # what is called, args, kwargs -> arrays by name
Described = Iterable[tuple[str, Any, dict[str, Any]]]  # name, whose memory, facts
FIRST = 16  # calls whose lines are looked up, and of those after them
LOOKED_UP = 64  # each 64th; as many sets of arguments


def timed(
    book: Book, record: Stencil, plain: Any, called: Any, args: Any, kwargs: Any, arrays: Arrays, counted: Any = None
) -> Any:
    """Make the call inside `record`; what our own code takes meanwhile is not the stencil's.

    What is allocated in it is put down to the line that makes the call: nobody has to look for it each time. `counted` is C's
    method that came here: it counts the next calls by itself.
    """
    began = _core.watch_enter()
    try:
        result = plain(called, *args, **kwargs)
    finally:
        count = record.times.add(_core.watch_leave(began))
    if count >= FIRST and counted is not None:
        record.take(counted, left=LOOKED_UP - 1)
    if count <= FIRST or counted is not None or not count % LOOKED_UP:
        note_lines(book, record, arrays(called, args, kwargs))
    return result


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


def note_lines(book: Book, record: Stencil, arguments: Sequence[tuple[str, Any]]) -> None:
    """Who calls, and who allocated the arguments: once for each set of arguments."""
    began = clock()
    record.callers.setdefault(here(2))
    key = tuple([id(value) for _, value in arguments])
    if key not in record.seen and len(record.seen) < LOOKED_UP:
        record.seen.add(key)
        for name, value in arguments:
            _note_maker(record.layouts.get(name, {}).values(), value)
    book.own += clock() - began


def _note_maker(layouts: Iterable[Layout], value: Any) -> None:
    at = address(value)
    line = maker(at)
    if at is None or line is None:
        return
    strides = getattr(value, "strides", None)
    for layout in layouts:
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
