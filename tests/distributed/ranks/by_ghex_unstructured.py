"""Run by four processes: GHEX's unstructured example by GHEX and by a grid of global indices, from
the same fields: the same bits.
"""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from ghex.context import make_context
from ghex.unstructured import (
    DomainDescriptor,
    HaloGenerator,
    make_communication_object,
    make_field_descriptor,
    make_pattern,
)
from mesh import GHEX_EXAMPLE, example_values, windows
from mpi4py import MPI

import gridbuf as gb
import gridbuf.distributed as gbd

comm = MPI.COMM_WORLD
LEVELS = 2
points, masks = windows(GHEX_EXAMPLE, comm.size)
index, mask = points[comm.rank], masks[comm.rank]

context = make_context(comm, MPI.Query_thread() == MPI.THREAD_MULTIPLE)
domain = DomainDescriptor(comm.rank, index.tolist(), np.flatnonzero(~mask).tolist())
pattern = make_pattern(context, HaloGenerator.from_gids(index[~mask].tolist()), [domain])
exchanger = make_communication_object(context)
grid = gbd.unstructured(index, mask=mask, dims=("Cell",), comm=comm, timeout=200)


def fields(dtype: str, order: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Equal arrays for both, with -1 in the halo."""
    own = np.where(mask[:, None], example_values(index, GHEX_EXAMPLE, LEVELS), -1)
    theirs = np.array(own.astype(dtype), order=order)
    return theirs, theirs.copy("K")


wanted = example_values(index, GHEX_EXAMPLE, LEVELS)
for dtype in sys.argv[1].split():  # GHEX sends fields of one dtype together
    (a, c), (b, d) = fields(dtype, "C"), fields(dtype, "F")
    described = [pattern(make_field_descriptor(domain, f)) for f in (a, b)]
    exchanger.exchange(described).wait()
    grid.exchange(*(gb.Field(f, dims=("Cell", "K")) for f in (c, d)))
    for theirs, ours in ((a, c), (b, d)):
        assert theirs.tobytes() == ours.tobytes(), (comm.rank, dtype)
        assert np.array_equal(ours, wanted), (comm.rank, dtype)
if comm.rank == 0:
    print("unstructured", comm.size)
sys.stdout.flush()
