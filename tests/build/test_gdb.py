"""A crash in our C under gdb: it shows the lines, of pyext and of the rooms that Go compiles, and
the Python below.
"""

import re
from pathlib import Path

import under_gdb
from debug_build import ROOT, debug_build

CRASH = """
import gridbuf as gb
from gridbuf.interop import fortran
nowhere = fortran.from_pointer(4096, (1000,), "real(8)")
gb.fill(nowhere, 1.0)
"""


def test_a_crash_shows_its_lines(tmp_path: Path) -> None:
    package = debug_build(tmp_path)
    options = ("-x", "tests/gdbrc", "-ex", "run", "-ex", "list", "-ex", "bt")
    said = under_gdb.crash(CRASH, *options, cwd=ROOT, PYTHONPATH=str(package))
    trace = under_gdb.trace(said)
    assert re.search(r"^#0 .*\w+\.[ch]:\d+$", trace, re.MULTILINE), said  # a room that Go compiles
    # List: its text was found
    assert re.search(r"^\d+\t", said, re.MULTILINE) and "No such file" not in said, said
    assert re.search(r" at pyext/[\w/]+\.c:\d+$", trace, re.MULTILINE), said
    assert "PyEval_EvalFrame" in trace, said
