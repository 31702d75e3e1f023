"""Python code in a process of its own; when it fails, the test shows the code with numbered lines and what it said."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence


def python(code: str, *args: str, options: Sequence[str] = (), timeout: float = 300, **env: str) -> str:
    """Run code, and return what it prints."""
    code = textwrap.dedent(code)
    run = subprocess.run(
        [sys.executable, *options, "-c", code, *args], env={**os.environ, **env}, capture_output=True, text=True, timeout=timeout
    )
    numbered = "\n".join(f"{number:4} {line}" for number, line in enumerate(code.splitlines(), 1))
    assert run.returncode == 0, f"ended with {run.returncode}\n{numbered}\n{run.stdout}{run.stderr}"
    return run.stdout.strip()
