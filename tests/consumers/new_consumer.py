"""A consumer of the matrix, step by step, until nothing is left to do:

    python tests/consumers/new_consumer.py MODULE

It writes what can be written by itself, in the four places that a consumer has, and says of each
cell that is not as expected what to put into `refuses`.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gridbuf import consumers
from gridbuf.consumers import Cannot, Cell, Consumer, Missing, Result
from gridbuf.consumers.__main__ import TEMPLATE, page

ROOT = Path(__file__).resolve().parents[2]
SECTION = """### {name}

```python
>>> import gridbuf as gb, {module}
>>> field = gb.Field.zeros((4, 5), dims="IJ")
>>> theirs = {takes}

```

"""


def put(path: Path, after: str, text: str) -> None:
    """Text where a pattern ends, for the first time that it is there."""
    old = path.read_text()
    found = re.search(after, old, re.DOTALL | re.MULTILINE)
    assert found, f"{path} has nothing like {after}"
    path.write_text(old[: found.end()] + text + old[found.end() :])
    print(f"{path.name}: {text.strip().splitlines()[0]}")


def places(root: Path, module: str) -> bool:
    """The file, its package in an extra, and its line in FILES; whether any of them is new."""
    file, files = (root / "gridbuf" / "consumers" / f"{stem}.py" for stem in (module, "__init__"))
    if new := not file.exists():
        file.write_text(TEMPLATE.format(module=module, name=module.title().replace("_", "")))
        print(f"gridbuf/consumers/{module}.py is yours to write: take() and make()")
        put(root / "pyproject.toml", r"^consumers = \[.*?(?=\]\n)", f', "{module}"')
    if unnamed := f': "{module}",\n' not in files.read_text():
        put(files, r"^FILES = \{.*?\n(?=\})", f'    "{module}": "{module}",\n')
    return new or unnamed


def makes(consumer: Consumer, cell: Cell) -> bool:
    try:
        return consumer.make(cell) is not None
    except Exception:
        return False


def wanted(consumer: Consumer, cell: Cell, result: Result) -> str:
    """What would make a cell as expected; nothing where it is."""
    expected, key = consumer.expected(cell), cell.layout if cell.dtype == "float64" else cell.dtype
    as_said = not isinstance(expected, Cannot) or re.search(expected.says, result.reason)
    if result.outcome == consumers.outcome(expected) and as_said:
        return ""
    said = re.sub(r"[][\\.^$*+?{}|()\"]", ".", result.reason)
    if result.outcome == "unprotected":
        return f'("{cell.direction}", "{key}"): Unprotected("WHY", "INSTEAD"),'
    if result.outcome != "no":
        return f"# {cell}: {result}; {consumers.outcome(expected)} is expected"
    if cell.direction == "give" and not makes(consumer, cell):
        return f'("give", "{key}"): Absent("{said}"),'
    return f'("{cell.direction}", "{key}"): Cannot("WHY", "{said}", "INSTEAD"),'


def left(consumer: Consumer) -> Iterator[str]:
    """What `refuses` lacks, or has too much."""
    for direction in consumers.DIRECTIONS:
        tried = {cell: consumers.run(consumer, cell) for cell in consumers.cells(direction)}
        found = {
            cell: line for cell, result in tried.items() if (line := wanted(consumer, cell, result))
        }
        if len(found) > len(tried) // 2 and len({tried[cell].reason for cell in found}) == 1:
            found = {Cell(direction): found[Cell(direction)].replace('"C"', '"*"', 1)}
        yield from found.values()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "module",
        help="what Python imports, which is the name in the table; another name goes into FILES",
    )
    module = parser.parse_args().module
    if not module.isidentifier():
        parser.error(f"module: {module!r} is not allowed; give a name without dots")
    if places(ROOT, module):
        return 1
    name = next(name for name, file in consumers.FILES.items() if file == module)
    consumer = consumers.load(name)
    try:
        consumer.start()
    except Missing as error:
        parser.error(f"module: {error}")
    if lines := [*left(consumer)]:
        print(
            f"gridbuf/consumers/{module}.py: refuses lacks, or take() and make() do otherwise:",
            *lines,
            sep="\n        ",
        )
        return 1
    exchange = ROOT / "docs" / "exchange.md"
    if f"\n### {name}\n" not in exchange.read_text():
        text = SECTION.format(name=name, module=module, takes=consumer.takes)
        put(exchange, rf"^### {re.escape([*consumers.FILES][-2])}\n.*?\n(?=##)", text)
    exchange.write_text(page(exchange.read_text()))
    tests = [str(ROOT / "tests" / path) for path in ("consumers", "build/test_packages.py")]
    return pytest.main(
        ["-q", "-p", "no:cacheprovider", *tests, "-k", f"{module} or every or table or extras"]
    )


if __name__ == "__main__":
    sys.exit(main())
