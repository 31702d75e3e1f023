"""Compile the programs of tests/fortran/ in a temporary folder."""

import ctypes
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SOURCES = Path(__file__).resolve().parent.parent / "fortran"


def gfortran() -> str:
    """The compiler, or the test is skipped."""
    found = shutil.which("gfortran")
    if found is None:
        pytest.skip("needs gfortran (Debian: apt install gfortran)")
    return found


def shared(name: str, folder: Path) -> ctypes.CDLL:
    """A source as a shared object, loaded."""
    target = folder / f"{name}.so"
    _run(
        [
            gfortran(),
            "-shared",
            "-fPIC",
            "-O1",
            "-fcheck=all,no-array-temps",
            "-J",
            str(folder),
            "-o",
            str(target),
            str(SOURCES / f"{name}.f90"),
        ]
    )
    return ctypes.CDLL(str(target))


def f2py(name: str, folder: Path) -> ModuleType:
    """A source as an extension module of f2py's, imported."""
    gfortran()
    tools = Path(sys.executable).parent
    path = os.pathsep.join([str(tools), os.environ.get("PATH", "")])
    if sys.version_info >= (3, 12):  # f2py builds with meson there; distutils is gone
        for tool in ("meson", "ninja"):
            if shutil.which(tool, path=path) is None:
                pytest.skip(f"f2py needs {tool} (pip install meson ninja)")
    shutil.copy(SOURCES / f"{name}.f90", folder)
    command = [sys.executable, "-m", "numpy.f2py", "-c", "-m", name, f"{name}.f90"]
    _run(command, cwd=folder, env={**os.environ, "PATH": path})
    built = next(folder.glob(f"{name}.*.so"))
    spec = importlib.util.spec_from_file_location(name, built)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _run(command: list[str], **options: object) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
