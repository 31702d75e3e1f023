"""A program under watch is the program: its output, input, status, exceptions, exit handlers,
children and threads.
"""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from watched import ROOT, python

REPORT = "gridbuf watch: "


def both(
    folder: Path, source: str, *arguments: str, stdin: str = "", options: Sequence[str] = ()
) -> str:
    """What the program prints and its status are Python's own, the report follows what it says;
    returned is the report.
    """
    (folder / "model.py").write_text(source)
    plain = python("model.py", *arguments, cwd=folder, stdin=stdin)
    ours = python(
        "-m", "gridbuf", "watch", *options, "model.py", *arguments, cwd=folder, stdin=stdin
    )
    said, found, report = ours.stderr.partition("\n" + REPORT)
    assert (ours.returncode, ours.stdout, said) == (plain.returncode, plain.stdout, plain.stderr)
    assert found, ours.stderr
    return report


PROGRAMS = {
    "arguments": "import sys; print(sys.argv, __name__, __file__, sys.path[0], __spec__)",
    "main": (
        "import sys; print(sys.modules['__main__'].__dict__ is globals(),"
        " __loader__.get_source('__main__'))"
    ),
    "stdin": "import sys; print(input(), sys.stdin.read())",
    "exit": "import sys; sys.exit(3)",
    "exit with words": "import sys; sys.exit('said why')",
    "an exception": "def f(): raise ValueError('no')\nf()",
    "an exception below a function of ours": (
        "import numpy as np\n"
        "class A:\n"
        "    def __array__(self, dtype=None, copy=None):\n"
        "        raise KeyError('no')\n"
        "np.asarray(A())"
    ),
    "a chain of exceptions": (
        "import numpy as np\n"
        "try:\n"
        "    np.asarray(1, 'no such type')\n"
        "except TypeError as e:\n"
        "    raise ValueError('x') from e"
    ),
    "a wrong program": "x = = 3",
    "exit handlers": "import atexit\natexit.register(print, 'end')\nprint('first')",
    "a thread that goes on": (
        "import threading\n"
        "def f():\n"
        "    threading.main_thread().join()\n"
        "    print('late')\n"
        "threading.Thread(target=f).start()\n"
        "print('early')"
    ),
    "an excepthook": "import sys\nsys.excepthook = lambda *e: print('mine', e[0])\n1 / 0",
    "an excepthook that fails": (
        "import sys\n"
        "def f(*e): raise KeyError('hook')\n"
        "sys.excepthook = f\n"
        "1 / 0"
    ),
    "no excepthook": "import sys\ndel sys.excepthook\n1 / 0",
    "an exception of a thread": (
        "import threading\n"
        "def f(): raise ValueError('no')\n"
        "t = threading.Thread(target=f, name='a')\n"
        "t.start()\n"
        "t.join()\n"
        "try:\n"
        "    t.start()\n"
        "except RuntimeError as e:\n"
        "    print(e)"
    ),
    "threads with a run of their own": (
        "import threading\n"
        "class A(threading.Thread):\n"
        "    run = property(lambda self: lambda: print('run'))\n"
        "t = threading.Thread()\n"
        "t.run = print\n"
        "for each in (A(), t):\n"
        "    each.start()\n"
        "    each.join()\n"
        "print(t.run is print)"
    ),
    "a traceback that it prints": (
        "import traceback, numpy as np\n"
        "try:\n"
        "    np.asarray(object(), float)\n"
        "except TypeError:\n"
        "    traceback.print_exc()"
    ),
    "a closed output": "import sys\nprint('last')\nsys.stdout.close()",
    "an output of its own": (
        "import sys\n"
        "class Tee:\n"
        "    def write(self, s): return o.write(s)\n"
        "    def flush(self): o.flush()\n"
        "o, sys.stdout = sys.stdout, Tee()\n"
        "print(1)\n"
        "sys.exit(5)"
    ),
    "an error stream of its own": (
        "import sys\n"
        "class Tee:\n"
        "    def write(self, s): return o.write(s)\n"
        "o, sys.stderr = sys.stderr, Tee()\n"
        "print(1, file=sys.stderr)"
    ),
    "no error stream": "import sys\nsys.stderr = None\nprint(1)",
    "errors in memory": (
        "import contextlib, io, sys\n"
        "with contextlib.redirect_stderr(io.StringIO()):\n"
        "    sys.exit(4)"
    ),
    "no streams": "import sys\nprint(1)\nsys.stdout = sys.stderr = None",
    "words of an exit that nobody hears": "import sys\nsys.stderr = None\nsys.exit('why')",
    "an exit with an object": "import sys\nsys.exit((1, 2.0))",
    "ctrl-c": "raise KeyboardInterrupt",
    "ctrl-c within asyncio": (
        "import asyncio, os, signal\n"
        "async def f():\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    await asyncio.sleep(9)\n"
        "asyncio.run(f())"
    ),
    "a kind of ctrl-c": "class Mine(KeyboardInterrupt): ...\nraise Mine",
    "the last exception": (
        "import atexit, sys\n"
        "atexit.register(lambda: print(sys.last_value, sys.last_type, sys.excepthook))\n"
        "1 / 0"
    ),
    "a signal after its output": (
        "import os, signal, sys, time\n"
        "print('lost')\n"
        "sys.stdout = None\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
        "time.sleep(9)"
    ),
    "a signal and a closed output": (
        "import os, signal, sys, time\n"
        "sys.stdout.close()\n"
        "os.kill(os.getpid(), signal.SIGHUP)\n"
        "time.sleep(9)"
    ),
    "a signal and an output of its own": (
        "import os, signal, sys, time\n"
        "class Mine:\n"
        "    def write(self, s): ...\n"
        "    def flush(self): 1 / 0\n"
        "sys.stdout = Mine()\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
        "time.sleep(9)"
    ),
    "a pickle to no file": (
        "import pickle\n"
        "try:\n"
        "    pickle.dump(1, 3)\n"
        "except TypeError as e:\n"
        "    print(e)"
    ),
    "pickle": "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))) is A)",
    "warnings": (
        "import warnings\n"
        "warnings.warn('here')\n"
        "def f(): warnings.warn('there', stacklevel=2)\n"
        "f()"
    ),
    "a system command": (
        "import subprocess, sys\n"
        "print(subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True).stdout)"
    ),
    "fork": (
        "import os, warnings\n"
        "warnings.simplefilter('ignore')  # Go has threads\n"
        "p = os.fork()\n"
        "if p == 0:\n"
        "    print('child', flush=True)\n"
        "    raise SystemExit(7)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]))"
    ),
    "pools": (
        "import multiprocessing as mp\nimport numpy as np\n"
        "def f(n):\n    return float(np.ones(n).sum()), mp.current_process().name[:4]\n"
        "if __name__ == '__main__':\n    for way in ('fork', 'spawn'):\n"
        "        with mp.get_context(way).Pool(1) as pool:\n"
        "            print(pool.map(f, [10_000, 20_000]))"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_as_python_runs_it(tmp_path: Path, name: str) -> None:
    both(tmp_path, PROGRAMS[name], "--", "a", "--json", "--", "-m", stdin="one\ntwo\n")


@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&-", "2>/dev/full"])
def test_without_an_error_stream_there_are_the_files(tmp_path: Path, closed: str) -> None:
    (tmp_path / "model.py").write_text("import sys\nsys.exit('why')")
    watched = ["-m", "gridbuf", "watch", "--json", "o.json", "--html", "o.html", "--live"]
    plain, ours = (
        subprocess.run(
            ["bash", "-c", f"{shlex.join([sys.executable, *words, 'model.py'])} {closed}"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )
        for words in ([], watched)
    )
    # 1, or 120 where Python has not written what it buffers
    assert plain.returncode and ours.returncode == plain.returncode
    assert ours.stdout == ours.stderr == ""
    assert (tmp_path / "o.json").stat().st_size and (tmp_path / "o.html").stat().st_size


def test_a_reader_who_has_enough_changes_no_status(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("import sys\nsys.exit(3)")
    command = shlex.join([sys.executable, "-m", "gridbuf", "watch", "model.py"])
    done = subprocess.run(
        ["bash", "-c", f"{command} 2>&1 | true; exit ${{PIPESTATUS[0]}}"], cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)}
    )  # fmt: skip
    assert done.returncode == 3


@pytest.mark.parametrize(
    "words",
    [
        (
            "-c",
            "import sys, numpy as np\na = np.zeros(5000)\nprint(sys.argv, sys.path[0], __name__)",
            "a",
            "--",
            "-m",
        )
    ],
)
def test_code(tmp_path: Path, words: Sequence[str]) -> None:
    plain = python(*words, cwd=tmp_path)
    ours = python("-m", "gridbuf", "watch", *words, cwd=tmp_path)
    assert (ours.returncode, ours.stdout) == (plain.returncode, plain.stdout)
    assert "<string>:2" in ours.stderr


def test_the_page_is_utf_8_wherever_it_is_written(tmp_path: Path) -> None:
    """The page says so; the locale's encoding may have no such letters, and a word of the command
    line no encoding at all.
    """
    (tmp_path / "model.py").write_text("é = 1", encoding="utf-8")
    done = python(
        "-m", "gridbuf", "watch", "--html", "o.html", "model.py", "é", os.fsdecode(b"\xff"),
        cwd=tmp_path,
        LC_ALL="C", PYTHONCOERCECLOCALE="0", PYTHONUTF8="0",
    )  # fmt: skip
    assert done.returncode == 0 and "failed" not in done.stderr
    assert "gridbuf watch: model.py" in (tmp_path / "o.html").read_text(encoding="utf-8")


def test_children_are_counted(tmp_path: Path) -> None:
    assert "2 forked children ran without being watched" in both(
        tmp_path,
        "import os, warnings\nwarnings.simplefilter('ignore')\nfor _ in range(2):\n    p ="
        " os.fork()\n    if p == 0:\n        os._exit(0)\n    os.waitpid(p, 0)",
    )


def test_a_module(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "model.py").write_text(
        "import sys, numpy as np\na = np.zeros(5000)\nprint(__name__, sys.argv[1:], __package__)\n"
    )
    done = python("-m", "gridbuf", "watch", "-m", "package.model", "x", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "__main__ ['x'] package\n")
    assert "package/model.py:2" in done.stderr and "-m package.model x" in done.stderr


@pytest.mark.parametrize(("options", "said"), [
    (("none.py",), "gridbuf watch: program: none.py: No such file or directory\n"),
    (("--json", "no/such/folder", "model.py"),
    "gridbuf watch: --json: no/such/folder: No such file or directory\n"),
])  # fmt: skip
def test_wrong_calls_are_one_line(tmp_path: Path, options: Sequence[str], said: str) -> None:
    (tmp_path / "model.py").write_text("print('ran')")
    done = python("-m", "gridbuf", "watch", *options, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_who_is_ended_by_a_signal_is_so_after_the_report(tmp_path: Path, name: str) -> None:
    source = (
        "import sys, time\nimport numpy as np\na = np.zeros(5000)\nprint('ready',"
        " flush=True)\ntime.sleep(60)\n"
    )
    (tmp_path / "model.py").write_text(source)
    child = subprocess.Popen(
        [sys.executable, "-m", "gridbuf", "watch", "model.py"], cwd=tmp_path,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    time.sleep(0.1)
    child.send_signal(getattr(signal, name))
    _, said = child.communicate(timeout=300)
    assert "model.py:3" in said and REPORT in said
    assert child.returncode == -getattr(signal, name)
