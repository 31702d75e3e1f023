# mypy: disable-error-code="valid-type, no-untyped-call, no-untyped-def, index"
# (the annotations of a stencil are gtscript, not Python types)
"""The stencil, the backends of gt4py that can run it on this machine, and its compilation for each.
Importing this imports gt4py.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gt4py.cartesian import gtscript
from gt4py.cartesian.backend import REGISTRY
from gt4py.cartesian.gtscript import PARALLEL, Field, computation, interval

if TYPE_CHECKING:
    from rich.progress import Progress


HALO = 1
COEFFICIENT = 0.2  # dt * K / dx**2; stable below 0.25
PURE_PYTHON = frozenset({"debug"})  # a Python loop over every point: for checks on small grids only


def diffusion(inp: Field[np.float64], out: Field[np.float64], coefficient: float):
    """One explicit step of horizontal diffusion, d(theta)/dt = K * laplacian(theta)."""
    with computation(PARALLEL), interval(...):
        out = inp + coefficient * (  # noqa: F841 (gt4py reads the source)
            inp[-1, 0, 0] + inp[1, 0, 0] + inp[0, -1, 0] + inp[0, 1, 0] - 4.0 * inp
        )


def cpu_backends() -> list[str]:
    """What gt4py has registered for the CPU, NumPy first."""
    names = [name for name in REGISTRY.names if REGISTRY[name].storage_info["device"] == "cpu"]
    return sorted(
        names, key=lambda name: (not name.startswith("numpy"), not name.startswith("gt:"), name)
    )


def compiled(backend: str) -> Callable[..., None]:
    """The diffusion stencil for a backend, from gt4py's cache where it is there already."""
    stencil: Callable[..., Any] = gtscript.stencil(backend=backend)(diffusion)
    return stencil


# ---- compilation ----


def compile_all(
    backends: Sequence[str], log: Path, progress: "Progress"
) -> tuple[dict[str, Callable[..., None]], dict[str, str]]:
    """The stencils by backend, and for those that could not be compiled, why.

    Parameters
    ----------
    backends : sequence of str
    log : Path
        Gets what compilers write to standard error.
    progress : rich.progress.Progress
    """
    stencils, failures = {}, {}
    with _stderr_to(log):
        _fill_cache(backends, progress)
    for backend in backends:
        task = progress.add_task(f"loading for {backend}", total=1)
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


def _fill_cache(backends: Sequence[str], progress: "Progress") -> None:
    """Compile in several processes at once, for gt4py starts one compiler at a time."""
    task = progress.add_task(f"compiling for {len(backends)} backends", total=len(backends))
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for _ in as_completed([pool.submit(_try, backend) for backend in backends]):
            progress.advance(task)


def _try(backend: str) -> None:
    """Compile in a process of the pool; an error comes again in the process that loads."""
    with suppress(Exception, SystemExit):
        compiled(backend)


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


# ---- one memory ----


def pointers(field: Any) -> dict[str, int]:
    """The address of a Field's element 0 as each way into it gives it, gt4py's own included."""
    from gt4py.storage.cartesian.utils import asarray as seen_by_gt4py

    ways: dict[str, Any] = {
        "field.__array_interface__": field,
        "field.numpy()": field.numpy(),
        "np.asarray(field)": np.asarray(field),
        "np.asarray(memoryview(field))": np.asarray(memoryview(field)),
        "np.from_dlpack(field)": np.from_dlpack(field),
        "gt4py, in a stencil call": seen_by_gt4py(field, device="cpu"),
    }
    return {name: array.__array_interface__["data"][0] for name, array in ways.items()}
