"""What gridbuf finds on this machine: `python -m gridbuf doctor`. Packages are asked for by
metadata, never imported here.
"""

import os
import platform
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

import gridbuf
from gridbuf import _core, consumers, doctor_mpi
from gridbuf.compiler import cxx_command, cxx_compiler
from gridbuf.demo.checks import NEEDED
from gridbuf.doctor_warnings import warnings
from gridbuf.explain import nbytes_text
from gridbuf.meminfo import meminfo

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
    yield "MPI", list(doctor_mpi.entries())
    yield (
        "gridbuf.memory",
        [
            (name, _stat(name, value))
            for name, value in gridbuf.memory.stats().items()
            if name != "kinds"
        ],
    )
    yield "consumers", list(_packages(consumers.packages()))
    yield (
        "for the demo",
        [
            *_packages(NEEDED.values()),
            ("C++ compiler", cxx_compiler() or f"none: '{cxx_command()}' is not on PATH"),
        ],
    )


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
