"""Halo points beyond closed edges of a grid: numpy.pad's values for any cut, and the adjoint."""

from typing import Any

import edge_rules
import numpy as np
import pytest
from edge_rules import ALONE

import gridbuf as gb
import gridbuf.distributed as gbd


def made(case: dict[str, Any], blocks: Any) -> tuple[gbd.Grid, Any]:
    grid = gbd.grid(case["shape"], blocks=blocks, periodic=case["periodic"], halo=case["halo"])
    field = grid.full(
        ALONE, case["dims"], case["dtype"], sizes={"K": 2}, faces="".join(case["faces"])
    )
    return grid, field


def listed(field: Any) -> list[Any]:
    return [field] if isinstance(field, gb.Field) else [*field]


def values(case: dict[str, Any], seed: int) -> Any:
    shape = [n + (dim in case["faces"]) for n, dim in zip(case["shape"], "IJ", strict=True)]
    return np.random.default_rng(seed).integers(1, 40, (*shape, 2)).astype(case["dtype"])


@pytest.mark.parametrize("seed", range(120))
def test_points_beyond_edges_are_those_of_numpy_pad(seed: int) -> None:
    case = edge_rules.random_case(seed)
    whole = values(case, seed)
    positions = [int(dim not in case["faces"]) for dim in "IJ"]
    wanted, _ = edge_rules.whole(
        whole, case["halo"], case["edges"], positions, case["periodic"], "IJ"
    )
    for blocks in ((1, 1), case["blocks"]):
        grid, field = made(case, blocks)
        for block, f in zip(grid.blocks, listed(field), strict=True):
            part = tuple(
                slice(a, b + 1 - p)
                for a, b, p in zip(block.start, block.stop, positions, strict=True)
            )
            f.domain.transpose("I", "J", "K").numpy()[...] = whole[part]
        grid.exchange(field, edges=case["edges"])
        for block, f in zip(grid.blocks, listed(field), strict=True):
            found = f.transpose("I", "J", "K").numpy()
            part = tuple(slice(a, a + n) for a, n in zip(block.start, found.shape, strict=False))
            assert np.array_equal(found, wanted[part]), (case, block.index)


@pytest.mark.parametrize("seed", range(60))
def test_accumulate_is_the_adjoint(seed: int) -> None:
    """The products of E x and y, and of x and the adjoint of y, are the same."""
    case = edge_rules.random_case(seed)
    case["edges"] = {
        dim: tuple("zero" if r == ("constant", 5) else r for r in rules)
        if isinstance(rules, tuple)
        else rules
        for dim, rules in case["edges"].items()
    }
    grid, x = made(case, case["blocks"])
    y = grid.zeros(case["dims"], case["dtype"], sizes={"K": 2}, faces="".join(case["faces"]))
    for i, (f, g) in enumerate(zip(listed(x), listed(y), strict=True)):
        random = np.random.default_rng((seed, i))
        f.domain[...] = random.integers(-9, 9, f.domain.shape).astype(case["dtype"])
        g[...] = random.integers(-9, 9, g.shape).astype(case["dtype"])
    plan = grid.plan(x, edges=case["edges"])
    before = [f.numpy().copy() for f in listed(x)]
    plan(x)
    left = [f.numpy() == ALONE for f in listed(x)]
    for f, g, old, alone in zip(listed(x), listed(y), before, left, strict=True):
        old[old == ALONE] = 0
        f.numpy()[alone], g.numpy()[alone] = 0, 0
    first = sum((f.numpy() * g.numpy()).sum() for f, g in zip(listed(x), listed(y), strict=True))
    plan.accumulate(y)
    second = sum((f * g.numpy()).sum() for f, g in zip(before, listed(y), strict=True))
    assert first == second, case
    for g in listed(y):
        halo = np.ones(g.shape, bool)
        halo[tuple(slice(a, n - b) for (a, b), n in zip(g.halo, g.shape, strict=True))] = False
        assert not g.numpy()[halo].any()


def test_corners_are_left_alone_without_them() -> None:
    grid = gbd.grid((4, 4), blocks=(2, 2), halo=1)
    field = grid.full(ALONE)
    field.domain[...] = 3.0
    grid.plan(field, corners=False, edges={"I": "edge", "J": "odd"})(field)
    assert field[0][0, 1:3].tolist() == [3.0, 3.0] and field[0][1, 0] == -3.0
    assert field[0][0, 0] == ALONE and field[0][0, 3] == ALONE and field[3][3, 3] == ALONE


def test_land_is_no_edge() -> None:
    grid = gbd.grid((6, 4), blocks=(3, 1), owners=[0, None, 0], halo=1)
    field = grid.full(ALONE)
    field.domain[...] = 2.0
    grid.exchange(field, edges={"I": "edge"})
    west, east = field
    assert (west[0, 1:-1] == 2.0).all() and (west[3] == ALONE).all()
    assert (east[0] == ALONE).all() and (east[3, 1:-1] == 2.0).all()


def test_a_channel_beside_a_fold_and_vectors() -> None:
    grid = gbd.tripolar((8, 4), pivot="F", blocks=(2, 2), halo=1)
    u, v = grid.full(2.0), grid.full(3.0)
    grid.exchange(gbd.vector(u, v), edges={"J": ("reflect", None)})
    assert (u[0][:, 0] == 2.0).all() and (v[0][:, 0] == 3.0).all()  # no sign but that of "odd"
    assert (u[1][:, -1] == -2.0).all()  # beyond the fold
    grid.exchange(gbd.vector(u, v), edges={"J": ("odd", None)})
    assert (v[0][1:-1, 0] == -3.0).all()
    tiles = gbd.topology([(2, 3), (4, 3)], [(0, "I+", 1, "I-")], halo=1)
    T = tiles.full(ALONE)
    T.domain[...] = 1.0
    tiles.exchange(T, edges={"I": "zero", "J": "edge"})
    assert not (T[0] == ALONE).any() and (T[0][0, 1:-1] == 0).all() and (T[0][3] == 1).all()


def test_plans_are_found_again_by_their_rules() -> None:
    grid = gbd.grid((4,), "I", halo=1)
    f = grid.ones()
    for value in (0.0, -0.0, 1, True, np.float32(0.1), 0.0):
        grid.exchange(f, edges={"I": ("constant", value)})
        assert f[0] == np.float64(value) and np.signbit(f[0]) == np.signbit(np.float64(value))
    kept = len(grid._kept.plans)
    grid.exchange(f, edges={"I": ("constant", 0.0)})
    assert len(grid._kept.plans) == kept
    f[0] = f[-1] = ALONE
    grid.exchange(f)
    assert f[0] == ALONE
    g = grid.zeros("IK", "f4", sizes={"K": 2})
    grid.exchange(f, g, edges={"I": "edge"})
    assert (f == 1).all()


GRID = gbd.grid((6, 4), blocks=(3, 1), periodic="J", halo=2)
FIELD = GRID.zeros()


@pytest.mark.parametrize(
    ("kind", "words", "edges"),
    [
        (TypeError, "edges: expected a dict of dims and rules, got str", "edge"),
        (ValueError, r"edges: 'K' is not among the grid's dims \('I', 'J'\)", {"K": "edge"}),
        (ValueError, r"edges\['J'\]: the low end of J is periodic", {"J": "edge"}),
        (ValueError, r"edges\['I'\]: 'mirror' is no rule; allowed are 'edge'", {"I": "mirror"}),
        (TypeError, r"edges\['I'\]: expected a rule, got int", {"I": 3}),
        (TypeError, r"edges\['I'\]\[1\]: expected a rule, got float", {"I": ("edge", 0.5)}),
        (ValueError, r"edges\['I'\]: .* is no pair of rules", {"I": ("edge",)}),
        (TypeError, r"edges\['I'\]: expected \('constant', number\), got str",
         {"I": ("constant", "x")}),
        (TypeError, "got ndarray as the number", {"I": ("constant", np.array(1.0))}),
        (ValueError, r"edges\['I'\]: 1j is no float64, which fields\[0\] has",
         {"I": ("constant", 1j)}),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("error")
def test_what_is_wrong_is_named(kind: type[Exception], words: str, edges: Any) -> None:
    for call in (GRID.exchange, GRID.plan):
        with pytest.raises(kind, match=words):
            call(FIELD, edges=edges)


NARROW = gbd.grid((3, 4), blocks=(3, 1), halo=4)


@pytest.mark.parametrize(
    ("grid", "dtype", "words", "edges"),
    [
        (NARROW, "f8", "'linear' needs two points in the outermost block along I, which has 1",
         {"I": "linear"}),
        (NARROW, "f8", "'reflect' of a halo of 4 points needs as many on the tile, which has 3",
         {"I": "reflect"}),
        (NARROW, "f8", "'wrap' of a halo of 4 points", {"I": "wrap"}),
        (NARROW, "i4", "'odd' needs elements with a sign, .* has int32", {"J": "odd"}),
        (NARROW, "i4", "2.5 is no int32", {"J": ("constant", 2.5)}),
        (NARROW, "f4", r"1e\+300 is no float32", {"J": ("constant", 1e300)}),
        (gbd.tripolar((4, 4), halo=1), "f8", "the high end of J meets a seam", {"J": "edge"}),
        (gbd.links([(3,)], [], "I", halo=1), "f8", "a grid of gbd.links has no edges",
         {"I": "edge"}),
    ],
)  # fmt: skip
def test_rules_that_a_field_or_a_cut_cannot_follow(
    grid: gbd.Grid, dtype: str, words: str, edges: Any
) -> None:
    with pytest.raises(ValueError, match=words):
        grid.exchange(grid.zeros(dtype=dtype), edges=edges)
