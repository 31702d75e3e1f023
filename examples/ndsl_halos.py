"""NDSL's halo updates by NDSL and by gridbuf, in turns: bits, CPU time and page faults.

    mpirun -n 6 python ndsl_halos.py path/to/NDSL --cells 12 48

needs a checkout of NDSL, or an installed one and no path, and what it imports: gt4py, dace, xarray.
The ranks are those of a cubed sphere: 6, 24, 54, ...
"""

import argparse
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

WORLD = MPI.COMM_WORLD
HALO = 3


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkout", nargs="*", type=Path, help="a checkout of NDSL")
    parser.add_argument("--cells", nargs="+", type=int, default=[12, 48], help="of a tile's edge")
    parser.add_argument("--levels", type=int, default=79)
    parser.add_argument("--rounds", type=int, default=5, help="in turns; the least of them counts")
    parser.add_argument("--updates", type=int, default=20, help="in a round")
    return parser.parse_args()


def quantity(names: Any, faces: str, cells: int, levels: int, rng: np.random.Generator) -> Any:
    """A quantity of random values, at faces along some of I and J."""
    from ndsl import Quantity

    from gridbuf.interop.ndsl_links import NAMES

    dims = [of[a not in faces] for a, of in zip("IJ", NAMES, strict=True)]
    extent = [cells + (a in faces) for a in "IJ"]
    shape = [n + 2 * HALO + (a not in faces) for n, a in zip(extent, "IJ", strict=True)]
    keywords: dict[str, Any] = {}
    try:
        from ndsl.config import Backend

        keywords = {"backend": Backend.python(), "allow_mismatch_float_precision": True}
    except ImportError:
        pass
    return Quantity(
        rng.random((*shape, levels)),
        (*dims, getattr(names, "K_DIM", None) or names.Z_DIM),
        "",
        origin=(HALO, HALO, 0),
        extent=(*extent, levels),
        **keywords,
    )


def specification(q: Any) -> Any:
    from ndsl.quantity import QuantityHaloSpec

    return QuantityHaloSpec(
        n_points=HALO,
        strides=q.data.strides,
        itemsize=q.data.itemsize,
        shape=q.data.shape,
        origin=q.metadata.origin,
        extent=q.metadata.extent,
        dims=q.metadata.dims,
        numpy_module=np,
        dtype=q.data.dtype,
    )


def updates(communicator: Any, xs: list[Any], ys: list[Any]) -> Callable[[], None]:
    """What is measured: an updater of scalars, or of vectors where ys are given."""
    specifications = [specification(q) for q in xs]
    if not ys:
        updater = communicator.get_scalar_halo_updater(specifications)
        return lambda: updater.update(xs)
    updater = communicator.get_vector_halo_updater(specifications, [specification(q) for q in ys])
    return lambda: updater.update(xs, ys)


def measured(run: Callable[[], None], count: int) -> tuple[float, float]:
    """CPU seconds and page faults of an update, as means over the ranks."""
    WORLD.Barrier()
    faults, before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt, time.process_time()
    for _ in range(count):
        run()
    seconds = (time.process_time() - before) / count
    faults = (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults) / count
    return tuple(WORLD.allreduce(np.array([seconds, faults])) / WORLD.size)


def compare(case: str, faces: list[str], count: int, cells: int, given: argparse.Namespace) -> None:
    """One line of the table."""
    from ndsl import constants as names
    from ndsl.comm.communicator import CubedSphereCommunicator
    from ndsl.comm.mpi import MPIComm

    import gridbuf.interop.ndsl

    layout = round((WORLD.size / 6) ** 0.5)
    runs, data = [], []
    for ours in (False, True):
        rng = np.random.default_rng(WORLD.rank)
        columns = [
            [quantity(names, face, cells // layout, given.levels, rng) for _ in range(count)]
            for face in faces
        ]
        xs, ys = columns if len(columns) == 2 else (columns[0], [])
        data.append([*xs, *ys])
        communicator = CubedSphereCommunicator.from_layout(MPIComm(), (layout, layout))
        if ours:
            with gridbuf.interop.ndsl.install():
                runs.append(updates(communicator, xs, ys))
        else:
            runs.append(updates(communicator, xs, ys))
    for run in runs:  # buffers, plans and the handshake
        run()
    same = all(a.data.tobytes() == b.data.tobytes() for a, b in zip(*data, strict=True))
    same = WORLD.allreduce(same, MPI.LAND)
    rounds = [[measured(run, given.updates) for run in runs] for _ in range(given.rounds)]
    (theirs, faults), (ours_, less) = (min(row[i] for row in rounds) for i in (0, 1))
    if WORLD.rank == 0:
        bits = "the same bits" if same else "DIFFERENT BITS"
        print(
            f"C{cells} {case:22} NDSL {theirs * 1e6:7.0f} us, {faults:5.1f} faults; gridbuf"
            f" {ours_ * 1e6:7.0f} us, {less:5.1f} faults; {theirs / ours_:4.1f} times; {bits}",
            flush=True,
        )


def main() -> None:
    given = arguments()
    sys.path[:0] = [str(path.resolve()) for path in given.checkout]
    for cells in given.cells:
        compare("one scalar", [""], 1, cells, given)
        compare("eight scalars", [""], 8, cells, given)
        compare("a vector on a D grid", ["J", "I"], 1, cells, given)


if __name__ == "__main__":
    main()
