"""The demo's last part: a field in blocks, in one process and in several, is bit for bit the field
in one piece.
"""

import argparse
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from demo import __main__, blocks

import gridbuf as gb
from gridbuf import machine
from gridbuf.commands import UsageError

VALUES = np.random.default_rng(3).uniform(280, 300, (15, 12, 3))


def stencil(now: Any, after: Any, coefficient: float) -> None:
    """What the demo's stencil does, in NumPy."""
    f, g = now.numpy(), after.numpy()
    g[1:-1, 1:-1] = f[1:-1, 1:-1] + coefficient * (
        f[:-2, 1:-1] + f[2:, 1:-1] + f[1:-1, :-2] + f[1:-1, 2:] - 4.0 * f[1:-1, 1:-1]
    )


def in_one_piece(steps: int) -> np.ndarray:
    now = gb.Field.from_array(VALUES, dims="IJK", halo=(1, 1, 0))
    after = now.copy()
    for _ in range(steps):
        stencil(now, after, blocks.COEFFICIENT)
        now, after = after, now
    return now.numpy()


@pytest.mark.parametrize("ranks", [1, 2, 4, 6])
def test_blocks_of_one_process(ranks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "missing_for_mpi", lambda: "nobody may")
    outcome = blocks.diffuse_on_processes(VALUES, 7, stencil, "C", ranks)
    assert outcome.result.tobytes() == in_one_piece(7).tobytes()
    assert outcome.why_not == "nobody may" and outcome.how == f"{ranks} blocks in one process"
    picture = "\n".join(blocks.text(outcome))
    assert all(f" {rank} " in picture for rank in range(ranks))


def test_halos_that_are_not_exchanged_would_show(monkeypatch: pytest.MonkeyPatch) -> None:
    import gridbuf.distributed.plans.plan as plan

    monkeypatch.setattr(plan.Plan, "__call__", lambda self, *fields: None)
    _, fields, _, _ = blocks.diffuse_in_blocks(VALUES, 2, stencil, "C", (2, 2))
    assert any(np.isnan(f.domain.numpy()).any() for f in fields)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["false"], "mpirun: status 1"),
        (["no-such-program-at-all"], "mpirun: "),
        (
            [
                sys.executable,
                "-c",
                "import sys; sys.exit('one line\\nRuntimeError: no network\\nmore')",
            ],
            "mpirun: RuntimeError: no network",
        ),
        (["sleep"], "timed out"),
    ],
)
def test_an_mpi_that_does_not_run_is_named_and_done_without(
    command: list[str], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "missing_for_mpi", lambda: "")
    monkeypatch.setattr(blocks, "SECONDS", 0.5 if command == ["sleep"] else 60)
    monkeypatch.setattr(
        blocks,
        "mpirun_command",
        lambda ranks: ["sh", "-c", "sleep 30"] if command == ["sleep"] else command,
    )
    outcome = blocks.diffuse_on_processes(VALUES, 3, stencil, "C", 4)
    assert says in outcome.why_not and outcome.how == "4 blocks in one process"
    assert outcome.result.tobytes() == in_one_piece(3).tobytes()


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "find_spec", lambda name: None)
    assert machine.missing_for_mpi().startswith("mpi4py is not installed")
    monkeypatch.setattr(machine, "find_spec", find_spec)
    monkeypatch.setattr(machine.shutil, "which", lambda name: None)
    assert find_spec("mpi4py") is None or machine.missing_for_mpi().startswith(
        "there is no mpirun on PATH"
    )


def test_open_mpi_is_told_where_processes_may_not_read_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "OMPI_MCA_btl_vader_single_copy_mechanism"
    for may, told in ((True, None), (False, "none")):
        monkeypatch.setattr(machine, "_reads_others", lambda may=may: may)
        assert machine.mpi_environment().get(name) == told


@pytest.mark.parametrize("ranks", [-1, 65])
def test_ranks_that_cannot_be(ranks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(__main__, "find_spec", lambda name: True)
    monkeypatch.setattr(__main__, "cxx_compiler", lambda: "c++")
    with pytest.raises(UsageError, match=f"--ranks: {ranks} is not among 0 to 64"):
        __main__.check(argparse.Namespace(size=(8, 8, 8), steps=1, ranks=ranks))


@pytest.mark.slow
def test_four_processes() -> None:
    pytest.importorskip("gt4py")
    if why := machine.missing_for_mpi():
        pytest.skip(why)
    from demo import stencils

    compiled: Callable[..., None] = stencils.compiled("numpy")
    now = gb.Field.from_array(VALUES, dims="IJK", halo=(1, 1, 0), backend="numpy")
    after = now.copy()
    for _ in range(3):
        compiled(now, after, stencils.COEFFICIENT)
        now, after = after, now
    outcome = blocks.diffuse_on_processes(VALUES, 3, compiled, "numpy", 4)
    assert outcome.why_not == "" and outcome.how.startswith("4 processes by ")
    assert outcome.result.tobytes() == gb.as_numpy(now, "IJK").tobytes()
