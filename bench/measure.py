"""Paired measurement: ours and a peer in turns, in one process, as a ratio of medians.

The machine's speed drifts; a ratio of neighbours does not. Each case is measured hot (a
tight loop) and, where it is a small call, after a millisecond of idling, which is how
time-stepping programs call.
"""

import statistics
import time
import timeit
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Case:
    """Two statements to compare. `target` bounds the ratio ours / peer; `idle_target` after
    idling.
    """

    name: str
    ours: str
    peer: str
    setup: str
    target: float
    idle_target: float | None = None
    faster: bool = False  # target means "peer / ours >= target"
    rounds: int = 25
    number: int = 0  # calls a round; 0: chosen so that a round takes about 4 ms
    minima: bool = False  # of the rounds, instead of medians: for calls that take milliseconds
    clock: Callable[[], float] = time.perf_counter


@dataclass
class Result:
    """Seconds a call, and what follows."""

    case: Case
    ours: float
    peer: float
    idle_ours: float | None = None
    idle_peer: float | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        return self.peer / self.ours if self.case.faster else self.ours / self.peer

    @property
    def idle_ratio(self) -> float | None:
        if self.idle_ours is None or self.idle_peer is None:
            return None
        return self.idle_ours / self.idle_peer

    @property
    def reached(self) -> bool:
        hot = self.ratio >= self.case.target if self.case.faster else self.ratio <= self.case.target
        idle = (
            self.case.idle_target is None
            or self.idle_ratio is None
            or self.idle_ratio <= self.case.idle_target
        )
        return hot and idle

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.case.name,
            "ours_ns": self.ours * 1e9,
            "peer_ns": self.peer * 1e9,
            "ratio": self.ratio,
            "target": self.case.target,
            "faster": self.case.faster,
            "idle_ratio": self.idle_ratio,
            "idle_target": self.case.idle_target,
            "reached": self.reached,
        }


def _calls(timer: timeit.Timer) -> int:
    number = 1
    while timer.timeit(number) < 0.004 and number < 1 << 20:
        number *= 2
    return number


def _idle(namespace: dict[str, Any], statement: str) -> Any:
    """A function that idles 1 ms and then times one call, in seconds."""
    source = f"def once():\n sleep(0.001)\n t = clock()\n {statement}\n return clock() - t\n"
    scope = namespace | {"sleep": time.sleep, "clock": time.perf_counter}
    exec(source, scope)
    return scope["once"]


def measure(case: Case) -> Result:
    """Run a case: rounds of ours and peer in turns, then the same with idling."""
    namespace: dict[str, Any] = {"__name__": "bench"}
    exec(case.setup, namespace)
    ours, peer = (
        timeit.Timer(s, timer=case.clock, globals=namespace) for s in (case.ours, case.peer)
    )
    n_ours, n_peer = (case.number or _calls(t) for t in (ours, peer))
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(case.rounds):
        times[0].append(ours.timeit(n_ours) / n_ours)
        times[1].append(peer.timeit(n_peer) / n_peer)
    middle = min if case.minima else statistics.median
    result = Result(case, middle(times[0]), middle(times[1]))
    if case.idle_target is not None:
        one, other = _idle(namespace, case.ours), _idle(namespace, case.peer)
        pairs = [(one(), other()) for _ in range(400)]
        result.idle_ours = statistics.median(p[0] for p in pairs)
        result.idle_peer = statistics.median(p[1] for p in pairs)
    return result
