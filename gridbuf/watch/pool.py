"""What a pool would save: blocks of the same sizes, as many at once, from NumPy's memory and from gridbuf's heap, both touched.

What is saved is the making of pages. Of a line whose blocks were not touched, as its page faults say, it would have saved nothing. One that
made more pages than NumPy's memory needs now, which may keep what it gave back before, is measured with that given back each time.
"""

import ctypes
import mmap
import resource
from typing import Any, NamedTuple

import numpy as np

from gridbuf import _core
from gridbuf.watch.book import clock

ROUNDS, TIMES, AT_ONCE, LINES = 5, 4, 4, 12
LARGEST = 1 << 30
PAGE = mmap.PAGESIZE
MORE = 1.5  # times the page faults that were measured: the program's blocks were given back
LEAST = 0.05  # of the pages that were measured: less is what others leave over

_advise = ctypes.CDLL(None).madvise
_advise.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int


class Block(NamedTuple):
    """Of one that is made, touched and dropped: seconds by NumPy and by the pool, page faults by NumPy."""

    plain: float
    pooled: float
    faults: float


def add_savings(rows: list[dict[str, Any]], found: Any) -> None:
    """Measure for the lines that allocated most what comes back: `pool` has seconds saved, of how many, and how many times faster it was."""
    again = [(row, reused(row["sizes"])) for row in rows if not row["own"]]
    by_bytes = sorted(again, key=lambda each: -sum(s["bytes"] * times for s, times in each[1]))
    known: dict[tuple[Any, ...], Block] = {}
    for row, sizes in by_bytes[:LINES]:
        sizes = [(size, times) for size, times in sizes if size["bytes"] <= LARGEST]
        if not sizes:
            continue
        most, _ = max(sizes, key=lambda each: each[0]["bytes"] * each[1])  # stands for the line
        kind = most["bytes"], min(AT_ONCE, most["most_at_once"]), most["zeros"]
        count = sum(s["bytes"] * times for s, times in sizes) / most["bytes"]
        for fresh in (False, True):
            if (*kind, fresh) not in known:
                known[*kind, fresh] = seconds_of(*kind, found, fresh)
            block = known[*kind, fresh]
            if row["page_faults"] * most["bytes"] / row["bytes"] <= MORE * block.faults:
                break
        part = touched(row, count * most["bytes"], block.faults * count)
        of = block.plain * count * part
        saved = of - block.pooled * count * part
        row["pool"] = {
            "reused": sum(times for _, times in sizes),
            "saved": saved,
            "of": of,
            "ratio": block.plain / block.pooled if part else 1.0,
        }


def touched(row: dict[str, Any], nbytes: float, expected: float) -> float:
    """The part of a line's blocks whose pages the program made: its faults against those that were measured."""
    if expected < 1:
        return 1.0
    part = row["page_faults"] * nbytes / row["bytes"] / expected
    return min(1.0, part) if part >= LEAST else 0.0


def reused(sizes: list[dict[str, Any]]) -> list[tuple[dict[str, Any], int]]:
    """(kind of block, how many) that a pool would have given out again: all but the most that lived at once."""
    return [(s, s["count"] - s["most_at_once"]) for s in sizes if s["count"] > s["most_at_once"]]


def seconds_of(nbytes: int, at_once: int, zeros: bool, found: Any, fresh: bool = False) -> Block:
    """Making, touching and dropping a block, so many at once: with NumPy's handler and with gridbuf's, taking turns; the least of each.

    With fresh=True NumPy's have no pages before they are touched.
    """
    before, make = _core.numpy_handler()[0], np.zeros if zeros else np.empty
    taken: tuple[list[float], list[float]] = ([], [])
    faults = []
    try:
        for _ in range(ROUNDS):
            for handler, seconds in zip((found, None), taken, strict=True):
                _core.set_numpy_handler(handler)
                give_back = fresh and handler is found
                had, took = _faults(), 0.0
                for _ in range(TIMES):
                    if give_back:  # zeros too: pages that the system makes are zero
                        blocks = [np.empty(nbytes, np.uint8) for _ in range(at_once)]
                        for block in blocks:
                            _give_back(block)
                        start = clock()
                    else:
                        start = clock()
                        blocks = [make(nbytes, np.uint8) for _ in range(at_once)]
                    for block in blocks:
                        block[::PAGE] = 1
                    del blocks, block
                    took += clock() - start
                seconds.append(took / (TIMES * at_once))
                if handler is found:
                    faults.append((_faults() - had) / (TIMES * at_once))
    finally:
        _core.set_numpy_handler(before)
    return Block(min(taken[0]), min(taken[1]), min(faults))


def _give_back(block: Any) -> None:
    """The pages that lie wholly in it, whoever allocated it: malloc_trim asks the heap, which may keep what it has."""
    start = block.__array_interface__["data"][0]
    first, end = -(-start // PAGE) * PAGE, (start + block.nbytes) // PAGE * PAGE
    if first < end:
        _advise(first, end - first, mmap.MADV_DONTNEED)


def _faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
