"""What the layouts of a stencil's fields cost: the same call on copies of them as they lie, and relaid as it wants them."""

import mmap
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import gridbuf as gb
from gridbuf.meminfo import meminfo
from gridbuf.strides import extent
from gridbuf.watch.book import clock
from gridbuf.watch.layouts import address

ROUNDS, SECONDS = 7, 1.0  # at most
PART_OF_FREE = 0.25  # of the memory that is left: more is not taken

Call = Callable[[dict[str, Any]], Any]


def compare(arrays: dict[str, Any], relaid: dict[str, tuple[int, ...]], call: Call) -> dict[str, Any]:
    """Call with copies that lie as the arrays do, and with those of `relaid` in these layouts, taking turns."""
    if not relaid:
        return {"why": "as the backend wants"}
    if any(address(array) is None or not hasattr(array, "__array_interface__") for array in arrays.values()):
        return {"why": "not on the host"}
    needed = 2 * sum(array.nbytes for array in arrays.values())
    if needed > PART_OF_FREE * free_bytes():
        return {"why": f"copies would need {needed:,} bytes"}
    shared = _shared(arrays)
    if shared:
        return {"why": f"{shared} share memory"}
    same = _copies(arrays, {})
    other = _copies(arrays, relaid)
    (seconds, relaid_seconds), rounds = least([partial(call, same), partial(call, other)], ROUNDS, SECONDS)
    return {
        "ratio": seconds / relaid_seconds,
        "seconds": seconds,
        "relaid_seconds": relaid_seconds,
        "rounds": rounds,
        "fields": list(relaid),
    }


def least(calls: Sequence[Callable[[], Any]], rounds: int, seconds: float) -> tuple[list[float], int]:
    """The least seconds of each, taking turns, and how many rounds there were: at least two, and then no more than so many, for so long."""
    for call in calls:  # code and pages are loaded
        call()
    taken: list[list[float]] = []
    started = clock()
    while len(taken) < rounds and (len(taken) < 2 or clock() - started < seconds):
        taken.append([_seconds(call) for call in calls])
    return [min(each) for each in zip(*taken, strict=True)], len(taken)


def _seconds(call: Callable[[], Any]) -> float:
    start = clock()
    call()
    return clock() - start


def _copies(arrays: dict[str, Any], relaid: dict[str, tuple[int, ...]]) -> dict[str, Any]:
    """One of each array, also where it has two names."""
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
    """Two names whose arrays overlap: copies would not."""
    named = list(arrays.items())
    for i, (name, array) in enumerate(named):
        for other, another in named[i + 1 :]:
            if array is not another and np.may_share_memory(array, another):
                return f"{name} and {other}"
    return ""


def free_bytes() -> float:
    """What other programs leave."""
    return meminfo().get("MemAvailable", float("inf"))
