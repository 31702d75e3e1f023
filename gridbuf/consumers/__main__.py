"""`python -m gridbuf.consumers`: print the expected matrix, write it into a page, or run one
consumer's cells.
"""

import argparse
import json
import sys
from pathlib import Path

from gridbuf import consumers
from gridbuf.commands import quiet_pipe
from gridbuf.consumers import report

BEGIN = "<!-- the matrix: python -m gridbuf.consumers --write docs/exchange.md -->\n"
END = "<!-- end of the matrix -->"


# Save it as gridbuf/consumers/NAME.py, name it in FILES of __init__.py, and run `python -m
# gridbuf.consumers --run NAME`: each cell that fails has its reason in the output, and becomes a
# Cannot, an Absent or an Unprotected.
TEMPLATE = '''"""{module}: what it is to a program with memory, in a line."""

from typing import Any, ClassVar

from gridbuf import _core
from gridbuf.consumers.consumer import Absent, Cannot, Cell, Consumer, Refusals


class {name}(Consumer):
    """What its objects are, and how they hold memory."""

    package, modules = "{module}", ("{module}",)  # as pip and as import name it
    takes, gives = "{module}.asarray(field)", "gb.Field(theirs)"  # as the table shows them
    refuses: ClassVar[Refusals] = {{
        ("take", "read-only"): Cannot(
            "no read-only arrays", "a pattern of its error", "`field.copy()`"
        ),
        ("give", "bfloat16"): Absent("no such type"),
    }}

    def take(self, field: _core.Field) -> Any:
        import {module}

        return {module}.asarray(field)

    def make(self, cell: Cell) -> Any:
        import {module}

        return {module}.asarray(super().make(cell).copy())  # memory of its own

    # Where its objects are no arrays: how NumPy sees one (`array`), how an element is set
    # (`write`), how a Field is made of one (`give`). Where they cannot be written to: `constant =
    # True`. Memory that it silently takes for something else is "wrong", which nothing excuses: let
    # `take` raise, and name that in `refuses`.


consumer = {name}
'''


def page(old: str) -> str:
    """A page with the expected matrix between its marks."""
    before, _, rest = old.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{report.markdown(report.tabulate(report.expected()))}\n\n{END}{after}"


def lines(name: str) -> list[dict[str, str]]:
    """Run all cells of one consumer."""
    consumer = consumers.load(name)
    found = []
    for direction in consumers.DIRECTIONS:
        for cell in consumers.cells(direction):
            result = consumers.run(consumer, cell)
            found.append({**vars(cell), **vars(result)})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m gridbuf.consumers", description=__doc__)
    parser.add_argument(
        "--write", metavar="PAGE", type=Path, help="put the matrix between the marks of this page"
    )
    parser.add_argument(
        "--run",
        metavar="NAME",
        help="run the cells of one consumer (or file), and say of each that fails why",
    )
    parser.add_argument(
        "--json", action="store_true", help="with --run: what became of every cell, as JSON"
    )
    parser.add_argument(
        "--template",
        metavar="MODULE",
        help="print a file for a new consumer, whose package is imported by that name",
    )
    arguments = parser.parse_args()
    if arguments.template:
        print(
            TEMPLATE.format(
                module=arguments.template, name=arguments.template.title().replace("_", "")
            )
        )
    elif arguments.write:
        arguments.write.write_text(page(arguments.write.read_text()))
    elif arguments.run:
        found = lines(
            next(
                (name for name, file in consumers.FILES.items() if file == arguments.run),
                arguments.run,
            )
        )
        failed = [one for one in found if one["outcome"] != "yes"]
        if arguments.json:
            print("\n" + json.dumps(found))  # on a line of its own: packages print what they like
            return
        for one in failed:
            print("{direction} {layout} {dtype}: {outcome}: {reason}".format(**one))
        print(f"{len(found) - len(failed)} of {len(found)} cells: yes")
    else:
        print(report.markdown(report.tabulate(report.expected())))


if __name__ == "__main__":
    with quiet_pipe() as pipe:
        main()
    sys.exit(pipe.status)
