"""The mpi engine under mpirun: the local engine's values on any number of ranks, and what happens
when ranks disagree or do not come.
"""

import importlib.util
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
import under_mpi

pytestmark = pytest.mark.slow  # mpirun starts a Python for each rank
RANKS = Path(__file__).parent / "ranks"
WAYS = {  # and notes of errors are passed on, as among many ranks, or go to all
    "sent": {"GRIDBUF_SHARED_MESSAGES": "0", "FEW": "1"},
    "shared": {"GRIDBUF_SHARED_MESSAGES": "1", "SHARED_FROM": "1"},
}
# What some ranks run: all of it in one start of Python and MPI for each number of ranks and each
# way.
PROGRAMS = {
    "storm.py 1 40": (1, 2, 3, 4), "same.py": (1, 2, 3, 4), "revoked.py": (1, 2, 3, 4),
    "late_notes.py": (2, 3, 4), "lifetimes.py": (1, 2), "meshes.py": (1, 2, 3, 4),
}  # fmt: skip


def run(
    script: str, count: int, *arguments: str, **more: str
) -> "subprocess.CompletedProcess[str]":
    return under_mpi.run(
        count,
        "-W",
        "error::RuntimeWarning",
        "-m",
        "mpi4py",
        RANKS / script,
        *arguments,
        seconds=600,
        **more,
    )


@cache
def of_some(count: int, way: str) -> "subprocess.CompletedProcess[str]":
    return run(
        "several.py",
        count,
        *[words for words, counts in PROGRAMS.items() if count in counts],
        **WAYS[way],
    )


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_errors_in_debug_mode(count: int) -> None:
    done = run("several.py", count, "revoked.py", "storm.py 2 20", GRIDBUF_DEBUG="1")
    assert (done.returncode, done.stdout) == (0, f"revoked {count}\nstorm {count}\n"), (
        done.stdout + done.stderr
    )


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("words", "count"), [(words, count) for words, counts in PROGRAMS.items() for count in counts]
)
def test_programs_of_some_ranks(words: str, count: int, way: str) -> None:
    done = of_some(count, way)
    assert f"{words.partition('.')[0]} {count}" in done.stdout.splitlines(), done.stderr


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_they_end(count: int, way: str) -> None:
    done = of_some(count, way)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_whole_fields_are_those_of_the_local_engine_and_move_between_cuts_and_files(
    count: int, tmp_path: Path
) -> None:
    programs = {"whole": "", **({"files": f" {tmp_path}"} if count != 3 else {})}
    done = run("several.py", count, *[f"{name}.py{words}" for name, words in programs.items()])
    assert done.returncode == 0, done.stderr
    assert done.stdout == "".join(f"{name} {count}\n" for name in programs)


@pytest.mark.parametrize("debug", ["0", "1"], ids=["plain", "debug"])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 6])
def test_models_on_any_number_of_blocks(count: int, debug: str) -> None:
    programs = ["blocks", "edges"]
    done = run("several.py", count, *[f"{name}.py" for name in programs], GRIDBUF_DEBUG=debug)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "".join(f"{name} {count}\n" for name in programs)


@pytest.mark.parametrize("finalized", [False, True], ids=["plans alive at exit", "after Finalize"])
@pytest.mark.parametrize("way", ["sent", "shared"])
def test_scarce_things_and_plans_that_are_alive_at_the_end(finalized: bool, way: str) -> None:
    programs = [
        *["sharing.py"] * (way == "shared"),
        "scarce.py",
        "ends.py" + " finalize" * finalized,
    ]
    done = run("several.py", 2, *programs, **WAYS[way])
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("end\n")
    assert done.stderr == ""


@pytest.mark.parametrize("debug", ["0", "1"], ids=["plain", "debug"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_threads_with_a_grid_each(count: int, debug: str) -> None:
    done = run(
        "several.py",
        count,
        "threads.py",
        MPI4PY_RC_THREAD_LEVEL="multiple",
        GRIDBUF_DEBUG=debug,
    )
    assert (done.returncode, done.stdout) == (0, f"threads {count}\n"), done.stdout + done.stderr


ENDS = [
    ("exits", call, count)
    for call in ("exchange", "first use", "sum", "gather", "grid")
    for count in (2, 3)
] + [
    *[("raises", call, 2) for call in ("exchange", "handle", "adjoint", "sum")],
    *[("revokes", call, count) for call in ("exchange", "sum") for count in (2, 3)],
    *[("whole", call, 3) for call in ("exchange", "sum", "gather", "grid")],
]


@pytest.mark.parametrize(("how", "call", "count"), ENDS)
def test_a_rank_that_ends_is_told(how: str, call: str, count: int) -> None:
    """Not by `-m mpi4py`, which ends all ranks where one raises."""
    done = under_mpi.run(count, RANKS / "ended.py", how, call, seconds=300)
    told = (
        [f"rank {r} is through" for r in range(count)]
        if how == "whole"
        else [f"rank {r} knows" for r in range(count - 1)]
    )
    # mpirun may put one rank's line into another's
    found = re.findall(r"rank \d (?:is through|knows)", done.stdout)
    assert sorted(found) == told, done.stdout + done.stderr
    assert how == "raises" or done.returncode == 0, done.stderr


@pytest.mark.parametrize("way", ["sent", "shared"])
@pytest.mark.parametrize("level", ["single", "funneled", "serialized", "multiple"])
def test_children_programs_and_threads(level: str, way: str) -> None:
    done = run("several.py", 2, "children.py", "ends.py", MPI4PY_RC_THREAD_LEVEL=level, **WAYS[way])
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("end\n") and done.stderr == ""


WITHOUT_GHEX = """
from mpi4py import MPI
import gridbuf.distributed as gbd
try:
    gbd.grid((8, 8), comm=MPI.COMM_WORLD, engine="ghex")
except ImportError as error:
    print("needs the package ghex" in str(error))
"""


@pytest.mark.parametrize("count", [1, 2, 4])
def test_halos_by_ghex_are_those_of_our_messages(count: int) -> None:
    pytest.importorskip("ghex")
    done = run("by_ghex.py", count)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(f"ghex {count}\n")


def test_unstructured_halos_are_those_of_ghex_on_its_own_example() -> None:
    pytest.importorskip("ghex")
    done = run("by_ghex_unstructured.py", 4, "f8 f4 i4 i8")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "unstructured 4\n"


def test_ghex_that_is_not_there_is_named() -> None:
    pytest.importorskip("mpi4py")
    if importlib.util.find_spec("ghex") is not None:
        pytest.skip("ghex is installed")
    done = under_mpi.run(1, "-c", WITHOUT_GHEX)
    assert done.stdout == "True\n", done.stderr
