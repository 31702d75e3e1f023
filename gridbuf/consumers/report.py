"""The table of the matrix: as it is expected, and as it is on this machine (`python -m gridbuf
doctor --consumers`), each consumer in a process of its own.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from gridbuf import consumers
from gridbuf.common import columns
from gridbuf.consumers.consumer import (
    DIRECTIONS,
    DTYPES,
    LAYOUTS,
    Absent,
    Cannot,
    Cell,
    Direction,
    Expected,
)
from gridbuf.consumers.engine import Result

# ---- the table ----


SIGNS = {
    "yes": "yes",
    "no": "no",
    "none": "–",
    "unprotected": "yes",
    "skipped": "skipped",
    "wrong": "WRONG",
}
HEADER = ("consumer", "", *LAYOUTS, "dtypes")


@dataclass(frozen=True)
class Answer:
    """The expectation of a cell, or its outcome; `note` says why, where there is something
    to say.
    """

    name: str
    cell: Cell
    outcome: str
    note: str = ""


@dataclass
class Table:
    """Cells of text, and for each consumer the notes that its cells refer to by number: one more
    consumer renumbers none.
    """

    rows: list[list[str]] = field(default_factory=list)
    notes: dict[str, list[str]] = field(default_factory=dict)

    def reference(self, name: str, note: str) -> str:
        """The number of a note among those of a consumer, which is added where it is new."""
        if not note:
            return ""
        own = self.notes.setdefault(name, [])
        if note not in own:
            own.append(note)
        return f" [{own.index(note) + 1}]"


def note(expected: Expected) -> str:
    """Why it does not work, and what to do."""
    if expected is None:
        return ""
    return expected.why if isinstance(expected, Absent) else f"{expected.why}; {expected.instead}"


def expected() -> list[Answer]:
    """The expectations of all consumers; none of their packages is imported."""
    found = []
    for name in consumers.FILES:
        consumer = consumers.load(name)
        for direction in DIRECTIONS:
            for cell in consumers.cells(direction):
                says = consumer.expected(cell)
                found.append(Answer(name, cell, consumers.outcome(says), note(says)))
    return found


def tabulate(answers: Iterable[Answer]) -> Table:
    """A row for each consumer and direction."""
    answers = list(answers)
    of = {(a.name, a.cell): a for a in answers}
    table = Table()
    for name in dict.fromkeys(a.name for a in answers):
        for direction in DIRECTIONS:
            marks = [_mark(table, of[name, Cell(direction, layout)]) for layout in LAYOUTS]
            table.rows.append([name, f"{direction}s", *marks, _dtypes(table, of, name, direction)])
    return table


def _mark(table: Table, answer: Answer) -> str:
    return SIGNS[answer.outcome] + table.reference(
        answer.name, answer.note if answer.outcome != "skipped" else ""
    )


def _dtypes(
    table: Table, of: dict[tuple[str, Cell], Answer], name: str, direction: Direction
) -> str:
    found = [of[name, Cell(direction, "C", dtype)] for dtype in DTYPES]
    if all(answer.outcome == "skipped" for answer in found):
        return "skipped"
    without: dict[str, list[str]] = {}
    for answer in found:
        if answer.outcome != "yes":
            without.setdefault(table.reference(name, answer.note), []).append(answer.cell.dtype)
    if not without:
        return f"all {len(DTYPES)}"
    if all(answer.outcome != "yes" for answer in found):
        return "none" + "".join(without)
    return "all but " + ", ".join(
        " ".join(dtypes) + reference for reference, dtypes in without.items()
    )


def markdown(table: Table) -> str:
    """For docs/exchange.md."""
    lines = ["| " + " | ".join(HEADER) + " |", "|" + "---|" * len(HEADER)]
    lines += ["| " + " | ".join(row) + " |" for row in table.rows]
    notes = [
        f"* {name}: " + "; ".join(f"[{i}] {note}" for i, note in enumerate(own, 1)) + "."
        for name, own in table.notes.items()
    ]
    return "\n".join([*lines, "", *notes])


def text(table: Table) -> str:
    """For a terminal."""
    return "\n".join([*columns([HEADER, *table.rows]), "", *noted(table)])


def noted(table: Table) -> list[str]:
    """The notes, each on a line."""
    return [
        f"{name} [{i}] {note}" for name, own in table.notes.items() for i, note in enumerate(own, 1)
    ]


# ---- this machine ----


PATIENCE = 600  # seconds for one consumer; compilers are slow, and MPI may wait for ever


def diagnose(names: Sequence[str]) -> Iterator[list[Answer]]:
    """The outcome of every cell, consumer by consumer; a crash over there is a line here."""
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
        return Answer(consumer.name, cell, result.outcome, note(expected))
    if result.outcome == "skipped":
        return Answer(consumer.name, cell, "skipped", result.reason)
    unexpected = (
        f"unexpected: {result.reason}"
        if result.reason
        else f"works here; expected was: {note(expected)}"
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
    _print(tabulate(answer for found in done for answer in found))
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


def _print(matrix: Table) -> None:
    try:
        from rich.console import Console
        from rich.table import Table as RichTable
    except ImportError:
        print(text(matrix))
        return
    console = Console()
    if console.width < 120:
        print(text(matrix))
        return
    drawn = RichTable(*HEADER)
    for row in matrix.rows:
        drawn.add_row(*(_coloured(word) for word in row))
    console.print(drawn)
    for line in noted(matrix):
        print(line)


def _coloured(word: str) -> str:
    from rich.markup import escape

    colour = {"yes": "green", "no": "yellow", "WRONG": "bold red", "skipped": "dim"}.get(
        word.split(" ")[0]
    )
    return f"[{colour}]{escape(word)}[/]" if colour else escape(word)
