"""Every block of code in README.md and docs/ is run: examples by docs/test_examples.py, commands by
docs/test_commands.py, files by the tests named here, all others here.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pages_of_docs import PAGES, ROOT, Block, blocks, name

# Pages whose blocks are files of a program, and the test that builds and runs it.
ELSEWHERE = {
    "docs/go.md": "build/test_go_module.py",
    "docs/gufuncs.md": "gufunc/test_docs.py",
    "docs/programs.md": "docs/test_recipe.py",
    "docs/device.md": "device/test_page.py",
    "docs/share.md": "share/test_example.py",
    "docs/tutorials/gpus.md": "device/test_page.py",
}
NOT_CODE = (
    *("{toctree}", "{include}", "{literalinclude}", "{eval-rst}", "{image}", ""),
    "text",  # docs/test_site.py
)
NEEDS = {
    "gt4py": "gt4py.cartesian",
    "matplotlib": "matplotlib",
    "mpi4py": "mpi4py",
    "xarray": "xarray",
}


def code(page: Path) -> list[Block]:
    """The blocks of Python that no doctest runs."""
    return [
        block
        for block in blocks(page)
        if not block.examples and block.kind.partition(" ")[0] not in NOT_CODE
    ]


HERE = [
    pytest.param(
        page, marks=[pytest.mark.slow] if re.search('"gt:cpu|--hours', page.read_text()) else []
    )  # most of these compile a stencil
    for page in PAGES
    if code(page) and name(page) not in ELSEWHERE
]


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def plain(block: Block) -> Iterator[str]:
    """What stands in a cell, without IPython's options and commands; a file that it writes is
    written.
    """
    first, _, rest = block.text.partition("\n")
    if first.startswith("%%writefile "):
        yield f"open({first.split()[1]!r}, 'w').write({rest!r})"
        return
    for line in block.text.splitlines():
        yield "" if line.startswith((":tags:", "%")) else line


def is_python(text: str) -> bool:
    try:
        compile(text, "block", "exec")
    except SyntaxError:
        return False
    return True


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_block_is_overlooked(page: Path) -> None:
    """Not one that is indented or fenced otherwise; cells stand where the site runs them."""
    text = page.read_text()
    assert len(re.findall(r"^\s*(?:```|~~~)", text, re.MULTILINE)) == 2 * len(blocks(page))
    for block in blocks(page):
        assert block.kind or block.examples or not is_python(block.text), (
            f"{name(page)}:{block.line}: nobody runs Python without a kind"
        )
    cells = [block.line for block in blocks(page) if block.kind.startswith("{code-cell}")]
    assert not cells or "file_format: mystnb" in text, (
        f"{name(page)}:{cells[0]}: nobody runs cells there"
    )


@pytest.mark.parametrize("page", HERE, ids=name)
def test_the_code_of_a_page(page: Path) -> None:
    """From the first block to the last, as a reader would type it: one name may be used further
    down.
    """
    everything = "\n".join(block.setup + block.text for block in code(page))
    for package, module in NEEDS.items():
        if re.search(rf"^ *(from|import) {package}\b", everything, re.MULTILINE):
            pytest.importorskip(module)
    if "gfortran" in everything and not shutil.which("gfortran"):
        pytest.skip("needs gfortran")
    program = ["import matplotlib; matplotlib.use('Agg')"] if "matplotlib" in everything else []
    for block in code(page):
        assert block.kind in (
            "python",
            "{code-cell}",
        ), f"{name(page)}:{block.line}: nobody runs a block of {block.kind!r}"
        text = "\n".join(plain(block)) + "\n"
        if "raises-exception" in block.text:
            body = "".join(f"    {line}\n" for line in text.splitlines())
            text = (
                f"try:\n{body}except Exception as error:\n    print(error)\nelse:\n    raise"
                f" SystemExit('line {block.line} should fail')\n"
            )
        program.append(block.setup + text)
    Path("page.py").write_text("\n".join(program))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "page.py"], env=env, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", [page for page in PAGES if name(page) in ELSEWHERE], ids=name)
def test_the_test_of_a_page_reads_it(page: Path) -> None:
    test = ROOT / "tests" / ELSEWHERE[name(page)]
    assert page.name in test.read_text()
