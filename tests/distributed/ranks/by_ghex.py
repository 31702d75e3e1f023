"""Run by any number of processes: GHEX leaves in halos what our own messages leave there, and what
it cannot do is refused with the reason.
"""

import sys
from itertools import product
from typing import Any

import numpy as np
from mpi4py import MPI

import gridbuf as gb
import gridbuf.distributed as gbd

comm = MPI.COMM_WORLD
n = comm.size


def alike(a: Any, b: Any) -> bool:
    return all(f.numpy().tobytes() == g.numpy().tobytes() for f, g in zip(a, b, strict=True))


KINDS: list[dict[str, Any]] = [
    {"backend": "gt:cpu_ifirst"},
    {"dtype": "f4", "backend": "gt:cpu_kfirst"},
    {"dtype": "i4", "dims": "KJI"},
    {"dims": "IJ", "sizes": {}},
    {"dtype": "?", "padding": True},
    {"backend": "gt:cpu_ifirst"},
]
for blocks, periodic, halo in product(((n, 1), (1, n)), ("", "J", "IJ"), (1, ((0, 2), (3, 1)))):
    found = []
    for engine in ("ghex", "mpi"):
        grid = gbd.grid(
            (4 * n, 5 * n),
            blocks=blocks,
            periodic=periodic,
            halo=halo,
            comm=comm,
            engine=engine,
            timeout=200,
        )
        assert grid.engine == engine
        fields = [grid.zeros(**{"dims": "IJK", "sizes": {"K": 3}, **kind}) for kind in KINDS]
        for i, f in enumerate(fields):
            f.numpy()[...] = np.random.default_rng((i, comm.rank)).integers(0, 50, f.shape)
        plan = grid.plan(*fields)
        for turn in range(3):
            fields[0], fields[-1] = fields[-1], fields[0]  # time levels take turns
            if turn == 2:
                handle = plan.start(*fields)
                while not handle.test():
                    pass
                handle.wait()
            else:
                plan(*fields)
        grid.exchange(*fields[1:3])
        grid.sync(fields[0])
        found.append(fields)
    assert alike(*found), (comm.rank, blocks, periodic, halo)

several = {
    engine: gbd.grid((6 * n, 4), blocks=(2 * n, 1), periodic="I", halo=2, comm=comm, engine=engine)
    for engine in ("ghex", "mpi")
}
for engine, grid in several.items():
    values = grid.zeros("IJK", sizes={"K": 2})
    for block, f in zip(grid.blocks, values, strict=True):
        f.numpy()[...] = np.random.default_rng(block.number).random(f.shape)
    grid.exchange(values)
    grid.plan(values).accumulate(values)
    several[engine] = values  # type: ignore[assignment]
assert alike(several["ghex"], several["mpi"])

grid = gbd.grid((4 * n, 4), cuts=[[4] * n, [4]], halo=2, comm=comm, engine="ghex")
flipped = gb.Field(np.zeros((*grid.zeros().shape, 2))[::-1, :, 0], dims="IJ", halo=(2, 2))
for given, word in (
    (grid.zeros(dtype="f2"), "float16"),
    (grid.zeros(faces="I"), "faces"),
    (grid.zeros("I"), "without all of"),
    (grid.zeros("IJK", sizes={"K": 1}), "an axis of length 1"),
    (flipped, "strides"),
    (gb.Field(np.zeros((*grid.zeros().shape, 2))[..., 0], dims="IJ", halo=(2, 2)), "strides"),
    (grid.zeros(halo=(5, 2)), "wider than a block of 4"),
):
    try:
        grid.exchange(given)
    except ValueError as error:
        assert word in str(error) and "engine='mpi' does" in str(error), str(error)
    else:
        raise AssertionError(word)
for make in (
    lambda **k: gbd.cubed_sphere(4, **k),
    lambda **k: gbd.tripolar((8, 4), **k),
    lambda **k: gbd.grid((4 * n, 4), blocks=(n, 1), owners=[0] * n, **k),
):
    try:
        make(comm=comm, engine="ghex")
    except ValueError as error:
        assert "engine='mpi' does" in str(error), str(error)
    else:
        raise AssertionError("a grid that GHEX does not have")
f = grid.full(1.0 * comm.rank)
grid.exchange(f)  # the grid goes on working
g = gbd.grid((4 * n, 4), blocks=(n, 1), halo=2, comm=comm).full(1.0 * comm.rank)
gbd.grid((4 * n, 4), blocks=(n, 1), halo=2, comm=comm).exchange(g)
assert alike([f], [g])
if comm.rank == 0:
    print("ghex", n)
sys.stdout.flush()
