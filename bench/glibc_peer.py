"""gridbuf beside NumPy on glibc's malloc with large thresholds: two variables, which glibc reads
when a process starts, keep the blocks of an unchanged program.

So each way has processes of its own, in turns, and CPU time of one thread counts. Run as a program,
this file times one statement, which comes as JSON on its input, and prints the least seconds of a
call.
"""

import json
import math
import os
import subprocess
import sys
import time
import timeit
from pathlib import Path

from measure import Case

VARIABLES = {
    "MALLOC_MMAP_THRESHOLD_": "1073741824",
    "MALLOC_TRIM_THRESHOLD_": "4294967296",
}
PROCESSES = 3  # of each way

Fact = tuple[str, float, float, str]


def least(case: Case, statement: str, variables: dict[str, str]) -> float:
    """CPU seconds of a call in a process of its own."""
    task = {
        "setup": case.setup,
        "statement": statement,
        "rounds": case.rounds,
        "number": case.number,
    }
    out = subprocess.run(
        [sys.executable, __file__],
        input=json.dumps(task),
        env=os.environ | variables | {"OMP_NUM_THREADS": "1"},
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(out.stdout.split()[-1])


def ratio(case: Case) -> float:
    """Of gridbuf's least time to that of the case's peer with the variables."""
    ours, peer = math.inf, math.inf
    for _ in range(PROCESSES):
        peer = min(peer, least(case, case.peer, VARIABLES))
        ours = min(ours, least(case, case.ours, {}))
    return ours / peer


def facts(cases: dict[str, Case], at_most: float = 1.1) -> list[Fact]:
    """A row for each case, by its name here."""
    return [
        (f"{name}: gridbuf / NumPy with glibc's variables", ratio(case), at_most, "")
        for name, case in cases.items()
    ]


def main() -> None:
    task = json.load(sys.stdin)
    timer = timeit.Timer(task["statement"], task["setup"], time.process_time)
    print(min(timer.repeat(task["rounds"], task["number"])) / task["number"])


if __name__ == "__main__":
    main()
