"""Where fields lie in memory, and how long a stencil takes: docs/placement.png and a table.

    python bench/distances.py [--backend gt:cpu_ifirst] [--stencil hdiff]
                              [--output docs/placement.png]

Fields are cut by hand from one mapping of huge pages. One thing varies at a time: the distance
between fields, the place within a page, the padding of rows, the padding of planes. Times are the
least of a thread's processor time over interleaved rounds, divided by that of the first choice of
each part.
"""

import argparse
import math
import mmap
import os
import time
from dataclasses import dataclass
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import stencils
from gt4py.cartesian import gtscript

KIB, MIB = 1 << 10, 1 << 20
HALO = (2, 2, 0)
FIELDS = {"diffuse": 2, "hdiff": 3, "vadv": 5, "many": 8}
FASTEST_FIRST = {"gt:cpu_ifirst": (0, 1, 2), "gt:cpu_kfirst": (2, 1, 0), "dace:cpu": (1, 0, 2)}
ROUNDS = 15


@dataclass(frozen=True)
class Choice:
    """Bytes: a multiple of `unit` between fields and `more`; `colour` more from field to field;
    gaps after each row and each plane.
    """

    label: str
    unit: int = 2 * MIB
    more: int = 68 * KIB
    colour: int = 832
    row_gap: int = 0
    plane_gap: int = 0


DISTANCES = [
    Choice("2 MiB + 68 KiB"),
    Choice("64 B", unit=64, more=0),
    Choice("4 KiB + 4 KiB", unit=4 * KIB, more=4 * KIB),
    Choice("2 MiB", more=0),
    Choice("2 MiB + 12 KiB", more=12 * KIB),
    Choice("2 MiB + 36 KiB", more=36 * KIB),
    Choice("2 MiB + 2 MiB", more=2 * MIB),
    Choice("8 MiB", unit=8 * MIB, more=0),
    Choice("16 MiB", unit=16 * MIB, more=0),
    Choice("32 MiB", unit=32 * MIB, more=0),
    Choice("32 MiB + 12 KiB", unit=32 * MIB, more=12 * KIB),
    Choice("32 MiB + 68 KiB", unit=32 * MIB, more=68 * KIB),
    Choice("128 MiB", unit=128 * MIB, more=0),
]
COLOURS = [Choice(f"{c} B", colour=c) for c in (832, 0, 64, 256, 448, 1024, 2048, 2112, 4032)]
ROWS = [Choice(f"{g} B", row_gap=g) for g in (0, 64, 128, 512)]
PLANES = [Choice(f"{g} B", plane_gap=g) for g in (0, 64, 1024, 4096, 4160, 8256, 68 * KIB)]
PARTS = {
    "distance between fields, rounded up to": (DISTANCES, (256, 256, 60)),
    "one field after the other begins so far into a page": (COLOURS, (256, 256, 60)),
    "gap after each row": (ROWS, (256, 256, 64)),
    "gap after each plane": (PLANES, (256, 256, 64)),
}


def fields(
    shape: tuple[int, ...], count: int, order: tuple[int, ...], c: Choice
) -> list[np.ndarray]:
    strides, step = [0, 0, 0], 8
    for place, axis in enumerate(order):
        strides[axis] = step
        step = step * shape[axis] + (c.row_gap, c.plane_gap, 0)[place]
    distance = -(-(step + 8 * KIB) // c.unit) * c.unit + c.more
    memory = mmap.mmap(-1, distance * count + 4 * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_HUGEPAGE)
    start = -np.frombuffer(memory, np.uint8).ctypes.data % (2 * MIB)
    start += -sum(h * s for h, s in zip(HALO, strides, strict=True)) % 64
    made = []
    for i in range(count):
        made.append(np.ndarray(shape, "f8", memory, start + i * (distance + c.colour), strides))
        made[-1][...] = 1.0
    return made


def seconds(
    stencil: object, choices: list[Choice], shape: tuple[int, ...], backend: str, count: int
) -> list[float]:
    """The least time of each choice."""
    sets = [fields(shape, count, FASTEST_FIRST[backend], choice) for choice in choices]
    domain = tuple(n - 2 * h for n, h in zip(shape, HALO, strict=True))
    least = [math.inf] * len(sets)
    for i in range(ROUNDS + 1):
        for k, held in enumerate(sets):
            begin = time.thread_time()
            stencil(*held, origin=HALO, domain=domain)
            if i:  # the first round warms up
                least[k] = min(least[k], time.thread_time() - begin)
    return least


def plot(found: dict[str, list[tuple[str, float]]], title: str, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    heights = [len(rows) for rows in found.values()]
    figure, panels = plt.subplots(
        len(found),
        figsize=(7, 0.24 * sum(heights) + 2.5),
        height_ratios=heights,
        layout="constrained",
    )
    for axes, (name, rows) in zip(panels, found.items(), strict=True):
        labels, ratios = zip(*rows, strict=True)
        axes.barh(labels, ratios, color=["#d62728" if r > 1.1 else "#1f77b4" for r in ratios])
        axes.axvline(1, color="grey", linewidth=0.8)
        axes.set_title(name, fontsize=9, loc="left")
        axes.tick_params(labelsize=8)
        axes.invert_yaxis()
        for spine in ("top", "right"):
            axes.spines[spine].set_visible(False)
    figure.suptitle(title, fontsize=10)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="gt:cpu_ifirst", choices=list(FASTEST_FIRST))
    parser.add_argument("--stencil", default="hdiff", choices=list(FIELDS))
    parser.add_argument("--shape", help="such as 256x256x64, in place of each part's own")
    parser.add_argument("--part", type=int, choices=range(len(PARTS)), help="this one alone")
    parser.add_argument("--output", type=Path, help="a picture of all parts")
    options = parser.parse_args()
    definition = getattr(stencils, options.stencil)
    stencil = gtscript.stencil(backend=options.backend, definition=definition)
    found = {}
    for i, (name, (choices, shape)) in enumerate(PARTS.items()):
        if options.part not in (None, i):
            continue
        if options.shape:
            shape = tuple(map(int, options.shape.split("x")))
        times = seconds(stencil, choices, shape, options.backend, FIELDS[options.stencil])
        print(f"{options.backend} {options.stencil} {shape}, {name}")
        found[name] = [(c.label, t / times[0]) for c, t in zip(choices, times, strict=True)]
        for (label, ratio), t in zip(found[name], times, strict=True):
            print(f"  {label:18} {ratio:5.2f}  {t * 1e3:6.2f} ms")
    if options.output:
        plot(
            found,
            f"time of {options.stencil}, {options.backend}, 1 thread; 1: the first row",
            options.output,
        )


if __name__ == "__main__":
    main()
