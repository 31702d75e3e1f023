"""What must be there before the demo runs, and one line for whatever is not."""

import argparse
import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gridbuf.commands import UsageError
from gridbuf.machine import cxx_command, cxx_compiler

NEEDED = {
    "gt4py": "gt4py",
    "netCDF4": "netCDF4",
    "iris_sample_data": "iris-sample-data",
    "matplotlib": "matplotlib",
    "rich": "rich",
}

MOST_RANKS = 64  # of a field of 98 x 98 points


def check(arguments: argparse.Namespace) -> None:
    """Packages, compiler and numbers, before anything slow is imported."""
    if missing := [package for module, package in NEEDED.items() if find_spec(module) is None]:
        raise UsageError(
            f"not installed: {', '.join(missing)}; get what the demo needs with: pip install"
            " 'gridbuf[demo]'"
        )
    if cxx_compiler() is None:
        raise UsageError(
            f"no C++ compiler: '{cxx_command()}' is not on PATH, and gt4py cannot even be imported"
            " without; install one (g++)"
        )
    if min(arguments.size[:2]) < 3 or arguments.size[2] < 1:
        raise UsageError(
            f"--size: {' '.join(map(str, arguments.size))} leaves no domain inside a halo of 1; at"
            " least 3 3 1"
        )
    if arguments.steps < 1:
        raise UsageError(f"--steps: {arguments.steps} is not a positive number")
    if not 0 <= arguments.ranks <= MOST_RANKS:
        raise UsageError(f"--ranks: {arguments.ranks} is not among 0 to {MOST_RANKS}")


def prepare_folder(folder: Path) -> None:
    """Everything gt4py and DaCe write goes beneath the output folder; they read this when
    imported.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--output: {error}") from error
    os.environ.setdefault("GT_CACHE_ROOT", str(folder.resolve()))
    os.environ.setdefault("DACE_CONFIG", str(folder.resolve() / ".dace.conf"))


def chosen(wanted: Sequence[str] | None, stencils: Any) -> list[str]:
    """The backends to time: those asked for, or every one that gt4py has for the CPU."""
    known = [name for name in stencils.cpu_backends() if name not in stencils.PURE_PYTHON]
    for name in wanted or ():
        if name in stencils.PURE_PYTHON:
            raise UsageError(
                f"--backend: {name} is a pure Python loop, which is checked on a small grid and"
                f" never timed; choose from {', '.join(known)}"
            )
        if name not in known:
            raise UsageError(
                f"--backend: {name!r} is not a CPU backend of the installed gt4py, which has"
                f" {', '.join(known)}"
            )
    return list(dict.fromkeys(wanted or known))
