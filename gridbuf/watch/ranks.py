"""One report for all ranks of MPI: the rank that computes longest, and which rank waits for which.

Reports meet when the programs have ended. Every rank starts a nonblocking duplication of
COMM_WORLD, its last collective call; on the duplicate, which no message of the program's can
reach, each sends its report to rank 0. No rank waits longer than PATIENCE for another: one that
was killed, that runs without watch, or that has finalized MPI, leaves each rank its own report.
"""

import sys
from collections.abc import Callable
from statistics import mean
from time import sleep
from typing import Any

from gridbuf.watch.records import clock

PATIENCE = 30.0  # seconds
WAITS = ("start and wait", "wait")
Found = dict[str, Any]


def gather(found: Found, patience: float = PATIENCE) -> dict[int, Found] | None:
    """The reports of all ranks that have come, on rank 0; on the others {} once rank 0 has theirs.
    None where they cannot meet.
    """
    mpi: Any = sys.modules.get("mpi4py.MPI")
    if mpi is None or not mpi.Is_initialized() or mpi.Is_finalized():
        return None
    world, until = mpi.COMM_WORLD, clock() + patience
    comm, request = world.Idup()
    if not _happens(request.Test, until):
        return None
    if world.rank:
        return {} if _happens(comm.isend(found, 0).Test, until) else None
    came = {0: found}

    def receive() -> bool:
        status = mpi.Status()
        while comm.iprobe(mpi.ANY_SOURCE, mpi.ANY_TAG, status):
            came[status.source] = comm.recv(source=status.source)
        return len(came) == int(world.size)

    _happens(receive, until)
    return came


def _happens(condition: Callable[[], Any], until: float) -> bool:
    while not condition():
        if clock() > until:
            return False
        sleep(0.001)
    return True


def together(came: dict[int, Found], size: int) -> Found:
    """The report of the rank that computes longest, with `ranks`: what differs among them.

    Times and counts are lists in the order of `came`, a line's messages 0 on ranks without any.
    """
    ranks = sorted(came)
    waited = [sum(m["seconds"] for m in came[rank]["messages"]) for rank in ranks]
    computed = [
        max(0.0, came[rank]["seconds"] - seconds)
        for rank, seconds in zip(ranks, waited, strict=True)
    ]
    slowest = ranks[computed.index(max(computed))]
    return {
        **came[slowest],
        "ranks": {
            "size": size,
            "came": ranks,
            "slowest": slowest,
            "computing": computed,
            "messages": waited,
            "stencils": [sum(s["seconds"] for s in came[rank]["stencils"]) for rank in ranks],
            "copies": [sum(c["seconds"] or 0.0 for c in came[rank]["copies"]) for rank in ranks],
            "page_faults": [
                sum(a["page_faults"] for a in came[rank]["allocations"]) for rank in ranks
            ],
            "lines": _lines([came[rank] for rank in ranks]),
        },
    }


def _lines(reports: list[Found]) -> list[dict[str, Any]]:
    """Each line's messages on all ranks, those that take most in the mean first."""
    lines: dict[tuple[str, str, str], dict[str, Any]] = {}
    for i, found in enumerate(reports):
        for m in found["messages"]:
            text, call, what = key = m["line"]["text"], m["call"], m["what"]
            new = {"line": text, "call": call, "what": what, "seconds": [0.0] * len(reports)}
            line = lines.setdefault(key, new)
            line["seconds"][i] = m["seconds"]
    return sorted(lines.values(), key=lambda line: -sum(line["seconds"]))


def imbalance(values: list[float]) -> float:
    """How far the most is above the mean, as a part of that."""
    return max(values) / mean(values) - 1 if any(values) else 0.0


def awaited(line: dict[str, Any], ranks: list[int]) -> int | None:
    """The rank that the others wait for in a line: the last to come waits least. None where all
    wait alike, or where nothing is waited for.
    """
    seconds = line["seconds"]
    alike = min(seconds) > 0.5 * mean(seconds)
    return None if alike or line["what"] not in WAITS else ranks[seconds.index(min(seconds))]
