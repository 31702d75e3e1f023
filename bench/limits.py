"""What this machine's memory can do, and how close gridbuf comes: docs/limits.png and a table.

    python bench/limits.py [--output docs/limits.png]

The limits are measured in C's own terms, without gridbuf: memcpy and memset by one thread and by
all cores over memory that is mapped already, and the faulting in of new pages, small and huge. Then
the same work through gridbuf and through NumPy, in the same run and in turns: medians of GB/s,
bytes read plus bytes written.
"""

import argparse
import ctypes
import mmap
import os
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import gridbuf as gb

SIZE = 168 << 20
CORES = len(os.sched_getaffinity(0))
libc = ctypes.CDLL(None)  # calls release the GIL
libc.memcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
libc.memcpy.restype = libc.memset.restype = ctypes.c_void_p
pool = ThreadPoolExecutor(CORES)
BOUND_BY = {"transposed": "copy", "make": "fill", "temporary": "fill"}  # what limits it


def in_parts(work: Callable[[int, int], object], threads: int) -> None:
    """work(start, bytes) for equal parts, one a thread."""
    part = SIZE // threads
    list(pool.map(lambda i: work(i * part, part), range(threads)))


class Mapping:
    """New pages from the system; advice is for madvise."""

    def __init__(self, advice: int | None) -> None:
        self.map = mmap.mmap(-1, SIZE + (2 << 20), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if advice is not None:
            self.map.madvise(advice)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        self.address = start + (-start) % (2 << 20)


def fault(advice: int | None, threads: int) -> None:
    """Write to memory that was never touched."""
    mapping = Mapping(advice)
    in_parts(lambda start, n: libc.memset(mapping.address + start, 1, n), threads)


def measure(rows: dict[str, tuple[int, Callable[[], object]]], rounds: int) -> dict[str, float]:
    """GB/s of each row, measured in turns."""
    seconds: dict[str, list[float]] = {name: [] for name in rows}
    for i in range(rounds + 1):
        for name, (_, call) in rows.items():
            begin = time.perf_counter()
            call()
            if i:  # the first round warms up
                seconds[name].append(time.perf_counter() - begin)
    return {name: rows[name][0] / statistics.median(seconds[name]) / 1e9 for name in rows}


def rows() -> dict[str, tuple[int, Callable[[], object]]]:
    """name -> (bytes moved, the work); the names say whose it is."""
    shape = (512, 512, SIZE // 8 // 512 // 512)
    a, b = gb.full(shape, 1.0), gb.full(shape, 2.0)
    there, here = a.ctypes.data, b.ctypes.data
    fortran = gb.full(shape, 3.0, backend="F", padding=False)
    huge = mmap.MADV_HUGEPAGE

    def copy(start: int, n: int) -> None:
        libc.memcpy(there + start, here + start, n)

    def set_bytes(start: int, n: int) -> None:
        libc.memset(there + start, 1, n)

    def kept() -> None:
        gb.empty(shape)[...] = 1.5

    def dropped() -> None:
        np.empty(shape)[...] = 1.5

    return {
        f"copy: memcpy, {CORES} threads": (2 * SIZE, lambda: in_parts(copy, CORES)),
        "copy: memcpy, 1 thread": (2 * SIZE, lambda: in_parts(copy, 1)),
        "copy: gb.copyto": (2 * SIZE, lambda: gb.copyto(a, b)),
        "copy: np.copyto": (2 * SIZE, lambda: np.copyto(a, b)),
        "transposed: gb.copyto": (2 * SIZE, lambda: gb.copyto(fortran, b)),
        "transposed: np.copyto": (2 * SIZE, lambda: np.copyto(fortran, b)),
        f"fill: memset, {CORES} threads": (SIZE, lambda: in_parts(set_bytes, CORES)),
        "fill: memset, 1 thread": (SIZE, lambda: in_parts(set_bytes, 1)),
        "fill: gb.fill": (SIZE, lambda: gb.fill(a, 2.5)),
        "fill: ndarray.fill": (SIZE, lambda: a.fill(2.5)),
        "make: gb.full": (SIZE, lambda: gb.full(shape, 2.5)),
        "make: np.full": (SIZE, lambda: np.full(shape, 2.5)),
        "temporary: gb.empty, written": (SIZE, kept),
        "temporary: np.empty, written": (SIZE, dropped),
        f"new pages: 2 MiB, {CORES} threads": (SIZE, lambda: fault(huge, CORES)),
        "new pages: 2 MiB, 1 thread": (SIZE, lambda: fault(huge, 1)),
        f"new pages: 4 KiB, {CORES} threads": (SIZE, lambda: fault(mmap.MADV_NOHUGEPAGE, CORES)),
        "new pages: 4 KiB, 1 thread": (SIZE, lambda: fault(mmap.MADV_NOHUGEPAGE, 1)),
    }


def plot(found: dict[str, float], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colours = {"gb": "#1f77b4", "np": "#ff7f0e", "nd": "#ff7f0e"}
    figure, axes = plt.subplots(figsize=(8, 5.2), layout="constrained")
    names = list(found)[::-1]
    bars = axes.barh(
        names,
        [found[n] for n in names],
        color=[colours.get(n.split(": ")[1][:2], "#b0b0b0") for n in names],
    )
    axes.bar_label(bars, fmt="%.1f", padding=3)
    axes.margins(x=0.08, y=0.02)
    axes.set_xlabel("GB/s, read and written")
    axes.set_title(
        f"{SIZE >> 20} MiB of float64, {CORES} cores: the machine (grey), gridbuf (blue), NumPy"
        " (orange)",
        fontsize=10,
    )
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parent.parent / "docs" / "limits.png"
    )
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    found = measure(rows(), options.rounds)
    for name, speed in found.items():
        kind = name.split(":")[0]
        limit = max(
            other for n, other in found.items() if n.startswith(BOUND_BY.get(kind, kind) + ":")
        )
        sys.stdout.write(
            f"{name:34} {speed:6.1f} GB/s  {100 * speed / limit:5.0f} % of the fastest\n"
        )
    plot(found, options.output)


if __name__ == "__main__":
    main()
