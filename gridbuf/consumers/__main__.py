"""`python -m gridbuf.consumers`: print the expected matrix, write it into a page, or run one consumer's cells."""

import argparse
import json
import sys
from pathlib import Path

from gridbuf import consumers
from gridbuf.consumers import table

BEGIN, END = "<!-- the matrix: python -m gridbuf.consumers --write docs/exchange.md -->\n", "<!-- end of the matrix -->"


def page(old: str) -> str:
    """A page with the expected matrix between its marks."""
    before, _, rest = old.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table.markdown(table.tabulate(table.expected()))}\n\n{END}{after}"


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
    parser.add_argument("--write", metavar="PAGE", type=Path, help="put the matrix between the marks of this page")
    parser.add_argument("--run", metavar="NAME", help="run the cells of one consumer, and print what became of them as JSON")
    arguments = parser.parse_args()
    if arguments.write:
        arguments.write.write_text(page(arguments.write.read_text()))
    elif arguments.run:
        found = lines(arguments.run)
        print("\n" + json.dumps(found))  # on a line of its own: packages print what they like
        sys.stdout.flush()
    else:
        print(table.markdown(table.tabulate(table.expected())))


if __name__ == "__main__":
    main()
