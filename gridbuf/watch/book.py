"""Where the collectors write: one record for each thing that is told apart, and what writing cost."""

import os
import time
from collections.abc import Callable, Hashable
from statistics import median
from typing import Any

from gridbuf import _core
from gridbuf.strides import boundary
from gridbuf.watch.lines import Line

clock = time.perf_counter
KEPT = 4096


class Times:
    """How often, and how long: total, least and median."""

    __slots__ = ("count", "least", "samples", "step", "total")

    def __init__(self) -> None:
        self.count, self.total, self.least = 0, 0.0, float("inf")
        self.samples: list[float] = []
        self.step = 1

    def add(self, seconds: float) -> int:
        """One more; how many there are."""
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
        middle = median(self.samples) if self.samples else (self.total / self.count if self.count else 0.0)
        return {"calls": self.count, "seconds": self.total, "least": self.least if self.count else 0.0, "median": middle}


class Layout:
    """One way in which a field came to a stencil."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self.facts = facts
        self.lines: dict[Line | None, None] = {}  # who allocated it, in order

    def lies_at(self, address: int) -> None:
        """Another array that lies so: of all that are looked at, the least boundary is told."""
        if self.facts["aligned"] is not None:
            self.facts["aligned"] = min(self.facts["aligned"], boundary(address + self.facts["first"]))


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
        self.counted: dict[Any, None] = {}  # C's methods, which count calls of it
        self.measured: list[tuple[Combination, dict[str, Any]]] = []
        self.keeps: Any = None  # what its collector wants to have at hand: alive, nothing else has its address

    def take(self, method: Any, key: Any = None, left: int = -1) -> None:
        """Take what one of C's methods has counted; the key is known to it from now on, and the next to come here is after `left` calls."""
        self.counted[method] = None
        seconds, calls = _core.watch_taken(method, key, left)
        for each in seconds:
            self.times.add(each)
        for known, count in calls:
            self.combinations[known].calls += count

    def calls_with(self, layout: Layout) -> int:
        """In how many calls a field came so."""
        return sum(each.calls for each in self.combinations.values() if layout in each.layouts)


class Copy:
    """Copies of one kind that one line made."""

    def __init__(self) -> None:
        self.count, self.bytes, self.seconds = 0, 0, 0.0
        self.not_timed = 0  # copies whose seconds were of something else besides
        self.made_by: Line | None = None  # who allocated what was copied

    def add(self, nbytes: int, seconds: float | None) -> None:
        self.count += 1
        self.bytes += nbytes
        if seconds is None:
            self.not_timed += 1
        else:
            self.seconds += seconds

    def all_seconds(self) -> float | None:
        """Those that were not timed took what the others did; None where there are no others."""
        timed = self.count - self.not_timed
        return self.seconds * self.count / timed if timed else None


class Packed:
    """Elements of one kind that MPI packed or unpacked, how many, and what was measured of one beside the program."""

    def __init__(self, receives: bool, measured: dict[str, Any]) -> None:
        self.receives, self.count, self.measured = receives, 0, measured


class Message:
    """Messages of one kind that one line sent, received or waited for."""

    def __init__(self) -> None:
        self.count, self.bytes, self.derived, self.seconds = 0, 0, 0, 0.0
        self.datatypes: dict[str, None] = {}
        self.packed: dict[Hashable, Packed] = {}


class Book:
    """Everything that was seen; `on` says whether anything is still written."""

    def __init__(self) -> None:
        self.on, self.process, self.began = True, os.getpid(), clock()
        self.stencils: dict[Hashable, Stencil] = {}
        self.copies: dict[tuple[str, str, Line], Copy] = {}
        self.messages: dict[tuple[str, str, Line], Message] = {}
        self.packed: dict[Hashable, dict[str, Any]] = {}  # what was measured of elements of one kind
        self.looked: list[Callable[[], None]] = []  # take what C has counted of copies
        self.own = 0.0  # seconds in our own code, by the clock
        self.aside = 0.0  # seconds in what was measured beside the program
        self.events = 0  # looks at what is no stencil's call: what the clock does not see of them is measured at the end
        self.children = 0
        self.rank: tuple[int, int] | None = None  # of how many processes of MPI
        self.not_seen: dict[str, None] = {}

    def copy(self, kind: str, why: str, line: Line, made_by: Callable[[], Line | None] = lambda: None) -> Copy:
        """The record of such copies; who allocated what was copied is asked for the first of a line."""
        found = self.copies.get((kind, why, line))
        if found is None:
            found = self.copies[kind, why, line] = Copy()
            found.made_by = made_by()
        return found
