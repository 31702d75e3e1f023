"""Programs that nobody edits: GRIDBUF_INSTALL with the files of a wheel, and `python -m gridbuf
run`.
"""

import importlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from debug_build import need_setuptools

import gridbuf
from gridbuf import startup

PACKAGE = Path(gridbuf.__file__).parent
PROGRAM = """
import sys
import numpy as np
def main():
    a = np.empty(100)
    import gridbuf as gb
    print(__name__, sys.argv[1:], gb.memory.buffer_id(a) is not None)
if __name__ == "__main__":
    main()
"""


def python(*words: str | Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")])
    clean = {name: value for name, value in os.environ.items() if name != startup.VARIABLE}
    return subprocess.run(
        [sys.executable, *map(str, words)], cwd=cwd, capture_output=True, text=True, timeout=300,
        env={**clean, "PYTHONPATH": path, **env}
    )  # fmt: skip


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with what a wheel puts beside the package, and a program that has Python read it as
    it does its own.
    """
    folder = tmp_path / "site"
    folder.mkdir()
    for name in ("startup", "importing"):
        shutil.copy(PACKAGE / f"{name}.py", folder / f"_gridbuf_{name}.py")
    (folder / "gridbuf.pth").write_text(
        'import os; os.environ.get("GRIDBUF_INSTALL") and __import__("_gridbuf_startup")\n'
    )
    (tmp_path / "sitecustomize.py").write_text(f"import site\nsite.addsitedir({str(folder)!r})\n")
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


def run_in(site: Path, *words: str, install: str | None) -> subprocess.CompletedProcess[str]:
    env = {} if install is None else {startup.VARIABLE: install}
    path = os.pathsep.join([str(site), str(PACKAGE.parent)])
    return python(*words, cwd=site, **env, PYTHONPATH=path)


@pytest.mark.parametrize(
    ("install", "answer"),
    [(None, "False"), ("", "False"), ("numpy", "True"), (" NumPy , gt4py ", "True")],
)
def test_the_variable(site: Path, install: str | None, answer: str) -> None:
    done = run_in(site, "program.py", "a", install=install)
    assert done.stdout == f"__main__ ['a'] {answer}\n" and done.stderr == ""


def test_a_wrong_variable_is_one_line_and_the_program_runs(site: Path) -> None:
    done = run_in(site, "program.py", install="numpy,cupy")
    assert done.stdout == "__main__ [] False\n"
    assert done.stderr == (
        "gridbuf: GRIDBUF_INSTALL: 'cupy' is not known; allowed are numpy, gt4py, ndsl, icon4py,"
        " with commas between them\n"
    )


@pytest.mark.parametrize("install", [None, "numpy,gt4py,ndsl,icon4py"])
def test_nothing_is_imported_before_the_program_does(site: Path, install: str | None) -> None:
    code = (
        "import sys; print(sorted({'numpy', 'gridbuf', 'gt4py'} & set(sys.modules)),"
        " '_gridbuf_startup' in sys.modules)"
    )
    assert run_in(site, "-c", code, install=install).stdout == f"[] {install is not None}\n"


def test_spawned_children_have_it(site: Path) -> None:
    (site / "program.py").write_text(
        "import multiprocessing as mp\n"
        "def child(_):\n"
        "    import numpy as np, gridbuf as gb\n"
        "    return gb.memory.buffer_id(np.empty(3)) is not None\n"
        "if __name__ == '__main__':\n"
        "    with mp.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(child, [0]))\n"
    )
    assert run_in(site, "program.py", install="numpy").stdout == "[True]\n"
    assert run_in(site, "-m", "gridbuf", "run", "program.py", install=None).stdout == "[True]\n"


def test_gt4py_is_waited_for(site: Path) -> None:
    pytest.importorskip("gt4py.storage")
    code = (
        "from gt4py.storage import zeros; import gridbuf as gb; print(gb.memory.buffer_id(zeros((3,"
        " 4), backend='numpy')))"
    )
    assert run_in(site, "-c", code, install="gt4py").stdout == "1\n"


def test_a_part_that_fails_is_a_warning(site: Path) -> None:
    (site / "gt4py").mkdir()
    (site / "gt4py" / "__init__.py").touch()
    (site / "gt4py" / "storage.py").write_text("answer = 42\n")
    done = run_in(site, "-c", "import gt4py.storage; print(gt4py.storage.answer)", install="gt4py")
    assert done.stdout == "42\n" and "RuntimeWarning: GRIDBUF_INSTALL: gt4py:" in done.stderr


@pytest.mark.parametrize("name", startup.PARTS)
def test_a_part_is_what_its_bridge_offers(name: str) -> None:
    package, module, function = startup.PARTS[name]
    pytest.importorskip(package)
    assert function in importlib.import_module(module).__all__ and module.endswith(f".{name}")


def test_the_wheel_says_the_same(site: Path, tmp_path: Path) -> None:
    """setup.py writes the .pth file, and copies startup.py and importing.py beside the package."""
    need_setuptools()
    root = PACKAGE.parent
    if not (root / "setup.py").exists():
        pytest.skip("installed from a wheel: no setup.py")
    built = tmp_path / "built"
    subprocess.run(
        [sys.executable, "setup.py", "-q", "build_py", "--build-lib", str(built)], cwd=root,
        check=True, capture_output=True, timeout=300
    )  # fmt: skip
    for name in ("gridbuf.pth", "_gridbuf_startup.py", "_gridbuf_importing.py"):
        assert (built / name).read_text() == (site / "site" / name).read_text()


# ---- run ----


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "program.py").write_text(PROGRAM)
    (tmp_path / "sub" / "beside.py").write_text("NUMBER = 3\n")
    return tmp_path


def run(folder: Path, *words: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    return python("-m", "gridbuf", "run", *words, cwd=folder, **env)


@pytest.mark.parametrize(
    ("options", "answer"),
    [((), "True"), (("--install", "none"), "False"), (("--install", "gt4py"), "False"),
    (("--install=numpy",), "True")]
)  # fmt: skip
def test_a_program(folder: Path, options: Sequence[str], answer: str) -> None:
    done = run(folder, *options, "sub/program.py", "--steps", "3", "-m")
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        f"__main__ ['--steps', '3', '-m'] {answer}\n",
        "",
    )


def same(folder: Path, source: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What a program prints, and its status, are Python's own; returned is ours."""
    (folder / "sub" / "program.py").write_text(source)
    plain = python("sub/program.py", *arguments, cwd=folder)
    ours = run(folder, "sub/program.py", *arguments)
    assert (ours.returncode, ours.stdout, ours.stderr) == (
        plain.returncode,
        plain.stdout,
        plain.stderr,
    )
    return ours


@pytest.mark.parametrize(
    "source",
    [
        (
            "import beside, sys; print(beside.NUMBER, __file__, sys.argv, sys.path[0], __spec__,"
            " __builtins__, __doc__)"
        ),
        (
            "import sys; print(sys.modules['__main__'].__dict__ is globals(),"
            " __loader__.get_source('__main__'))"
        ),
        "import sys; sys.exit(3)",
        "import sys; sys.exit('said why')",
        "import sys; sys.exit()",
        "raise SystemExit(2.5)",
        "def f(): raise ValueError('no')\nf()",
        "x = = 3",
        "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))) is A)",
        "import atexit\natexit.register(lambda: print('end', __name__))",
        "from __future__ import annotations\ndef f(x: no_such_name): ...\nprint(f.__annotations__)",
        "import inspect\ndef f(): return 1\nprint(inspect.getsource(f))",
        (
            "import dataclasses, typing\n@dataclasses.dataclass\nclass A:\n    x: 'int' ="
            " 1\nprint(A(), typing.get_type_hints(A))"
        ),
        "raise BrokenPipeError('mine')",
        "import sys\ndel sys.excepthook\n1 / 0",
        "import sys\nsys.stderr = None\nsys.exit('said why')",
        (
            "import sys\ndef f(*e): raise KeyError('hook')\nsys.excepthook, sys.stderr = f,"
            " None\n1 / 0"
        ),
        (
            "import sys\nclass Tee:\n    def write(self, s): return o.write(s)\n    def"
            " flush(self): o.flush()\no, sys.stdout = sys.stdout, Tee()\nprint(1)\nsys.exit(5)"
        ),
        (
            "import sys\nclass Tee:\n    def write(self, s): return o.write(s)\n    def"
            " __repr__(self): return 'tee'\no, sys.stdout = sys.stdout,"
            " Tee()\nprint(1)\no.flush()\nsys.exit(5)"
        ),
    ],
)
def test_it_is_as_python_runs_it(folder: Path, source: str) -> None:
    same(folder, source, "--", "a", "--", "-m")


@pytest.mark.parametrize(
    "source", ["raise KeyboardInterrupt", "import os, signal\nos.kill(os.getpid(), signal.SIGINT)"]
)
def test_who_is_interrupted_ends_by_the_signal(folder: Path, source: str) -> None:
    """A shell's loop ends, too, where a status alone would let it go on."""
    assert same(folder, source).returncode == -signal.SIGINT


def test_code(folder: Path) -> None:
    words = (
        "-c",
        "import sys\nprint(sys.argv, sys.path[0], sorted(globals()))\n1 / 0",
        "a",
        "--",
        "-m",
    )
    plain, ours = python(*words, cwd=folder), run(folder, *words)
    assert (ours.returncode, ours.stdout, ours.stderr) == (
        plain.returncode,
        plain.stdout,
        plain.stderr,
    )


def test_a_module(folder: Path) -> None:
    done = run(folder / "sub", "-m", "program", "x")
    assert (done.returncode, done.stdout) == (0, "__main__ ['x'] True\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("none.py",), "gridbuf run: program: none.py: No such file or directory\n"),
        (
            ("--install", "cupy", "sub/program.py"),
            "gridbuf run: --install: 'cupy' is not known; allowed are numpy",
        ),
    ],
)
def test_wrong_calls_are_one_line(folder: Path, words: Sequence[str], said: str) -> None:
    done = run(folder, *words)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.startswith(said)


@pytest.mark.parametrize(
    "words", [["gridbuf", "doctor"], ["gridbuf", "plan", "4"], ["gridbuf.consumers"]]
)
def test_a_reader_that_has_enough(folder: Path, words: Sequence[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        done = subprocess.run(
            [sys.executable, "-m", *words],
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            timeout=300,
        )
    assert done.stderr == "" and done.returncode == 141
