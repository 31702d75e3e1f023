"""Python code in a process of its own, whose failure is shown with numbered lines; a function in a
forked child.
"""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence


def python(
    code: str, *args: str, options: Sequence[str] = (), timeout: float = 300, **env: str
) -> str:
    """Run code, and return what it prints."""
    code = textwrap.dedent(code)
    run = subprocess.run(
        [sys.executable, *options, "-c", code, *args],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    numbered = "\n".join(f"{number:4} {line}" for number, line in enumerate(code.splitlines(), 1))
    assert run.returncode == 0, f"ended with {run.returncode}\n{numbered}\n{run.stdout}{run.stderr}"
    return run.stdout.strip()


def forked(body: Callable[[], None]) -> int:
    """Fork, run body in the child, and return its exit status; -14 is the alarm of one that
    hangs.
    """
    pid = os.fork()
    if pid == 0:
        signal.alarm(120)
        try:
            body()
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
