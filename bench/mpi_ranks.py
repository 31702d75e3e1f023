"""Run by two processes under mpirun: every way of exchanging halos, in another order each time, its
sources and targets written afresh before. One line of JSON a case.
"""

import functools
import json
import random
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI
from mpi_peers import Raw, by_ghex, derived_datatypes, packed_by_numpy, split, view

import gridbuf.distributed as gbd

comm = MPI.COMM_WORLD
CASES: dict[
    str, tuple[Any, ...]
] = {  # shape, blocks, levels, fields, preset, what is periodic, halo, rounds
    "2 slabs of 246 kB in 24-byte pieces": (
        (256, 128),
        (2, 1),
        80,
        1,
        "gt:cpu_ifirst",
        "I",
        3,
        60,
    ),
    "2 slabs of 246 kB, I-first cut along J": (
        (128, 256),
        (1, 2),
        80,
        1,
        "gt:cpu_ifirst",
        "J",
        3,
        60,
    ),
    "2 slabs of 246 kB, K-first cut along J": (
        (128, 256),
        (1, 2),
        80,
        1,
        "gt:cpu_kfirst",
        "J",
        3,
        60,
    ),
    "8 fields of 2 x 17 kB": ((60, 120), (1, 2), 12, 8, "gt:cpu_ifirst", "J", 3, 60),
    "8 fields of 2 x 17 kB in 24-byte pieces": (
        (120, 60),
        (2, 1),
        12,
        8,
        "gt:cpu_ifirst",
        "I",
        3,
        60,
    ),
    "8 fields of 0.5 kB": ((10, 40), (1, 2), 2, 8, "gt:cpu_ifirst", "", 3, 400),
    "a contiguous slab of 246 kB, closed axis": (
        (256, 128),
        (2, 1),
        80,
        1,
        "gt:cpu_kfirst",
        "",
        ((3, 3), (0, 0)),
        100,
    ),
}


def case(name: str) -> dict[str, Any]:
    shape, blocks, levels, count, backend, periodic, halo, rounds = CASES[name]
    # what grids of one communicator have agreed on stays: of another case, the order of the
    # messages
    own = comm.Dup()
    make = functools.partial(gbd.grid, shape, blocks=blocks, halo=halo, comm=own, periodic=periodic)
    grid = make()
    fields = [grid.zeros("IJK", sizes={"K": levels}, backend=backend) for _ in range(count)]
    plan = grid.plan(*fields)
    arrays = [f.numpy() for f in fields]
    messages = [*plan.sends.values(), *plan.receives.values()]
    slabs = [
        view(arrays[c.place.slot], c.shape, c.place.at, c.place.strides)
        for m in messages
        for c in m.chunks
    ]
    raw = Raw(
        comm,
        {p: m.nbytes for p, m in plan.sends.items()},
        {p: m.nbytes for p, m in plan.receives.items()},
    )
    cart = comm.Create_cart(list(blocks), [dim in periodic for dim in "IJ"])
    dims = [dim for dim, pair in zip("IJ", grid.halo, strict=True) if any(pair)]
    cart = cart if len(dims) == 2 else cart.Sub([dim in dims for dim in "IJ"])
    ways: dict[str, Callable[[], Any] | None] = {
        "raw": raw,
        "plan": lambda: plan(*fields),
        "exchange": lambda: grid.exchange(*fields),
        "NumPy": packed_by_numpy(plan, comm, fields),
        "datatypes": derived_datatypes(cart, fields, dims),
        "GHEX": by_ghex(make, fields),
        "split": split(plan, comm, fields),
    }
    found: dict[str, list[Any]] = {way: [] for way, call in ways.items() if call is not None}
    for i in range(rounds + 5):
        # What one leaves in the caches is no other's gain
        for way in random.Random(i).sample(list(found), len(found)):
            call = ways[way]
            assert call is not None
            if way == "raw":
                raw.touch(i)
            else:
                for slab in slabs:
                    slab.fill(float(i))
            comm.Barrier()
            start = time.perf_counter()
            inside = call()
            taken = time.perf_counter() - start
            if i >= 5:
                found[way].append(taken if inside is None else inside)
    return {
        "case": name,
        "bytes": plan.nbytes,
        **{way: slower(np.array(times)) for way, times in found.items()},
    }


def slower(times: Any) -> list[float]:
    """Of both ranks, exchange by exchange, the one that took longer."""
    comm.Allreduce(MPI.IN_PLACE, times, MPI.MAX)
    return list(times)


def plans() -> dict[str, Any]:
    """Making a plan of 8 fields, new each time."""
    grid = gbd.grid((64, 128), blocks=(1, 2), periodic="IJ", halo=3, comm=comm)
    kinds = [
        {"dims": "IJK", "sizes": {"K": 20}},
        {"dims": "IJ", "dtype": "f4"},
        {"dims": "IJK", "sizes": {"K": 20}, "faces": "I"},
    ]
    fields = [grid.zeros(**kinds[i % 3]) for i in range(8)]
    again, first, made = [], [], []
    for _ in range(100):
        start = time.perf_counter()
        plan = grid.plan(*fields)
        again.append(time.perf_counter() - start)
        made.append(plan)
        comm.Barrier()
        start = time.perf_counter()
        plan(*fields)
        first.append(time.perf_counter() - start)
        comm.Barrier()
    return {"case": "plans", "again": slower(np.array(again)), "first": slower(np.array(first))}


for wanted in sys.argv[1:] or [*CASES, "plans"]:
    line = json.dumps(plans() if wanted == "plans" else case(wanted))
    if comm.rank == 0:
        print(line, flush=True)
