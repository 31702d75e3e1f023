"""The mpi engine under mpirun: the local engine's values on any number of ranks, and what happens when ranks disagree or do not come."""

import importlib.util
import subprocess
from functools import cache
from pathlib import Path

import pytest
import under_mpi

RANKS = Path(__file__).parent / "ranks"
WAYS = {  # and errors are told to neighbours alone, as among many ranks, or to all
    "sent": {"GRIDBUF_SHARED_MESSAGES": "0", "FEW": "1", "TOLD_AFTER": "0.02"},
    "shared": {"GRIDBUF_SHARED_MESSAGES": "1", "SHARED_FROM": "1", "TOLD_AFTER": "0.02"},
}
# What some ranks run: all of it in one start of Python and MPI for each number of ranks and each way.
PROGRAMS = {
    "storm.py 23 40": (2, 3, 4), "same.py": (1, 2, 3, 4), "told.py": (2, 3, 4), "awaiting.py": (2, 3, 4), "waits.py": (2, 3, 4),
    "orders.py 1 40": (2, 3, 4), "joined.py 1 25": (2, 3, 4, 5), "lifetimes.py": (1, 2),
}  # fmt: skip
OF_TWO = ("anew.py", "differing.py", "late.py", "scarce.py", "raising.py", "calls.py")


def run(script: str, count: int, *arguments: str, **more: str) -> "subprocess.CompletedProcess[str]":
    return under_mpi.run(count, "-W", "error::RuntimeWarning", "-m", "mpi4py", RANKS / script, *arguments, seconds=600, **more)


@cache
def of_some(count: int, way: str) -> "subprocess.CompletedProcess[str]":
    return run("several.py", count, *[words for words, counts in PROGRAMS.items() if count in counts], **WAYS[way])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("words", "count"), [(words, count) for words, counts in PROGRAMS.items() for count in counts])
def test_programs_of_some_ranks(words: str, count: int, way: str) -> None:
    done = of_some(count, way)
    assert f"{words.partition('.')[0]} {count}" in done.stdout.splitlines(), done.stderr


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_they_end(count: int, way: str) -> None:
    done = of_some(count, way)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_whole_fields_are_those_of_the_local_engine_and_move_between_cuts_and_files(count: int, tmp_path: Path) -> None:
    programs = {"whole": "", **({"files": f" {tmp_path}"} if count != 3 else {})}
    done = run("several.py", count, *[f"{name}.py{words}" for name, words in programs.items()])
    assert done.returncode == 0, done.stderr
    assert done.stdout == "".join(f"{name} {count}\n" for name in programs)


@pytest.mark.parametrize("finalized", [False, True], ids=["plans alive at exit", "after Finalize"])
@pytest.mark.parametrize("way", WAYS)
def test_ranks_that_disagree_learn_of_it_and_go_on(finalized: bool, way: str) -> None:
    more = () if finalized else ("which.py",)
    done = run(
        "several.py", 2, *["sharing.py"] * (way == "shared"), *OF_TWO, *more, "ends.py" + " finalize" * finalized, **WAYS[way]
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("end\n")
    assert done.stderr == ""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("level", ["single", "funneled", "serialized", "multiple"])
def test_children_programs_and_threads(level: str, way: str) -> None:
    done = run("several.py", 2, "children.py", "ends.py", MPI4PY_RC_THREAD_LEVEL=level, **WAYS[way])
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("end\n") and done.stderr == ""


@pytest.mark.parametrize("count", [1, 2, 4])
def test_halos_by_ghex_are_those_of_our_messages(count: int) -> None:
    pytest.importorskip("ghex")
    done = run("by_ghex.py", count)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(f"ghex {count}\n")


def test_ghex_that_is_not_there_is_named() -> None:
    pytest.importorskip("mpi4py")
    if importlib.util.find_spec("ghex") is not None:
        pytest.skip("ghex is installed")
    done = run("without_ghex.py", 1)
    assert done.stdout == "needs the package ghex\n", done.stderr
