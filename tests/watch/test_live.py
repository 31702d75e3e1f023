"""`--live` in a terminal: the tables are there, and what the program writes goes where it went."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from watched import ROOT, UNTIL_SHOWN

SOURCE = """
import os, sys, warnings
warnings.simplefilter("ignore")  # Go has threads
import numpy as np
a = np.zeros(9000)
print("[bold]" + "x" * 150, flush=True)
UNTIL_SHOWN
if os.fork() == 0:
    print("child", type(sys.stderr).__name__, flush=True)
    os._exit(0)
os.wait()
print("out", type(sys.stdout).__name__)
sys.exit(3)
""".replace("UNTIL_SHOWN", UNTIL_SHOWN)


def in_a_terminal(folder: Path, stdout: str | None) -> tuple[int, str]:
    (folder / "model.py").write_text(SOURCE)
    ours, its = pty.openpty()
    out = its if stdout is None else os.open(folder / stdout, os.O_WRONLY | os.O_CREAT)
    child = subprocess.Popen(
        [sys.executable, "-m", "gridbuf", "watch", "--live", "model.py"], cwd=folder, stdin=its,
        stdout=out, stderr=its,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"},
    )  # fmt: skip
    os.close(its)
    said = b""
    while True:
        try:
            some = os.read(ours, 65536)
        except OSError:  # nobody writes any more
            break
        if not some:
            break
        said += some
    os.close(ours)
    return child.wait(timeout=300), said.decode()


@pytest.mark.slow
def test_output_that_goes_into_a_file_goes_there(tmp_path: Path) -> None:
    pytest.importorskip("rich")
    status, said = in_a_terminal(tmp_path, "out.txt")
    assert (tmp_path / "out.txt").read_text().splitlines() == [
        "[bold]" + "x" * 150,
        "child TextIOWrapper",
        "out TextIOWrapper",
    ]
    assert status == 3 and said.count("allocations") >= 2 and "xxx" not in said


@pytest.mark.slow
def test_output_on_the_terminal_is_above_the_tables(tmp_path: Path) -> None:
    pytest.importorskip("rich")
    status, said = in_a_terminal(tmp_path, None)
    assert (
        status == 3
        and "[bold]xxx" in said
        and "child TextIOWrapper" in said
        and "out FileProxy" in said
    )
