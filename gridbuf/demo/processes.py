"""The demo's last part: the same diffusion on several processes, bit for bit what one process
makes.

Where there is no MPI, or it does not run, the blocks are those of one process, and that is said.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import gridbuf.distributed as gbd
from gridbuf.demo import blocks
from gridbuf.distributed.drawing import picture
from gridbuf.machine import missing_for_mpi, mpi_environment, mpirun_command

SECONDS = 120.0  # until processes that do not come back are given up


class Outcome(NamedTuple):
    """What became of the field."""

    grid: Any  # one with the same blocks
    result: NDArray[np.float64]
    how: str
    seconds: float
    messages: str
    why_not: str  # no MPI; "" where there was


def run(
    values: NDArray[np.float64], steps: int, stencil: Callable[..., None], backend: str, ranks: int
) -> Outcome:
    """Diffuse a field on so many processes; without MPI on as many blocks of this one."""
    shape = tuple(n - 2 * blocks.HALO for n in values.shape[:2])
    counts = cut(shape, ranks)
    why_not = missing_for_mpi()
    if not why_not:
        with tempfile.TemporaryDirectory(prefix="gridbuf-demo-") as folder:
            found = _with_mpi(Path(folder), values, steps, backend, ranks)
            if isinstance(found, dict):
                grid = gbd.grid(shape, "IJ", blocks=counts, halo=blocks.HALO)
                result = values.copy()
                for block in grid.all_blocks():
                    blocks.put(result, block, np.load(Path(folder) / f"block{block.number}.npy"))
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
    grid, fields, plan, seconds = blocks.run(values, steps, stencil, backend, counts)
    result = values.copy()
    for block, f in zip(grid.blocks, fields, strict=True):
        blocks.put(result, block, f.domain.numpy())
    said = f"{len(plan.copies)} copies from block to block before each step"
    return Outcome(grid, result, f"{ranks} blocks in one process", seconds, said, why_not)


def cut(shape: tuple[int, ...], ranks: int) -> tuple[int, ...]:
    """Into as many blocks as there are ranks, as a grid does that has a communicator."""
    from gridbuf.distributed.geometry.blocks import best_cut

    return best_cut(shape, ranks, ((blocks.HALO,) * 2,) * 2, (False, False))


def _with_mpi(
    folder: Path, values: NDArray[np.float64], steps: int, backend: str, ranks: int
) -> dict[str, Any] | str:
    """What rank 0 says of the run, or why there was none."""
    np.save(folder / "before.npy", values)
    alone = mpi_environment(
        OMP_NUM_THREADS="1", GRIDBUF_NUM_THREADS="1"
    )  # there are as many processes as cores, or more
    words = [sys.executable, "-m", "gridbuf.demo.blocks", str(folder), backend, str(steps)]
    try:
        done = subprocess.run(
            [*mpirun_command(ranks), *words],
            capture_output=True,
            text=True,
            errors="replace",
            env=alone,
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
