"""The process that watches a fuzzer, starts it again after a failure, and says how to repeat
one.
"""

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cases
from child import CORPUS, DRAWN, MARK

COMMAND = [sys.executable, str(cases.HERE)]


def attempt(name: str, options: list[str]) -> tuple[int, str, tuple[int, int, int]]:
    """Run a child: its status, what it said, and the case it was at."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(MARK.pack(DRAWN, -1, 0))
        file.flush()
        done = subprocess.run(
            [*COMMAND, name, "--mark", file.name, *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        where, number, finished = MARK.unpack(Path(file.name).read_bytes()[: MARK.size])
    return done.returncode, done.stdout, (where, number, finished)


def repeating(name: str, seed: int, number: int) -> str:
    """The shortest range of cases up to this one that fails again."""
    back = 0
    while True:
        first = max(number - back, 0)
        which = f"{first}:{number}" if back else str(number)
        if attempt(name, ["--seed", str(seed), "--case", which])[0]:
            return which
        if first == 0:
            return (
                f"{which}  (it did not fail again: threads or the address space have a part in it)"
            )
        back = max(back * 10, 1)


def report(name: str, seed: int, status: int, said: str, where: int, number: int) -> None:
    print(said[-6000:])
    died = f"died of signal {-status}" if status < 0 else f"exit status {status}"
    what, how = None, "a case at the end: run it again"
    if where == CORPUS:
        how = f"--corpus {number}"
    elif number >= 0:
        how = f"--seed {seed} --case {repeating(name, seed, number)}"
        what = cases.drawn(importlib.import_module(f"fuzz_{name}"), seed, number)
    print(f"FAILED {name} ({died}): python tests/fuzz {name} {how}")
    if what is not None:
        print(f"  for corpus/{name}.jsonl: {json.dumps(what)}")


def run(name: str, given: argparse.Namespace) -> int:
    """Run one fuzzer: how often it failed."""
    only = [
        f"--{word}={getattr(given, word)}"
        for word in ("case", "corpus", "json", "without")
        if getattr(given, word) is not None
    ]
    failures = total = after = 0
    seed, end = given.seed, time.monotonic() + given.seconds
    while True:
        left = [f"--seed={seed}", f"--seconds={max(end - time.monotonic(), 0)}", f"--after={after}"]
        if given.cases is not None:
            left.append(f"--cases={max(given.cases - total, 0)}")
        status, said, (where, number, done) = attempt(name, [*only, *left])
        total += done
        if status == 0:
            break
        failures += 1
        if given.case or given.json:
            print(said)
            break
        report(name, seed, status, said, where, number)
        if failures >= given.failures and where != CORPUS:
            break
        after = number if where == CORPUS else sys.maxsize
        seed += where == DRAWN  # and on, with other cases
    print(f"{name}: {total} cases, {failures} failures (seed {given.seed})", flush=True)
    return failures
