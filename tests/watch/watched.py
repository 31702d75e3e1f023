"""Running programs under watch, and asking collectors in this process."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gridbuf
from gridbuf.watch import install
from gridbuf.watch.records import Book
from gridbuf.watch.report import report

ROOT = Path(gridbuf.__file__).parents[1]
# What a program says that goes on until --live has shown what it does.
UNTIL_SHOWN = """
import threading
from gridbuf.watch.output import Live
shown, show = threading.Event(), Live._show
Live._show = lambda self: (show(self), shown.set())
assert shown.wait(300)
"""


def python(
    *words: str | Path, cwd: Path, stdin: str = "", timeout: int = 300, **env: str
) -> subprocess.CompletedProcess[str]:
    """A fresh Python; what it says is what it says."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, *map(str, words)], cwd=cwd, capture_output=True, text=True,
        timeout=timeout, input=stdin,
        env={**os.environ, "PYTHONPATH": path, **env},
    )  # fmt: skip


def watch(
    program: str, *options: str, cwd: Path, arguments: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The report of a program's source, which ends well."""
    (cwd / "model.py").write_text(program)
    done = python(
        "-m", "gridbuf", "watch", "--json", "report.json", *options, "model.py", *arguments, cwd=cwd
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads((cwd / "report.json").read_text())
    found["stdout"], found["stderr"] = done.stdout, done.stderr
    return found


def number(source: str, part: str) -> int:
    """The line of a source that has this part."""
    (found,) = (i for i, line in enumerate(source.splitlines(), 1) if part in line)
    return found


@contextmanager
def watching(**options: Any) -> Iterator[Book]:
    """The collectors, in this process."""
    book = Book()
    undo = install(book, **options)
    try:
        yield book
    finally:
        undo()


def told(book: Book) -> dict[str, Any]:
    """What is known now."""
    return report(book, ["test"], final=False)
