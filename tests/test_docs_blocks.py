"""Every block of code in README.md and docs/ is run: examples by test_docs.py, files by the tests named here, all others here."""

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
    "docs/go.md": "test_go_module.py",
    "docs/gufuncs.md": "gufunc/test_gufunc_docs.py",
    "docs/programs.md": "test_docs_recipe.py",
    "docs/device.md": "device/test_device_page.py",
    "docs/tutorials/gpus.md": "device/test_device_page.py",
}
NOT_CODE = ("{toctree}", "{include}", "{eval-rst}", "")
NEEDS = {"gt4py": "gt4py.cartesian", "matplotlib": "matplotlib", "mpi4py": "mpi4py", "xarray": "xarray"}


def code(page: Path) -> list[Block]:
    """The blocks of Python that no doctest runs."""
    return [block for block in blocks(page) if not block.examples and block.kind.partition(" ")[0] not in NOT_CODE]


HERE = [
    pytest.param(page, marks=[pytest.mark.slow] if '"gt:cpu' in page.read_text() else [])  # most of these compile a stencil
    for page in PAGES
    if code(page) and name(page) not in ELSEWHERE
]
COMMANDS = [
    pytest.param(page, line, id=f"{page.name}: {line}")
    for page in PAGES
    for block in blocks(page)
    if not block.kind
    for line in block.text.splitlines()
    if re.match(r"(\$ )?([A-Z_]+=\S+ )?(python -m gridbuf |python model\.py|pip )", line)
]


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def plain(block: Block) -> Iterator[str]:
    """What stands in a cell, without IPython's options and commands; a file that it writes is written."""
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
    assert not cells or "file_format: mystnb" in text, f"{name(page)}:{cells[0]}: nobody runs cells there"


@pytest.mark.parametrize("page", HERE, ids=name)
def test_the_code_of_a_page(page: Path) -> None:
    """From the first block to the last, as a reader would type it: one name may be used further down."""
    everything = "\n".join(block.setup + block.text for block in code(page))
    for package, module in NEEDS.items():
        if re.search(rf"^ *(from|import) {package}\b", everything, re.MULTILINE):
            pytest.importorskip(module)
    if "gfortran" in everything and not shutil.which("gfortran"):
        pytest.skip("needs gfortran")
    program = ["import matplotlib; matplotlib.use('Agg')"] if "matplotlib" in everything else []
    for block in code(page):
        assert block.kind in ("python", "{code-cell}"), f"{name(page)}:{block.line}: nobody runs a block of {block.kind!r}"
        text = "\n".join(plain(block)) + "\n"
        if "raises-exception" in block.text:
            body = "".join(f"    {line}\n" for line in text.splitlines())
            text = f"try:\n{body}except Exception as error:\n    print(error)\nelse:\n    raise SystemExit('line {block.line} should fail')\n"
        program.append(block.setup + text)
    Path("page.py").write_text("\n".join(program))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "page.py"], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("page", "line"), COMMANDS)
def test_a_command_of_a_page(page: Path, line: str) -> None:
    """python -m gridbuf is run, on a small program; of pip, whether there is such an extra."""
    command = line.removeprefix("$ ").partition(" #")[0].strip()
    if command.startswith("pip install"):
        named = re.fullmatch(
            r"pip install (?:wheelhouse/gridbuf-\*-\$\(uname -m\)\.whl|(?:-e )?'?\.?(?:\[([\w,-]+)\])?'?|gridbuf)", command
        )
        assert named, f"{name(page)}: {line}"
        extras = (ROOT / "pyproject.toml").read_text().partition("[project.optional-dependencies]")[2].partition("\n[")[0]
        assert all(re.search(rf"^{extra} = ", extras, re.MULTILINE) for extra in (named[1] or "").split(",") if extra)
    else:
        if "--html" in command or "gt4py" in command:
            pytest.importorskip("gt4py.cartesian")
        Path("package").mkdir()
        program = "import numpy as np\na = np.ones((40, 40))\nfor _ in range(3):\n    a = a + 1.0\nprint(a.sum())\n"
        for path in ("model.py", "package/model.py", "package/__init__.py"):
            Path(path).write_text(program if "model" in path else "")
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(["", *sys.path])}
        command = re.sub(r"(^|\s)python ", rf"\g<1>{sys.executable} ", command)
        done = subprocess.run(["bash", "-c", command], env=env, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", [page for page in PAGES if name(page) in ELSEWHERE], ids=name)
def test_the_test_of_a_page_reads_it(page: Path) -> None:
    test = ROOT / "tests" / ELSEWHERE[name(page)]
    assert page.name in test.read_text()
