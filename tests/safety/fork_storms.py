"""A program that forks many children, from an idle parent and from a busy one: a line names a
storm, the answer is the children's statuses.

A process of its own: a fork copies the parent's page tables, and those of a test run that has
imported every consumer are ten times as long.
"""

import itertools
import json
import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable

import numpy as np

import gridbuf as gb
from gridbuf import gufunc

FORKS = int(os.environ.get("GRIDBUF_FORKS", "60"))


def child(body: Callable[[], None]) -> int:
    """Fork, run body in the child, and return its exit status; -14 is the alarm of one that
    hangs.
    """
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(120)
        try:
            body()
        except BaseException as error:
            os.write(2, f"child: {type(error).__name__}: {error}\n".encode())
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def new_shape() -> tuple[int, int, int]:
    """One that no process has asked for."""
    return (os.getpid() % 89 + 2, time.perf_counter_ns() % 97 + 3, 5)


add = gufunc.from_ufunc(np.add)
ONE = np.ones(1000)


def work() -> None:
    """What the parent did, and what nobody did before."""
    shape = new_shape()
    f = gb.Field.zeros(shape, dims="IJK", halo=(1, 1, 0))
    f[...] = 3.0
    assert np.from_dlpack(f[1:, ::-1]).sum() == 3.0 * (shape[0] - 1) * shape[1] * 5
    assert f.copy()[1, 2, 3] == 3.0 and f.domain.shape == (shape[0] - 2, shape[1] - 2, 5)
    assert (
        f.transpose("KJI").plan.shape == shape[::-1]
        and gb.Field(np.ones(shape)[::2]).plan.strides[0] == shape[1] * 80
    )
    gb.copyto(gb.Field.empty(shape, dims="IJK", backend="gt:cpu_ifirst"), f)
    gb.fill(f, 1.0)
    assert gb.zeros(shape, backend="gtmc").sum() == 0.0 and memoryview(f).shape == shape
    assert gb.ones(shape[:2], np.float32).sum() == shape[0] * shape[1]
    assert pickle.loads(pickle.dumps(f)).plan.strides == f.strides
    # A slab that the system gives to the child
    assert gb.empty((3 << 20,), np.uint8).nbytes == 3 << 20
    assert add(ONE, ONE)[-1] == 2.0


def grandparent() -> None:
    assert child(work) == 0


def from_a_busy_parent(bodies: list[Callable[[int], None]]) -> list[int]:
    stop = threading.Event()
    cycle = itertools.cycle(bodies)

    def keep(body: Callable[[int], None], seed: int) -> None:
        for n in itertools.count(seed):
            if stop.is_set():
                return
            body(n)

    threads = [threading.Thread(target=keep, args=(next(cycle), i * 1000)) for i in range(3)]
    for t in threads:
        t.start()
    try:
        return [child(work) for _ in range(FORKS)]
    finally:
        stop.set()
        for t in threads:
            t.join()


BIG = np.ones((300, 300))
OTHER = np.empty((300, 300), order="F")
LONG = np.ones(200_000)
SUMS = np.empty(200_000)


def allocate(n: int) -> None:
    gb.empty((n % 300 + 1, 7), backend="gt:cpu_ifirst")
    gb.zeros((n % 50 + 1, 5000))
    gb.Field.empty((n % 1000 + 1, n % 13 + 1), halo=(0, 0))


def copy(n: int) -> None:
    gb.copyto(OTHER, BIG)


def compute(n: int) -> None:
    add(LONG, float(n), out=SUMS)
    add(BIG, BIG)


STORMS: dict[str, Callable[[], list[int]]] = {
    "idle": lambda: [child(work) for _ in range(FORKS)],
    "grandchildren": lambda: [child(grandparent) for _ in range(20)],
    "allocating": lambda: from_a_busy_parent([allocate]),
    "copying": lambda: from_a_busy_parent([copy]),
    "gufuncs": lambda: from_a_busy_parent([compute]),
    "all": lambda: from_a_busy_parent([allocate, copy, compute]),
}

if __name__ == "__main__":
    warnings.filterwarnings("ignore", ".*fork.*", DeprecationWarning)
    add(ONE, ONE)  # known to the parent
    for line in sys.stdin:
        print(json.dumps(STORMS[line.strip()]()), flush=True)
