"""What pages say of one program on many processes: docs/tutorials/processes.md, line for line, with
MPI's grid in place of its own.
"""

import re
from pathlib import Path

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
