"""Blocks of mixed sizes come and go: the memory and processor time that a process takes for them.

    python mixed_sizes.py gb|np SEED [SMALLEST LARGEST]

draws up to four ranges of sizes, used one after the other, or takes the one given (bytes; sizes are
uniform in the logarithm), and prints a JSON object: `peak` and `after` (everything freed), bytes of
resident memory more than at the start; `live`, the most bytes in use at once; `cpu`, seconds of
user and system.
"""

import json
import random
import re
import resource
import sys
from pathlib import Path

import numpy as np

import gridbuf as gb

MOST_LIVE = 300 << 20
BLOCKS = 20_000  # at most, which are drawn
BYTES = 24 << 30  # of them in all, after which the program ends
SMALLEST, LARGEST = 64, 64 << 20


def resident(name: str) -> int:
    """VmHWM: the most so far; VmRSS: now."""
    found = re.search(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found
    return int(found[1]) << 10


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def drawn_ranges(draw: random.Random) -> list[tuple[int, int]]:
    def bound() -> int:
        return int(SMALLEST * (LARGEST / SMALLEST) ** draw.random())

    pairs = [sorted((bound(), bound())) for _ in range(draw.randint(1, 4))]
    return [(low, high) for low, high in pairs]


def churn(empty: object, ranges: list[tuple[int, int]], draw: random.Random) -> int:
    """The most bytes in use at once."""
    held: list[np.ndarray] = []
    live = most = total = 0
    for i in range(BLOCKS):
        low, high = ranges[i * len(ranges) // BLOCKS]
        size = int(low * (high / low) ** draw.random())
        while held and live + size > MOST_LIVE:
            at = draw.randrange(len(held))
            held[at], held[-1] = held[-1], held[at]
            live -= held.pop().nbytes
        block = empty((size,), "u1")
        block[::4096] = 1  # every page
        held.append(block)
        live += size
        most = max(most, live)
        total += size
        if total > BYTES:
            break
    return most


def main(which: str, seed: int, *given: int) -> None:
    draw = random.Random(seed)
    ranges = [(given[0], given[1])] if given else drawn_ranges(draw)
    churn(gb.empty if which == "gb" else np.empty, [(64, 4096)], random.Random(0))  # warm
    start, before = resident("VmRSS"), cpu()
    live = churn(gb.empty if which == "gb" else np.empty, ranges, draw)
    took, peak = cpu() - before, resident("VmHWM") - start
    after = resident("VmRSS") - start
    print(json.dumps({"peak": peak, "after": after, "live": live, "cpu": took}))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
