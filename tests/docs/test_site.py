"""The site is built where a compiler is missing: the pages that call it are not run, and say so."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pages_of_docs import PAGES, ROOT, blocks, name

CONF = (ROOT / "docs" / "conf.py").read_text()
PROGRAMS = dict(
    re.findall(
        r'^    "([\w/]+)": (.*),$',
        CONF.partition("\nPROGRAMS = {")[2].partition("\n}")[0],
        re.MULTILINE,
    )
)


def called(page: Path) -> str | None:
    """The compiler that the cells of a page call; None for none."""
    cells = "".join(block.text for block in blocks(page) if block.kind.startswith("{code-cell}"))
    if "gfortran" in cells:
        return '"gfortran"'
    return "cxx_command()" if re.search(r"gtscript\.stencil|@gtscript|g\+\+", cells) else None


def test_each_page_that_calls_a_compiler_is_named() -> None:
    needed = {name(page).removeprefix("docs/").removesuffix(".md"): called(page) for page in PAGES}
    assert PROGRAMS and {page: program for page, program in needed.items() if program} == PROGRAMS


@pytest.mark.slow
def test_the_site_without_gfortran(tmp_path: Path) -> None:
    for package in ("myst_nb", "furo", "sphinx_copybutton", "sphinx_design"):
        pytest.importorskip(package)
    docs = tmp_path / "docs"
    (docs / "tutorials").mkdir(parents=True)
    shutil.copy(ROOT / "docs/conf.py", docs)
    shutil.copytree(ROOT / "docs/_static", docs / "_static")
    page = (ROOT / "docs/tutorials/fortran.md").read_text()
    (docs / "tutorials/fortran.md").write_text(re.sub(r"\[([^\]]+)\]\(\.\.[^)]*\)", r"\1", page))
    (docs / "index.md").write_text("# gridbuf\n\n```{toctree}\ntutorials/fortran\n```\n")
    programs = tmp_path / "bin"
    programs.mkdir()  # with none of a compiler's names
    words = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "-q",
        "-b",
        "html",
        str(docs),
        str(tmp_path / "site"),
    ]
    env = {**os.environ, "PATH": str(programs), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, env=env)
    assert done.returncode == 0, done.stderr
    assert "docs: gfortran is missing, so docs/tutorials/fortran.md is not run" in done.stderr
    built = (tmp_path / "site/tutorials/fortran.html").read_text()
    assert "without gfortran" in built and "CellExecutionError" not in built


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "perf_counter" in page.read_text()], ids=name
)
def test_a_page_claims_no_ratio_that_its_build_measures(page: Path) -> None:
    """The machine that builds the site is busy with it: a cell shows what was measured, the claim
    beside it is a recorded figure.
    """
    cells = "".join(block.text for block in blocks(page) if block.kind.startswith("{code-cell}"))
    assert not re.search(r"times as fast|faster|slower", cells)
    assert "{include} ../tables/" in page.read_text()
