"""The mpi engine under mpirun: the local engine's values on any number of ranks, and what happens when ranks disagree or do not come."""

import importlib.util
import subprocess
from pathlib import Path

import pytest
import under_mpi

RANKS = Path(__file__).parent / "ranks"
WAYS = {  # and errors are told to neighbours alone, as among many ranks, or to all
    "sent": {"GRIDBUF_SHARED_MESSAGES": "0", "FEW": "1"},
    "shared": {"GRIDBUF_SHARED_MESSAGES": "1", "SHARED_FROM": "1"},
}
both_ways = pytest.mark.parametrize("more", WAYS.values(), ids=WAYS)


def run(script: str, count: int, *arguments: str, **more: str) -> "subprocess.CompletedProcess[str]":
    return under_mpi.run(count, "-W", "error::RuntimeWarning", "-m", "mpi4py", RANKS / script, *arguments, **more)


@both_ways
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_ranks_have_the_values_of_the_local_engine(count: int, more: dict[str, str]) -> None:
    done = run("same.py", count, **more)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"same {count}\n"


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_whole_fields_are_those_of_the_local_engine(count: int) -> None:
    done = run("whole.py", count)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"whole {count}\n"


@pytest.mark.parametrize("count", [1, 2, 4])
def test_fields_move_between_cuts_and_files(count: int, tmp_path: Path) -> None:
    done = run("files.py", count, str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"files {count}\n"


@both_ways
@pytest.mark.parametrize("finalized", [False, True], ids=["plans alive at exit", "after Finalize"])
def test_ranks_that_disagree_learn_of_it_and_go_on(finalized: bool, more: dict[str, str]) -> None:
    for script in ("differing.py", "late.py", "scarce.py", "raising.py", "anew.py", "calls.py"):
        done = run(script, 2, *["finalize"] * finalized, **more)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.endswith("end\n")
        assert done.stderr == ""


@both_ways
def test_ranks_in_different_plans(more: dict[str, str]) -> None:
    done = run("which.py", 2, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("end\n") and done.stderr == ""


@both_ways
@pytest.mark.parametrize("count", [2, 3, 4])
def test_what_one_rank_raises_is_told_to_all(count: int, more: dict[str, str]) -> None:
    done = run("told.py", count, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"told {count}\n"


@both_ways
@pytest.mark.parametrize("count", [2, 3, 4])
def test_calls_of_all_ranks_hear_of_errors(count: int, more: dict[str, str]) -> None:
    done = run("awaiting.py", count, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"awaiting {count}\n"


@both_ways
@pytest.mark.parametrize("count", [2, 3, 4])
def test_ranks_that_wait_for_each_other(count: int, more: dict[str, str]) -> None:
    done = run("waits.py", count, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"waits {count}\n"


@both_ways
@pytest.mark.parametrize("count", [2, 3, 4])
def test_exchanges_drawn_from_a_seed(count: int, more: dict[str, str]) -> None:
    done = run("storm.py", count, "23", "40", **more)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"storm {count}\n"


@both_ways
@pytest.mark.parametrize("count", [2, 3, 4])
def test_exchanges_in_one_direction_in_another_order(count: int, more: dict[str, str]) -> None:
    done = run("orders.py", count, "1", "40", **more)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"orders {count}\n"


@both_ways
@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_programs_go_on_after_errors_by_one_rule(count: int, more: dict[str, str]) -> None:
    done = run("joined.py", count, "1", "25", **more)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"joined {count}\n"


@both_ways
@pytest.mark.parametrize("level", ["single", "funneled", "serialized", "multiple"])
def test_children_programs_and_threads(level: str, more: dict[str, str]) -> None:
    done = run("children.py", 2, MPI4PY_RC_THREAD_LEVEL=level, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("end\n") and done.stderr == ""


@pytest.mark.parametrize("finalized", [False, True], ids=["plans alive at exit", "after Finalize"])
def test_memory_that_two_ranks_share(finalized: bool) -> None:
    done = run("sharing.py", 2, *["finalize"] * finalized, **WAYS["shared"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("end\n") and done.stderr == ""


@both_ways
@pytest.mark.parametrize("count", [1, 2])
def test_nothing_outlives_a_communicator(count: int, more: dict[str, str]) -> None:
    done = run("lifetimes.py", count, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"lifetimes {count}\n"


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
