"""The demo's last part: the diffusion on a grid in blocks, on several processes, with the same bits
as in one process.

Where there is no MPI, or it does not run, the blocks are those of one process, and the demo says
so. Each process runs this file:

    mpirun -n 4 python -m demo.blocks FOLDER BACKEND STEPS

reads FOLDER/before.npy, writes the own points of each block beside it, and on rank 0 what the run
was.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import gridbuf.distributed as gbd
from gridbuf.distributed.drawing import picture
from gridbuf.machine import missing_for_mpi, mpi_environment, mpirun_command

HALO, COEFFICIENT = 1, 0.2  # of the stencil, which is not imported here


def diffuse_in_blocks(
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

    from demo import stencils

    comm = MPI.COMM_WORLD
    values = np.load(folder / "before.npy")
    grid, fields, plan, seconds = diffuse_in_blocks(
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


# ---- several processes ----


SECONDS = 120.0  # until processes that do not come back are given up


class Outcome(NamedTuple):
    """What became of the field."""

    grid: Any  # one with the same blocks
    result: NDArray[np.float64]
    how: str
    seconds: float
    messages: str
    why_not: str  # no MPI; "" where there was


def diffuse_on_processes(
    values: NDArray[np.float64], steps: int, stencil: Callable[..., None], backend: str, ranks: int
) -> Outcome:
    """Diffuse a field on so many processes; without MPI on as many blocks of this one."""
    shape = tuple(n - 2 * HALO for n in values.shape[:2])
    counts = cut(shape, ranks)
    why_not = missing_for_mpi()
    if not why_not:
        with tempfile.TemporaryDirectory(prefix="gridbuf-demo-") as folder:
            found = _with_mpi(Path(folder), values, steps, backend, ranks)
            if isinstance(found, dict):
                grid = gbd.grid(shape, "IJ", blocks=counts, halo=HALO)
                result = values.copy()
                for block in grid.all_blocks():
                    put(result, block, np.load(Path(folder) / f"block{block.number}.npy"))
                said = (
                    f"{found['messages']} messages with {found['nbytes']:,} bytes from rank 0"
                    " before each step"
                )
                return Outcome(
                    grid,
                    result,
                    f"{ranks} processes by {found['library']}",
                    found["seconds"],
                    said,
                    "",
                )
            why_not = found
    grid, fields, plan, seconds = diffuse_in_blocks(values, steps, stencil, backend, counts)
    result = values.copy()
    for block, f in zip(grid.blocks, fields, strict=True):
        put(result, block, f.domain.numpy())
    said = f"{len(plan.copies)} copies from block to block before each step"
    return Outcome(grid, result, f"{ranks} blocks in one process", seconds, said, why_not)


def cut(shape: tuple[int, ...], ranks: int) -> tuple[int, ...]:
    """Into as many blocks as there are ranks, as a grid does that has a communicator."""
    from gridbuf.distributed.geometry.blocks import best_cut

    return best_cut(shape, ranks, ((HALO,) * 2,) * 2, (False, False))


def _with_mpi(
    folder: Path, values: NDArray[np.float64], steps: int, backend: str, ranks: int
) -> dict[str, Any] | str:
    """What rank 0 says of the run, or why there was none."""
    np.save(folder / "before.npy", values)
    # There are as many processes as cores, or more
    alone = mpi_environment(OMP_NUM_THREADS="1", GRIDBUF_NUM_THREADS="1")
    words = [sys.executable, "-m", "demo.blocks", str(folder), backend, str(steps)]
    try:
        done = subprocess.run(
            [*mpirun_command(ranks), *words],
            capture_output=True,
            text=True,
            errors="replace",
            env=alone,
            cwd=Path(__file__).parents[1],
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"mpirun: timed out after {SECONDS} s"
    except (OSError, subprocess.SubprocessError) as error:
        return f"mpirun: {str(error)[:160]}"
    if done.returncode or not (folder / "run.json").exists():
        said = [line.strip() for line in done.stderr.splitlines() if line.strip(" -\n")]
        reason = next(
            (line for line in reversed(said) if "Error" in line),
            said[0] if said else f"status {done.returncode}",
        )
        return f"mpirun: {reason[:160]}"
    found: dict[str, Any] = json.loads((folder / "run.json").read_text())
    return found


def text(outcome: Outcome) -> list[str]:
    """The blocks with their ranks."""
    numbered = [block._replace(rank=block.number) for block in outcome.grid.all_blocks()]
    return picture(numbered, outcome.grid.dims).splitlines()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
