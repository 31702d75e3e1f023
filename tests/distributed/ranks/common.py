"""What programs that run on several ranks share: a ring of blocks, fields with known values, and
what is raised.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
from mpi4py import MPI

import gridbuf as gb
import gridbuf.distributed as gbd
from gridbuf.distributed.ranks import revoke, shared_memory

# Bytes: the messages of tests are short
shared_memory.LEAST = int(os.environ.get("SHARED_FROM", shared_memory.LEAST))
revoke.FEW = int(os.environ.get("FEW", revoke.FEW))  # ranks that tell all others: tests have few
world = MPI.COMM_WORLD
me, n = world.rank, world.size
last = n - 1
SOON = 60.0  # of 200 seconds that the ranks have: no machine is so busy


def ring(comm: Any = world, points: int = 6, **more: Any) -> gbd.Grid:
    more = {"periodic": "I", "halo": ((1, 1), (0, 0)), "blocks": (n, 1), "timeout": 200} | more
    return gbd.grid((4 * n, points), comm=comm, **more)


def works(grid: gbd.Grid) -> None:
    f = grid.zeros()
    for i in range(3):
        f[...] = 100.0 * i + me
        grid.exchange(f)
        assert [f[0, 0], f[-1, 0]] == [100.0 * i + (me - 1) % n, 100.0 * i + (me + 1) % n], (
            me,
            i,
            f.numpy(),
        )
    assert grid.sum(grid.ones()) == 24.0 * n


def listed(given: Any) -> list[Any]:
    return [given] if isinstance(given, gb.Field) else [*given]


def alone(its: list[Any]) -> Any:
    """As a grid has them: a Field where there is one block."""
    return its if len(its) != 1 else its[0]


def fields(grid: gbd.Grid, kinds: list[dict[str, Any]]) -> list[list[Any]]:
    """Fields whose values depend on the block alone, halo included."""
    made = []
    for i, kind in enumerate(kinds):
        its = grid.zeros(**{"dims": "IJK", "sizes": {"K": 3}, **kind})
        its = listed(its)
        for block, f in zip(grid.blocks, its, strict=True):
            f.numpy()[...] = np.random.default_rng((i, block.number)).integers(-50, 50, f.shape)
        made.append(its)
    return made


@contextmanager
def raises(kind: type[BaseException], *words: str) -> Iterator[list[BaseException]]:
    caught: list[BaseException] = []
    try:
        yield caught
    except kind as error:
        caught.append(error)
        for word in filter(None, words):
            assert word in str(error), (me, word, str(error))
    else:
        raise AssertionError(f"rank {me}: no {kind.__name__}")


def raises_on(rank: int, kind: type[BaseException], *words: str) -> AbstractContextManager[Any]:
    """On that rank its own error, with these words; on all others RevokedError that tells it."""
    return (
        raises(kind, *words)
        if me == rank
        else raises(gbd.RevokedError, f"rank {rank}: {kind.__name__}", *words)
    )


def until_revoked(call: Callable[[], Any], kind: type[Exception], *words: str) -> None:
    """A rank that is not beside the one that fails may end this call, and hears of it in the
    next.
    """
    began = time.monotonic()
    with raises(kind, *words):
        while time.monotonic() - began < SOON:
            call()
    assert time.monotonic() - began < SOON, me
