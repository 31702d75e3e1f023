"""`python -m gridbuf doctor --consumers`: the matrix on this machine, each consumer in a process of
its own.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from gridbuf import consumers
from gridbuf.consumers import table
from gridbuf.consumers.cell import Cell
from gridbuf.consumers.consumer import Cannot
from gridbuf.consumers.engine import Result
from gridbuf.consumers.table import Answer

PATIENCE = 600  # seconds for one consumer; compilers are slow, and MPI may wait for ever


def diagnose(names: Sequence[str]) -> Iterator[list[Answer]]:
    """What became of every cell, consumer by consumer; a crash over there is a line here."""
    with ThreadPoolExecutor(max(1, min(4, (os.cpu_count() or 1) // 2))) as pool:
        yield from pool.map(_answers, names)


def _answers(name: str) -> list[Answer]:
    consumer = consumers.load(name)
    cells = [cell for direction in consumers.DIRECTIONS for cell in consumers.cells(direction)]
    command = [sys.executable, "-W", "ignore", "-m", "gridbuf.consumers", "--run", name, "--json"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        found = [
            (
                Cell(line["direction"], line["layout"], line["dtype"]),
                Result(line["outcome"], line["reason"]),
            )
            for line in json.loads(done.stdout.rstrip().rpartition("\n")[2])
        ]
    except subprocess.TimeoutExpired:
        found = [(cell, Result("wrong", f"no answer within {PATIENCE} seconds")) for cell in cells]
    except ValueError:  # no JSON: it did not come to the end
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        found = [
            (cell, Result("wrong", f"its process ended with status {done.returncode}: {last}"))
            for cell in cells
        ]
    return [_answer(consumer, cell, result) for cell, result in found]


def _answer(consumer: consumers.Consumer, cell: Cell, result: Result) -> Answer:
    expected = consumer.expected(cell)
    as_said = not isinstance(expected, Cannot) or re.search(expected.says, result.reason)
    if result.outcome == consumers.outcome(expected) and as_said:
        return Answer(consumer.name, cell, result.outcome, table.note(expected))
    if result.outcome == "skipped":
        return Answer(consumer.name, cell, "skipped", result.reason)
    unexpected = (
        f"unexpected: {result.reason}"
        if result.reason
        else f"works here; expected was: {table.note(expected)}"
    )
    return Answer(consumer.name, cell, result.outcome, unexpected)


def skipped(answers: Sequence[Answer]) -> str | None:
    """Why a consumer was left out, or None."""
    return answers[0].note if all(answer.outcome == "skipped" for answer in answers) else None


def surprising(answers: Sequence[Answer]) -> bool:
    """Whether something is not as the documentation says."""
    return any(
        answer.outcome == "wrong" or answer.note.startswith(("unexpected", "works here"))
        for answer in answers
    )


def report(names: Sequence[str]) -> int:
    """Run and print; 1 where something is not as expected, else 0."""
    answers = [_progress(found) for found in diagnose(names)]
    done = [found for found in answers if skipped(found) is None]
    print()
    _print(table.tabulate(answer for found in done for answer in found))
    versions = [f"{found[0].name} {consumers.load(found[0].name).version()}" for found in done]
    print("\ntried: " + ", ".join(versions))
    for found in answers:
        if (reason := skipped(found)) is not None:
            print(f"skipped: {found[0].name}: {reason}")
    return int(any(map(surprising, answers)))


def _progress(answers: list[Answer]) -> list[Answer]:
    shared = sum(answer.outcome in ("yes", "unprotected") for answer in answers)
    said = (
        "skipped"
        if skipped(answers) is not None
        else f"{shared} of {len(answers)} cells shared without a copy"
    )
    print(f"{answers[0].name}: {said}", file=sys.stderr, flush=True)
    return answers


def _print(matrix: table.Table) -> None:
    try:
        from rich.console import Console
        from rich.table import Table as RichTable
    except ImportError:
        print(table.text(matrix))
        return
    console = Console()
    if console.width < 120:
        print(table.text(matrix))
        return
    drawn = RichTable(*table.HEADER)
    for row in matrix.rows:
        drawn.add_row(*(_coloured(word) for word in row))
    console.print(drawn)
    for line in table.noted(matrix):
        print(line)


def _coloured(word: str) -> str:
    from rich.markup import escape

    colour = {"yes": "green", "no": "yellow", "WRONG": "bold red", "skipped": "dim"}.get(
        word.split(" ")[0]
    )
    return f"[{colour}]{escape(word)}[/]" if colour else escape(word)
