"""Run by any number of processes: an exchange and its adjoint leave on every block what the local engine leaves there."""

import sys
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from mpi4py import MPI

import gridbuf.distributed as gbd

comm = MPI.COMM_WORLD
n = comm.size
Items = Callable[..., list[Any]]


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


def compare(make: Callable[..., gbd.Grid], kinds: list[dict[str, Any]], items: Items = lambda *f: list(f)) -> None:
    here, whole = make(comm=comm, timeout=20), make()
    ours, all_of_them = fields(here, kinds), fields(whole, kinds)
    alone = [f if len(here.blocks) != 1 else f[0] for f in ours]
    everywhere = [f if len(whole.blocks) != 1 else f[0] for f in all_of_them]
    here.exchange(*items(*alone))
    whole.exchange(*items(*everywhere))
    same(here, ours, whole, all_of_them)
    here.plan(*items(*alone)).accumulate(*alone)
    whole.plan(*items(*everywhere)).accumulate(*everywhere)
    same(here, ours, whole, all_of_them)  # values are integers: sums do not depend on their order


def same(grid: gbd.Grid, ours: list[list[Any]], whole: gbd.Grid, everything: list[list[Any]]) -> None:
    for mine, its in zip(ours, everything, strict=True):
        of = {block.number: f.numpy() for block, f in zip(whole.blocks, its, strict=True)}
        for block, f in zip(grid.blocks, mine, strict=True):
            assert np.array_equal(f.numpy(), of[block.number]), (comm.rank, block)


LAYOUTS = [
    {},
    {"backend": "gt:cpu_ifirst", "dtype": "f4"},
    {"dims": "KJI", "dtype": "i2", "padding": True},
    {"dims": "IJ", "faces": "I", "sizes": {}},
    {"dims": "JK", "dtype": "c16", "halo": 1},
]
cuts = {(n, 1), (1, n), (2, n), (n, 3)}
for blocks, periodic, halo in product(sorted(cuts), ("", "I", "IJ"), (1, ((0, 2), (3, 1)))):
    compare(lambda **k: gbd.grid((13, 9), blocks=blocks, periodic=periodic, halo=halo, **k), LAYOUTS)  # noqa: B023
compare(lambda **k: gbd.grid((3, 5), blocks=(3, 1), periodic="I", halo=4, **k), LAYOUTS)  # halos wider than blocks and the axis
compare(lambda **k: gbd.grid((4, 4), blocks=(2, 2), owners=[0, None, n - 1 if k else 0, 0], halo=1, **k), LAYOUTS[:3])  # land
compare(lambda **k: gbd.cubed_sphere(6, halo=2, **k), LAYOUTS[:2])
compare(lambda **k: gbd.cubed_sphere(6, halo=2, blocks=(2, 1), **k), [{}, {}], lambda u, v: [gbd.vector(u, v)])
for pivot in "TF":
    compare(
        lambda **k: gbd.tripolar((12, 6), blocks=(n, 2), halo=2, pivot=pivot, **k),  # noqa: B023
        [{}, {"faces": "I"}, {"faces": "J", "backend": "gt:cpu_ifirst"}],
        lambda f, u, v: [gbd.scalar(f, sign=-1), gbd.vector(u, v)],
    )
compare(
    lambda **k: gbd.links(
        [(4, 4)] * 4,
        [(i, (slice(-1, 0), slice(0, 4)), (i + 1) % 4, (slice(0, 4), slice(0, 1)), ("J", "-I")) for i in range(4)],
        **k,
    ),
    [{"halo": 1}],
)
here, whole = (gbd.grid((12, 9), blocks=(n, 2), periodic="I", halo=1, **k) for k in ({"comm": comm}, {}))
ours, everything = fields(here, [{"faces": "I"}]), fields(whole, [{"faces": "I"}])
here.sync(ours[0]), whole.sync(everything[0])
same(here, ours, whole, everything)
assert here.checksum(ours[0]) == whole.checksum(everything[0])
if comm.rank == 0:
    print("same", n)
sys.stdout.flush()
