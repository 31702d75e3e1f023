"""`python -m gridbuf watch program.py`: the memory of a program, by line, and changes that pay.

This file is the command, and the collectors that it puts in place.

records          `Book`: the counts and times that collectors write
lines, patches   the program's line that runs; functions of other packages, exchanged for a while
collectors       allocations, copies, stencils (programs), messages (datatypes)
benchmark        measurements beside the program: layouts, a pool, the whole program (stopwatch)
report           all of it as one dictionary, and the cost of watching
ranks            one report for all ranks of MPI
output           recommendations and table in words, to the error stream and to files

docs/watch.md is the user's side.
"""

import argparse
from typing import Any

from gridbuf import commands
from gridbuf.commands import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command. The collectors are loaded when a program is watched."""
    parser.description = (
        "Run a Python program as `python program.py` would, and report its use of memory."
    )
    parser.epilog = "example: python -m gridbuf watch --measure model.py --steps 10"
    parser.add_argument(
        "--measure",
        action="store_true",
        help="run each stencil a few times on copies of its fields in the backend's layout",
    )
    parser.add_argument(
        "--apply",
        action="store_true",
        help="then run it in fresh processes, as it is and by `gridbuf run`: their ratio",
    )
    parser.add_argument("--live", action="store_true", help="show the tables during the run, too")
    parser.add_argument("--html", metavar="FILE", help="a page with pictures")
    parser.add_argument("--json", metavar="FILE", help="all records")
    commands.add_arguments(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> Any:
    """Run the program under watch; its exit status."""
    from gridbuf.watch.output import AtExit, Output
    from gridbuf.watch.records import Book

    words = commands.words_of(arguments)
    program = [*{"module": ["-m"], "code": ["-c"]}.get(arguments.way, []), *words]
    book = Book()
    output = Output(
        book,
        program,
        json=arguments.json,
        html=arguments.html,
        live=arguments.live,
        apply=arguments.apply,
    )
    at_exit = AtExit(book, output.write)
    undo = install(book, measure=arguments.measure)
    try:
        output.status = commands.execute(words, way=arguments.way)
        output.returned = True
        return output.status
    except KeyboardInterrupt:
        output.apply = False  # four more runs are not what Ctrl-C asks for
        raise
    except UsageError:
        at_exit.cancel()
        undo()
        raise


def install(book: Any, *, measure: bool = False) -> Any:
    """Put every collector in place; each waits for its library. Calling the result takes all
    away.
    """
    from gridbuf.watch import allocations, copies, messages, programs, stencils
    from gridbuf.watch.patches import together

    each = [
        allocations.install(book),
        copies.install(book),
        stencils.install_cartesian(book, measure=measure),
        programs.install(book, measure=measure),
        messages.install(book),
    ]

    def off() -> None:
        book.on = False

    return together([*each, off])
