"""Exchanges of halos between two processes, against raw messages, derived datatypes, packing by
NumPy and GHEX.

`python bench/bench_mpi.py` prints the table; `make bench` takes what has a target. Needs mpirun and
mpi4py. Every ratio is one of neighbours in one run; the machine has slow and fast regimes that
differ by more than most rows do.
"""

import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import many_ranks

from gridbuf import machine

CASES: list[Any] = []
Fact = tuple[str, float, float, str]
HERE = Path(__file__).parent
OLD = {  # how many times faster than derived datatypes
    "2 slabs of 246 kB in 24-byte pieces": 2,
    "2 slabs of 246 kB, I-first cut along J": 3,
    "8 fields of 2 x 17 kB": 5,
    "8 fields of 0.5 kB": 20,
}


def measured(*names: str) -> list[dict[str, Any]]:
    if machine.missing_for_mpi():
        return []
    command = [*machine.mpirun_command(2), sys.executable, str(HERE / "mpi_ranks.py"), *names]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True, env=machine.mpi_environment()
    )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def least(row: dict[str, Any], way: str) -> float:
    return min(row[way]) * 1e6


def ratio(row: dict[str, Any], ours: str, theirs: str) -> float:
    """The median over exchanges of neighbours' ratios."""
    return statistics.median(a / b for a, b in zip(row[ours], row[theirs], strict=True))


def facts() -> list[Fact]:
    """What has a target; microseconds and ratios of medians."""
    found: list[Fact] = []
    ghex = []
    for row in measured():
        name = row["case"]
        median = {
            way: statistics.median(row[way]) * 1e6 for way in row if isinstance(row[way], list)
        }
        if name == "plans":
            found.append(("a new plan of 8 fields", median["again"], 200, "us"))
            continue
        if name in OLD:
            found.append(
                (
                    f"{name}: plan / derived datatypes",
                    ratio(row, "plan", "datatypes"),
                    1 / OLD[name],
                    "times",
                )
            )
        if "contiguous" in name:
            found.append((f"{name}: plan / raw", ratio(row, "plan", "raw"), 1.1, "times"))
        elif "0.5 kB" in name:
            found.append((f"{name}: plan - raw", least(row, "plan") - least(row, "raw"), 2.5, "us"))
        else:
            allowed = [r + 1.15 * p for r, p in zip(row["raw"], row["split"], strict=True)]
            over = statistics.median(a / b for a, b in zip(row["plan"], allowed, strict=True))
            found.append((f"{name}: plan / (raw + 1.15 (pack + unpack))", over, 1.0, "times"))
        if "GHEX" in row:
            ghex.append(ratio(row, "plan", "GHEX"))
            found.append(
                (f"{name}: plan / GHEX", ghex[-1], 1.0 if "0.5 kB" in name else 0.8, "times")
            )
    if ghex:
        found.append(
            ("plan / GHEX, geometric mean", statistics.geometric_mean(ghex), 0.65, "times")
        )
    return found + many_ranks.facts()


def main() -> None:
    ways = ["raw", "split", "plan", "exchange", "NumPy", "datatypes", "GHEX"]
    print(f"{'us, least / median':42}{'bytes':>9}" + "".join(f"{way:>16}" for way in ways))
    for row in measured(*sys.argv[1:]):
        if row["case"] == "plans":
            print(
                "  ".join(
                    f"{way} {min(row[way]):.3g} / {statistics.median(row[way]):.3g}"
                    for way in row
                    if way != "case"
                )
            )
            continue
        cells = (
            f"{least(row, w):.1f} / {statistics.median(row[w]) * 1e6:.1f}" if w in row else ""
            for w in ways
        )
        print(f"{row['case']:42}{row['bytes']:9}" + "".join(f"{cell:>16}" for cell in cells))


if __name__ == "__main__":
    main()
