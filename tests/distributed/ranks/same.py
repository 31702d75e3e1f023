"""Run by any number of processes: an exchange and its adjoint leave on every block what the local
engine leaves there.
"""

import sys
import weakref
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from common import alone, fields
from compared import Items, compared
from mpi4py import MPI

import gridbuf as gb
import gridbuf.distributed as gbd

comm = MPI.COMM_WORLD
n = comm.size


def compare(make: Callable[..., gbd.Grid], kinds: list[dict[str, Any]], items: Items) -> None:
    here, whole = make(comm=comm, timeout=200), make()
    ours, all_of_them = fields(here, kinds), fields(whole, kinds)
    mine, everywhere = ([alone(f) for f in its] for its in (ours, all_of_them))
    here.exchange(*items(*mine))
    whole.exchange(*items(*everywhere))
    same(here, ours, whole, all_of_them)
    here.plan(*items(*mine)).accumulate(*mine)
    whole.plan(*items(*everywhere)).accumulate(*everywhere)
    same(here, ours, whole, all_of_them)  # values are integers: sums do not depend on their order


def same(
    grid: gbd.Grid, ours: list[list[Any]], whole: gbd.Grid, everything: list[list[Any]]
) -> None:
    for mine, its in zip(ours, everything, strict=True):
        of = {block.number: f.numpy() for block, f in zip(whole.blocks, its, strict=True)}
        for block, f in zip(grid.blocks, mine, strict=True):
            assert np.array_equal(f.numpy(), of[block.number]), (comm.rank, block)


for make, kinds, items in compared(n, {(n, 1), (1, n), (2, n), (n, 3)}, ("", "I", "IJ")):
    compare(make, kinds, items)
here, whole = (
    gbd.grid((12, 9), blocks=(n, 2), periodic="I", halo=1, **k) for k in ({"comm": comm}, {})
)
ours, everything = fields(here, [{"faces": "I"}]), fields(whole, [{"faces": "I"}])
here.sync(ours[0]), whole.sync(everything[0])
same(here, ours, whole, everything)
assert here.checksum(ours[0]) == whole.checksum(everything[0])
# bytes of any dtype that is the same on all ranks
for dtype in (">f8", ">i4", "longdouble", "?", "M8[s]", [("a", "i4"), ("b", ">f8")]):
    ours, everything = (fields(its, [{"dims": "IJ", "sizes": {}}])[0] for its in (here, whole))
    ours, everything = (
        [gb.Field(f.numpy().astype(dtype), dims="IJ", halo=f.halo) for f in its]
        for its in (ours, everything)
    )
    here.exchange(alone(ours)), whole.exchange(alone(everything))
    same(here, [ours], whole, [everything])
# fluxes through edges at which axes turn: what is a face along I here is one along J there
for make in (
    lambda **k: gbd.cubed_sphere(4, halo=1, **k),
    lambda **k: gbd.cubed_sphere(4, halo=1, blocks=(2, 1), **k),
    lambda **k: gbd.tripolar((12, 6), blocks=(n, 2), halo=1, pivot="T", **k),
    lambda **k: gbd.tripolar((12, 6), blocks=(n, 2), halo=1, pivot="F", **k),
):
    here, whole = make(comm=comm, timeout=200), make()
    ours, everything = (fields(its, [{"faces": "I"}, {"faces": "J"}]) for its in (here, whole))
    here.sync(gbd.vector(*map(alone, ours)))
    whole.sync(gbd.vector(*map(alone, everything)))
    same(here, ours, whole, everything)
# fields that one rank cannot tell apart and another can: a layout is each rank's own affair
ring = gbd.grid((2 * n, 3), blocks=(n, 1), periodic="I", halo=1, comm=comm, timeout=200)
for i, padding in enumerate((False, comm.rank == 0 and 8, False, comm.rank == n - 1 and 16)):
    for call in range(2):
        f = ring.full(float(100 * i + 10 * call + comm.rank), padding=padding)
        ring.exchange(f)
        assert (
            f[0, 1] - f[1, 1] == (comm.rank - 1) % n - comm.rank
            and f[-1, 2] - f[1, 1] == (comm.rank + 1) % n - comm.rank
        )
        ring.sync(f)
# A slab that lies in memory as it is sent is not packed: fields that take turns, and more of them
# than requests are kept for.
for periodic, backend in product(("", "I"), ("gt:cpu_kfirst", "gt:cpu_ifirst")):
    here, whole = (
        gbd.grid((4 * n, 32), blocks=(n, 1), periodic=periodic, halo=((1, 2), 0), **k)
        for k in ({"comm": comm}, {})
    )
    kind = {"sizes": {"K": 20}, "backend": backend, "dtype": "f4"}
    plan = here.plan(*fields(here, [kind])[0])
    for i in range(20):
        ours, everything = fields(here, [kind]), fields(whole, [kind])
        if i % 2:
            handle = plan.start(*ours[0])
            del handle  # given up: it ends before the next
        plan(*ours[0])
        whole.exchange(everything[0])
        same(here, ours, whole, everything)
        if i % 7 == 0:
            plan(*ours[0])
            plan.accumulate(*ours[0])
            whole.plan(everything[0]).accumulate(everything[0])
            same(here, ours, whole, everything)
    if n > 1 and backend == "gt:cpu_kfirst":
        assert plan._transport._forward.exchange.active is None
        assert len(plan._transport._forward.to) == len(plan.sends)
    handle, gone = plan.start(*ours[0]), weakref.ref(ours[0][0])
    del handle, plan, ours  # under way, with messages inside a field that nobody else has
    comm.Barrier()
    for _ in range(5):  # as often on all ranks
        here.exchange(here.zeros())
        comm.Barrier()
    assert gone() is None
if comm.rank == 0:
    print("same", n)
sys.stdout.flush()
