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
MEASURED = 4  # sets of layouts of one stencil


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
    if at is None:
        return
    line, strides = maker(at), getattr(value, "strides", None)
    for layout in layouts:
        if strides is None or sorted(map(abs, layout.facts["strides"])) == sorted(map(abs, strides)):
            layout.lies_at(at)
            if line is not None:
                layout.lines.setdefault(line)


def measured_beside(book: Book, record: Stencil, key: Hashable, measure: Callable[[], dict[str, Any]]) -> None:
    """After the first call with layouts that are not wanted: what they cost. What fails in it is not the program's failure."""
    if sum("ratio" in found for _, found in record.measured) >= MEASURED:
        return
    with aside(book):
        try:
            found = measure()
        except Exception as error:
            found = {"why": f"{type(error).__name__}: {error}"}
    record.measured.append((record.combinations[key], found))


def measured_of(record: Stencil) -> dict[str, Any] | None:
    """Of the layouts that took most time; `saves` has the seconds of all calls with layouts that were measured.

    Calls with the same layouts may have other domains than the one that was measured: no more is saved than that part of all calls' time.
    """
    known = [(each.calls, found) for each, found in record.measured if "ratio" in found]
    if not known:
        return record.measured[-1][1] if record.measured else None
    before = sum(calls * found["seconds"] for calls, found in known)
    after = sum(calls * found["relaid_seconds"] for calls, found in known)
    saves = min(before - after, record.times.total * (1 - after / before)) if after < before else before - after
    return {**max(known, key=lambda each: each[0] * each[1]["seconds"])[1], "saves": saves}
