"""Debuggers and profilers get through our C: from a kernel in trouble, as it was built for users, to the Python that called it."""

import os
import shutil
import subprocess
import sys

import pytest

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
    if shutil.which("gdb") is None:
        pytest.skip("gdb is not installed")
    done = subprocess.run(
        ["gdb", "-nx", "-q", "-batch", "-ex", "run", "-ex", "bt", "--args", sys.executable, "-P", "-c", CRASH.format(call=call)],
        env={**os.environ, "GRIDBUF_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    said = done.stdout + done.stderr
    if "ptrace: Operation not permitted" in said:
        pytest.skip("this machine lets nobody debug")
    assert "SIGSEGV" in said, said
    trace = said[said.index("\n#0 ") :]
    assert "PyEval_EvalFrame" in trace and "corrupt stack" not in trace, said
