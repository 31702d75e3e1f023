"""`python -m gridbuf.consumers --template MODULE` prints a consumer that runs, and
tests/consumers/new_consumer.py puts it where it belongs.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import new_consumer
import pytest

from gridbuf.consumers import Cell, Consumer, outcome, run


@pytest.fixture(scope="module")
def consumer() -> Consumer:
    done = subprocess.run(
        [sys.executable, "-m", "gridbuf.consumers", "--template", "numpy"],
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = {}
    exec(done.stdout, found)
    consumer: Consumer = found["consumer"]()
    consumer.name = "mine"
    return consumer


def test_a_template_is_a_consumer(consumer: Consumer) -> None:
    for direction in ("take", "give"):
        assert str(run(consumer, Cell(direction, "padded"))) == "yes"
    assert outcome(consumer.expected(Cell("give", "C", "bfloat16"))) == "none"


class Refuses(Consumer):
    """All of ours, and theirs of another type than int8."""

    def take(self, field: Any) -> Any:
        raise TypeError('(no "fields")')

    def make(self, cell: Cell) -> Any:
        if cell.dtype == "int8":
            raise TypeError("no int8")
        return super().make(cell)

    def give(self, theirs: Any) -> Any:
        if theirs.flags.f_contiguous and not theirs.flags.c_contiguous:
            raise ValueError("no order F")
        return super().give(theirs)


def test_what_a_new_one_refuses_and_does_not_say_is_a_line(consumer: Consumer) -> None:
    assert [*new_consumer.left(Refuses())] == [
        '("take", "*"): Cannot("WHY", ".no .fields..", "INSTEAD"),',
        '("give", "F"): Cannot("WHY", "no order F", "INSTEAD"),',
        '("give", "int8"): Absent("no int8"),',
    ]
    assert "# take read-only float64: yes; no is expected" in new_consumer.left(consumer)


def test_a_new_one_has_its_places(tmp_path: Path) -> None:
    for path in ("gridbuf/consumers/__init__.py", "pyproject.toml"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(new_consumer.ROOT / path, tmp_path / path)
    assert new_consumer.places(tmp_path, "mine") and not new_consumer.places(tmp_path, "mine")
    text = (tmp_path / "gridbuf/consumers/__init__.py").read_text()
    assert text.partition("\n}\n")[0].endswith('"mine": "mine",')
    assert re.search(
        r'^consumers = .*"mine"\]$', (tmp_path / "pyproject.toml").read_text(), re.MULTILINE
    )


def test_a_run_names_each_cell_that_fails() -> None:
    command = [sys.executable, "-m", "gridbuf.consumers", "--run", "numpy_dlpack"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines[-1] == f"{49 - len(lines)} of 48 cells: yes" and len(lines) > 1
    assert any(line.startswith("take C bfloat16: ") for line in lines)
