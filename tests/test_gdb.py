"""A crash in our C under gdb: it shows the lines, of pyext and of the rooms that Go compiles, and the Python below."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from debug_build import ROOT, debug_build

CRASH = """
import gridbuf as gb
from gridbuf.interop import fortran
nowhere = fortran.from_pointer(4096, (1000,), "real(8)")
gb.fill(nowhere, 1.0)
"""


def test_a_crash_shows_its_lines(tmp_path: Path) -> None:
    if shutil.which("gdb") is None:
        pytest.skip("gdb is not installed")
    package = debug_build(tmp_path)
    done = subprocess.run(
        ["gdb", "-nx", "-q", "-batch", "-x", "tests/gdbrc", "-ex", "run", "-ex", "list", "-ex", "bt", "--args", sys.executable, "-P", "-c", CRASH],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(package)}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    said = done.stdout + done.stderr
    if "ptrace: Operation not permitted" in said:
        pytest.skip("this machine lets nobody debug")
    assert "SIGSEGV" in said, said
    trace = said[said.index("\n#0 ") :]
    assert re.search(r"^#0 .*\w+\.[ch]:\d+$", trace, re.MULTILINE), said  # a room that Go compiles
    assert re.search(r"^\d+\t", said, re.MULTILINE) and "No such file" not in said, said  # list: its text was found
    assert re.search(r" at pyext/\w+\.c:\d+$", trace, re.MULTILINE), said
    assert "PyEval_EvalFrame" in trace, said
