"""examples/shallow_water.py: its physics on the plane and on the sphere, mass to the last bit, and
the same bits on any number of ranks, in any blocks, and after a restart on another number.
"""

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import under_mpi

pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).parents[2] / "examples"
RANKS = (1, 2, 3, 4, 6)
RUNS = {"plane": ("24", "--hours", "6"), "sphere": ("6", "--hours", "4")}


@pytest.fixture(params=RUNS)
def where(request: Any) -> str:
    if request.param == "plane":
        pytest.importorskip("gt4py")
    return str(request.param)


@pytest.fixture
def program(monkeypatch: Any) -> ModuleType:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module("shallow_water")


@pytest.mark.parametrize(("where", "case"), [("plane", "jet"), ("sphere", "steady")])
def test_steady_flow_stays_better_with_more_cells(
    program: ModuleType, where: str, case: str
) -> None:
    if where == "plane":
        pytest.importorskip("gt4py")
    coarse, fine = (program.main([where, str(n), "--case", case, "--hours", "6"]) for n in (8, 16))
    assert 1e-6 < fine["error"] < coarse["error"] / 2.5 < 0.02  # second order would be a quarter
    assert -5e-3 < coarse["change of energy"] < fine["change of energy"] / 2 < 1e-9


def test_no_bit_of_the_mass_is_lost(program: ModuleType, where: str) -> None:
    found = program.main([where, "10", "--hours", "24"])  # the case that moves
    assert found["steps"] > 40 and found["change of mass"] == 0.0
    assert found["error"] > 1e-3


def test_water_at_rest_over_a_mountain_stays_at_rest(program: ModuleType, monkeypatch: Any) -> None:
    sphere = importlib.import_module("shallow_water_sphere")
    monkeypatch.setitem(sphere.CASES, "mountain", (0.0, 0.0, 5960.0))
    model = sphere.Model(8, "mountain")
    assert model.grid.max(model.bottom) > 1000.0
    assert program.run(model, 6.0)["error"] < 1e-13


def output(ranks: int, *words: Any) -> str:
    more = {"OMP_NUM_THREADS": "1", "GRIDBUF_NUM_THREADS": "1"}
    done = under_mpi.run(ranks, EXAMPLES / "shallow_water.py", *words, seconds=280, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_number_of_ranks_has_the_bits_of_one_process(where: str) -> None:
    alone = output(0, where, *RUNS[where])
    assert "change of mass: 0.0\n" in alone and "checksum: " in alone
    assert {output(ranks, where, *RUNS[where]) for ranks in RANKS} == {alone}
    assert output(0, where, *RUNS[where], "--blocks", 2, 3) == alone


def checksum(text: str) -> str:
    return text[text.index("checksum: ") :]


def test_a_restart_on_another_number_of_ranks_has_the_bits_of_a_whole_run(
    where: str, tmp_path: Path
) -> None:
    n, *hours = RUNS[where]
    whole, saved = checksum(output(0, where, n, *hours)), tmp_path / "saved"
    output(4, where, n, "--hours", 1, "--save", saved)
    for ranks in (3, 0):
        assert checksum(output(ranks, where, n, *hours, "--restart", saved)) == whole


def test_a_restart_of_another_case_is_refused(program: ModuleType, tmp_path: Path) -> None:
    saved = str(tmp_path / "saved")
    program.main(["sphere", "6", "--hours", "0", "--save", saved])
    with pytest.raises(ValueError, match="is of the case 'mountain', not 'steady'"):
        program.main(["sphere", "6", "--case", "steady", "--restart", saved])


def test_a_picture_of_many_ranks(where: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "surface.png"
    output(2, where, "6", "--hours", 0, "--plot", path)
    assert path.read_bytes().startswith(b"\x89PNG")
