"""Run by some processes: what a communicator remembers goes when its user frees it, whatever is
under way.
"""

import gc
import weakref
from typing import Any

from common import me, n
from mpi4py import MPI

import gridbuf as gb
import gridbuf.distributed as gbd
import gridbuf.interop.mpi4py as gbm
from gridbuf.distributed.ranks import duplicates, pending_requests
from gridbuf.distributed.ranks.duplicates import communicator_of

world = MPI.COMM_WORLD
COUNT = 20
duplicates.LAST_WORDS = (
    200.0  # seconds that comm.Free() waits for the other rank, also on a busy machine
)


def by_cartesian_communicator(i: int) -> tuple[Any, Any]:
    comm = world.Create_cart([world.size], periods=[True])
    field = gb.Field.zeros((10,), dims="I", halo=(1,))
    gbm.exchange_halos(comm, field, dims="I")
    transport = communicator_of(comm).exchanges.plan([field], ("I",)).transport
    return comm, lambda: transport.wait(transport.start([field]), None)


def by_grid(i: int) -> tuple[Any, Any]:
    comm = world.Dup()
    grid = gbd.grid((8, 5000), "IJ", blocks=(world.size, 1), periodic="I", halo=1, comm=comm)
    field = grid.ones(faces="J" if i % 2 else "")
    grid.exchange(field)
    assert grid.sum(field) == 8 * (5000 + i % 2)
    plan = grid.plan(field)
    if i % 3 == 0:
        plan.start(field)  # and its handle is dropped
    else:
        plan(field)
    return comm, lambda: plan(field)


def main() -> None:
    for make in (by_cartesian_communicator, by_grid):
        communicators = []
        for i in range(COUNT):
            comm, use = make(i)
            its = communicator_of(comm)
            communicators.append(weakref.ref(its))
            duplicate = its.comm
            del its
            if i % 3 == 1:
                use = None
            comm.Free()
            assert (duplicate == MPI.COMM_NULL) == (use is None), (make.__name__, i)
            if use is not None:  # what was made of a communicator goes on working without it
                use()
            del comm, duplicate, use
        gc.collect()
        assert not [its for its in communicators if its() is not None], make.__name__
        world.Barrier()
    comm = world.Dup()
    here, there = (gbd.grid((8, 6), blocks=blocks, comm=comm) for blocks in ((n, 1), (1, n)))
    comm.Free()
    assert there.sum(here.redistribute(here.ones(), there)) == 48
    grid = gbd.grid((8,), "I", periodic="I", halo=1, comm=world)
    for _ in range(100):
        grid.exchange(grid.ones())  # whose calls free what others left
    assert not pending_requests.left, pending_requests.left
    if me == 0:
        print("lifetimes", world.size)


main()
