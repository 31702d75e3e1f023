"""The report as one dictionary, which JSON can say: tables, page and advice are made of it. The
cost of watching is a part.
"""

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from statistics import median
from timeit import Timer
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from gridbuf.watch import allocations
from gridbuf.watch.copies import exchange
from gridbuf.watch.lines import Line, source, text
from gridbuf.watch.messages import note_rank
from gridbuf.watch.records import Book, Message, Stencil, clock
from gridbuf.watch.stencils import LOOKED_UP, measured_of, watch_class


def report(book: Book, program: list[str], *, final: bool = True) -> dict[str, Any]:
    """The report now; with final=True with the measurements at the end."""
    seconds = clock() - book.began - book.aside
    note_rank(book)
    rows = allocations.rows()
    found: dict[str, Any] = {
        "program": program,
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "seconds": seconds,
        "stencils": [
            stencil_row(each)
            for each in sorted(book.stencils.values(), key=lambda s: -s.times.total)
        ],
        "allocations": [allocation_row(row) for row in rows],
        "copies": sorted(
            (copy_row(*each) for each in book.copies.items()), key=lambda row: -row["bytes"]
        ),
        "messages": sorted(
            (message_row(*each) for each in book.messages.items()), key=lambda row: -row["seconds"]
        ),
        "children": book.children,
        "rank": book.rank,
        "not_seen": list(book.not_seen),
    }
    if final:
        found["own"] = own_costs(book, rows, seconds)
    return found


def line_of(line: Line | None) -> dict[str, Any] | None:
    """A line as JSON has it."""
    return (
        None
        if line is None
        else {"file": line[0], "line": line[1], "text": text(line), "source": source(line)}
    )


def stencil_row(stencil: Stencil) -> dict[str, Any]:
    """A stencil with its fields, and the layouts in which each field came."""
    fields = []
    for name, layouts in stencil.layouts.items():
        for layout in layouts.values():
            fields.append(
                {
                    "name": name,
                    **layout.facts,
                    "calls": stencil.calls_with(layout),
                    "made_by": [line_of(line) for line in layout.lines],
                }
            )
    return {
        "kind": stencil.kind,
        "name": stencil.name,
        "backend": stencil.backend,
        "defined": line_of(stencil.defined),
        "called_by": [line_of(line) for line in stencil.callers],
        **stencil.times.as_dict(),
        "fields": fields,
        "saved": getattr(stencil.keeps, "saved", stencil.saved_before) - stencil.saved_before,
        "measured": measured_of(stencil),
    }


def allocation_row(row: dict[str, Any]) -> dict[str, Any]:
    """A line that allocates."""
    sizes = [
        {"bytes": nbytes, "count": count, "most_at_once": peak, "zeros": zeros}
        for nbytes, count, peak, zeros in row["sizes"]
    ]
    return {**row, "line": line_of(row["line"]), "sizes": sizes}


def copy_row(key: tuple[str, str, Line], copy: Any) -> dict[str, Any]:
    """Copies of one kind by one line."""
    kind, why, line = key
    return {
        "kind": kind, "why": why, "line": line_of(line), "count": copy.count, "bytes": copy.bytes,
        "seconds": copy.all_seconds(),
        "made_by": line_of(copy.made_by), "own": copy.own, "of_gridbuf": copy.of_gridbuf,
    }  # fmt: skip


def message_row(key: tuple[str, str, Line], message: Message) -> dict[str, Any]:
    """Messages of one kind by one line."""
    call, what, line = key
    return {
        "call": call, "what": what, "line": line_of(line), "count": message.count,
        "bytes": message.bytes,
        "derived": message.derived, "datatypes": list(message.datatypes),
        "seconds": message.seconds,
        "packing": packing_of(message),
    }  # fmt: skip


def packing_of(message: Message) -> dict[str, Any] | None:
    """Seconds in MPI's Pack and Unpack, and for elements that gridbuf.copyto can pack the seconds
    of both.
    """
    if not any(each.count for each in message.packed.values()):
        return None
    whole, theirs, ours, why = 0.0, 0.0, 0.0, ""
    for each in message.packed.values():
        names, found = ("unpack", "receive") if each.receives else ("pack", "send"), each.measured
        whole += each.count * found.get(names[0], 0.0)
        if names[1] in found:
            theirs += each.count * found[names[0]]
            ours += each.count * found[names[1]]
        why = why or found["why"]
    return {
        "seconds": whole,
        "copyto": {"of": theirs, "seconds": ours, "ratio": theirs / ours} if ours else None,
        "why": why,
    }


# ---- the cost of watching ----
#
# The clock around our own code, and the part that the clock cannot see, measured at the end.
# Between two calls a program's data push our code out of the caches. So each thing is done once
# with us and once without after memory was gone through, as a program's step does: in a tight loop
# it would cost a fraction.

ROUNDS = 101
MOST = 1 << 23  # bytes to go through: more than a core has for itself

Way = tuple[Timer, Callable[[], AbstractContextManager[None]]]


def own_costs(book: Book, rows: list[dict[str, Any]], seconds: float) -> dict[str, Any]:
    """Seconds of our own, in all and by cause, and as a part of the program's; `rows` are the
    allocations of each line.
    """
    noted = sum(row["count"] for row in rows)
    # Upper bound of the bytes that are in use at once
    reach = sum(nbytes * most for row in rows for nbytes, _, most, _ in row["sizes"])
    called = sum(record.times.count for record in book.stencils.values())
    each_call = _seconds_each_call(list(book.stencils.values()), reach) if called else 0.0
    each_look = _seconds_each_look(reach) if book.events else 0.0
    each_block = _seconds_each_block(reach) if noted else 0.0
    calls = book.own + called * each_call + book.events * each_look
    whole = calls + noted * each_block
    return {
        "seconds": whole,
        "part": whole / seconds if seconds > 0 else 0.0,
        "calls": called + book.events,
        "seconds_in_calls": calls,
        "seconds_each_call": each_call,
        "blocks": noted,
        "seconds_each_block": each_block,
    }


def _seconds_each_call(records: list[Stencil], nbytes: int) -> float:
    """A stencil that does nothing, with as many fields as a call had in the mean; calls of other
    kinds have a clock around their fields.
    """
    calls = sum(record.times.count for record in records)
    fields = sum(
        record.times.count * len(record.layouts)
        for record in records
        if record.kind == "gt4py.cartesian"
    )
    arrays = {f"f{i}": np.zeros((2, 2, 2)) for i in range(round(fields / calls))}
    Watched = type("_Watched", (_Nothing,), {"__call__": _Nothing.__call__, "run": _Nothing.run})
    watch_class(Watched, Book(), measure=False)
    plain, watched = _Nothing(arrays), Watched(arrays)
    for _ in range(LOOKED_UP):  # time the look-up of lines
        watched(**arrays)
    ways = [
        (Timer("call(**arrays)", globals={"call": call, "arrays": arrays}), nullcontext)
        for call in (watched, plain)
    ]
    return _difference(ways, nbytes)


class _Nothing:
    """A stencil of gt4py's that looks at its fields and does nothing."""

    options, backend = {"name": "nothing"}, "numpy"

    def __init__(self, names: Any) -> None:
        info = SimpleNamespace(axes=("I", "J", "K"), data_dims=(), dtype=np.float64)
        self.field_info = dict.fromkeys(names, info)

    def __call__(self, **kwargs: Any) -> None:
        self.run(**kwargs)

    def run(self, **kwargs: Any) -> None: ...


def _seconds_each_look(nbytes: int) -> float:
    """A function whose result is another array than it was given; notes of copies have a clock
    around them.
    """
    array, other = np.zeros((32, 32)), np.zeros((32, 32))
    module: Any = ModuleType("numpy")
    module.copy = plain = lambda array: other
    exchange(module, "copy", Book(), lambda *_: 0)
    ways = [
        (Timer("call(array)", globals={"call": call, "array": array}), nullcontext)
        for call in (module.copy, plain)
    ]
    return _difference(ways, nbytes)


def _seconds_each_block(nbytes: int) -> float:
    """The cost of noting a block: the same allocation with and without a note."""
    timer = Timer("empty(16384, 'u1')", globals={"empty": np.empty})
    return _difference([(timer, nullcontext), (timer, allocations.paused)], nbytes)


def _difference(ways: Sequence[Way], nbytes: int) -> float:
    """The seconds that the first of two ways takes longer: the median of pairs in turn, each
    warmed up and then out of the caches.
    """
    memory = np.ones(max(1, min(nbytes, MOST) // 8))
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for (timer, context), each in zip(ways, seconds, strict=True):
            with context():
                timer.timeit(1)
                np.add(memory, 1.0, out=memory)
                each.append(timer.timeit(1))
    return max(0.0, median([one - other for one, other in zip(*seconds, strict=True)]))
