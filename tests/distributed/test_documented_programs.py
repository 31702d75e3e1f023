"""The tutorial docs/tutorials/processes.md, line for line on one process and on many, and
examples/advection_cubed_sphere.py: its physics, and the same bits on six ranks, on one, and in
other blocks.
"""

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import under_mpi

pytestmark = pytest.mark.slow
PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "processes.md"


def program() -> tuple[str, str]:
    """The page's program up to its picture: as it stands, and with the lines that the page gives
    for MPI in place of the first grid.
    """
    cells = re.findall(r"^```\{code-cell\}\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    alone = "".join(cells[: next(i for i, cell in enumerate(cells) if "pyplot" in cell)])
    mpi = re.search(
        r"^## With MPI\n+```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE
    )
    assert mpi and alone.count("gbd.grid(") == 1
    together = re.sub(r"^grid = .*\n", lambda _: mpi[1], alone, count=1, flags=re.MULTILINE)
    report = "open(f'{__file__}.{grid.rank}', 'w').write(f'{grid.sum(u)!r} {grid.checksum(u)}')\n"
    return alone + report, together + report


def test_the_tutorial_on_one_process_and_on_many(tmp_path: Path) -> None:
    said = set()
    for ranks, text in zip((0, 1, 2, 4), (program()[0], *[program()[1]] * 3), strict=True):
        path = tmp_path / f"model{ranks}.py"
        path.write_text(text)
        done = under_mpi.run(ranks, path)
        assert done.returncode == 0, done.stdout + done.stderr
        for rank in range(max(ranks, 1)):
            said.add(Path(f"{path}.{rank}").read_text())
    assert len(said) == 1, said


EXAMPLE = Path(__file__).parents[2] / "examples" / "advection_cubed_sphere.py"


@pytest.fixture(scope="module")
def advection() -> Any:
    pytest.importorskip("gt4py")
    spec = importlib.util.spec_from_file_location("advection_cubed_sphere", EXAMPLE)
    assert spec is not None and spec.loader is not None
    # gt4py reads its source
    module = sys.modules["advection_cubed_sphere"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_mass_stays_and_errors_fall_with_the_cells(advection: Any) -> None:
    coarse, fine = (advection.run(n, n) for n in (8, 16))  # a sixteenth of the way round
    for found in (coarse, fine):
        for before, after in zip(found["before"], found["after"], strict=True):
            assert before > 0.09 and abs(after - before) <= 1e-14 * before
    for a, b in zip(coarse["l2"], fine["l2"], strict=True):
        assert 0.01 < b < 0.55 * a < 0.4  # better than first order
    # Over the pole as along the equator: no edge of the cube is another
    for found in (coarse, fine):
        assert found["l2"][0] == pytest.approx(found["l2"][2], rel=1e-6)


def test_the_field_goes_where_the_wind_blows(advection: Any) -> None:
    moved = advection.run(16, 32)
    still = advection.Model(16, "numpy", (1, 1), None)
    still.set(still.exact, 2 * advection.np.pi * 32 / advection.turn(16))
    errors = still.totals(lambda q, exact, area: (q - exact) ** 2 * area)
    norms = still.totals(lambda q, exact, area: exact**2 * area)
    assert all(e < 0.3 * (a / b) ** 0.5 for e, a, b in zip(moved["l2"], errors, norms, strict=True))


def test_other_blocks_have_the_same_bits(advection: Any) -> None:
    assert advection.run(6, 2) == advection.run(6, 2, blocks=(2, 3))


def output(ranks: int) -> str:
    more = {"OMP_NUM_THREADS": "1", "GRIDBUF_NUM_THREADS": "1"}
    done = under_mpi.run(ranks, EXAMPLE, "6", "--steps", "3", seconds=280, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_six_ranks_have_the_bits_of_one() -> None:
    pytest.importorskip("gt4py")
    alone = output(0)
    assert "3 steps of 96 round the globe" in alone and "checksum of the field" in alone
    assert output(6) == alone
