"""The program's line that runs: the innermost frame that belongs to no library and no generated
code.
"""

import importlib.util
import linecache
import os
import sys
from pathlib import Path
from typing import Any

Line = tuple[str, int]

# Libraries whose own lines say nothing about the program that calls them.
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
_STANDARD = (
    "copy.py",
    "pickle.py",
    "threading.py",
    "contextlib.py",
    "functools.py",
    "runpy.py",
    "concurrent",
    "multiprocessing",
)
_WATCH = str(Path(__file__).parent) + os.sep
_PACKAGE = str(Path(__file__).parents[1]) + os.sep

_parts: list[str] = []
# By file: whether its frames are passed over, and whether the file is gridbuf's
_known: dict[str, tuple[bool, bool]] = {}


def passed_over() -> tuple[str, ...]:
    """Parts of the names of files that are passed over: folders, generated code, and Python's
    own.
    """
    if not _parts:
        ours = [
            path
            for path in Path(_PACKAGE).iterdir()
            if path.name not in ("consumers", "__pycache__")
        ]
        _parts.extend(map(str, ours))
        _parts.extend(f"{folder}{os.sep}" for name in LIBRARIES for folder in _folders(name))
        _parts.extend(str(Path(os.__file__).parent / name) for name in _STANDARD)
        # gt4py's generated code; NDSL's cache has the rank behind the name.
        _parts.extend(
            f"{os.sep}{name}"
            for name in {".gt_cache", os.environ.get("GT_CACHE_DIR_NAME", ".gt_cache")}
        )
        _parts.extend(("<frozen ", "<__array_function__"))
    return tuple(_parts)


def pass_over(folder: str) -> bool:
    """Pass over a folder from now on; whether that is new."""
    part = f"{folder}{os.sep}"
    if is_passed_over(part):
        return False
    _parts.append(part)
    _known.clear()
    return True


def _folders(library: str) -> list[str]:
    """The folders where it is installed, without importing it."""
    try:
        spec = importlib.util.find_spec(library)
    except (ImportError, ValueError, AttributeError):  # something else is in its place
        return []
    return [] if spec is None else list(spec.submodule_search_locations or ())


def is_passed_over(file: str) -> bool:
    """Whether a frame of this file is not the program's."""
    return _of(file)[0]


def _of(file: str) -> tuple[bool, bool]:
    found = _known.get(file)
    if found is None:
        skipped = any(part in file for part in passed_over())
        found = _known[file] = (
            skipped,
            skipped and file.startswith(_PACKAGE) and not file.startswith(_WATCH),
        )
    return found


def caller(depth: int = 1) -> tuple[Line, bool]:
    """The program's line that runs, and whether it is in a call of gridbuf's; `depth` frames are
    known not to be it.
    """
    frame = inner = sys._getframe(depth)
    ours = False
    while True:
        file = frame.f_code.co_filename
        skipped, gridbuf = _known.get(file) or _of(file)
        if not skipped:
            return (file, frame.f_lineno), ours
        ours = ours or gridbuf
        if frame.f_back is None:
            return (inner.f_code.co_filename, inner.f_lineno), ours
        frame = frame.f_back


def here(depth: int = 1) -> Line:
    """The program's line that runs."""
    return caller(depth + 1)[0]


def defined(function: Any) -> Line | None:
    """The line where a Python function begins."""
    code = getattr(function, "__code__", None)
    return None if code is None else (code.co_filename, code.co_firstlineno)


def text(line: Line | None) -> str:
    """file.py:12, relative to the working directory where that is shorter."""
    if line is None:
        return "?"
    file, number = line
    if file[:1] != "<":
        near = os.path.relpath(file) if _has_relative_path(file) else file
        file = near if near.count("..") < 2 and len(near) < len(file) else file
    return f"{file}:{number}"


def _has_relative_path(file: str) -> bool:
    try:
        os.getcwd()
    except OSError:  # the folder was removed meanwhile
        return False
    return os.path.isabs(file)


def source(line: Line | None) -> str:
    """The text of the line."""
    return "" if line is None else linecache.getline(*line).strip()
