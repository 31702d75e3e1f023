"""What a pool would save: blocks of the same sizes, as many at once, from NumPy's memory and from gridbuf's heap, both touched."""

from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.watch.book import clock

ROUNDS, TIMES, AT_ONCE, LINES = 5, 4, 4, 12
LARGEST = 1 << 30
PAGE = 4096


def add_savings(rows: list[dict[str, Any]], found: Any) -> None:
    """Measure for the lines that allocated most what comes back: `pool` has seconds saved and how many times faster it was."""
    again = [(row, reused(row["sizes"])) for row in rows if not row["own"]]
    by_bytes = sorted(again, key=lambda each: -sum(size * times for size, times in each[1]))
    known: dict[tuple[int, int], tuple[float, float]] = {}
    for row, sizes in by_bytes[:LINES]:
        sizes = [(size, times) for size, times in sizes if size <= LARGEST]
        if not sizes:
            continue
        size, _ = max(sizes, key=lambda each: each[0] * each[1])  # stands for the line
        at_once = min(AT_ONCE, max(s["most_at_once"] for s in row["sizes"] if s["bytes"] == size))
        if (size, at_once) not in known:
            known[size, at_once] = seconds_of(size, at_once, found)
        plain, pooled = known[size, at_once]
        scale = sum(s * times for s, times in sizes) / size
        row["pool"] = {"reused": sum(times for _, times in sizes), "saved": (plain - pooled) * scale, "ratio": plain / pooled}


def reused(sizes: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """(bytes, how many) that a pool would have given out again: all but the most that lived at once."""
    return [(s["bytes"], s["count"] - s["most_at_once"]) for s in sizes if s["count"] > s["most_at_once"]]


def seconds_of(nbytes: int, at_once: int, found: Any) -> tuple[float, float]:
    """Making, touching and dropping a block, so many at once: with NumPy's handler and with gridbuf's, taking turns; the medians."""
    before = _core.numpy_handler()[0]
    taken: tuple[list[float], list[float]] = ([], [])
    try:
        for _ in range(ROUNDS):
            for handler, seconds in zip((found, None), taken, strict=True):
                _core.set_numpy_handler(handler)
                start = clock()
                for _ in range(TIMES):
                    blocks = [np.empty(nbytes, np.uint8) for _ in range(at_once)]
                    for block in blocks:
                        block[::PAGE] = 1
                    del blocks, block
                seconds.append((clock() - start) / (TIMES * at_once))
    finally:
        _core.set_numpy_handler(before)
    return sorted(taken[0])[ROUNDS // 2], sorted(taken[1])[ROUNDS // 2]
