"""The diffusion on a grid in blocks: what each process of the demo's last part runs, alone or under
mpirun.

    mpirun -n 4 python -m gridbuf.demo.blocks FOLDER BACKEND STEPS

reads FOLDER/before.npy, writes the own points of each block beside it, and on rank 0 what the run
was.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gridbuf.distributed as gbd

HALO, COEFFICIENT = 1, 0.2  # the stencil's, which is not imported here: `run` is for any


def run(
    values: NDArray[np.float64],
    steps: int,
    stencil: Callable[..., None],
    backend: str,
    blocks: Any,
    comm: Any = None,
) -> Any:
    """Diffuse a field, rim included, on this process's blocks of a grid; the grid, its fields, the
    exchange's plan and the seconds it took.

    Parameters
    ----------
    values : ndarray
        In I, J, K order: the whole field; the rim is a closed boundary.
    steps : int
    stencil : callable
        Takes two Fields and a coefficient.
    backend : str
        Whose layout the fields have.
    blocks : sequence of int or None
        How many along I and J; None: as many in all as there are processes.
    comm : mpi4py.MPI.Comm, optional
        None: all blocks are in this process.
    """
    shape = tuple(n - 2 * HALO for n in values.shape[:2])
    grid = gbd.grid(shape, "IJ", blocks=blocks, halo=HALO, comm=comm, timeout=60)
    now = [
        f for _, f in grid.each(grid.empty("IJK", sizes={"K": values.shape[2]}, backend=backend))
    ]
    for block, f in zip(grid.blocks, now, strict=True):
        (i, j), (end, top) = block.start, block.stop
        f[...] = np.nan  # whatever is not exchanged shows
        f.domain[...] = values[i + HALO : end + HALO, j + HALO : top + HALO]
        rim(f.numpy(), values[i : end + 2 * HALO, j : top + 2 * HALO], block, shape)
    after = [f.copy() for f in now]
    plan = grid.plan(now, names=["theta"])
    begin = perf_counter()
    for _ in range(steps):
        plan(now)
        for f, g in zip(now, after, strict=True):
            stencil(f, g, COEFFICIENT)
        now, after = after, now
    return grid, now, plan, perf_counter() - begin


def rim(
    local: NDArray[np.float64], values: NDArray[np.float64], block: Any, shape: tuple[int, ...]
) -> None:
    """The closed boundary beside a block: points that no exchange fills."""
    if block.start[0] == 0:
        local[:HALO] = values[:HALO]
    if block.stop[0] == shape[0]:
        local[-HALO:] = values[-HALO:]
    if block.start[1] == 0:
        local[:, :HALO] = values[:, :HALO]
    if block.stop[1] == shape[1]:
        local[:, -HALO:] = values[:, -HALO:]


def put(result: NDArray[np.float64], block: Any, own: Any) -> None:
    """A block's own points into the whole field."""
    (i, j), (end, top) = block.start, block.stop
    result[i + HALO : end + HALO, j + HALO : top + HALO] = own


def main(folder: Path, backend: str, steps: int) -> None:
    """One of several processes."""
    from mpi4py import MPI

    from gridbuf.demo import stencils

    comm = MPI.COMM_WORLD
    values = np.load(folder / "before.npy")
    grid, fields, plan, seconds = run(
        values, steps, stencils.compiled(backend), backend, None, comm
    )
    for block, f in zip(grid.blocks, fields, strict=True):
        np.save(folder / f"block{block.number}.npy", f.domain.numpy())
    comm.Barrier()
    if comm.rank == 0:
        library = " ".join(MPI.Get_library_version().split(",")[0].strip("\0").split())
        (folder / "run.json").write_text(
            json.dumps(
                {
                    "library": library,
                    "ranks": comm.size,
                    "seconds": seconds,
                    "messages": plan.messages,
                    "nbytes": plan.nbytes,
                }
            )
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
