"""Small extensions for the consumers that are libraries of compilers: built once a process, in a
temporary folder.
"""

import importlib.util
import shlex
import subprocess
import sysconfig
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gridbuf.consumers.consumer import Cell, Consumer, Missing
from gridbuf.strides import extent

PEERS = Path(__file__).parent / "peers"


@cache
def folder() -> TemporaryDirectory[str]:
    """A temporary folder, which is removed when Python ends."""
    return TemporaryDirectory(prefix="gridbuf-peers-", ignore_cleanup_errors=True)


@cache
def extension(name: str, sources: Sequence[str], flags: Sequence[str] = ()) -> Any:
    """The module of that name from C++ sources.

    Parameters
    ----------
    name : str
    sources : tuple of str
        Paths, or the source itself.
    flags : tuple of str, optional
        For the compiler.

    Raises
    ------
    Missing
        Where there is no compiler, or no header of Python.
    RuntimeError
        Where the compiler fails.
    """
    from gridbuf.machine import cxx_command, cxx_compiler

    if cxx_compiler() is None:
        raise Missing(f"no C++ compiler: '{cxx_command()}' is not on PATH")
    include = sysconfig.get_path("include")
    if not Path(include, "Python.h").exists():
        raise Missing(f"no headers of Python: there is no Python.h in {include}")
    target = Path(folder().name, name + sysconfig.get_config_var("EXT_SUFFIX"))
    paths = [_path(f"{name}_{i}.cpp", source) for i, source in enumerate(sources)]
    # -O0: compiling costs more than running.
    mode = ["-shared", "-fPIC", "-std=c++17", "-O0", "-w", "-fvisibility=hidden"]
    run([*shlex.split(cxx_command()), *mode, f"-I{include}", *flags, *paths, "-o", str(target)])
    return load(name, target)


def _path(name: str, source: str) -> str:
    """Of a source, which is written out where it is none."""
    if "\n" not in source:
        return source
    path = Path(folder().name, name)
    path.write_text(source)
    return str(path)


def run(command: Sequence[str]) -> None:
    """A compiler; the error has the first lines of what it says, which the cell's
    result shows.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (
            "\n".join([line for line in done.stderr.splitlines() if "error" in line.lower()][:5])
            or done.stderr[-500:]
        )
        raise RuntimeError(f"{command[0]} failed: {said}")


def load(name: str, path: Path) -> Any:
    """A module by its file."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def memory_of(cell: Cell) -> tuple[bytes, int, np.ndarray[Any, Any]]:
    """The bytes of a cell's memory, where its first element lies in them, and an array that has the
    shape and strides.
    """
    array = Consumer().make(cell)
    low, end = extent(0, array.shape, array.strides, array.itemsize)
    whole = np.zeros(max(end - low, 1), "u1")
    np.ndarray(array.shape, array.dtype, whole, -low, array.strides)[...] = array
    return whole.tobytes(), -low, array
