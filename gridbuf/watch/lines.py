"""Which line of the program it was: the innermost frame that is not of a library which everybody calls."""

import importlib.util
import linecache
import os
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

Line = tuple[str, int]

# Those whose own lines say nothing about the program that calls them.
LIBRARIES = (
    "numpy",
    "gt4py",
    "dace",
    "numba",
    "jax",
    "jaxlib",
    "torch",
    "mpi4py",
    "scipy",
    "xarray",
    "dask",
    "ghex",
    "ndsl",
    "cupy",
)
_STANDARD = ("copy.py", "pickle.py", "threading.py", "contextlib.py", "functools.py", "runpy.py", "concurrent", "multiprocessing")


@lru_cache(maxsize=1)
def passed_over() -> tuple[str, ...]:
    """What stands in the names of files that are passed over: folders, generated code, and Python's own."""
    package = Path(__file__).parents[1]
    ours = [str(path) for path in package.iterdir() if path.name not in ("demo", "consumers", "__pycache__")]
    folders = [folder for name in LIBRARIES for folder in _folders(name)]
    standard = [str(Path(os.__file__).parent / name) for name in _STANDARD]
    cache = os.environ.get("GT_CACHE_DIR_NAME", ".gt_cache")
    return (
        *ours,
        *(f"{folder}{os.sep}" for folder in folders),
        *standard,
        f"{os.sep}{cache}{os.sep}",
        "<frozen ",
        "<__array_function__",
    )


def _folders(library: str) -> list[str]:
    """Where it is installed, without importing it."""
    try:
        spec = importlib.util.find_spec(library)
    except (ImportError, ValueError, AttributeError):  # what somebody has put in its place
        return []
    return [] if spec is None else list(spec.submodule_search_locations or ())


_known: dict[str, bool] = {}


def is_passed_over(file: str) -> bool:
    """Whether a frame of this file is not the program's."""
    found = _known.get(file)
    if found is None:
        found = _known[file] = any(part in file for part in passed_over())
    return found


def here(depth: int = 1) -> Line:
    """The program's line that is running; `depth` frames are known not to be it."""
    frame = inner = sys._getframe(depth)
    while True:
        file = frame.f_code.co_filename
        if not (_known[file] if file in _known else is_passed_over(file)):
            return file, frame.f_lineno
        if frame.f_back is None:
            return inner.f_code.co_filename, inner.f_lineno
        frame = frame.f_back


def defined(function: Any) -> Line | None:
    """Where a Python function begins."""
    code = getattr(function, "__code__", None)
    return None if code is None else (code.co_filename, code.co_firstlineno)


def text(line: Line | None) -> str:
    """file.py:12, as near as the working directory has it."""
    if line is None:
        return "?"
    file, number = line
    if file[:1] != "<":
        near = os.path.relpath(file) if _same_drive(file) else file
        file = near if near.count("..") < 2 and len(near) < len(file) else file
    return f"{file}:{number}"


def _same_drive(file: str) -> bool:
    try:
        os.getcwd()
    except OSError:  # it was removed meanwhile
        return False
    return os.path.isabs(file)


def source(line: Line | None) -> str:
    """What stands there."""
    return "" if line is None else linecache.getline(*line).strip()
