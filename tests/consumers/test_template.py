"""`python -m gridbuf.consumers --template MODULE` prints a consumer that runs."""

import subprocess
import sys
from typing import Any

from gridbuf.consumers import Cell, outcome, run


def test_a_template_is_a_consumer() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gridbuf.consumers", "--template", "numpy"], capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = {}
    exec(done.stdout, found)
    consumer = found["consumer"]()
    consumer.name = "mine"
    for direction in ("take", "give"):
        assert str(run(consumer, Cell(direction, "padded"))) == "yes"
    assert outcome(consumer.expected(Cell("give", "C", "bfloat16"))) == "none"


def test_a_run_names_each_cell_that_fails() -> None:
    command = [sys.executable, "-m", "gridbuf.consumers", "--run", "numpy_dlpack"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines[-1] == f"{49 - len(lines)} of 48 cells: yes" and len(lines) > 1
    assert any(line.startswith("take C bfloat16: ") for line in lines)
