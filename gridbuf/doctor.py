"""The diagnosis of this machine: `python -m gridbuf doctor`. Packages are looked up by
metadata, never imported here.
"""

import json
import math
import os
import platform
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

import numpy as np

import gridbuf
from gridbuf import _core, consumers
from gridbuf._core import cpu_quota
from gridbuf.explain import nbytes_text
from gridbuf.machine import cxx_command, cxx_compiler, meminfo, mpi_environment

Section = tuple[str, list[tuple[str, str]]]


def text() -> str:
    """All that is known, one section beneath another.

    Examples
    --------
    >>> from gridbuf import doctor
    >>> doctor.text().splitlines()[0]
    'versions'
    """
    lines = []
    for title, entries in sections():
        lines.append(title)
        lines += [f"  {name:<18}{value}" for name, value in entries]
    return "\n".join(lines)


def sections() -> Iterator[Section]:
    """(title, [(name, value), ...]) for each section."""
    yield "versions", list(_versions())
    yield "processor", list(_processor())
    yield "memory", list(_memory())
    yield "warnings", list(warnings()) or [("none", "nothing found that will hurt")]
    yield "GPU", [("CUDA driver", cuda_driver())]
    yield "MPI", list(mpi_entries())
    yield (
        "gridbuf.memory",
        [
            (name, _stat(name, value))
            for name, value in gridbuf.memory.stats().items()
            if name != "kinds"
        ],
    )
    yield "consumers", list(_packages(consumers.packages()))
    compiler = cxx_compiler() or f"none: '{cxx_command()}' is not on PATH"
    yield "gt4py's compiled backends", [("C++ compiler", compiler)]


def _versions() -> Iterator[tuple[str, str]]:
    yield "gridbuf", f"{gridbuf.__version__}  ({Path(gridbuf.__file__).parent})"
    yield (
        "Python",
        f"{platform.python_implementation()} {platform.python_version()}  ({sys.executable})",
    )
    yield "NumPy", np.__version__
    yield (
        "system",
        f"{platform.system()} {platform.release()} {platform.machine()},"
        f" {' '.join(platform.libc_ver())}".rstrip(", "),
    )


def _processor() -> Iterator[tuple[str, str]]:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield "cores", f"{usable} usable of {os.cpu_count()}"
    _, _, _, copies, gufuncs = _core.machine()
    yield "kernels", f"{copies} for copies, {gufuncs} for gufuncs"
    setting = os.environ.get("GRIDBUF_NUM_THREADS")
    yield (
        "threads",
        (
            f"{gridbuf.get_num_threads()}  (GRIDBUF_NUM_THREADS"
            f" {f'= {setting}' if setting else 'not set'})"
        ),
    )


def _memory() -> Iterator[tuple[str, str]]:
    figures = meminfo()
    if figures:
        yield (
            "physical",
            (
                f"{nbytes_text(figures['MemTotal'])}, {nbytes_text(figures.get('MemAvailable', 0))}"
                " available"
            ),
        )
    page, huge, boundary, _, _ = _core.machine()
    yield "page", nbytes_text(page)
    yield "huge pages", f"{nbytes_text(huge)}; {huge_pages()}"
    if boundary != huge:
        yield (
            "",
            (
                "too large to be asked for: large arrays start on multiples of"
                f" {nbytes_text(boundary)}"
            ),
        )
    if figures.get("HugePages_Total"):
        yield (
            "reserved huge",
            f"{figures['HugePages_Total']} pages of {nbytes_text(figures['Hugepagesize'])}",
        )


def huge_pages() -> str:
    """The transparent huge page setting, and what it means for large arrays."""
    try:
        setting = Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text()
    except OSError:
        return "no transparent huge pages in this kernel"
    chosen = setting[setting.find("[") + 1 : setting.find("]")]
    meaning = {
        "always": "large arrays get them",
        "madvise": "large arrays get them, because gridbuf asks",
        "never": "switched off: large arrays get small pages",
    }
    return f"{chosen}: {meaning.get(chosen, 'unknown setting')}"


def cuda_driver() -> str:
    """The CUDA driver's version and its devices, or why gridbuf cannot use one; nothing else looks
    without being asked for a GPU.
    """
    try:
        found = gridbuf.cuda.devices()
    except RuntimeError as error:
        path = os.environ.get("GRIDBUF_LIBCUDA")
        return f"none: {error}" + (f"  (GRIDBUF_LIBCUDA names {path})" if path else "")
    number = found[0].driver_version
    return (
        f"{number // 1000}.{number % 1000 // 10}, {len(found)}"
        f" device{'s' if len(found) != 1 else ''}"
    )


def _stat(name: str, value: int | None) -> str:
    if value is None:
        return "none"
    return (
        nbytes_text(value)
        if name.endswith("bytes") or name in ("limit", "cache_bound")
        else f"{value:,}"
    )


def _packages(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    missing = []
    for name in names:
        try:
            yield name, version(name)
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        yield "not installed", ", ".join(missing)


# ---- warnings ----


def warnings(root: Path = Path("/")) -> Iterator[tuple[str, str]]:
    """(name, what it does); root: where /proc and /sys are."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY:
        yield (
            "address space",
            (
                f"limited to {nbytes_text(limit)} (ulimit -v): reserved memory counts, also"
                " where it is never written"
            ),
        )
    if _first_word(root / "proc/sys/vm/overcommit_memory") == "2":
        yield (
            "overcommit",
            "switched off (vm.overcommit_memory = 2): arrays that are never written count",
        )
    mappings = len(_lines(root / "proc/self/maps"))
    most = _first_word(root / "proc/sys/vm/max_map_count")
    if most.isdigit() and mappings > int(most) * 8 // 10:
        yield (
            "mappings",
            (
                f"{mappings} of at most {most} (vm.max_map_count): beyond it neither arrays nor"
                " threads can be made"
            ),
        )
    quota, threads = cpu_quota(str(root)), gridbuf.get_num_threads()
    if quota and threads > math.ceil(quota):
        yield (
            "threads",
            (
                f"{threads}, and the control group gives {quota:g} processors: threads are stopped"
                " in their work"
            ),
        )


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _first_line(path: Path) -> list[str]:
    return (_lines(path) or [""])[0].split()


def _first_word(path: Path) -> str:
    return (_first_line(path) or [""])[0]


# ---- MPI ----


MPI_SECONDS = 20.0  # a healthy library takes some tenths of one

# A line of JSON as soon as something is known: what comes later may never come.
CHILD = """
import ctypes, json, os
out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # whatever MPI prints is not an answer
def say(**facts):
    print(json.dumps(facts), file=out, flush=True)
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
try:
    from mpi4py import MPI
except (ImportError, RuntimeError) as error:
    say(missing=str(error))
    raise SystemExit
say(library=MPI.Get_library_version(), standard=MPI.Get_version())
try:
    symbols = ctypes.CDLL(MPI.__file__)
except OSError:
    symbols = None
level = MPI.Init_thread(MPI.THREAD_MULTIPLE)
say(level=level, tag=MPI.COMM_WORLD.Get_attr(MPI.TAG_UB))
if hasattr(symbols, "MPIX_Query_cuda_support"):
    say(cuda=bool(symbols.MPIX_Query_cuda_support()))
elif hasattr(symbols, "MPIX_GPU_query_support"):
    found = ctypes.c_int(0)
    say(cuda=symbols.MPIX_GPU_query_support(0, ctypes.byref(found)) == 0 and bool(found.value))
MPI.Finalize()
say(end=True)
"""
LEVELS = ("SINGLE", "FUNNELED", "SERIALIZED", "MULTIPLE")


def mpi_facts(seconds: float = MPI_SECONDS) -> dict[str, Any]:
    """The facts that a child has found, and under "problem" why some are missing."""
    problem = ""
    # Files, not pipes: a library may start helpers that outlive the child, and would hold those
    # open.
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as noise:
        words = [sys.executable, "-c", CHILD]
        child = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=noise,
            env=mpi_environment(),
            start_new_session=True,
        )
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            problem = f"it did not start within {seconds:g} s"
        finally:
            _end(child)
        lines, others = _lines_of(said), _lines_of(noise)
    found: dict[str, Any] = {}
    for line in lines:
        found |= json.loads(line)
    if not problem and "end" not in found and "missing" not in found:
        problem = ": ".join([f"it ended with status {child.returncode}", *others[-1:]])
    return found | ({"problem": problem} if problem else {})


def _end(child: "subprocess.Popen[bytes]") -> None:
    """End the child and what it has started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _lines_of(file: IO[bytes]) -> list[str]:
    file.seek(0)
    return [line for line in file.read().decode(errors="replace").splitlines() if line.strip()]


def mpi_entries(seconds: float = MPI_SECONDS) -> Iterator[tuple[str, str]]:
    """(name, value) for each line of the doctor's section."""
    try:
        package = version("mpi4py")
    except PackageNotFoundError:
        yield (
            "mpi4py",
            "not installed: grids have all their blocks in one process (pip install mpi4py)",
        )
        return
    found = mpi_facts(seconds)
    if "missing" in found:
        yield (
            "mpi4py",
            f"{package}, which finds no MPI library: {' '.join(found['missing'].split())}",
        )
        return
    yield "mpi4py", package
    if "library" in found:
        first = " ".join(found["library"].strip("\0 \n").splitlines()[0].split())
        yield "library", f"{first.rstrip(',')}  (MPI {'.'.join(map(str, found['standard']))})"
    if "level" in found:
        yield "thread level", f"{LEVELS[found['level']]}; {_threads(found['level'])}"
        tag = found["tag"]
        yield "largest tag", "not said" if tag is None else f"{tag:,}  (gridbuf needs 32,767)"
        yield "GPU memory", _gpu(found.get("cuda"))
        yield "one machine", _sharing()
    if "problem" in found:
        yield "cannot be used", found["problem"]
    yield "mpirun", shutil.which("mpirun") or shutil.which("mpiexec") or "none on PATH"


def _threads(level: int) -> str:
    return (
        "any thread may exchange, one at a time"
        if level >= 2
        else "the main thread alone exchanges"
    )


def _sharing() -> str:
    from gridbuf.distributed.ranks.shared_memory import VARIABLE, machine, wanted

    try:
        if not wanted():
            return f"messages are sent: {VARIABLE}=0"
    except ValueError as error:
        return str(error)
    if not machine():
        return "messages are sent: there is no memory that both ranks could have (memfd, /proc)"
    return "messages lie in memory that both ranks have"


def _gpu(cuda: bool | None) -> str:
    if cuda is None:
        return "it does not say whether it knows GPUs"
    return "it takes CUDA's pointers" if cuda else "it takes host memory alone"
