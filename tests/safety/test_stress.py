"""Eight threads allocate, write, check and free at random; nothing is lost, shared or written over.

`GRIDBUF_STRESS_SECONDS=60` makes it run for a minute instead of two seconds.
"""

import contextlib
import gc
import os
import random
import threading
import time

import numpy as np
import pytest
from free_memory import needs_memory

import gridbuf as gb
from gridbuf.interop.numpy import memory

SECONDS = float(os.environ.get("GRIDBUF_STRESS_SECONDS", "2"))
THREADS = 8


class Canary:
    """A buffer whose every byte is known: at its edges when it is made, everywhere when it goes."""

    def __init__(self, rng: random.Random, fields: list[object]) -> None:
        kind, size = rng.randrange(4), int(2 ** rng.uniform(0, 19))
        shape = (size, rng.randint(1, 3))
        self.mark = rng.randrange(1, 256)
        if kind == 0:
            self.array = gb.zeros(shape, np.uint8, backend=rng.choice(["C", "F"]))
            assert not self.array.any()
        elif kind == 1:
            field = gb.Field.empty(shape, np.uint8, dims="IJ")
            fields.append(field[::2])
            del fields[:-50]
            self.array = np.asarray(field)
        elif kind == 2:
            with memory():
                self.array = np.empty(shape, np.uint8)
                self.array.resize((size + 5, 2), refcheck=False)
        else:
            self.array = gb.full(shape, self.mark, np.uint8)
        self.array[...] = self.mark

    def check(self) -> None:
        assert (self.array == self.mark).all(), "somebody else wrote into this buffer"


def churn(
    seed: int,
    until: float,
    handed_on: list["Canary"],
    failures: list[BaseException],
    counts: list[int],
) -> None:
    rng, held, fields, n = random.Random(seed), list[Canary](), list[object](), 0
    try:
        while (not n or time.monotonic() < until) and not failures:
            held.append(Canary(rng, fields))
            n += 1
            if len(held) > 60:
                for _ in range(rng.randint(1, 60)):
                    gone = held.pop(rng.randrange(len(held)))
                    gone.check()
                    if rng.random() < 0.2:
                        handed_on.append(gone)  # another thread frees it
            if len(handed_on) > 50:
                with contextlib.suppress(IndexError):  # another thread took the last
                    handed_on.pop().check()
            if n % 500 == 0:
                gb.memory.trim()
                gb.memory.report(5)
        for canary in held:
            canary.check()
    except BaseException as error:
        failures.append(error)
    counts.append(n)


def test_threads_churn_and_end_with_what_was_there() -> None:
    gc.collect()
    start = gb.memory.stats()
    handed_on: list[Canary] = []
    failures: list[BaseException] = []
    counts: list[int] = []
    until = time.monotonic() + SECONDS
    threads = [
        threading.Thread(target=churn, args=(s, until, handed_on, failures, counts))
        for s in range(THREADS)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures, failures[0]
    while handed_on:
        handed_on.pop().check()
    del threads
    gc.collect()
    end = gb.memory.stats()
    assert (end["live_bytes"], end["live_buffers"]) == (start["live_bytes"], start["live_buffers"])
    assert end["allocations"] - start["allocations"] >= sum(counts) > 0


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_children_forked_from_threads_that_churn() -> None:
    failures: list[BaseException] = []
    until = time.monotonic() + SECONDS
    threads = [threading.Thread(target=churn, args=(s, until, [], failures, [])) for s in range(3)]
    for t in threads:
        t.start()
    try:
        while time.monotonic() < until:
            pid = os.fork()
            if pid == 0:
                try:
                    rng = random.Random(os.getpid())
                    with memory():
                        canaries = [
                            np.full(int(2 ** rng.uniform(0, 18)), i, np.uint8) for i in range(40)
                        ]
                    ok = all((c == i).all() for i, c in enumerate(canaries))
                    del canaries
                    gb.memory.trim()
                    os._exit(0 if ok else 1)
                except BaseException:
                    os._exit(2)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    finally:
        for t in threads:
            t.join()
    assert not failures, failures[0]


@pytest.mark.slow
def test_numpy_s_arrays_of_three_gib() -> None:
    needs_memory(8 << 30)
    live = gb.memory.stats()["live_bytes"]
    with memory():
        a = np.zeros(3 << 30, np.uint8)
    assert a.ctypes.data % 64 == 0 and gb.memory.stats()["live_bytes"] - live >= 3 << 30
    a[-1] = a[1 << 31] = 9
    assert a[-1] == 9 and a[1 << 31] == 9 and a[(1 << 31) - 1] == 0
    del a
    with memory():
        again = np.zeros(3 << 30, np.uint8)  # the block was used
        assert again[-1] == 0 and again[1 << 31] == 0
    del again
    gb.memory.trim()
    assert gb.memory.stats()["live_bytes"] == live
