"""Compiling the stencil for each backend; what a compiler says goes to a file, not over the
terminal.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress


def compile_all(
    backends: Sequence[str], compiled: Callable[[str], Any], log: Path, progress: "Progress"
) -> tuple[dict[str, Callable[..., None]], dict[str, str]]:
    """The stencils by backend, and for those that could not be compiled, why.

    Parameters
    ----------
    backends : sequence of str
    compiled : callable
        Gives the stencil for a backend.
    log : Path
        Gets what compilers write to standard error.
    progress : rich.progress.Progress
    """
    stencils, failures = {}, {}
    for backend in backends:
        task = progress.add_task(f"compiling for {backend}", total=1)
        try:
            with _stderr_to(log):
                stencils[backend] = compiled(backend)
        except (Exception, SystemExit) as error:  # distutils exits, CMake and gt4py raise their own
            reason = (str(error).strip() or type(error).__name__).splitlines()[-1]
            failures[backend] = (
                f"gt4py could not compile the stencil, see {log}: {_shortened(reason)}"
            )
        progress.advance(task)
    return stencils, failures


def _shortened(line: str) -> str:
    """Both ends of a line: a compiler's command can fill a page."""
    return line if len(line) < 160 else f"{line[:80]} ... {line[-80:]}"


@contextmanager
def _stderr_to(log: Path) -> Iterator[None]:
    """Child processes know the file descriptor only, so it is the descriptor that is replaced."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with log.open("ab") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)
