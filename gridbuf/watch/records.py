"""The counts and times that collectors write, a record for each stencil, copy and message by line;
and an array's layout beside the one that a backend wants.
"""

import os
import time
from collections.abc import Hashable, Sequence
from functools import lru_cache
from importlib import import_module
from math import prod
from statistics import median
from typing import Any

from gridbuf import _core
from gridbuf.compared import order_of
from gridbuf.strides import boundary, slowest_first
from gridbuf.watch.lines import Line

# ---- layouts ----


def address(array: Any) -> int | None:
    """Where element 0 lies, on the host or on a GPU; None without memory."""
    for name in ("__array_interface__", "__cuda_array_interface__"):
        interface = getattr(array, name, None)
        if isinstance(interface, dict) and interface.get("data"):
            return int(interface["data"][0])
    return None


def wanted_order(backend: str, dims: tuple[str, ...]) -> tuple[int, ...] | None:
    """The rank of each index's stride, 0 the largest; None for an unknown backend."""
    try:
        return _core.preset(backend, dims)[0]
    except Exception:
        pass
    for module in ("layout_registry", "layout"):  # of this gt4py, or of those before 1.1.10
        try:
            registry = import_module(f"gt4py.storage.cartesian.{module}").REGISTRY
            return tuple(registry[backend]["layout_map"](dims))
        except Exception:
            continue
    return None


def wanted_alignment(backend: str, itemsize: int) -> int:
    """The boundary in bytes that a backend wants the domain's first element on; 1 where it does not
    care or is not known.
    """
    try:
        return max(_core.plan((2,), backend=backend, dimensions=("I",)).byte_alignment, itemsize)
    except Exception:
        return itemsize


@lru_cache(maxsize=1024)
def orders(
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dims: tuple[str, ...],
    layout: tuple[int, ...] | None,
) -> tuple[str, str]:
    """The names from the largest stride to the smallest: as it is, and as it is wanted; for an
    unknown backend, both as it is.

    An index of one element has no stride to speak of, and stands where it is wanted.
    """
    ranks = layout if layout is not None and len(layout) == len(dims) else sorted_ranks(strides)
    if all(len(dim) == 1 for dim in dims):
        return order_of(strides, shape, dims, ranks)
    found, wanted = order_of(strides, shape, tuple(f"{dim} " for dim in dims), ranks)
    return found.rstrip(), wanted.rstrip()


def sorted_ranks(strides: Sequence[int]) -> tuple[int, ...]:
    """The ranks that strides have, the largest 0."""
    by_size = slowest_first(strides)
    return tuple(by_size.index(i) for i in range(len(strides)))


def padding(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> float:
    """Bytes between elements, as a part of all bytes from the first row to the last."""
    points = prod(shape) * itemsize
    spans = [n * abs(s) for n, s in zip(shape, strides, strict=True) if n > 1 and s]
    whole = max(spans, default=points)
    return max(0.0, 1 - points / whole) if whole else 0.0


def layout_facts(
    array: Any,
    dims: tuple[str, ...],
    layout: tuple[int, ...] | None,
    alignment: int,
    origin: Sequence[int] | None = None,
) -> dict[str, Any]:
    """Of one array: shape, dtype, orders, alignment of the domain's first element, padding."""
    shape, strides, dtype = tuple(array.shape), tuple(array.strides), array.dtype
    at, first = address(array), 0
    if origin is not None and len(origin) == len(strides):
        first = sum(o * s for o, s in zip(origin, strides, strict=True))
    order, wanted = orders(shape, strides, dims, layout)
    return {
        "shape": list(shape),
        "strides": list(strides),
        "dtype": str(dtype),
        "order": order,
        "wanted": wanted,
        "first": first,  # bytes from element 0 to the domain's first
        "aligned": None if at is None else boundary(at + first),
        "wants_aligned": alignment,
        "padding": padding(shape, strides, dtype.itemsize),
    }


# ---- records ----


clock = time.perf_counter
KEPT = 4096


class Times:
    """Count, total, least and median of durations."""

    __slots__ = ("count", "least", "samples", "step", "total")

    def __init__(self) -> None:
        self.count, self.total, self.least = 0, 0.0, float("inf")
        self.samples: list[float] = []
        self.step = 1

    def add(self, seconds: float) -> int:
        """Add one; the number of all."""
        self.count = count = self.count + 1
        self.total += seconds
        if seconds < self.least:
            self.least = seconds
        if not count % self.step:
            self.samples.append(seconds)
            if len(self.samples) >= KEPT:  # every second sample stands for both, from now on
                self.samples = self.samples[1::2]
                self.step *= 2
        return count

    def as_dict(self) -> dict[str, Any]:
        middle = (
            median(self.samples)
            if self.samples
            else (self.total / self.count if self.count else 0.0)
        )
        return {
            "calls": self.count,
            "seconds": self.total,
            "least": self.least if self.count else 0.0,
            "median": middle,
        }


class Layout:
    """A layout in which a field came to a stencil."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self.facts = facts
        self.lines: dict[Line | None, None] = {}  # lines that allocated it, in order

    def lies_at(self, address: int) -> None:
        """Another array that lies so: of all that are looked at, the least boundary is told."""
        if self.facts["aligned"] is not None:
            self.facts["aligned"] = min(
                self.facts["aligned"], boundary(address + self.facts["first"])
            )


class Combination:
    """The layouts of all fields of a call, and how many calls had these."""

    __slots__ = ("calls", "layouts")

    def __init__(self) -> None:
        self.calls = 0
        self.layouts: list[Layout] = []


class Stencil:
    """Calls of one stencil on one backend."""

    def __init__(self, kind: str, name: str, backend: str, defined: Line | None = None) -> None:
        self.kind, self.name, self.backend, self.defined = kind, name, backend, defined
        self.times = Times()
        self.layouts: dict[str, dict[Hashable, Layout]] = {}
        self.combinations: dict[Hashable, Combination] = {}  # by all strides
        self.seen: set[Hashable] = set()  # sets of arguments whose lines are known
        self.callers: dict[Line, None] = {}
        self.measured: list[tuple[Combination, dict[str, Any]]] = []
        self.saved_before = 0  # bytes that a fused function kept from memory before the first call
        self.keeps: Any = None  # the called object: while it lives, its address is not another's

    def calls_with(self, layout: Layout) -> int:
        """The number of calls in which a field came so."""
        return sum(each.calls for each in self.combinations.values() if layout in each.layouts)


class Copy:
    """Copies of one kind that one line made."""

    def __init__(self) -> None:
        self.count, self.bytes, self.seconds = 0, 0, 0.0
        self.not_timed = 0  # copies whose seconds contain something else, such as compiling
        self.own = False  # made inside of a call of gridbuf's: no line of the program can change it
        self.made_by: Line | None = None  # the line that allocated the copied array
        self.of_gridbuf = False  # in memory of gridbuf's, so in a layout that was asked for

    def add(self, nbytes: int, seconds: float | None) -> None:
        self.count += 1
        self.bytes += nbytes
        if seconds is None:
            self.not_timed += 1
        else:
            self.seconds += seconds

    def all_seconds(self) -> float | None:
        """The seconds of all: copies that were not timed took as long as the others; None without
        others.
        """
        timed = self.count - self.not_timed
        return self.seconds * self.count / timed if timed else None


class Packed:
    """Elements of one kind that MPI packed or unpacked, how many, and the measurement of one beside
    the program.
    """

    def __init__(self, receives: bool, measured: dict[str, Any]) -> None:
        self.receives, self.count, self.measured = receives, 0, measured


class Message:
    """Messages of one kind that one line sent, received or waited for."""

    def __init__(self) -> None:
        self.count, self.bytes, self.derived, self.seconds = 0, 0, 0, 0.0
        self.datatypes: dict[str, None] = {}
        self.packed: dict[Hashable, Packed] = {}


class Book:
    """Everything that was seen; nothing more is written once `on` is False."""

    def __init__(self) -> None:
        self.on, self.process, self.began = True, os.getpid(), clock()
        self.stencils: dict[Hashable, Stencil] = {}
        self.copies: dict[tuple[str, str, Line], Copy] = {}
        self.messages: dict[tuple[str, str, Line], Message] = {}
        self.packed: dict[Hashable, dict[str, Any]] = {}  # measurements of elements of one kind
        self.own = 0.0  # seconds in our own code, by the clock
        self.aside = 0.0  # seconds in measurements beside the program
        self.events = 0  # looks at calls of other functions: their cost is measured at the end
        self.children = 0
        self.rank: tuple[int, int] | None = None  # of how many processes of MPI
        self.not_seen: dict[str, None] = {}
