"""What gridbuf finds on this machine: `python -m gridbuf doctor`."""

import ctypes
import os
import platform
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

import gridbuf
from gridbuf.explain import nbytes_text

# Who takes our buffers, by the name on the package index; asked for by metadata, never imported.
CONSUMERS = (
    "gt4py", "dace", "ndsl", "ghex", "cupy-cuda12x", "cupy-cuda13x", "torch", "jax", "mpi4py", "numba", "numba-cuda",
    "apache-tvm-ffi", "nanobind", "ml_dtypes", "dask", "xarray",
)  # fmt: skip
DEMO = ("netCDF4", "iris-sample-data", "matplotlib", "rich")

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
    yield "GPU", [("CUDA driver", cuda_driver())]
    yield "gridbuf.memory", [(name, _stat(name, value)) for name, value in gridbuf.memory.stats().items() if name != "kinds"]
    yield "consumers", list(_packages(CONSUMERS))
    yield (
        "for the demo",
        [*_packages(DEMO), ("C++ compiler", cxx_compiler() or f"none: '{cxx_command()}' is not on PATH")],
    )


def _versions() -> Iterator[tuple[str, str]]:
    yield "gridbuf", f"{gridbuf.__version__}  ({Path(gridbuf.__file__).parent})"
    yield "Python", f"{platform.python_implementation()} {platform.python_version()}  ({sys.executable})"
    yield "NumPy", np.__version__
    yield (
        "system",
        f"{platform.system()} {platform.release()} {platform.machine()}, {' '.join(platform.libc_ver())}".rstrip(", "),
    )


def _processor() -> Iterator[tuple[str, str]]:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield "cores", f"{usable} usable of {os.cpu_count()}"
    setting = os.environ.get("GRIDBUF_NUM_THREADS")
    yield "threads", f"{gridbuf.get_num_threads()}  (GRIDBUF_NUM_THREADS {f'= {setting}' if setting else 'not set'})"


def _memory() -> Iterator[tuple[str, str]]:
    figures = _meminfo()
    if figures:
        yield "physical", f"{nbytes_text(figures['MemTotal'])}, {nbytes_text(figures.get('MemAvailable', 0))} available"
    yield "page", nbytes_text(os.sysconf("SC_PAGE_SIZE"))
    yield "huge pages", huge_pages()
    if figures.get("HugePages_Total"):
        yield "reserved huge", f"{figures['HugePages_Total']} pages of {nbytes_text(figures['Hugepagesize'])}"


def _meminfo() -> dict[str, int]:
    """/proc/meminfo with sizes in bytes; empty where there is none."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return {}
    words = [line.replace(":", " ").split() for line in lines]
    return {w[0]: int(w[1]) * (1024 if w[-1] == "kB" else 1) for w in words}


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
    """The CUDA driver's version and its devices, or why there is none; the only place that looks without being asked for a GPU."""
    path = os.environ.get("GRIDBUF_LIBCUDA") or "libcuda.so.1"
    try:
        driver = ctypes.CDLL(path)
    except OSError as missing:
        if path == "libcuda.so.1":
            return "none: libcuda.so.1 is not found, so no NVIDIA driver is installed here"
        return f"none: GRIDBUF_LIBCUDA names {path}, which cannot be opened ({missing})"
    number, count = ctypes.c_int(), ctypes.c_int()
    if error := driver.cuDriverGetVersion(ctypes.byref(number)):
        return f"{path} is there but gives no version (error {error})"
    found = f"{number.value // 1000}.{number.value % 1000 // 10}"
    if error := driver.cuInit(0):
        return f"{found}, not usable: cuInit gives error {error}{' (no device)' if error == 100 else ''}"
    driver.cuDeviceGetCount(ctypes.byref(count))
    return f"{found}, {count.value} device{'s' if count.value != 1 else ''}"


def _stat(name: str, value: int | None) -> str:
    if value is None:
        return "none"
    return nbytes_text(value) if name.endswith("bytes") or name in ("limit", "cache_bound") else f"{value:,}"


def _packages(names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    missing = []
    for name in names:
        try:
            yield name, version(name)
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        yield "not installed", ", ".join(missing)


def cxx_command() -> str:
    """What gt4py and setuptools would call to compile C++."""
    return (os.environ.get("CXX") or sysconfig.get_config_var("CXX") or "c++").split()[0]


def cxx_compiler() -> str | None:
    """Where that compiler is; None without one."""
    return shutil.which(cxx_command())
