"""Programs of tests on several ranks."""

import subprocess
import sys
from typing import Any

import pytest

from gridbuf import machine


def run(
    ranks: int, *words: Any, seconds: float = 300, **more: str
) -> "subprocess.CompletedProcess[str]":
    """A Python program with its arguments under mpirun; on no ranks at all as it is. Tests here may
    have started MPI: it begins anew.
    """
    if why := machine.missing_for_mpi():
        pytest.skip(why)
    command = [*(machine.mpirun_command(ranks) if ranks else ()), sys.executable, *map(str, words)]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=seconds,
        env=machine.mpi_environment(**more),
        check=False,
    )
