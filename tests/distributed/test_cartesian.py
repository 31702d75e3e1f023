"""Every point of every block of a Cartesian grid after an exchange, against a dictionary of all
points.
"""

from itertools import product
from typing import Any

import numpy as np
import pytest
from in_child import python
from oracle import Globe, cartesian, expected, fill, same

import gridbuf as gb
import gridbuf.distributed as gbd

CENTRES = (1, 1)


def fields_of(made: Any) -> list[gb.Field]:
    return [made] if isinstance(made, gb.Field) else made


def check(
    grid: gbd.Grid, positions: tuple[int, ...] = CENTRES, corners: bool = True, **keywords: Any
) -> None:
    faces = "".join(dim for dim, p in zip(grid.dims, positions, strict=True) if p == 0)
    fields = fields_of(grid.zeros(faces=faces, **keywords))
    fill(fields, np.random.default_rng(1))
    globe = Globe(
        grid, cartesian(grid.shape, [dim in grid.periodic for dim in grid.dims]), [positions]
    )
    (wanted,) = expected(grid, [fields], globe, corners)
    if corners:
        grid.exchange(fields)
    else:
        grid.plan(fields, corners=False)(fields)
    assert same(fields, wanted, grid.dims)


BLOCKS = list(product(range(1, 5), range(1, 5)))
# The last: wider than blocks, and than the periodic axes
HALOS = [1, ((2, 0), (0, 3)), (5, (1, 9))]


@pytest.mark.parametrize("periodic", ["", "I", "J", "IJ"])
@pytest.mark.parametrize("blocks", BLOCKS, ids=str)
def test_every_point_of_every_block(blocks: tuple[int, int], periodic: str) -> None:
    halo = HALOS[(blocks[0] + blocks[1] + len(periodic)) % 3]
    grid = gbd.grid((7, 5), blocks=blocks, periodic=periodic, halo=halo)
    for positions in ((1, 1), (0, 1), (1, 0), (0, 0)):
        check(grid, positions)
    check(grid, corners=False)


@pytest.mark.parametrize(
    "cuts",
    [((1, 4, 2), (3, 2)), ((0, 7), (1, 0, 4)), ((7,), (1, 1, 1, 1, 1)), ((3, 0, 0, 4), (0, 5, 0))],
    ids=str,
)
@pytest.mark.parametrize("periodic", ["", "IJ"])
def test_uneven_cuts_and_blocks_without_points(cuts: Any, periodic: str) -> None:
    grid = gbd.grid((7, 5), cuts=cuts, periodic=periodic, halo=((2, 1), 2))
    assert [b.stop[0] - b.start[0] for b in grid.blocks][:: len(cuts[1])] == list(cuts[0])
    for positions in ((1, 1), (0, 1), (0, 0)):
        check(grid, positions)


@pytest.mark.parametrize("periodic", ["", "I", "IJ"])
@pytest.mark.parametrize(
    "owners",
    [(0, None, 0, 0, 0, 0), (None, 0, 0, None, 0, None), (0, 0, None, None, None, 0)],
    ids=str,
)
def test_nobody_has_the_land(owners: Any, periodic: str) -> None:
    grid = gbd.grid((7, 5), blocks=(3, 2), owners=owners, periodic=periodic, halo=3)
    assert [b.rank for b in grid.all_blocks()] == list(owners)
    assert len(grid.blocks) == owners.count(0)
    for positions in ((1, 1), (0, 1), (0, 0)):
        check(grid, positions)


DTYPES = [
    "float64",
    "float32",
    "float16",
    "complex64",
    "complex128",
    "int8",
    "uint16",
    "int64",
    "bool",
    ">f8",
    ">i4",
    "longdouble",
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype: str) -> None:
    check(gbd.grid((6, 5), blocks=(2, 2), periodic="I", halo=2), dtype=dtype)


@pytest.mark.parametrize("backend", ["gt:cpu_ifirst", "gt:cpu_kfirst", "F", "gt:gpu"])
@pytest.mark.parametrize("dims", ["IJ", "JI", "KJI", "IKJ", ("J", "2", "I", "0")], ids=str)
def test_layouts_and_orders_of_dims(backend: str, dims: Any) -> None:
    keywords = {} if backend == "gt:gpu" else {"backend": backend, "padding": True}
    halo = [{"I": 2, "J": (1, 3)}.get(dim, (0, 1)) for dim in dims]
    grid = gbd.grid((6, 5), blocks=(2, 2), periodic="IJ")
    check(grid, dims=dims, sizes={"K": 3, "2": 2, "0": 1}, halo=halo, **keywords)
    check(grid, (0, 1), dims=dims, sizes={"K": 3, "2": 2, "0": 1}, halo=halo, **keywords)


def test_reversed_and_sliced_memory() -> None:
    grid = gbd.grid((6, 4), blocks=(2, 1), periodic="IJ", halo=1)
    fields = [gb.Field(np.zeros((10, 24))[::-2, ::4], dims="IJ", halo=(1, 1)) for _ in grid.blocks]
    assert fields[0].shape == (5, 6) and fields[0].strides[0] < 0
    fill(fields, np.random.default_rng(2))
    (wanted,) = expected(grid, [fields], Globe(grid, cartesian((6, 4), (True, True)), [CENTRES]))
    grid.exchange(fields)
    assert same(fields, wanted, "IJ")


@pytest.mark.parametrize("dtype", ["f8", "longdouble"])
def test_fields_without_points(dtype: str) -> None:
    """NumPy gives them strides of 0."""
    grid = gbd.grid((6, 4), blocks=(2, 1), periodic="IJ", halo=1)
    fields = [gb.Field(np.zeros((5, 6, 0), dtype), dims="IJK", halo=(1, 1, 0)) for _ in grid.blocks]
    grid.exchange(fields, grid.zeros())
    grid.plan(fields).accumulate(fields)
    assert grid.gather(fields).shape == (6, 4, 0) and grid.checksum(fields) == grid.checksum(
        grid.redistribute(fields, grid)
    )


def test_grids_of_one_and_three_dims() -> None:
    for n, blocks in ((1, 1), (5, 3), (4, 4)):
        for periodic in ("", "K"):
            check(gbd.grid((n,), "K", blocks=(blocks,), periodic=periodic, halo=((2, 3),)), (1,))
            check(gbd.grid(n, "K", blocks=blocks, periodic=periodic, halo=2), (0,))
    for periodic in ("", "IK", "IJK"):
        grid = gbd.grid((4, 3, 5), "IJK", blocks=(2, 1, 2), periodic=periodic, halo=(1, (0, 2), 2))
        check(grid, (1, 1, 1))
        check(grid, (0, 1, 0))


@pytest.mark.parametrize("periodic", ["", "I", "IJ"])
@pytest.mark.parametrize("dims", ["I", "J", "IK", "KJ"])
def test_fields_without_a_dim_of_the_grid(dims: str, periodic: str) -> None:
    """Their halos come from the same row of blocks: each block has a copy of its own."""
    grid = gbd.grid((7, 5), blocks=(3, 2), periodic=periodic, halo=((2, 1), 3))
    axis = 0 if "I" in dims else 1
    for faces in ("", "IJ"[axis]):
        fields = grid.zeros(dims, sizes={"K": 2}, faces=faces)
        fill(fields, np.random.default_rng(3))
        before = [f.transpose(sorted(f.dims)).numpy().copy() for f in fields]
        grid.exchange(fields)
        line = gbd.grid(
            (grid.shape[axis],),
            grid.dims[axis],
            blocks=((3, 2)[axis],),
            periodic=(
                periodic
                if grid.dims[axis] in periodic and len(periodic) == 1
                else grid.dims[axis] * (grid.dims[axis] in periodic)
            ),
            halo=(grid.halo[axis],),
        )
        for row in range((2, 3)[axis]):
            mine = [i for i, block in enumerate(grid.blocks) if block.index[1 - axis] == row]
            alone = [
                gb.Field(
                    before[i].copy(),
                    dims=sorted(fields[0].dims),
                    halo=[grid.halo[axis] if d in grid.dims else 0 for d in sorted(fields[0].dims)],
                )
                for i in mine
            ]
            line.exchange(alone)
            for i, each in zip(mine, alone, strict=True):
                assert fields[i].transpose(each.dims).numpy().tobytes() == each.numpy().tobytes()


def test_fields_of_other_halos_dtypes_and_dims_in_one_plan() -> None:
    grid = gbd.grid((7, 5), blocks=(2, 2), periodic="I", halo=2)
    several = [
        grid.zeros(),
        grid.zeros("JI", "float32", halo=(0, 3), faces="J"),
        grid.zeros(dtype="int16", halo=1),
    ]
    alone = []
    for fields in several:
        fill(fields, np.random.default_rng(4))
        alone.append([gb.Field(f.numpy().copy(), dims=f.dims, halo=f.halo) for f in fields])
        grid.exchange(alone[-1])
    plan = grid.plan(*several)
    plan(*several)
    for fields, others in zip(several, alone, strict=True):
        assert all(
            f.numpy().tobytes() == g.numpy().tobytes() for f, g in zip(fields, others, strict=True)
        )
    assert plan.messages == plan.nbytes == 0 and len(plan.copies) > 0
    assert "3 fields" not in str(plan) and "float32, JI" in str(plan)


def test_a_plan_of_very_many_fields_is_found_again() -> None:
    grid = gbd.grid((2,), "I", blocks=(2,), halo=1)
    fields = [grid.full(float(i)) for i in range(1200)]
    for _ in range(3):
        grid.exchange(*fields)
    assert len(grid._kept.plans) == 1
    assert all(low[-1] == high[0] == i for i, (low, high) in enumerate(fields))


def test_values_are_moved_as_bytes() -> None:
    """NaN payloads, infinities, denormals and -0.0 arrive as they were."""
    grid = gbd.grid((4,), "I", periodic="I", halo=4)
    field = grid.zeros()
    bits = np.array(
        [0x7FF8DEADBEEF0001, 0x8000000000000000, 0x0000000000000001, 0xFFF0000000000000], "u8"
    )
    field.numpy()[4:8] = bits.view("f8")
    grid.exchange(field)
    assert np.array_equal(field.numpy().view("u8"), np.tile(bits, 3))


def test_an_exchange_imports_no_files() -> None:
    code = (
        "import sys, gridbuf.distributed as gbd\n"
        "grid = gbd.grid((4, 4), halo=1)\n"
        "grid.exchange(grid.zeros())\n"
        "print([name for name in sys.modules if 'distributed.files' in name])"
    )
    assert python(code) == "[]"
