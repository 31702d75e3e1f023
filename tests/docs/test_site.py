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


MEASURES = r"perf_counter|timeit|gridbuf watch|watch --|\"watch\"|bench/"


def test_no_cell_publishes_what_the_build_measures() -> None:
    """The machine that builds the site is busy with it: figures in pages are recorded ones."""
    cells = [
        (page, block)
        for page in PAGES
        for block in blocks(page)
        if block.kind.startswith("{code-cell}") and re.search(MEASURES, block.text)
    ]
    assert cells
    for page, block in cells:
        assert "remove-output" in block.text, f"{name(page)}:{block.line} prints what it measures"
        assert "{include} ../tables/" in page.read_text()


REPORTS = [(page, block.text) for page in PAGES for block in blocks(page) if block.kind == "text"]


def headings(report: str) -> set[str]:
    """The lines without figures, but for the advice: titles and heads of columns."""
    lines = report.partition("what to change")[0].splitlines()
    return {" ".join(line.split()) for line in lines if not re.search(r"\d", line)}


@pytest.mark.slow
@pytest.mark.parametrize(("page", "report"), REPORTS, ids=[name(page) for page, _ in REPORTS])
def test_a_recorded_report_is_what_the_command_says(
    page: Path, report: str, tmp_path: Path
) -> None:
    """The same tables of the program that stands before it."""
    if "gt4py" in page.read_text():
        pytest.importorskip("gt4py.cartesian")
    text = page.read_text().partition(report)[0]
    _, words = re.findall(r"`python (-W ignore )?-m (gridbuf watch[^`]*model.py)`", text)[-1]
    program = re.findall(r"%%writefile model.py\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[-1]
    (tmp_path / "model.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", *words.split()],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert headings(report) == headings(done.stderr)
    lines = dict(enumerate(program.splitlines(), 1))
    for number in set(map(int, re.findall(r"model\.py:(\d+)", report))):
        assert lines[number].strip()
