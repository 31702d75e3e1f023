"""Run by any number of processes: halo points beyond edges are those of one process, for any cut,
and so is the adjoint.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from common import listed, me, raises, raises_on
from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import edge_rules

import gridbuf.distributed as gbd

world = MPI.COMM_WORLD
n = world.size


def filled(case: dict[str, Any], **more: Any) -> tuple[gbd.Grid, Any]:
    grid = gbd.grid(case["shape"], periodic=case["periodic"], halo=case["halo"], **more)
    field = grid.full(
        edge_rules.ALONE, case["dims"], case["dtype"], sizes={"K": 2}, faces=case["faces"]
    )
    for block, f in zip(grid.blocks, listed(field), strict=True):
        at = np.meshgrid(*[np.arange(k) for k in f.domain.shape], indexing="ij")
        offset = {
            dim: block.start[grid.dims.index(dim)] if dim in grid.dims else 0 for dim in f.dims
        }
        values = sum(
            (k + offset[dim]) * {"I": 7, "J": 3, "K": 11}[dim]
            for dim, k in zip(f.dims, at, strict=True)
        )
        f.domain[...] = ((values * values) % 23 + 1).astype(f.dtype)  # type: ignore[union-attr]
    return grid, field


for seed in range(30):
    case = edge_rules.random_case(seed)
    here, ours = filled(case, blocks=case["blocks"], comm=world, timeout=200)
    alone, whole = filled(case, blocks=case["blocks"])
    if seed % 2:
        here.exchange(ours, edges=case["edges"])
        alone.exchange(whole, edges=case["edges"])
    else:
        plan, other = here.plan(ours, edges=case["edges"]), alone.plan(whole, edges=case["edges"])
        for _ in range(2):
            plan(ours)
            other(whole)
    by = {block.number: f for block, f in zip(alone.blocks, listed(whole), strict=True)}
    for block, f in zip(here.blocks, listed(ours), strict=True):
        assert np.array_equal(f.numpy(), by[block.number].numpy()), (me, seed, block.index)
    if not seed % 2:
        plan.accumulate(ours)
        other.accumulate(whole)
        for block, f in zip(here.blocks, listed(ours), strict=True):
            assert np.array_equal(f.numpy(), by[block.number].numpy()), (me, seed, "adjoint")

grid = gbd.grid((4 * n, 4), blocks=(n, 1), halo=1, comm=world, timeout=200)
T = grid.ones()
if n > 1:
    with raises_on(n - 1, ValueError, "edges['I']: 'mirror' is no rule"):
        grid.exchange(T, edges={"I": "mirror" if me == n - 1 else "edge"})
        grid.sum(T)  # ranks that are no neighbours hear of it here
    grid = gbd.grid((4 * n, 4), blocks=(n, 1), halo=1, comm=world, timeout=200)
    with raises(gbd.RevokedError, "edges is" if me < 2 else ""):
        grid.exchange(T, edges={"J": "odd" if me == 0 else "edge"})
        grid.sum(T)

world.Barrier()
if me == 0:
    print(f"edges {n}")
