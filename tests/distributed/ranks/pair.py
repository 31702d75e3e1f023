"""What programs of two processes share: a grid, and what it leaves."""

import os
import warnings
from collections.abc import Callable
from typing import Any

from mpi4py import MPI

import gridbuf.distributed as gbd

comm = MPI.COMM_WORLD
me, other = comm.rank, 1 - comm.rank
# one may have been started long after the other, and the grid's time counts from here
comm.Barrier()


def made() -> gbd.Grid:
    return gbd.grid((8, 6), blocks=(2, 1), periodic="I", halo=1, comm=comm, timeout=200)


grid = made()
under_way: list[gbd.Handle] = []  # to the end of the process


def check(f: Any, value: float) -> None:
    assert f[0, 2] == value and f[-1, 2] == value, (me, value, f.numpy())


def works(its: gbd.Grid | None = None) -> None:
    its = its or grid
    f = its.full(float(its.rank))
    its.exchange(f)
    check(f, float(1 - its.rank))


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
