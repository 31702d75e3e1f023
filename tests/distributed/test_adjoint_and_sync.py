"""`accumulate` is the transpose of an exchange, exactly; `sync` gives every copy of a point its
owner's value.
"""

import warnings
from typing import Any

import numpy as np
import pytest
from oracle import Globe, cartesian, fill, halos, own_points, transposed
from seams import STAGGERED, made, on_cube, tripolar

import gridbuf as gb
import gridbuf.distributed as gbd


def grids() -> list[Any]:
    cube, _ = on_cube(3)
    nothing = lambda tile, x: False  # noqa: E731
    return [
        (
            gbd.grid((7, 5), blocks=(3, 2), periodic="I", halo=((2, 1), 3)),
            cartesian((7, 5), (True, False)),
            nothing,
        ),
        (
            gbd.grid((3, 2), blocks=(2, 2), periodic="IJ", halo=4),
            cartesian((3, 2), (True, True)),
            nothing,
        ),
        (gbd.tripolar((6, 4), pivot="F", blocks=(3, 2), halo=2), *tripolar((6, 4), "F")),
        (gbd.tripolar((6, 4), pivot="T", blocks=(3, 2), halo=2), *tripolar((6, 4), "T")),
        (gbd.cubed_sphere(3, blocks=(2, 1), halo=2), cube, nothing),
    ]


def integers(fields: list[gb.Field], rng: np.random.Generator) -> None:
    for field in fields:
        field.numpy()[...] = rng.integers(-50, 50, field.shape)


def flat(components: list[list[gb.Field]]) -> np.ndarray:
    return np.concatenate([field.numpy().ravel() for fields in components for field in fields])


@pytest.mark.parametrize("grid", [grid for grid, _, _ in grids()], ids=repr)
def test_accumulate_is_the_adjoint(grid: gbd.Grid) -> None:
    """<E x, y> = <x, E' y> for every x and y, in integers: no rounding hides anything."""
    rng = np.random.default_rng(7)
    cases: list[tuple[Any, list[tuple[int, int]], str]] = [
        (lambda f: f, [(1, 1)], "int64"),
        (lambda f: f, [(0, 0)], "int64"),
    ]
    cases += [(gbd.vector, list(positions), "float64") for positions in STAGGERED]
    cases += [
        (gbd.pair, list(STAGGERED[1]), "int64"),
        (gbd.vector, list(STAGGERED[1]), "complex128"),
    ]
    for rule, positions, dtype in cases:
        x, y = ([made(grid, each, dtype=dtype) for each in positions] for _ in range(2))
        for fields in (*x, *y):
            integers(fields, rng)
        plan = grid.plan(rule(*x))
        old_x, old_y = flat(x), flat(y)
        plan(*x)
        plan.accumulate(*y)
        assert (flat(x) * old_y).sum() == (old_x * flat(y)).sum()
        assert (flat(y) != old_y).any()


def test_what_is_accumulated_is_set_to_zero_and_nothing_else() -> None:
    grid = gbd.grid((4, 3), periodic="I", halo=1)
    f = grid.ones(dtype="int32")
    plan = grid.plan(f)
    plan.accumulate(f)
    a = f.numpy()
    assert (a[0, 1:-1] == 0).all() and (a[-1, 1:-1] == 0).all()  # filled by the plan
    # The edges of the domain keep their values
    assert (a[:, 0] == 1).all() and (a[:, -1] == 1).all()
    assert a[1:-1, 1:-1].tolist() == [[2, 2, 2], [1, 1, 1], [1, 1, 1], [2, 2, 2]]


@pytest.mark.parametrize(
    ("grid", "where", "over"),
    grids(),
    ids=lambda each: repr(each) if isinstance(each, gbd.Grid) else "",
)
def test_every_copy_of_a_point_gets_its_owners_value(grid: gbd.Grid, where: Any, over: Any) -> None:
    cases: list[tuple[str, Any]] = [
        ("scalar", [(0, 0)]),
        ("scalar", [(1, 1)]),
        ("scalar", [(0, 1)]),
        ("scalar", [(1, 0)]),
    ]
    if len(grid.tiles) > 1:
        cases = cases[:2]
    cases += [(kind, positions) for kind in ("vector", "pair") for positions in STAGGERED]
    for kind, positions in cases:
        components = [made(grid, each) for each in positions]
        for i, fields in enumerate(components):
            fill(fields, np.random.default_rng(i))
        globe = Globe(grid, where, positions, over)
        before = [
            [transposed(field, grid.dims).copy() for field in fields] for fields in components
        ]
        grid.sync(getattr(gbd, kind)(*components))
        place = {block.number: i for i, block in enumerate(grid.blocks)}
        for c, fields in enumerate(components):
            for i, (block, field) in enumerate(zip(grid.blocks, fields, strict=True)):
                wanted = before[c][i].copy()
                low = [pair[0] for pair in halos(grid, field)]
                for index, x in own_points(block, positions[c]):
                    found = globe.source(block, c, index)
                    assert found is not None
                    source, other, there, turned = found
                    if len(positions) == 2 and not any(globe.named(block.tile, x, c)[1]):
                        continue  # a vector at a corner of the cube
                    value = before[other][place[source.number]][tuple(np.add(there, low))]
                    wanted[tuple(np.add(index, low))] = (
                        -value if kind == "vector" and turned < 0 else value
                    )
                assert (
                    np.ascontiguousarray(transposed(field, grid.dims)).tobytes()
                    == np.ascontiguousarray(wanted).tobytes()
                )


def test_sync_makes_the_copies_of_a_field_without_a_dim_equal() -> None:
    grid = gbd.grid((6, 4), blocks=(2, 3), halo=1)
    fields = grid.zeros("I")
    for i, f in enumerate(fields):
        f[...] = i
    grid.sync(fields)
    assert [f.domain.numpy().tolist() for f in fields] == [[0.0] * 3] * 3 + [[3.0] * 3] * 3


def test_bools_and_halos_of_zero() -> None:
    grid = gbd.grid((4, 3), blocks=(2, 1), periodic="I")
    f = grid.zeros(dtype=bool)
    assert grid.plan(f).copies == []
    grid.exchange(f)
    grid.sync(f)


def test_in_debug_mode_points_that_exist_twice_are_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GRIDBUF_DEBUG", "1")
    grid = gbd.tripolar((6, 4), pivot="T", blocks=(3, 1), halo=1)
    u, T = grid.full(np.nan, faces="I"), grid.zeros()
    u[1].domain[0, 2] = 5.0
    before = [f.domain.numpy().copy() for f in u]
    plan = grid.plan(u, T, names=["u", "T"])
    with pytest.warns(
        RuntimeWarning,
        match=r"u on block \(1, 0\): 1 points .* the first, \[1, 3\], is 5\.0, and the owner's nan",
    ):
        plan(u, T)
    assert all(
        np.array_equal(f.domain.numpy(), old, equal_nan=True)
        for f, old in zip(u, before, strict=True)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        raised = []  # their tracebacks keep the handles
        for _ in range(2):  # the exchange of a start that raises is given up
            with pytest.raises(RuntimeWarning, match="u on block") as error:
                plan(u, T)
            raised.append(error)
    grid.sync(u)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan(u, T)
        plan.start(u, T).wait()
        plan.accumulate(u, T)
