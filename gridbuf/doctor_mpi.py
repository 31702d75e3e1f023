"""What the doctor says of MPI. Asked in a child process with an end: starting MPI can print, hang,
or take its process with it.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import IO, Any

from gridbuf.mpirun import environment

SECONDS = 20.0  # what a healthy library takes some tenths of a second for

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


def facts(seconds: float = SECONDS) -> dict[str, Any]:
    """What a child has found out, and under "problem" why that is not all."""
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
            env=environment(),
            start_new_session=True,
        )
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            problem = f"it did not start within {seconds:g} s"
        finally:
            _end(child)
        lines, others = _lines(said), _lines(noise)
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


def _lines(file: IO[bytes]) -> list[str]:
    file.seek(0)
    return [line for line in file.read().decode(errors="replace").splitlines() if line.strip()]


def entries(seconds: float = SECONDS) -> Iterator[tuple[str, str]]:
    """(name, value) for each line of the doctor's section."""
    try:
        package = version("mpi4py")
    except PackageNotFoundError:
        yield (
            "mpi4py",
            "not installed: grids have all their blocks in one process (pip install mpi4py)",
        )
        return
    found = facts(seconds)
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
