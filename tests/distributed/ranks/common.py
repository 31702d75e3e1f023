"""What programs that run on several ranks share: fields with known values, and what is raised."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from mpi4py import MPI

import gridbuf.distributed as gbd

me = MPI.COMM_WORLD.rank


def fields(grid: gbd.Grid, kinds: list[dict[str, Any]]) -> list[list[Any]]:
    """Fields whose values depend on the block alone, halo included."""
    made = []
    for i, kind in enumerate(kinds):
        its = grid.zeros(**{"dims": "IJK", "sizes": {"K": 3}, **kind})
        its = its if isinstance(its, list) else [its]
        for block, f in zip(grid.blocks, its, strict=True):
            f.numpy()[...] = np.random.default_rng((i, block.number)).integers(-50, 50, f.shape)
        made.append(its)
    return made


@contextmanager
def raises(kind: type[BaseException], *words: str) -> Iterator[None]:
    try:
        yield
    except kind as error:
        for word in words:
            assert word in str(error), (me, word, str(error))
    else:
        raise AssertionError(f"rank {me}: no {kind.__name__}")
