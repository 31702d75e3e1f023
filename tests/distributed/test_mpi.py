"""The mpi engine under mpirun: the local engine's values on any number of ranks, and what happens when ranks disagree or do not come."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

RANKS = Path(__file__).parent / "ranks"


def run(script: str, count: int, *arguments: str) -> "subprocess.CompletedProcess[str]":
    pytest.importorskip("mpi4py")
    mpirun = shutil.which("mpirun")
    if mpirun is None:
        pytest.skip("no mpirun on PATH")
    kind = subprocess.run([mpirun, "--version"], capture_output=True, text=True, check=True).stdout
    options = ["--allow-run-as-root", "--oversubscribe"] if "Open MPI" in kind or "OpenRTE" in kind else []
    command = [mpirun, *options, "-n", str(count), sys.executable, "-W", "error::RuntimeWarning", str(RANKS / script), *arguments]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMIX_", "PMI_"))}
    return subprocess.run(command, capture_output=True, text=True, timeout=240, env=clean)  # other tests here have started MPI


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_ranks_have_the_values_of_the_local_engine(count: int) -> None:
    done = run("same.py", count)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"same {count}\n"


@pytest.mark.parametrize("finalized", [False, True], ids=["plans alive at exit", "after Finalize"])
def test_ranks_that_disagree_learn_of_it_and_go_on(finalized: bool) -> None:
    done = run("trouble.py", 2, *["finalize"] * finalized)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("end\n")
    assert done.stderr == ""
