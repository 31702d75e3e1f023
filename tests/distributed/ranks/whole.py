"""Run by any number of processes: what is gathered, scattered and counted is what one process gets
that has all blocks.
"""

import sys
import weakref
from typing import Any

import numpy as np
from common import alone, fields, listed
from mpi4py import MPI

import gridbuf.distributed as gbd
import gridbuf.distributed.ranks.persistent_messages as messages
from gridbuf import _core as core
from gridbuf.distributed.whole_fields import transfers

comm = MPI.COMM_WORLD
n = comm.size
roots = sorted({0, n - 1})


def compare(make: Any, kinds: list[dict[str, Any]], vectors: bool = False) -> None:
    here, whole = make(comm=comm, timeout=200), make()
    ours, everything = fields(here, kinds), fields(whole, kinds)
    for root in roots:
        for mine, its in zip(ours, everything, strict=True):
            found, wanted = here.gather(alone(mine), root), listed(whole.gather(alone(its)))
            assert (found is None) == (comm.rank != root)
            if found is not None:
                for a, b in zip(listed(found), wanted, strict=True):
                    assert a.dims == b.dims and np.array_equal(a.numpy(), b.numpy()), (
                        comm.rank,
                        root,
                    )
            back = [f.numpy().copy() for f in mine]
            for f in mine:
                f.domain[...] = 0
            given = [tile.numpy() for tile in wanted]
            here.scatter(
                (given if len(given) > 1 else given[0]) if comm.rank == root else None,
                alone(mine),
                root,
            )
            whole.scatter(wanted if len(wanted) > 1 else wanted[0], alone(its))
            of = {block.number: f for block, f in zip(whole.blocks, its, strict=True)}
            for block, f, old in zip(here.blocks, mine, back, strict=True):
                assert np.array_equal(f.domain.numpy(), of[block.number].domain.numpy())
                f.numpy()[...], f.domain[...] = old, f.domain.numpy()
    if vectors:
        found, wanted = (
            g.gather(gbd.vector(*(alone(each) for each in its)))
            for g, its in ((here, ours), (whole, everything))
        )
        for a, b in zip(found or (), wanted, strict=comm.rank == 0):
            assert all(
                np.array_equal(x.numpy(), y.numpy())
                for x, y in zip(listed(a), listed(b), strict=True)
            )
    for kind, mine, its in zip(kinds, ours, everything, strict=True):
        a, b = alone(mine), alone(its)
        for what in ("sum", "mean", "norm", "any", "all", "checksum"):
            x, y = getattr(here, what)(a), getattr(whole, what)(b)
            assert x == y and type(x) is type(y), (what, x, y)
        assert here.dot(a, a) == whole.dot(b, b) and here.sum(a, a, a, a) == whole.sum(b, b, b, b)
        if np.dtype(kind.get("dtype", "f8")).kind != "c":
            for what in ("min", "max", "argmin", "argmax"):
                assert getattr(here, what)(a) == getattr(whole, what)(b), what


LAYOUTS = [
    {"backend": "gt:cpu_ifirst"},
    {"dims": "KJI", "dtype": "i2", "padding": True},
    {"dims": "IJ", "faces": "I", "sizes": {}},
    {"dims": "JK", "dtype": "c16", "halo": 1, "faces": "J"},
]
# The last: ranks without blocks
for blocks, periodic in (((n, 1), "I"), ((1, n), ""), ((2, n), "IJ"), ((1, 1), "I")):
    compare(lambda **k: gbd.grid((7, 5), blocks=blocks, periodic=periodic, halo=2, **k), LAYOUTS)  # noqa: B023
owners = [n - 1, None, n - 1, n // 2]
compare(
    lambda **k: gbd.grid(
        (4, 4), blocks=(2, 2), owners=[o and (o if k else 0) for o in owners], halo=1, **k
    ),
    LAYOUTS[:3],
)
compare(
    lambda **k: gbd.cubed_sphere(4, halo=1, **k), [*LAYOUTS[:2], {"faces": "IJ"}, {"faces": "I"}]
)
compare(
    lambda **k: gbd.cubed_sphere(4, halo=1, blocks=(2, 1), **k),
    [{"faces": "I"}, {"faces": "J"}],
    True,
)
for pivot in "TF":
    compare(
        lambda **k: gbd.tripolar((8, 4), blocks=(n, 2), halo=1, pivot=pivot, **k),  # noqa: B023
        [{"faces": "I"}, {"faces": "J"}],
        True,
    )
before, messages.PART = messages.PART, 100  # in pieces, as more than 2 GiB are
compare(lambda **k: gbd.grid((9, 8), blocks=(n, 1), halo=1, **k), LAYOUTS[:2])
messages.PART = before


def memory() -> None:
    """Beside what is gathered the root never has more than one message."""
    grid = gbd.grid((8 * n, 50), blocks=(n, 1), comm=comm, timeout=200)
    T = grid.full(1.0)
    live, most, before = 0, 0, transfers_empty
    sizes = []

    def empty(shape: Any, *args: Any) -> Any:
        nonlocal live, most
        made = before(shape, *args)
        live += made.nbytes
        most = max(most, live)
        sizes.append(made.nbytes)

        def gone(nbytes: int = made.nbytes) -> None:
            nonlocal live
            live -= nbytes

        weakref.finalize(made, gone)
        return made

    transfers._core = Recorded(empty)
    try:
        grid.gather(T)
    finally:
        transfers._core = core
    del T
    assert len(sizes) == (n > 1) and most <= 8 * 50 * 8, (comm.rank, most, sizes)


def reductions() -> None:
    """Three sums are one reduction, and more are two."""
    grid = gbd.grid((8, 6), blocks=(n, 1), comm=comm, timeout=200)
    duplicate, asked = grid._engine.channel.duplicate, []  # type: ignore[attr-defined]
    before = duplicate.comm

    class Counted:
        def __getattr__(self, name: str) -> Any:
            asked.append(name)
            return getattr(before, name)

    fields = [grid.full(0.1 + i) for i in range(8)]
    for count, wanted in ((1, 1), (3, 1), (8, 2)):
        asked.clear()
        duplicate.comm = Counted()
        found = grid.sum(*fields[:count])
        duplicate.comm = before
        assert [name for name in asked if "reduce" in name] == ["Iallreduce"] * wanted, asked
        assert found == (
            grid.sum(fields[0]) if count == 1 else tuple(map(grid.sum, fields[:count]))
        )


class Recorded:
    """gridbuf._core with another `empty`."""

    def __init__(self, empty: Any) -> None:
        self.empty = empty

    def __getattr__(self, name: str) -> Any:
        return getattr(core, name)


transfers_empty = core.empty
memory()
reductions()
if comm.rank == 0:
    print("whole", n)
sys.stdout.flush()
