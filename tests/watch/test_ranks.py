"""One report for all ranks of MPI."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from watched import ROOT, number

from gridbuf import machine
from gridbuf.watch.ranks import awaited, imbalance, together
from gridbuf.watch.table import tables, text


def message(line: str, seconds: float, what: str = "wait") -> dict[str, Any]:
    return {"line": {"text": line}, "call": "Testall", "what": what, "seconds": seconds}


def report(rank: int, seconds: float, *messages: dict[str, Any]) -> dict[str, Any]:
    return {
        "program": ["model.py"],
        "rank": [rank, 4],
        "seconds": seconds,
        "messages": list(messages),
        "stencils": [{"seconds": 0.25 * rank}],
        "copies": [{"seconds": None}, {"seconds": 0.5}],
        "allocations": [{"page_faults": 10}, {"page_faults": 2}],
    }


CAME = {
    0: report(0, 10.0, message("a.py:3", 4.0), message("a.py:9", 1.0)),
    3: report(3, 10.0, message("a.py:3", 5.0), message("a.py:9", 1.0)),
    1: report(1, 10.0, message("a.py:3", 0.25), message("a.py:9", 1.25)),
}


def test_the_slowest_rank_has_the_word() -> None:
    found = together(CAME, 4)
    ranks = found["ranks"]
    assert ranks["came"] == [0, 1, 3] and ranks["slowest"] == 1 and found["rank"] == [1, 4]
    assert ranks["computing"] == [5.0, 8.5, 4.0] and ranks["messages"] == [5.0, 1.5, 6.0]
    assert ranks["stencils"] == [0.0, 0.25, 0.75] and ranks["copies"] == [0.5] * 3
    assert ranks["page_faults"] == [12] * 3
    assert imbalance(ranks["computing"]) == pytest.approx(8.5 / (17.5 / 3) - 1)


def test_the_last_to_come_is_awaited() -> None:
    slow, alike = together(CAME, 4)["ranks"]["lines"]
    assert slow["line"] == "a.py:3" and slow["seconds"] == [4.0, 0.25, 5.0]
    assert awaited(slow, [0, 1, 3]) == 1
    assert awaited(alike, [0, 1, 3]) is None
    assert awaited({**slow, "what": "start"}, [0, 1, 3]) is None


def test_a_line_that_one_rank_lacks_took_no_time_there() -> None:
    came = {**CAME, 2: report(2, 10.0)}
    assert together(came, 4)["ranks"]["lines"][0]["seconds"] == [4.0, 0.25, 0.0, 5.0]


def test_the_tables_of_all_ranks() -> None:
    found = {**together(CAME, 4), "stencils": [], "copies": [], "allocations": [], "messages": []}
    titles = {title: rows for title, _, rows, _ in tables(found)}
    assert titles["all ranks"][0] == [
        "computing",
        "4 s (rank 3)",
        "5.83 s",
        "8.5 s (rank 1)",
        "46%",
    ]
    assert titles["waits between ranks"][0] == [
        "a.py:3", "Testall", "wait", "250 ms (rank 1)", "3.08 s", "5 s (rank 3)", "rank 1"
    ]  # fmt: skip
    said = text(found)
    assert "rank 1 computes longest, 8.5 s, 46% above the mean of 3 ranks" in said
    assert "no report came from 1 ranks: 2" in said
    assert not any(title == "all ranks" for title, *_ in tables({**found, "ranks": None}))


PROGRAM = """
import sys, time
import numpy as np
from mpi4py import MPI
world, total = MPI.COMM_WORLD, np.zeros(1)
for step in range(5):
    time.sleep(0.3 * (world.rank == 1))
    world.Allreduce(MPI.IN_PLACE, total)  # here
sys.exit(STATUS)
"""


def on_ranks(tmp_path: Path, program: str) -> "subprocess.CompletedProcess[str]":
    if why := machine.missing_for_mpi():
        pytest.skip(why)
    (tmp_path / "model.py").write_text(program)
    words = [sys.executable, *["-m", "gridbuf", "watch", "--json", "o.json", "model.py"]]
    return subprocess.run(
        [*machine.mpirun_command(3), *words],
        cwd=tmp_path,
        env=machine.mpi_environment(PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.slow
def test_ranks_have_one_report(tmp_path: Path) -> None:
    done = on_ranks(tmp_path, PROGRAM.replace("STATUS", "0"))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("gridbuf watch: ") == 1, done.stderr
    assert "rank 1 computes longest" in done.stderr and "waits between ranks" in done.stderr
    reports = [
        json.loads((tmp_path / name).read_text()) for name in ("o.json", "o.1.json", "o.2.json")
    ]
    assert [found["rank"] for found in reports] == [[0, 3], [1, 3], [2, 3]]
    assert ["ranks" in found for found in reports] == [True, False, False]
    ranks = reports[0]["ranks"]
    (line,) = (each for each in ranks["lines"] if each["call"] == "Allreduce")
    assert line["line"] == f"model.py:{number(PROGRAM, '# here')}"
    assert ranks["came"] == [0, 1, 2] and awaited(line, ranks["came"]) == 1
    assert min(line["seconds"][0], line["seconds"][2]) > 1.0


@pytest.mark.slow
def test_a_rank_that_fails_does_not_wait_for_the_others(tmp_path: Path) -> None:
    done = on_ranks(tmp_path, PROGRAM.replace("STATUS", "3 * (world.rank == 2)"))
    assert done.returncode == 3
    assert "model.py, rank 2 of 3: " in done.stderr


@pytest.mark.slow
def test_after_finalize_each_rank_has_its_own(tmp_path: Path) -> None:
    done = on_ranks(tmp_path, PROGRAM.replace("sys.exit(STATUS)", "MPI.Finalize()"))
    assert done.returncode == 0
    assert done.stderr.count("gridbuf watch: ") == 3 and "all ranks" not in done.stderr
