"""Run by any number of processes, in a folder of their own: fields move between cuts and into
files, and come back as they were.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from common import alone, fields, listed, raises, raises_on
from mpi4py import MPI

import gridbuf as gb
import gridbuf.distributed as gbd
from gridbuf.distributed.files import netcdf, stores
from gridbuf.distributed.files.netcdf_packages import NewFile, find_package
from gridbuf.distributed.files.saving import ALL_STORES

comm = MPI.COMM_WORLD
me, n = comm.rank, comm.size
folder = Path(sys.argv[1])
KINDS = [
    {"dims": "KJI", "dtype": "i4"},
    {"backend": "gt:cpu_ifirst", "dtype": "f4", "faces": "I"},
    {"dims": "IJ", "dtype": "c16", "faces": "IJ", "sizes": {}},
    {"dims": "JK"},
]
few = comm.Split(0 if me < 2 else MPI.UNDEFINED, -me)  # two ranks or one, in another order


def made(make: Any, kinds: list[dict[str, Any]]) -> tuple[gbd.Grid, list[Any]]:
    grid = make(comm=comm, timeout=200)
    found = [alone(its) for its in fields(grid, kinds)]
    for each in found:
        grid.sync(each)
    return grid, found


def move(make: Any, cuts: list[dict[str, Any]], kinds: list[dict[str, Any]]) -> None:
    here, given = made(lambda **k: make(**cuts[0], **k), kinds)
    grids = [make(comm=comm, timeout=200, **cut) for cut in cuts]
    grids.append(make(comm=few, timeout=200) if few != MPI.COMM_NULL else None)  # other ranks
    for there in grids:
        for field in given:
            found = here.redistribute(field, there)
            assert (found is None) == (there is None)
            sums = comm.allgather(there and there.checksum(found))
            assert {*sums} - {None} == {here.checksum(field)}
            if there is not None and there.size == n:
                back = there.redistribute(found, here)
                for f, g in zip(listed(field), listed(back), strict=True):
                    assert np.array_equal(f.domain.numpy(), g.domain.transpose(*f.dims).numpy())


def keep(
    name: str, make: Any, cuts: list[dict[str, Any]], kinds: list[dict[str, Any]], format: str
) -> None:
    here, given = made(lambda **k: make(**cuts[0], **k), kinds)
    path = folder / f"{name}-{format}-{n}"
    named = {f"f{i}": field for i, field in enumerate(given)}
    sums = [here.checksum(field) for field in given]
    for _ in range(2):  # the second replaces the first
        here.save(path, format=format, **named)
    for there in (
        *(make(comm=comm, timeout=200, **cut) for cut in cuts),
        make(),
        make(blocks=(2, 2)),
    ):
        found = there.load(path)
        assert [there.checksum(field) for field in found.values()] == sums
    if few != MPI.COMM_NULL:
        some = make(comm=few, timeout=200)
        assert [some.checksum(field) for field in some.load(path, halo=1).values()] == sums
    comm.Barrier()
    if me == 0:  # from one process to all
        one = make(blocks=(1, 2))
        one.save(path, format=format, **one.load(path))
    comm.Barrier()
    assert [here.checksum(field) for field in here.load(path, *named).values()] == sums


def made_again() -> gbd.Grid:
    return gbd.grid((2 * n, 3), blocks=(n, 1), halo=1, comm=comm, timeout=200)


def one_rank_fails(format: str) -> None:
    grid = made_again()
    path, culprit = folder / f"fails-{format}-{n}", n - 1
    grid.save(path, format=format, T=grid.full(1.0))
    for what in ("write", "read"):
        kind, name, by = ALL_STORES[format], what, culprit
        if format == "netcdf" and what == "write":  # rank 0 writes
            kind, name, by = NewFile, "writing", 0
        before = getattr(kind, name)
        if me == by:
            setattr(
                kind,
                name,
                lambda *args: (_ for _ in ()).throw(OSError(28, "No space left on device")),
            )
        with raises_on(by, OSError, "No space left"):
            grid.save(path, format=format, T=grid.full(2.0)) if what == "write" else grid.load(path)
        setattr(kind, name, before)
        grid = made_again()
        assert grid.sum(grid.load(path)["T"]) == 6.0 * n
        # Zarr makes folders anew for a rank that still writes when rank 0 has removed them
        grid.save(path, format=format, T=grid.full(1.0))
        assert me or not [*path.parent.glob(path.name + ".*")]
        comm.Barrier()
    zero = grid.zeros()
    bad = gb.Field.zeros((9, 9), dims="IJ") if me == culprit else zero
    wrong: list[tuple[Any, type[Exception] | None, str, Any]] = [
        (
            None,
            None,
            "path: rank 0 says",
            lambda: grid.save(path if me else folder / "other", format=format, T=zero),
        ),
        (
            None,
            None,
            "names: rank 0 says",
            lambda: grid.save(path, format=format, **{"U" if me else "T": zero}),
        ),
        (None, None, "names: rank 0 says", lambda: grid.load(path, *["T"] * (me > 0))),
        (culprit, ValueError, "its domain has", lambda: grid.save(path, format=format, T=bad)),
        (
            None,
            None,
            "its dtype",
            lambda: grid.save(path, format=format, T=grid.zeros(dtype="f4" if me else "f8")),
        ),
        (0, ValueError, "path: there is no", lambda: grid.load(folder / "nothing")),
        (
            culprit,
            TypeError,
            "other: expected a grid",
            lambda: grid.redistribute(zero, 3 if me == culprit else grid),
        ),
    ]
    for rank, error, words, call in wrong if n > 1 else []:
        with (
            raises(gbd.DisagreementError, words) if rank is None else raises_on(rank, error, words)
        ):
            call()
        grid = made_again()
    assert grid.sum(grid.load(path)["T"]) == 6.0 * n


TWO = [{"blocks": (n, 1), "halo": 1}, {"blocks": (1, 1)}, {"cuts": ((0, 5, 2), (3, 2))}]
move(lambda **k: gbd.grid((7, 5), periodic="I", **k), TWO, KINDS)
move(
    lambda **k: gbd.cubed_sphere(4, **k),
    [{"blocks": (2, 1)}, {"blocks": (1, 1), "halo": 1}],
    KINDS[:1],
)
move(
    lambda **k: gbd.tripolar((8, 4), pivot="T", **k),
    [{"blocks": (n, 1), "halo": 1}, {"blocks": (2, 2)}],
    KINDS[:3],
)
if find_package() is not None:
    netcdf.SLAB = 200  # bytes: several slabs
    reals = [kind for kind in KINDS if kind.get("dtype") != "c16"]
    keep("ring", lambda **k: gbd.grid((7, 5), periodic="I", **k), TWO, reals, "netcdf")
    one_rank_fails("netcdf")
for format in ["npy", "zarr"] if stores.zarr_is_there() else ["npy"]:
    keep("ring", lambda **k: gbd.grid((7, 5), periodic="I", **k), TWO, KINDS, format)
    keep(
        "cube",
        lambda **k: gbd.cubed_sphere(4, **k),
        [{"blocks": (2, 1)}, {"blocks": (1, 1), "halo": 1}],
        KINDS[:1],
        format,
    )
    one_rank_fails(format)
if me == 0:
    print("files", n)
sys.stdout.flush()
