"""Debuggers and profilers get through our C: from a kernel in trouble, as it was built for users,
to the Python that called it.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import under_gdb

# A kernel reads memory that nobody may read any more.
CRASH = """
import ctypes, mmap, numpy as np, gridbuf as gb
memory = mmap.mmap(-1, 1 << 20)
a = np.frombuffer(memory, "f8")[: 9 * 4096].reshape(4096, 3, 3)
assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(a.ctypes.data), ctypes.c_size_t(1 << 20), 0) == 0
{call}
"""
CALLS = {
    "a kernel": "gb.gufunc.inv(a)",
    "a copy": "gb.copyto(np.empty((4096, 3, 3)), a.transpose(0, 2, 1))",
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_gdb_walks_to_python(call: str) -> None:
    said = under_gdb.crash(
        CRASH.format(call=call), "-ex", "run", "-ex", "bt", GRIDBUF_NUM_THREADS="1"
    )
    trace = under_gdb.trace(said)
    assert "PyEval_EvalFrame" in trace and "corrupt stack" not in trace, said


# A kernel that takes most of the time of its process.
BUSY = """
import numpy as np, gridbuf as gb
a = np.random.default_rng(0).random((20000, 3, 3)) + 3 * np.eye(3)
out = np.empty_like(a)
for _ in range(400):
    gb.gufunc.inv(a, out=out)
"""


def stacks(script: str) -> list[list[str]]:
    """What perf script says, a list of frames for each sample, the innermost first."""
    return [[line.strip() for line in sample.splitlines()[1:]] for sample in script.split("\n\n")]


def test_perf_walks_to_python(tmp_path: Path) -> None:
    if shutil.which("perf") is None:
        pytest.skip("perf is not installed")
    data = tmp_path / "perf.data"
    record = subprocess.run(
        ["perf", "record", "-q", "--call-graph", "dwarf,32768", "-F", "199", "-o", data,
        sys.executable, "-P", "-c", BUSY],
        env={**os.environ, "GRIDBUF_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    if record.returncode != 0 or not data.exists():
        pytest.skip(
            "perf may not record here:"
            f" {(record.stderr.strip().splitlines() or ['it does not say why'])[-1]}"
        )
    script = subprocess.run(
        ["perf", "script", "--no-inline", "-i", data],
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )
    ours = [
        frames
        for frames in stacks(script.stdout)
        if frames
        and "gridbuf/_core" in frames[0]
        and not any("start_thread" in frame for frame in frames)  # helpers have no Python below
    ]
    whole = [frames for frames in ours if any("PyEval_EvalFrame" in frame for frame in frames)]
    assert len(ours) >= 5, f"{len(ours)} samples in our C"
    assert len(whole) > 0.9 * len(ours), next(frames for frames in ours if frames not in whole)
