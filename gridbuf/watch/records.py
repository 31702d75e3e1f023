"""The counts and times that collectors write: a record for each stencil, copy and message by
line.
"""

import os
import time
from collections.abc import Hashable
from statistics import median
from typing import Any

from gridbuf.strides import boundary
from gridbuf.watch.lines import Line

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
    """One way in which a field came to a stencil."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self.facts = facts
        self.lines: dict[Line | None, None] = {}  # that allocated it, in order

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
