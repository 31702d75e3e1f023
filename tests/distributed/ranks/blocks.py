"""Run by any number of processes: a program that knows nothing of how many blocks its rank has gets
the values of one process.
"""

import pickle
import tempfile
from typing import Any

import numpy as np
from common import me, raises, raises_on
from mpi4py import MPI

import gridbuf as gb
import gridbuf.distributed as gbd
from gridbuf.distributed.files import netcdf
from gridbuf.distributed.files.netcdf_packages import find_package

world = MPI.COMM_WORLD
n = world.size
folder = world.bcast(tempfile.mkdtemp() if me == 0 else None)
PROFILE = gb.Field.from_array(np.arange(3.0), dims="K")


def model(grid: gbd.Grid, path: str) -> list[Any]:
    """Some steps of diffusion, written for one Field."""
    T, source = grid.zeros("IJK", sizes={"K": 3}), grid.full(0.25, "IJK", sizes={"K": 3})
    whole = np.random.default_rng(3).uniform(size=(*grid.shape, 3))
    grid.scatter(whole if grid.rank == 0 else None, T)
    plan = grid.plan(T)
    for step in range(4):
        if step % 2:
            plan(T)
        else:
            grid.exchange(T)
        new = T.domain + 0.1 * (
            T[2:, 1:-1] + T[:-2, 1:-1] + T[1:-1, 2:] + T[1:-1, :-2] - 4 * T.domain
        )
        new += source.domain * PROFILE
        T.domain[...] = np.where(new > 1, 1.0, new)
        T[T.domain.dtype.type(0) > T] = 0.0
    assert T.dims == ("I", "J", "K") and T.dtype == np.float64
    assert T.halo == ((1, 1), (1, 1), (0, 0))
    column = T.domain.mean("K")
    grid.save(path, T=T, column=column, format="npy")
    back = grid.load(path)
    assert grid.all(back["T"].domain == T.domain) and back["T"].halo == T.halo
    if find_package() is not None:
        netcdf.SLAB = 400  # bytes: several slabs
        grid.save(path + ".nc", T=T, column=column)
        assert grid.all(grid.load(path + ".nc")["T"].domain == T.domain)
    again = pickle.loads(pickle.dumps(T)) + 0 * T
    found = [grid.sum(T), grid.max(T), grid.argmin(T), grid.checksum(again), grid.norm(column)]
    other = gbd.grid(grid.shape, blocks=(1, n), comm=grid.comm, halo=1)
    moved = grid.redistribute(T, other)
    return [*found, other.checksum(moved + 0 * moved), grid.gather(T)]


def grids(cut: dict[str, Any], **more: Any) -> gbd.Grid:
    return gbd.grid((9, 7), periodic="I", halo=1, **cut, **more)


for cut in (
    {"blocks": (n, 1)},
    {"blocks": (3, 2)},
    {"blocks": (1, 1)},  # ranks without blocks
    {"blocks": (2, 2), "owners": [0, n - 1, n - 1, 0]},
    {"blocks": (2, 2), "owners": [n - 1] * 4},
):
    alone = {**cut, "owners": [0] * len(cut["owners"])} if "owners" in cut else cut  # type: ignore[arg-type]
    wanted = model(grids(alone), f"{folder}/alone{me}")
    found = model(grids(cut, comm=world, timeout=200), f"{folder}/together")
    assert found[:-1] == wanted[:-1], (me, cut, found[:-1], wanted[:-1])
    if me == 0:
        assert np.array_equal(found[-1].numpy(), wanted[-1].numpy()), cut
    world.Barrier()

cube = gbd.cubed_sphere(4, blocks=(2, 1), halo=1, comm=world, timeout=200)
u, v = cube.ones(), cube.full(2.0)
cube.exchange(gbd.vector(u, v))
tiles = cube.gather(u - 0.5)
assert (tiles is None) == (me != 0)
if me == 0:
    assert type(tiles) is gbd.Blocks and len(tiles) == 6 and (tiles[5] == 0.5).all()
    assert (2 * tiles).dims == ("I", "J")
cube.scatter(None if tiles is None else 2 * tiles, u)
assert cube.min(u) == cube.max(u) == 1.0

one = gbd.grid((2 * n, 4), blocks=(2 * n, 1), halo=1, comm=world, timeout=200)
T = one.zeros()
with raises(TypeError, "grid.sum(T)"):
    T.sum()
assert one.sum(T) == 0.0  # a call of NumPy's is no call of the grid: nothing is revoked
if n > 1:
    with raises_on(n - 1, ValueError, "T: got 1 fields"):
        one.plan([T[0]] if me == n - 1 else T, names=["T"])(T)
        one.sum(T)  # ranks that are no neighbours hear of it here

world.Barrier()
if me == 0:
    print(f"blocks {n}")
