"""What programs of two processes share: a grid that goes on working whatever goes wrong."""

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from common import raises
from mpi4py import MPI

import gridbuf.distributed as gbd
from gridbuf.distributed import waiting

comm = MPI.COMM_WORLD
me, other = comm.rank, 1 - comm.rank
comm.Barrier()  # one may have been started long after the other, and the grid's time counts from here
grid = gbd.grid((8, 6), blocks=(2, 1), periodic="I", halo=1, comm=comm, timeout=200)
under_way: list[gbd.Handle] = []  # to the end of the process


def check(f: Any, value: float) -> None:
    assert f[0, 2] == value and f[-1, 2] == value, (me, value, f.numpy())


def works(its: gbd.Grid = grid) -> None:
    f = its.full(float(its.rank))
    its.exchange(f)
    check(f, float(1 - its.rank))


@contextmanager
def soon() -> Iterator[None]:
    """Long before the grid's timeout: no machine is so busy."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < 100


def in_vain(of: Any, call: Callable[[], Any], *words: str) -> None:
    """Rank 0 waits and gives up, for what has its timeout is hasty meanwhile; not before does rank 1 come."""
    if me == 0:
        before, of.timeout = of.timeout, 0.05
        with raises(TimeoutError, "rank 0 waits for", *words):
            call()
        of.timeout = before
    comm.Barrier()


def interrupted(call: Callable[[], Any]) -> None:
    """Ctrl-C on rank 0 while it waits; not before does rank 1 come."""
    if me == 0:
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        give_way = waiting._give_way

        def begin() -> None:
            waiting._give_way = give_way
            timer.start()

        waiting._give_way = begin
        with raises(KeyboardInterrupt):
            call()
        timer.join()
    comm.Barrier()
    if me:
        call()


def refused_in_a_child(call: Callable[[], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            call()
        except RuntimeError as error:
            os._exit(7 if "forked child" in str(error) else 1)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def perform(*scenarios: Callable[[], None]) -> None:
    """Each of them."""
    for scenario in scenarios:
        scenario()
        if me == 0:
            print(scenario.__name__, flush=True)
