"""Folds and the cube: every halo point against a dictionary of all points; the cube's is of its
surface in space.
"""

from itertools import product
from typing import Any

import numpy as np
import pytest
from oracle import Globe, Where, expected, fill, same, transposed
from seams import STAGGERED, made, on_cube, tripolar

import gridbuf.distributed as gbd


def check_scalar(
    grid: gbd.Grid,
    where: Where,
    over: Any,
    positions: tuple[int, int],
    sign: int = 1,
    corners: bool = True,
) -> None:
    fields = made(grid, positions)
    fill(fields, np.random.default_rng(1))
    (wanted,) = expected(
        grid,
        [fields],
        Globe(grid, where, [positions], over),
        corners,
        lambda turned: turned if sign < 0 else 1,
    )
    plan = grid.plan(gbd.scalar(fields, sign=sign), corners=corners)
    plan(fields)
    assert same(fields, wanted, grid.dims)


def check_two(
    grid: gbd.Grid, where: Where, over: Any, positions: tuple[Any, Any], kind: str, **keywords: Any
) -> None:
    components = [made(grid, each, **keywords) for each in positions]
    for i, fields in enumerate(components):
        fill(fields, np.random.default_rng(i))
    globe = Globe(grid, where, positions, over)
    wanted = expected(
        grid, components, globe, True, (lambda s: s) if kind == "vector" else (lambda s: 1)
    )
    grid.exchange(getattr(gbd, kind)(*components))
    for c, i, index in globe.vague:
        wanted[c][i][index] = transposed(components[c][i], grid.dims)[index]
    for fields, arrays in zip(components, wanted, strict=True):
        assert same(fields, arrays, grid.dims)


# ---- the fold ----


@pytest.mark.parametrize("pivot", ["F", "T"])
@pytest.mark.parametrize(
    ("cuts", "halo"),
    [
        (((4,), (3,)), 1),
        (((4,), (3,)), (9, 7)),
        (((2, 2), (2, 1)), ((1, 2), (2, 3))),
        (((1, 2, 1), (2, 1)), 1),
        (((2, 0, 1, 1), (1, 2)), (2, (0, 4))),
    ],
    ids=str,
)
def test_every_halo_point_of_a_folded_grid(cuts: Any, halo: Any, pivot: str) -> None:
    grid = gbd.tripolar((4, 3), pivot=pivot, cuts=cuts, halo=halo)
    where, over = tripolar((4, 3), pivot)
    for positions in product((1, 0), (1, 0)):
        check_scalar(grid, where, over, positions)
        check_scalar(grid, where, over, positions, sign=-1)
    check_scalar(grid, where, over, (1, 1), corners=False)
    for positions in STAGGERED:
        check_two(grid, where, over, positions, "vector")
        check_two(grid, where, over, positions, "pair")


@pytest.mark.parametrize("pivot", ["F", "T"])
def test_land_at_the_fold(pivot: str) -> None:
    """The next copy owns what the missing block would."""
    where, over = tripolar((6, 4), pivot)
    for owners in (
        (0, None, 0, 0, 0, 0),
        (0, 0, None, None, 0, 0),
        (0, 0, 0, 0, 0, None),
        (None, None, 0, 0, None, 0),
    ):
        grid = gbd.tripolar((6, 4), pivot=pivot, blocks=(3, 2), owners=owners, halo=2)
        for positions in product((1, 0), (1, 0)):
            check_scalar(grid, where, over, positions)


def test_the_rows_beyond_a_fold_are_those_that_are_written_down() -> None:
    """F: row NJ - 1 + k at i is row NJ - k at NI - 1 - i; T: row NJ - 1 - k at (NI - i) mod NI."""
    ni, nj = 6, 4
    for pivot in "FT":
        grid = gbd.tripolar((ni, nj), pivot=pivot, halo=(0, (0, 3)))
        f = grid.zeros()
        f[:, :nj] = np.arange(ni * nj).reshape(ni, nj)
        grid.exchange(f)
        for i, k in product(range(ni), range(1, 4)):
            there = (ni - 1 - i, nj - k) if pivot == "F" else ((ni - i) % ni, nj - 1 - k)
            assert f[i, nj - 1 + k] == f[there]


def test_signs_at_a_fold() -> None:
    """The sign bit is changed: 0.0 becomes -0.0; both parts of a complex number; a pair keeps
    it.
    """
    grid = gbd.tripolar((4, 2), pivot="F", halo=1)
    for dtype in ("f2", "f4", "f8", ">f8", "longdouble", "c8", "c16"):
        u, v = grid.zeros(dtype=dtype), grid.full(1 - 1j if "c" in dtype else 1, dtype=dtype)
        grid.exchange(gbd.vector(u, v))
        beyond = u.numpy()[1:-1, 3]
        assert (np.signbit(beyond.real) & (beyond.real == 0)).all()
        assert "c" not in dtype or np.signbit(beyond.imag).all()
        assert (v.numpy()[1:-1, 3] == (-1 + 1j if "c" in dtype else -1)).all()
        grid.exchange(gbd.pair(u, v))
        assert not np.signbit(u.numpy()[1:-1, 3].real).any()


# ---- the cube ----


@pytest.mark.parametrize("cuts", [((3,), (3,)), ((2, 1), (1, 2)), ((1, 2), (2, 0, 1))], ids=str)
def test_every_halo_point_of_a_cubed_sphere(cuts: Any) -> None:
    where, _ = on_cube(3)
    for halo in (1, ((2, 1), (0, 3))):
        grid = gbd.cubed_sphere(3, cuts=cuts, halo=halo)
        assert [b.tile for b in grid.blocks] == sorted(b.tile for b in grid.blocks)
        for positions in ((1, 1), (0, 0)):
            check_scalar(grid, where, lambda tile, x: False, positions)
        for positions in STAGGERED:
            check_two(grid, where, lambda tile, x: False, positions, "vector")
            check_two(grid, where, lambda tile, x: False, positions, "pair")


def test_components_of_other_halos_and_layouts_on_a_cubed_sphere() -> None:
    where, _ = on_cube(3)
    grid = gbd.cubed_sphere(3, blocks=(2, 1), halo=2)
    check_two(
        grid,
        where,
        lambda tile, x: False,
        ((0, 1), (1, 0)),
        "vector",
        dims="JI",
        halo=((1, 2), (3, 0)),
        backend="F",
    )
    check_two(grid, where, lambda tile, x: False, ((0, 1), (1, 0)), "pair", dtype="int32")


def test_corners_of_the_cube_are_left_untouched() -> None:
    grid = gbd.cubed_sphere(3, halo=2)
    fields = grid.full(-1.0)
    for f in fields:
        f.domain[...] = 5.0
    grid.exchange(fields)
    for f in fields:
        a = f.numpy()
        assert (
            (a[:2, :2] == -1).all()
            and (a[-2:, -2:] == -1).all()
            and (a[:2, -2:] == -1).all()
            and (a[-2:, :2] == -1).all()
        )
        assert (a == -1).sum() == 16


# ---- tiles of one's own ----


def test_a_cube_of_ones_own() -> None:
    """The 12 edges written as seams give the same plans as cubed_sphere."""
    seams = [
        (t, "I+", (t + 1) % 6, "I-") if t % 2 == 0 else (t, "J+", (t + 1) % 6, "J-")
        for t in range(6)
    ]
    seams += [
        (t, "J+", (t + 2) % 6, "I-", True) if t % 2 == 0 else (t, "I+", (t + 2) % 6, "J-", True)
        for t in range(6)
    ]
    ours = gbd.topology([(3, 3)] * 6, seams, blocks=(1, 1), halo=2)
    theirs = gbd.cubed_sphere(3, halo=2)
    u, v = ours.zeros(faces="I"), ours.zeros(faces="J")
    assert ours.plan(gbd.vector(u, v)).copies == theirs.plan(gbd.vector(u, v)).copies


def test_a_side_that_meets_itself_reversed_is_a_fold() -> None:
    ours = gbd.topology(
        [(6, 4)], [(0, "I+", 0, "I-"), (0, "J+", 0, "J+", True)], blocks=(2, 2), halo=2
    )
    theirs = gbd.tripolar((6, 4), pivot="F", blocks=(2, 2), halo=2)
    for faces in ("", "I", "J", "IJ"):
        f = ours.zeros(faces=faces)
        assert ours.plan(f).copies == theirs.plan(f).copies


def test_tiles_in_a_row_are_one_grid() -> None:
    """Tiles side by side exchange what a Cartesian grid with these blocks does; so does one tile
    turned half round.
    """
    whole = gbd.grid((9, 4), cuts=((2, 4, 3), (4,)), periodic="I", halo=2)
    parts = gbd.topology(
        [(2, 4), (4, 4), (3, 4)],
        [(0, "I+", 1, "I-"), (1, "I+", 2, "I-"), (2, "I+", 0, "I-")],
        blocks=(1, 1),
        halo=2,
    )
    turned = gbd.topology(
        [(2, 4), (4, 4), (3, 4)],
        [(0, "I+", 1, "I+", True), (1, "I-", 2, "I-", True), (2, "I+", 0, "I-")],
        blocks=(1, 1),
        halo=2,
    )
    for faces in ("", "J"):
        a, b, c = (grid.zeros(faces=faces) for grid in (whole, parts, turned))
        fill(a, np.random.default_rng(1))
        for x, y, z in zip(a, b, c, strict=True):
            y[...] = x.numpy()
            z[...] = x.numpy()
        c[1][...] = a[1].numpy()[::-1, ::-1]
        for grid, fields in ((whole, a), (parts, b), (turned, c)):
            grid.exchange(fields)
        for i, (x, y, z) in enumerate(zip(a, b, c, strict=True)):
            assert x.numpy().tobytes() == y.numpy().tobytes()
            assert (z.numpy()[::-1, ::-1] if i == 1 else z.numpy()).tobytes() == x.numpy().tobytes()
