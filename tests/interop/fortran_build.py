"""gfortran and f2py for the tests: a shared library of the procedures here, and an f2py module."""

import ctypes
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


def run(command: list[Any], folder: Path, **environment: str) -> None:
    done = subprocess.run(
        [*map(str, command)],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def need_gfortran() -> None:
    if shutil.which("gfortran") is None:
        pytest.skip("gfortran is not on PATH")


def library(folder: Path) -> ctypes.CDLL:
    """fortran_bind_c.f90 as a shared library; a mistake in bounds ends the process."""
    need_gfortran()
    run(
        [
            "gfortran",
            "-O1",
            "-fcheck=bounds",
            "-shared",
            "-fPIC",
            HERE / "fortran_bind_c.f90",
            "-o",
            "procedures.so",
        ],
        folder,
    )
    return ctypes.CDLL(str(folder / "procedures.so"))


def f2py_module(folder: Path) -> Any:
    """The module `model` of fortran_f2py.f90."""
    need_gfortran()
    for tool in ("meson", "ninja"):
        if shutil.which(tool, path=_path()) is None:
            pytest.skip(f"{tool} is not installed, and f2py builds with it")
    shutil.copy(HERE / "fortran_f2py.f90", folder)
    command = [
        sys.executable,
        "-m",
        "numpy.f2py",
        "-c",
        "fortran_f2py.f90",
        "-m",
        "gb_f2py",
        "--backend",
        "meson",
    ]
    run(command, folder, PATH=_path())
    (built,) = folder.glob("gb_f2py*.so")
    spec = importlib.util.spec_from_file_location("gb_f2py", built)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.model


def _path() -> str:
    """PATH with the scripts of this Python's environment first."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
