"""docs/tables/, README's figures and docs/fused.svg are written by programs of bench/: each page
for what was measured, and nothing else.
"""

import importlib.util
import json
import operator
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(path for path in (ROOT / "docs" / "tables").glob("*.md") if path.stem != "index")
BENCHMARK = '''"""One thing."""

from measure import Case

CASES = [Case("one / other", "pass", "pass", "", 2.0)]
'''


@pytest.fixture
def tables() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tables_of_figures", ROOT / "bench" / "tables.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_readme_has_the_rows_of_the_pages(tables: ModuleType) -> None:
    assert tables.headlines() in (ROOT / "README.md").read_text()


def test_figures_have_three_digits_and_no_exponent(tables: ModuleType) -> None:
    assert [tables.digits(value) for value in (0.00538, 0.4, 12.34, 999.4, 999.6, 4287.0)] == [
        "0.00538",
        "0.4",
        "12.3",
        "999",
        "1000",
        "4290",
    ]
    assert tables.time(999_700.0) == "1000 us" and tables.time(1.5e9) == "1.5 s"
    assert not [page.name for page in PAGES if re.search(r"\de[+-]\d", page.read_text())]


def test_a_row_that_a_page_lacks_is_named(tables: ModuleType, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs" / "tables", tmp_path / "docs" / "tables")
    shutil.copy(ROOT / "README.md", tmp_path)
    tables.ROOT, tables.TABLES = tmp_path, tmp_path / "docs" / "tables"
    (tables.TABLES / "stencil.md").write_text("# stencil\n")
    with pytest.raises(
        SystemExit,
        match=r"stencil\.md has no row that begins with 'gt:cpu_ifirst: np\.zeros / Field'",
    ):
        tables.write_headlines()
    (tables.TABLES / "stencil.md").unlink()
    with pytest.raises(SystemExit, match=r"stencil\.md has no row"):
        tables.write_headlines()
    assert (tmp_path / "README.md").read_text() == (ROOT / "README.md").read_text()


def test_one_benchmark_writes_its_own_page(tmp_path: Path) -> None:
    """Whatever earlier runs have left in bench/results/."""
    pytest.importorskip("rich")
    (tmp_path / "bench" / "results").mkdir(parents=True)
    for name in ("run.py", "tables.py", "measure.py"):
        shutil.copy(ROOT / "bench" / name, tmp_path / "bench")
    shutil.copytree(ROOT / "docs" / "tables", tmp_path / "docs" / "tables")
    shutil.copy(ROOT / "README.md", tmp_path)
    (tmp_path / "bench" / "bench_one.py").write_text(BENCHMARK)
    (tmp_path / "bench" / "results" / "stencil.json").write_text(
        json.dumps({"about": "of long ago"})
    )
    done = subprocess.run(
        [sys.executable, "bench/run.py", "one"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "| one / other | " in (tmp_path / "docs" / "tables" / "one.md").read_text()
    for page in PAGES:
        assert (tmp_path / "docs" / "tables" / page.name).read_text() == page.read_text()
    assert (tmp_path / "README.md").read_text() == (ROOT / "README.md").read_text()


def rows(page: Path) -> list[list[str]]:
    cells = [
        re.split(r"(?<!\\)\|", line)[1:-1]
        for line in page.read_text().splitlines()
        if line.startswith("| ")
    ]
    return [
        [cell.replace("\u00a0", " ").strip() for cell in row]
        for row in cells
        if row[0].strip() not in ("what", "---")
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_misses_its_target_says_so(page: Path) -> None:
    """As far as three digits tell it: what was measured, its target, and after 1 ms of idling the
    same.
    """
    number = re.compile(r"-?\d+(\.\d+)?(e[+-]\d+)?")
    for what, *_, measured, target, idle, verdict in (
        row if len(row) == 7 else [*row[:3], "", row[3]] for row in rows(page)
    ):
        missed = [(measured, target)] + [tuple(idle.rstrip(")").split(" (", 1))] * bool(idle)
        for found, bound in missed:
            sign = {"<=": operator.le, ">=": operator.ge}[bound[:2]]
            value, limit = (float(number.search(text)[0]) for text in (found, bound))  # type: ignore[index]
            assert verdict in ("", "missed"), what
            if value != limit and not sign(value, limit):
                assert verdict == "missed", f"{page.name}: {what}"


def test_the_picture_of_fused_is_what_its_program_draws(tmp_path: Path) -> None:
    drawn = tmp_path / "fused.svg"
    program = ROOT / "bench" / "fused_picture.py"
    subprocess.run([sys.executable, program, "--output", drawn], check=True)
    assert drawn.read_text() == (ROOT / "docs" / "fused.svg").read_text()
