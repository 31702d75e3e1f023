"""After fork the child goes on in C, never enters Go, and never hangs."""

import os
import signal
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

import gridbuf as gb

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
KNOWN = (37, 11)


def child(body: Callable[[], None]) -> int:
    """Fork, run body in the child, and return its exit status; 14 is the alarm of one that hangs."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(10)
        try:
            body()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def work() -> None:
    f = gb.Field.zeros(KNOWN, dims="IJ", halo=(1, 1))
    f[...] = 3.0
    assert np.from_dlpack(f[1:, ::-1]).sum() == 3.0 * 36 * 11
    assert f.copy()[2, 2] == 3.0 and f.domain.shape == (35, 9) and f.transpose("JI").shape == (11, 37)
    gb.copyto(gb.Field.empty(KNOWN, dims="IJ", halo=(1, 1)), f)
    gb.fill(f, 1.0)
    assert gb.zeros(KNOWN).sum() == 0.0 and memoryview(f).shape == KNOWN
    with pytest.raises(RuntimeError, match="Go runtime"):
        gb.plan((os.getpid(), 3, 1))


@pytest.fixture(autouse=True)
def plans_known_to_the_parent() -> None:
    gb.Field.zeros(KNOWN, dims="IJ", halo=(1, 1))
    gb.zeros(KNOWN)


def test_from_an_idle_parent() -> None:
    assert [child(work) for _ in range(150)] == [0] * 150


def test_a_grandchild_works_too() -> None:
    def parent() -> None:
        assert child(work) == 0

    assert [child(parent) for _ in range(20)] == [0] * 20


@pytest.mark.parametrize("copying", [False, True], ids=["allocating", "copying"])
def test_from_a_busy_parent(copying: bool) -> None:
    stop = threading.Event()

    def busy(seed: int) -> None:
        big, other = np.ones((300, 300)), np.empty((300, 300), order="F")
        n = seed
        while not stop.is_set():
            n += 1
            if copying:
                gb.copyto(other, big)
            else:
                gb.empty((n % 300 + 1, 7), backend="gt:cpu_ifirst")
                gb.zeros((n % 50 + 1, 5000))

    threads = [threading.Thread(target=busy, args=(i * 1000,)) for i in range(3)]
    for t in threads:
        t.start()
    try:
        assert [child(work) for _ in range(100)] == [0] * 100
    finally:
        stop.set()
        for t in threads:
            t.join()


def test_memory_from_before_the_fork_is_freed_in_the_child() -> None:
    held = [gb.empty((100, 100)), gb.Field.zeros((1000, 1000))]

    def body() -> None:
        before = gb.memory.stats()["live_buffers"]
        held.clear()
        assert gb.memory.stats()["live_buffers"] == before - 2
        gb.memory.trim()

    assert child(body) == 0


def test_the_parent_is_not_disturbed() -> None:
    assert child(work) == 0
    assert gb.plan((int(time.time()) % 100000 + 1, 9)).ndim == 2
