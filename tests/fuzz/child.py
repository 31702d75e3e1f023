"""The process that runs a fuzzer's cases; it may die of one."""

import argparse
import faulthandler
import importlib
import json
import mmap
import os
import struct
import sys
import time
import traceback
import warnings
from collections.abc import Iterator

import cases
from cases import Case

PATIENCE = 600  # seconds in one case: it hangs, on any machine
MARK = struct.Struct("qqq")  # where, which, and how many cases are done
CORPUS, DRAWN, GIVEN = range(3)


def wanted(given: argparse.Namespace) -> Iterator[tuple[int, int, Case | None]]:
    """(where, number, case) for everything that was asked for; None has to be drawn."""
    name = given.fuzzers[0]
    if given.json:
        yield GIVEN, 0, json.loads(given.json)
        return
    if given.case:
        first, _, last = given.case.partition(":")
        for number in range(int(first), int(last or first) + 1):
            yield DRAWN, number, None
        return
    for line, case in enumerate(cases.corpus(name), 1):
        if line > given.after and given.corpus in (None, 0, line):
            yield CORPUS, line, case
    if given.corpus is not None:
        return
    number, end = 0, time.monotonic() + given.seconds
    while number < given.cases if given.cases is not None else time.monotonic() < end:
        yield DRAWN, number, None
        number += 1


def run(given: argparse.Namespace) -> int:
    faulthandler.enable()
    warnings.simplefilter("ignore")
    fuzzer = importlib.import_module(f"fuzz_{given.fuzzers[0]}")
    with open(given.mark, "r+b") as file:
        mark = mmap.mmap(file.fileno(), MARK.size)
    done = rearmed = 0
    for where, number, case in wanted(given):
        MARK.pack_into(mark, 0, where, number, done)
        if rearmed < time.monotonic():
            rearmed = time.monotonic() + 1
            faulthandler.dump_traceback_later(PATIENCE, exit=True)
        try:
            if case is None:
                case = cases.drawn(fuzzer, given.seed, number)
            if given.without and eval(given.without, {}, {"case": case}):
                continue
            fuzzer.check({key: value for key, value in case.items() if key != "found"})
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(
                1
                # not by way of destructors, which would run over the failed case's objects in any
                # order
            )
        done += 1
    MARK.pack_into(mark, 0, DRAWN, -1, done)
    if finish := getattr(fuzzer, "finish", None):
        finish()
    return 0
