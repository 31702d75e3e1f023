"""Everything that was seen as one dictionary, which JSON can say: what the tables, the page and the advice are made of."""

import sys
from typing import Any

import numpy as np

from gridbuf.watch import allocations
from gridbuf.watch.book import Book, Message, Stencil, clock
from gridbuf.watch.costs import own_costs
from gridbuf.watch.lines import Line, source, text
from gridbuf.watch.messages import note_rank
from gridbuf.watch.stencils import measured_of


def report(book: Book, program: list[str], *, final: bool = True) -> dict[str, Any]:
    """What is known now; with final=True also what is only measured at the end."""
    seconds = clock() - book.began - book.aside
    note_rank(book)
    for stencil in book.stencils.values():
        for method in stencil.counted:
            stencil.take(method)
    for take in book.looked:
        take()
    rows = allocations.rows()
    found: dict[str, Any] = {
        "program": program,
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "seconds": seconds,
        "stencils": [stencil_row(each) for each in sorted(book.stencils.values(), key=lambda s: -s.times.total)],
        "allocations": [allocation_row(row) for row in rows],
        "copies": sorted((copy_row(*each) for each in book.copies.items()), key=lambda row: -row["bytes"]),
        "messages": sorted((message_row(*each) for each in book.messages.items()), key=lambda row: -row["seconds"]),
        "children": book.children,
        "rank": book.rank,
        "not_seen": list(book.not_seen),
    }
    if final:
        found["own"] = own_costs(book, rows, seconds)
    return found


def line_of(line: Line | None) -> dict[str, Any] | None:
    """A line as JSON has it."""
    return None if line is None else {"file": line[0], "line": line[1], "text": text(line), "source": source(line)}


def stencil_row(stencil: Stencil) -> dict[str, Any]:
    """One stencil with its fields; of each field the ways in which it came."""
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
        "measured": measured_of(stencil),
    }


def allocation_row(row: dict[str, Any]) -> dict[str, Any]:
    """One line that allocates."""
    sizes = [
        {"bytes": nbytes, "count": count, "most_at_once": peak, "zeros": zeros} for nbytes, count, peak, zeros in row["sizes"]
    ]
    return {**row, "line": line_of(row["line"]), "sizes": sizes}


def copy_row(key: tuple[str, str, Line], copy: Any) -> dict[str, Any]:
    """Copies of one kind by one line."""
    kind, why, line = key
    return {
        "kind": kind, "why": why, "line": line_of(line), "count": copy.count, "bytes": copy.bytes, "seconds": copy.all_seconds(),
        "made_by": line_of(copy.made_by),
    }  # fmt: skip


def message_row(key: tuple[str, str, Line], message: Message) -> dict[str, Any]:
    """Messages of one kind by one line."""
    call, what, line = key
    return {
        "call": call, "what": what, "line": line_of(line), "count": message.count, "bytes": message.bytes,
        "derived": message.derived, "datatypes": list(message.datatypes), "seconds": message.seconds,
        "packing": packing_of(message),
    }  # fmt: skip


def packing_of(message: Message) -> dict[str, Any] | None:
    """Seconds in MPI's Pack and Unpack; and of what gridbuf.copyto can do instead, what both take."""
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
    return {"seconds": whole, "copyto": {"of": theirs, "seconds": ours, "ratio": theirs / ours} if ours else None, "why": why}
