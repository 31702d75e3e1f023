"""Measurements beside the program: a stencil on relaid copies of its fields, a pool for its blocks,
the whole program again.

Whatever is compared takes turns, because the speed of a machine drifts and other programs run on
it. The least of the rounds is what each needs without them; the middle half of the rounds' ratios
says how far to trust it.
"""

import ctypes
import json
import mmap
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from itertools import zip_longest
from pathlib import Path
from statistics import median
from time import thread_time
from typing import Any, NamedTuple

import numpy as np

import gridbuf as gb
from gridbuf import _core
from gridbuf.machine import meminfo
from gridbuf.startup import USUAL
from gridbuf.strides import extent
from gridbuf.watch.records import address, clock

# Rounds of calls on relaid fields: at most, at least, and the seconds after which they end
ROUNDS, AT_LEAST, SECONDS = 15, 3, 1.0
MORE_ROUNDS, MORE_SECONDS = 60, 3.0  # where the first rounds are noisy
PART_OF_FREE = 0.25  # of the memory that is left: more is not taken
NOISY = 1.5  # times: where the ratios differ more, the machine is noisy

Call = Callable[[dict[str, Any]], Any]


# ---- turns ----


def turns(
    calls: Sequence[Callable[[], Any]], rounds: int, seconds: float, at_least: int = 2
) -> list[list[float]]:
    """Seconds of each call in each round, after one round that loads code and pages."""
    for call in calls:
        call()
    taken: list[list[float]] = []
    started = clock()
    while len(taken) < rounds and (len(taken) < at_least or clock() - started < seconds):
        taken.append([_seconds(call) for call in calls])
    return taken


def least(taken: Sequence[Sequence[float]]) -> list[float]:
    """The least seconds of each call."""
    return [min(each) for each in zip(*taken, strict=True)]


def spread(pairs: Sequence[Sequence[float]]) -> dict[str, Any]:
    """How many times longer the first of each pair takes: by the least of each, and the middle half
    of all rounds.
    """
    ratios = sorted(one / other for one, other in pairs)
    quarter = len(ratios) // 4
    low, high = ratios[quarter], ratios[-1 - quarter]
    one, other = least(pairs)
    ratio = one / other
    noisy = max(high, ratio) > NOISY * min(low, ratio)
    return {"ratio": ratio, "low": low, "high": high, "rounds": len(ratios), "noisy": noisy}


def _seconds(call: Callable[[], Any]) -> float:
    start = clock()
    call()
    return clock() - start


# ---- --measure: the cost of layouts ----


def compare(
    arrays: dict[str, Any], relaid: dict[str, tuple[int, ...]], call: Call
) -> dict[str, Any]:
    """Call with copies that lie as the arrays do, and with those of `relaid` in these layouts."""
    if not relaid:
        return {"why": "as the backend wants"}
    if any(
        address(array) is None or not hasattr(array, "__array_interface__")
        for array in arrays.values()
    ):
        return {"why": "not on the host"}
    needed = 2 * sum(array.nbytes for array in arrays.values())
    if needed > PART_OF_FREE * free_bytes():
        return {"why": f"copies would need {needed:,} bytes"}
    shared = _shared(arrays)
    if shared:
        return {"why": f"{shared} share memory"}
    same = _copies(arrays, {})
    other = _copies(arrays, relaid)
    both = partial(call, same), partial(call, other)
    taken = turns(both, ROUNDS, SECONDS, AT_LEAST)
    if spread(taken)["noisy"]:
        taken += turns(both, MORE_ROUNDS, MORE_SECONDS)
    seconds, relaid_seconds = least(taken)
    return {
        **spread(taken),
        "seconds": seconds,
        "relaid_seconds": relaid_seconds,
        "fields": list(relaid),
    }


def _copies(arrays: dict[str, Any], relaid: dict[str, tuple[int, ...]]) -> dict[str, Any]:
    """A copy of each array; one where an array has two names."""
    made: dict[int, Any] = {}
    for name, array in arrays.items():
        if id(array) not in made:
            made[id(array)] = _relaid(array, relaid[name]) if name in relaid else _same(array)
    return {name: made[id(array)] for name, array in arrays.items()}


def _same(array: Any) -> Any:
    """A copy with the same strides, gaps included, at the same place within a page."""
    low, high = extent(0, array.shape, array.strides, array.itemsize)
    memory = np.zeros(high - low + 2 * mmap.PAGESIZE, np.uint8)
    start = memory.__array_interface__["data"][0]
    first = array.__array_interface__["data"][0]
    at = (first + low - start) % mmap.PAGESIZE - low
    made = np.ndarray(array.shape, array.dtype, memory, at, array.strides)
    made[...] = array
    return made


def _relaid(array: Any, layout: tuple[int, ...]) -> Any:
    made = gb.empty(array.shape, array.dtype, layout=layout)
    made[...] = array
    return made


def _shared(arrays: dict[str, Any]) -> str:
    """Two names whose arrays overlap, which copies would not."""
    named = list(arrays.items())
    for i, (name, array) in enumerate(named):
        for other, another in named[i + 1 :]:
            if array is not another and np.may_share_memory(array, another):
                return f"{name} and {other}"
    return ""


def free_bytes() -> float:
    """The memory that other programs leave."""
    return meminfo().get("MemAvailable", float("inf"))


# ---- the gain of a pool ----

POOL_ROUNDS, TIMES, AT_ONCE, LINES = 5, 4, 4, 12
LARGEST = 1 << 30
PAGE = mmap.PAGESIZE
MORE = 1.5  # times the page faults that were measured: C's heap had given the program's blocks back
LEAST = 0.05  # of the pages that were measured: less comes from other blocks

_advise = ctypes.CDLL(None).madvise
_advise.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int


class Block(NamedTuple):
    """A block that is made, touched and dropped: seconds by NumPy and by the pool, page faults by
    NumPy.
    """

    plain: float
    pooled: float
    faults: float


def add_savings(rows: list[dict[str, Any]], found: Any) -> None:
    """Give each line of NumPy's its `pool`: seconds saved for blocks that come back, of how many,
    and their ratio.

    Blocks of the lines with most bytes are measured: made, touched and dropped by NumPy's memory
    and by gridbuf's heap, as many at once. What is saved is the making of pages, so a line whose
    blocks were not touched would have saved nothing. Of all other lines each page fault saves what
    it does in the measured ones.
    """
    again = [(row, reused(row["sizes"])) for row in rows if not row["own"]]
    by_bytes = sorted(again, key=lambda each: -sum(s["bytes"] * times for s, times in each[1]))
    known: dict[tuple[Any, ...], Block] = {}
    for row, sizes in by_bytes[:LINES]:
        _measure(
            row, [(size, times) for size, times in sizes if size["bytes"] <= LARGEST], known, found
        )
    measured = [row["pool"] for row, _ in by_bytes if row.get("pool") and row["pool"]["faults"]]
    faults = sum(pool["faults"] for pool in measured)
    for row, sizes in by_bytes[LINES:]:
        blocks = sum(times for _, times in sizes)
        if not blocks or not faults:
            continue
        nbytes = sum(size["bytes"] * times for size, times in sizes)
        share = row["page_faults"] * nbytes / row["bytes"] / faults
        saved, of = (share * sum(pool[key] for pool in measured) for key in ("saved", "of"))
        row["pool"] = {
            "reused": blocks,
            "saved": saved,
            "of": of,
            "ratio": of / (of - saved) if saved < of else 1.0,
            "faults": row["page_faults"] * nbytes / row["bytes"],
            "estimated": True,
        }


def _measure(
    row: dict[str, Any], sizes: list[Any], known: dict[tuple[Any, ...], Block], found: Any
) -> None:
    """Measure the size with most bytes, which stands for the line.

    NumPy's memory may keep now what it gave back before: a line with more page faults than it needs
    now is measured with pages given back each time.
    """
    if not sizes:
        return
    most, _ = max(sizes, key=lambda each: each[0]["bytes"] * each[1])
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
    row["pool"] = {
        "reused": sum(times for _, times in sizes),
        "saved": of - block.pooled * count * part,
        "of": of,
        "ratio": block.plain / block.pooled if part else 1.0,
        "faults": block.faults * count * part,
        "estimated": False,
    }


def touched(row: dict[str, Any], nbytes: float, expected: float) -> float:
    """The part of a line's blocks whose pages the program made: its faults against those that were
    measured.
    """
    if expected < 1:
        return 1.0
    part = row["page_faults"] * nbytes / row["bytes"] / expected
    return min(1.0, part) if part >= LEAST else 0.0


def reused(sizes: list[dict[str, Any]]) -> list[tuple[dict[str, Any], int]]:
    """(kind of block, how many) that a pool would have given out again: all but the most that lived
    at once.
    """
    return [(s, s["count"] - s["most_at_once"]) for s in sizes if s["count"] > s["most_at_once"]]


def seconds_of(nbytes: int, at_once: int, zeros: bool, found: Any, fresh: bool = False) -> Block:
    """Making, touching and dropping a block, so many at once: with NumPy's handler and with
    gridbuf's; the least of each.

    With fresh=True NumPy's have no pages before they are touched.
    """
    before, make = _core.numpy_handler()[0], np.zeros if zeros else np.empty
    taken: tuple[list[float], list[float]] = ([], [])
    faults = []
    try:
        for _ in range(POOL_ROUNDS):
            for handler, seconds in zip((found, None), taken, strict=True):
                _core.set_numpy_handler(handler)
                had, took = _faults(), 0.0
                for _ in range(TIMES):
                    took += _made(nbytes, at_once, make, fresh and handler is found)
                seconds.append(took / (TIMES * at_once))
                if handler is found:
                    faults.append((_faults() - had) / (TIMES * at_once))
    finally:
        _core.set_numpy_handler(before)
    return Block(min(taken[0]), min(taken[1]), min(faults))


def _made(nbytes: int, at_once: int, make: Any, fresh: bool) -> float:
    """Seconds of making, touching and dropping; of fresh blocks, whose pages the system makes as
    zeros, of touching and dropping. Processor time: other programs do not lengthen that.
    """
    if fresh:
        blocks = [np.empty(nbytes, np.uint8) for _ in range(at_once)]
        for block in blocks:
            _give_back(block)
        start = thread_time()
    else:
        start = thread_time()
        blocks = [make(nbytes, np.uint8) for _ in range(at_once)]
    for block in blocks:
        block[::PAGE] = 1
    del blocks, block
    return thread_time() - start


def _give_back(block: Any) -> None:
    """Give the system the pages that lie wholly in a block, of any heap; malloc_trim keeps what the
    heap may keep.
    """
    start = block.__array_interface__["data"][0]
    first, end = -(-start // PAGE) * PAGE, (start + block.nbytes) // PAGE * PAGE
    if first < end:
        _advise(first, end - first, mmap.MADV_DONTNEED)


def _faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


# ---- --apply: the whole program again ----

APPLY_ROUNDS, APPLY_MOST, APPLY_SECONDS = 2, 5, 60.0  # at least, at most, and no more after so long


def applied(
    arguments: list[str], folder: str, environment: dict[str, str], status: Any
) -> dict[str, Any]:
    """Seconds outside of imports as the program is and with gridbuf's memory under it, and whether
    both behave the same.

    `arguments` are what stands behind `python -m gridbuf run`: a file, or -m and a module, and the
    program's own. The processes start in `folder` and read nothing; what they print is compared,
    not shown. There is no ratio, but `why`, where the program ends otherwise than with the status
    that it had.
    """
    expected = (status if isinstance(status, int) else int(status is not None)) & 0xFF
    rounds: list[list[dict[str, Any]]] = []
    started = clock()
    while len(rounds) < APPLY_ROUNDS or (
        len(rounds) < APPLY_MOST and clock() - started < APPLY_SECONDS
    ):
        rounds.append([_run(names, arguments, folder, environment) for names in ("none", USUAL)])
        if not all("seconds" in each for each in rounds[-1]) or rounds[0][0]["status"] != expected:
            break
    before, after = rounds[0]
    if before["status"] != expected:
        return {
            "why": (
                f"--apply: run again, without input, it ends with {before['status']} instead of"
                f" {expected}"
            )
        }
    if not all("seconds" in each for pair in rounds for each in pair):
        return {
            "why": (
                "--apply: run again, it ends without an end of Python's, so that nothing could be"
                " timed"
            )
        }
    return {
        "installed": USUAL,
        **spread([[max(each["seconds"], 1e-9) for each in pair] for pair in rounds]),
        "seconds": min(pair[0]["seconds"] for pair in rounds),
        "installed_seconds": min(pair[1]["seconds"] for pair in rounds),
        "cpu": min(pair[0]["cpu"] for pair in rounds),
        "installed_cpu": min(pair[1]["cpu"] for pair in rounds),
        "page_faults": [round(median(pair[i]["page_faults"] for pair in rounds)) for i in (0, 1)],
        "importing": min(pair[0]["importing"] for pair in rounds),
        "status": [before["status"], after["status"]],
        "same_output": before["output"] == after["output"],
        "differs": _differs(before["output"], after["output"]),
    }


def _run(
    names: str, arguments: list[str], folder: str, environment: dict[str, str]
) -> dict[str, Any]:
    """The program in a process of its own, with these parts installed."""
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    with (
        tempfile.TemporaryDirectory() as own,
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
    ):
        times = Path(own) / "times.json"
        command = [
            sys.executable,
            *flags,
            "-m",
            "gridbuf.watch.stopwatch",
            str(times),
            names,
            *arguments,
        ]
        status = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
        ).returncode
        output.seek(0)
        measured = json.loads(times.read_text()) if times.exists() else {}
        return {"status": status, "output": output.read(), **measured}


def _differs(one: bytes, other: bytes) -> list[Any] | None:
    """The first line in which two outputs differ: its number, and both."""
    lines = (each.decode(errors="backslashreplace").splitlines() for each in (one, other))
    for number, (first, second) in enumerate(zip_longest(*lines), 1):
        if first != second:
            return [number, first, second]
    return None
