"""Extensions of other libraries, compiled on the spot: each consumer that needs one has its source beside its file."""

import importlib.util
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import numpy as np

from gridbuf.consumers.cell import LAYOUTS, Cell, numpy_dtype
from gridbuf.consumers.consumer import Missing

HERE = Path(__file__).parent
_folder: list[tempfile.TemporaryDirectory[str]] = []
_built: dict[str, ModuleType] = {}


def source(name: str) -> Path:
    """A source that comes with gridbuf."""
    return HERE / name


def folder() -> Path:
    """Where extensions are compiled; gone with the process."""
    if not _folder:
        _folder.append(tempfile.TemporaryDirectory(prefix="gridbuf-consumers-"))
    return Path(_folder[0].name)


def extension(name: str, sources: Sequence[Path], include: Sequence[str], options: Sequence[str] = ("-std=c++17",)) -> ModuleType:
    """The module that a C or C++ compiler makes of the sources; Missing says what it lacks.

    Parameters
    ----------
    name
        Of the module, as its sources have it.
    sources
        C or C++ files.
    include
        Folders of headers, beyond Python's.
    options
        The language and its version.
    """
    if name not in _built:
        compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
        if compiler is None:
            raise Missing("needs a C++ compiler")
        headers = sysconfig.get_path("include")
        if not (Path(headers) / "Python.h").exists():
            raise Missing("needs Python's headers (Debian: apt install python3-dev)")
        target = folder() / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
        flags = ["-shared", "-fPIC", "-O1", "-fvisibility=hidden", "-w", *options]
        run([compiler, *flags, *(f"-I{path}" for path in (headers, *include)), *map(str, sources), "-o", str(target)])
        _built[name] = _loaded(name, target)
    return _built[name]


def lie(cell: Cell) -> tuple[int, int, tuple[int, ...], tuple[int, ...]]:
    """How memory of an extension's own lies in a cell's layout: its bytes, where the first element is, shape and strides."""
    layout = LAYOUTS[cell.layout]
    base = np.empty(layout.base, numpy_dtype(cell.dtype))
    view = base if layout.axes is None else base.transpose(layout.axes)
    view = view if layout.slices is None else view[layout.slices]
    return base.nbytes, view.ctypes.data - base.ctypes.data if view.size else 0, view.shape, view.strides


def run(command: Sequence[str]) -> None:
    """A compiler's call; what it says becomes the error."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder(), check=False)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stderr[-2000:] or done.stdout[-2000:]}")


def _loaded(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no extension")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
