"""`python -m gridbuf watch program.py`: the program unchanged, and at its end what it did with its memory."""

import argparse
from typing import Any

from gridbuf import running
from gridbuf.errors import UsageError
from gridbuf.watch import (
    allocations,
    cartesian,
    dace_programs,
    gufuncs,
    library_copies,
    messages,
    next_programs,
    numpy_copies,
    pickles,
)
from gridbuf.watch.book import Book
from gridbuf.watch.ending import Ending
from gridbuf.watch.imports import Undo, together
from gridbuf.watch.output import Output


def run(arguments: argparse.Namespace) -> Any:
    """Run the program under watch; its exit status."""
    words = running.words_of(arguments)
    program = [*{"module": ["-m"], "code": ["-c"]}.get(arguments.way, []), *words]
    book = Book()
    output = Output(book, program, json=arguments.json, html=arguments.html, live=arguments.live, apply=arguments.apply)
    ending = Ending(book, output.write)
    undo = install(book, measure=arguments.measure)
    try:
        output.status = running.execute(words, way=arguments.way)
        return output.status
    except KeyboardInterrupt:
        output.apply = False  # who ended it would wait for it four times more
        raise
    except UsageError:
        ending.cancel()
        undo()
        raise


def install(book: Book, *, measure: bool = False) -> Undo:
    """Put every collector in place; each waits for its library. The result takes all away."""
    each = [
        allocations.install(book),
        numpy_copies.install(book),
        pickles.install(book),
        library_copies.install(book),
        cartesian.install(book, measure=measure),
        next_programs.install(book, measure=measure),
        dace_programs.install(book, measure=measure),
        gufuncs.install(book, measure=measure),
        messages.install(book),
    ]

    def off() -> None:
        book.on = False

    return together([*each, off])
