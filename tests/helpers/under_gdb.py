"""Python code that crashes under gdb, and what gdb says of it."""

import os
import shutil
import subprocess
import sys

import pytest


def crash(code: str, *options: str, cwd: str | os.PathLike[str] | None = None, **env: str) -> str:
    """All that is said from the start to a crash by SIGSEGV and after it; a machine without gdb, or
    that forbids it, is skipped.
    """
    if shutil.which("gdb") is None:
        pytest.skip("gdb is not installed")
    done = subprocess.run(
        ["gdb", "-nx", "-q", "-batch", *options, "--args", sys.executable, "-P", "-c", code],
        cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    said = done.stdout + done.stderr
    if "ptrace: Operation not permitted" in said:
        pytest.skip("this machine lets nobody debug")
    assert "SIGSEGV" in said, said
    return said


def trace(said: str) -> str:
    """The frames, the innermost first."""
    return said[said.index("\n#0 ") :]
