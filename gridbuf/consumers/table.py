"""The matrix as a table: of what is expected, for the documentation, or of what happened, for the
doctor.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from gridbuf import consumers
from gridbuf.common import columns
from gridbuf.consumers.cell import DIRECTIONS, DTYPES, LAYOUTS, Cell, Direction
from gridbuf.consumers.consumer import Absent, Expected

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
    """What is expected of a cell, or what became of it; `note` says why, where there is something
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
    """What the consumers say of themselves; none of their packages is imported."""
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
