"""What watching cost: the clock around our own code, and what the clock cannot see, measured at the end.

Between two calls a program's data push our code out of the caches. So each thing is done once with us and once without after
memory was gone through, as a program's step does: in a tight loop it would cost a fraction.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from statistics import median
from timeit import Timer
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from gridbuf.watch import allocations
from gridbuf.watch.book import Book, Stencil
from gridbuf.watch.cartesian import wrap
from gridbuf.watch.copies import exchange
from gridbuf.watch.stencils import LOOKED_UP

ROUNDS = 101
MOST = 1 << 23  # bytes to go through: more than a core has for itself

Way = tuple[Timer, Callable[[], AbstractContextManager[None]]]


def own_costs(book: Book, rows: list[dict[str, Any]], seconds: float) -> dict[str, Any]:
    """Seconds of our own, in all and by cause, and as a part of the program's; `rows` are what each line allocated."""
    noted = sum(row["count"] for row in rows)
    reach = sum(nbytes * most for row in rows for nbytes, _, most, _ in row["sizes"])  # what the program goes through
    called = sum(record.times.count for record in book.stencils.values())
    each_call = _seconds_each_call(list(book.stencils.values()), reach) if called else 0.0
    each_look = _seconds_each_look(reach) if book.events else 0.0
    each_block = _seconds_each_block(reach) if noted else 0.0
    calls = book.own + called * each_call + book.events * each_look
    whole = calls + noted * each_block
    return {
        "seconds": whole,
        "part": whole / seconds if seconds > 0 else 0.0,
        "calls": called + book.events,
        "seconds_in_calls": calls,
        "seconds_each_call": each_call,
        "blocks": noted,
        "seconds_each_block": each_block,
    }


def _seconds_each_call(records: list[Stencil], nbytes: int) -> float:
    """A stencil that does nothing, with as many fields as a call had in the mean; calls of other kinds have a clock around their fields."""
    calls = sum(record.times.count for record in records)
    fields = sum(record.times.count * len(record.layouts) for record in records if record.kind == "gt4py.cartesian")
    arrays = {f"f{i}": np.zeros((2, 2, 2)) for i in range(round(fields / calls))}
    Watched = type("_Watched", (_Nothing,), {"__call__": _Nothing.__call__, "run": _Nothing.run})
    wrap(Watched, Book(), measure=False)
    plain, watched = _Nothing(arrays), Watched(arrays)
    for _ in range(LOOKED_UP):  # their lines are looked up, with the clock around it
        watched(**arrays)
    ways = [(Timer("call(**arrays)", globals={"call": call, "arrays": arrays}), nullcontext) for call in (watched, plain)]
    return _difference(ways, nbytes)


class _Nothing:
    """A stencil of gt4py's that looks at its fields and does nothing."""

    options, backend = {"name": "nothing"}, "numpy"

    def __init__(self, names: Any) -> None:
        info = SimpleNamespace(axes=("I", "J", "K"), data_dims=(), dtype=np.float64)
        self.field_info = dict.fromkeys(names, info)

    def __call__(self, **kwargs: Any) -> None:
        self.run(**kwargs)

    def run(self, **kwargs: Any) -> None: ...


def _seconds_each_look(nbytes: int) -> float:
    """A function whose result is another array than it was given: that it copied is taken down."""
    array, other = np.zeros((32, 32)), np.zeros((32, 32))
    module: Any = ModuleType("numpy")
    module.copy = plain = lambda array: other
    exchange(module, "copy", Book(), lambda *_: other.nbytes)
    ways = [(Timer("call(array)", globals={"call": call, "array": array}), nullcontext) for call in (module.copy, plain)]
    return _difference(ways, nbytes)


def _seconds_each_block(nbytes: int) -> float:
    """The same array with and without a note."""
    timer = Timer("empty(16384, 'u1')", globals={"empty": np.empty})
    return _difference([(timer, nullcontext), (timer, allocations.paused)], nbytes)


def _difference(ways: Sequence[Way], nbytes: int) -> float:
    """How much longer the first of two takes, each known and then gone from the caches: the median of pairs, taking turns."""
    memory = np.ones(max(1, min(nbytes, MOST) // 8))
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for (timer, context), each in zip(ways, seconds, strict=True):
            with context():
                timer.timeit(1)
                np.add(memory, 1.0, out=memory)
                each.append(timer.timeit(1))
    return max(0.0, median([one - other for one, other in zip(*seconds, strict=True)]))
