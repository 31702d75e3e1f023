"""gbd.Blocks: what a program says of a Field it may say of a field on any number of blocks, and
each block gets what it would get alone.
"""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gridbuf as gb
import gridbuf.distributed as gbd

PROFILE = gb.Field.from_array([1.0, 2.0, 3.0], dims="K")
NUMBER = np.array(2.5)
ZERO_D = gb.Field.from_array(np.array(0.5), dims=())

EXPRESSIONS: list[Callable[[Any, Any], Any]] = [
    lambda T, U: T + U,
    lambda T, U: 2 * T - U / 3,
    lambda T, U: 2.5**T,
    lambda T, U: T // 2 % 3,
    lambda T, U: divmod(T, U)[1],
    lambda T, U: -abs(+T),
    lambda T, U: (T > U) & ~(T == U) | (U <= 1.5) ^ (T != 2),
    lambda T, U: np.float64(2) * T,
    lambda T, U: NUMBER + T - NUMBER,
    lambda T, U: T * ZERO_D + ZERO_D * U,
    lambda T, U: PROFILE * T + T * PROFILE,
    lambda T, U: np.where(T > 1, U, 0.0),
    lambda T, U: np.where(T > 1, PROFILE, U),
    lambda T, U: np.sqrt(np.maximum(T, U)),
    lambda T, U: np.add(T, U, dtype="f4"),
    lambda T, U: np.modf(T)[0],
    lambda T, U: np.clip(T, 0.5, U),
    lambda T, U: np.concatenate([T, U], axis="K"),  # type: ignore[call-overload]
    lambda T, U: np.gradient(T, axis="K"),  # type: ignore[call-overload]
    lambda T, U: np.cumsum(T, axis="K"),  # type: ignore[call-overload]
    lambda T, U: np.roll(T, 1, axis="K"),  # type: ignore[call-overload]
    lambda T, U: np.zeros_like(T, dtype="i4") + np.full_like(U, 3.0),
    lambda T, U: gb.zeros_like(T) + gb.full_like(U, 3.0, "f4", padding=True),
    lambda T, U: np.nan_to_num(T / 0),
    lambda T, U: np.sum(T, axis="K"),  # type: ignore[call-overload]
    lambda T, U: np.add.reduce(T, axis="K"),
    lambda T, U: np.maximum.accumulate(T, axis=2),
    lambda T, U: T.mean("K") * U.max("K"),
    lambda T, U: T.cumsum("K"),
    lambda T, U: T.astype("f4"),
    lambda T, U: T.to(dims="KJI", dtype="f4"),
    lambda T, U: T.copy().round(1).clip(0, 1),
    lambda T, U: T.transpose("K", "I", "J"),
    lambda T, U: T.T.domain,
    lambda T, U: (T + 1j * U).imag.conj(),
    lambda T, U: T[1:, 2:],
    lambda T, U: T[..., 0],
    lambda T, U: T.domain[:1] + U.domain[:1],
    lambda T, U: np.sqrt(T, where=T > 1, out=U.copy()),
]
WAYS = {"one": (1, 1), "two": (2, 1), "six": (3, 2)}


def pair(blocks: tuple[int, int], **more: Any) -> tuple[gbd.Grid, Any, Any]:
    grid = gbd.grid((8, 6), blocks=blocks, halo=1, **more)
    T, U = grid.zeros("IJK", sizes={"K": 3}), grid.zeros("IJK", sizes={"K": 3})
    for block, f, g in grid.each(T, U):
        random = np.random.default_rng(block.number)
        f[...], g[...] = random.uniform(0, 3, f.shape), random.uniform(0.5, 3, g.shape)
    return grid, T, U


def same(a: gb.Field, b: gb.Field) -> None:
    assert (a.dims, a.dtype, a.halo, a.strides) == (b.dims, b.dtype, b.halo, b.strides)
    assert np.array_equal(a.numpy(), b.numpy(), equal_nan=True)


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("number", range(len(EXPRESSIONS)))
def test_each_block_gets_what_it_would_get_alone(number: int, way: str) -> None:
    _, T, U = pair(WAYS[way])
    if isinstance(T, gb.Field):
        T, U = gbd.Blocks([T]), gbd.Blocks([U])
    with np.errstate(divide="ignore"):
        found = EXPRESSIONS[number](T, U)
        wanted = [EXPRESSIONS[number](f, g) for f, g in zip(T, U, strict=True)]
    assert type(found) is gbd.Blocks and len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        same(a, b)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("number", range(len(EXPRESSIONS)))
def test_a_rank_without_blocks_has_dims_and_dtypes_and_no_warning(number: int) -> None:
    _, T, U = pair((1, 1), owners=[None])
    _, f, g = pair((1, 1))
    with np.errstate(all="ignore"):
        wanted = EXPRESSIONS[number](f, g)
    found = EXPRESSIONS[number](T, U)
    assert type(found) is gbd.Blocks and (len(found), found.shape, [*found]) == (0, (), [])
    assert (found.dims, found.dtype, found.halo) == (wanted.dims, wanted.dtype, wanted.halo)


def test_a_sequence_of_fields() -> None:
    grid, T, _ = pair((2, 2))
    assert len(T) == 4 and [*T] == [*T.blocks] and T[0] is T.blocks[0] and T[-1] is T.blocks[3]
    assert T[np.int64(2)] is T.blocks[2] and T[1] in T and T[1].copy() not in T
    assert T.shape == ((6, 5, 3),) * 4 and T.strides == ((120, 24, 8),) * 4
    assert (T.dims, T.dtype, T.ndim, T.itemsize) == (("I", "J", "K"), np.float64, 3, 8)
    assert T.halo == ((1, 1), (1, 1), (0, 0)) and T.device == "cpu" and T.nbytes == 4 * 720
    with pytest.raises(IndexError, match=r"index: 4, and this rank has 4 blocks"):
        T[4]
    text = repr(T)
    assert text.startswith("Blocks(4:\n  [0] block (0, 0): Field(IJK (6, 5, 3)")
    assert "[3] block (1, 1): Field" in text
    made = gbd.Blocks([*T])
    assert [*made] == [*T] and repr(made).startswith("Blocks(4:\n  [0]: Field")
    assert grid.sum(made) == grid.sum(T) == grid.sum([*T])
    for a, b in zip(made + T, T + made, strict=True):
        same(a, b)
    assert "tile 2, block (0, 0)" in repr(gbd.cubed_sphere(2).zeros())


def test_assignment_goes_to_every_block() -> None:
    _, T, U = pair((2, 1))
    wanted = [f.copy() for f in T]
    for f, g in zip(wanted, U, strict=True):
        f[...] = g
        f[f > 1] = 5.0
        f[1:, 2:] *= 2
        f[..., 0] = 7
        f[...] += PROFILE
    T[...] = U
    T[T > 1] = 5.0
    T[1:, 2:] *= 2
    T[..., 0] = 7
    T[...] += PROFILE
    for a, b in zip(T, wanted, strict=True):
        same(a, b)
    before, blocks = [f.numpy().copy() for f in T], T.blocks
    T += 1
    T[0] += 1
    T[1] *= 2
    assert T.blocks is blocks or all(a is b for a, b in zip(T, blocks, strict=True))
    assert np.array_equal(T[0].numpy(), before[0] + 2)
    assert np.array_equal(T[1].numpy(), (before[1] + 1) * 2)
    masked = T[T > 3]
    assert [np.array_equal(a, f[f > 3]) for a, f in zip(masked, T, strict=True)] == [True] * 2


def test_a_field_of_records() -> None:
    grid = gbd.grid((4, 4), blocks=(2, 1), halo=1)
    T = grid.zeros(dtype=[("u", "f8"), ("v", "f4")])
    T["u"][...] = 2.0
    T["v"] = 3.0
    assert T["u"].dtype == np.float64 and (T[1]["v"] == 3.0).all() and (T[0]["u"] == 2.0).all()


def test_out_is_blocks_and_is_returned() -> None:
    _, T, U = pair((2, 1))
    out = np.zeros_like(T)
    assert np.add(T, U, out=out) is out
    same(out[1], T[1] + U[1])
    a, b = np.zeros_like(T), np.zeros_like(T)
    assert np.modf(T, out=(a, b)) == (a, b) or True
    same(a[0], np.modf(T[0])[0])
    with pytest.raises(TypeError, match="out: expected Blocks, as add of Blocks gives"):
        np.add(T, U, out=T[0])
    np.copyto(dst=out, src=T)
    same(out[0], T[0])
    twice = gb.fused(lambda T: T + T * 2)
    sums = T.sum("K")
    for found in (
        T.sum("K", out=sums), T.sum("K", None, sums), np.sum(T, "K", None, sums),
        np.add.reduce(T, "K", None, sums), np.round(sums, 1, out=sums), sums.clip(0, 1, out=sums),
        twice(sums, out=sums),
    ):  # fmt: skip
        assert found is sums


def test_questions() -> None:
    _, T, _ = pair((2, 1))
    assert np.shape(T) == np.shape(a=T) == T.shape and np.ndim(T) == 3
    assert np.result_type(T, np.float32) == np.float64 and not np.iscomplexobj(T)
    empty = gbd.grid((1,), "I", blocks=1, owners=[None]).zeros(dtype="f4")
    assert np.ndim(empty) == 1 and empty.dtype == np.float32 and empty.domain.dims == ("I",)
    with pytest.raises(ValueError, match=r"dims: Blocks\(\[\]\) has no Field"):
        gbd.Blocks([]).dims  # noqa: B018
    assert len(gbd.Blocks([]) + 1) == 0


def test_a_rank_without_blocks_takes_neighbours_and_any_point() -> None:
    T = pair((1, 1), owners=[None])[1]
    assert T[2, 3, 1] == T[700, 3, 1] == T.domain[[2, 700], 3, 1] == []
    T.domain[2, 700] = 5.0
    assert T[2:3, 700].dims == ("I", "K")
    assert np.gradient(T, axis="I", edge_order=2).dims == T.dims  # type: ignore[call-overload]
    assert gb.diff(gb.diff(T.domain, "I"), "I").dims == T.dims
    huge = gbd.grid((100_000, 100_000), blocks=(1, 1), owners=[None]).zeros()
    assert huge._parts[0].nbytes < 100_000


def test_no_fields_are_the_blocks_of_a_rank_without_blocks() -> None:
    T, none = pair((1, 1), owners=[None])[1], gbd.Blocks([])
    assert gbd.Blocks(T).dims == T.dims and np.add(T, 1, out=none) is none
    for found in (none + T, T + none, np.where(none, T, 1.0), np.where(T, none, 1.0), T[none > T]):
        assert len(found) == 0
    T[...] = none
    T += none


@pytest.mark.parametrize("blocks", [(2, 1), (1, 1)])
def test_pickles_and_copies(blocks: tuple[int, int]) -> None:
    _, T, _ = pair(blocks, owners=[None]) if blocks == (1, 1) else pair(blocks)
    for made in (pickle.loads(pickle.dumps(T)), copy.copy(T), copy.deepcopy(T)):
        assert len(made) == len(T) and made.dims == T.dims and repr(made) == repr(T)
        assert len(made + T) == len(T)  # of the same grid
        for a, b in zip(made, T, strict=True):
            assert a is not b
            same(a, b)


GRID, T, U = pair((2, 1))
OTHER = gbd.grid((8, 6), blocks=(1, 2), halo=1).zeros("IJK", sizes={"K": 3})
MORE = gbd.grid((8, 6), blocks=(4, 1), halo=1).zeros("IJK", sizes={"K": 3})


@pytest.mark.parametrize(
    ("kind", "words", "call"),
    [
        (ValueError, "add: Blocks of 2 on a grid of 8 x 6 .* cut 2 x 1 and Blocks of 2 on a grid"
         " of 8 x 6 points along IJ cut 1 x 2; operands must be of one grid", lambda: T + OTHER),
        (ValueError, "Blocks of 2 .* and Blocks of 4", lambda: T + MORE),
        (ValueError, "where: Blocks of 2", lambda: np.where(T > 1, T, MORE)),
        (ValueError, "assignment: Blocks of 2", lambda: T.__setitem__(..., OTHER)),
        (ValueError, "Blocks of 2 on no known grid", lambda: gbd.Blocks([*T]) + MORE),
        (TypeError, r"other: a list .* gbd.Blocks\(list\)", lambda: T * [T[0], T[1]]),
        (TypeError, r"other: a list .* gbd.Blocks\(list\)", lambda: [T[0], T[1]] - T),
        (TypeError, r"value: a list .* gbd.Blocks\(list\)", lambda: T.__setitem__(..., [*T])),
        (TypeError, "other: an array of 1 dims, ndarray", lambda: T * np.ones(3)),
        (TypeError, "other: an array of 3 dims, ndarray", lambda: np.ones((6, 8, 3)) * T),
        (TypeError, "value: an array of 1 dims", lambda: T.__setitem__(..., np.ones(3))),
        (ValueError, "other: a Field of the dims .* and the grid cuts I", lambda: T + T[0]),
        (ValueError, "other: a Field of the dims .* and the grid cuts I", lambda: T[0] - T),
        (TypeError, r"sum: along I, J, K it .* grid.sum\(T\)", lambda: T.sum()),
        (TypeError, r"sum: along I .* grid.sum\(T\)", lambda: T.sum("I")),
        (TypeError, r"max: along I, J, K .* grid.max\(T\)", lambda: np.max(T)),
        (TypeError, r"mean: along J .* grid.mean\(T\)", lambda: np.mean(T, axis=1)),
        (TypeError, r"add.reduce: along I .* grid.sum\(T\)", lambda: np.add.reduce(T)),
        (TypeError, r"norm: .* grid.norm\(T\)", lambda: np.linalg.norm(T)),
        (TypeError, r"std: along I, J, K .* grid.gather\(T\)", lambda: np.std(T)),
        (TypeError, "roll: along I", lambda: np.roll(T, 1, axis="I")),
        (TypeError, "cumsum: along I, J", lambda: np.cumsum(T)),
        (TypeError, "flipud: along I ", lambda: np.flipud(T)),
        (TypeError, "fliplr: along J ", lambda: np.fliplr(T)),
        (TypeError, "concatenate: along I ", lambda: np.concatenate([T, T])),
        (TypeError, "concatenate: along J ", lambda: np.concatenate([T, T], 1)),
        (TypeError, "repeat: along I ", lambda: np.repeat(T, 2, axis=0)),
        (TypeError, "take: along I, J, K ", lambda: np.take(T, [0])),
        (TypeError, "fill_diagonal: along I, J, K ", lambda: np.fill_diagonal(T, 0.0)),
        (TypeError, r"allclose: .* grid.all\(np.isclose", lambda: np.allclose(T, U)),
        (TypeError, "block: it got Blocks as like=, or in lists of lists",
         lambda: np.block([[T, T]])),  # type: ignore[list-item]
        (TypeError, "zeros: it got Blocks as like=", lambda: np.zeros(3, like=T)),
        (TypeError, r"save: .* grid.save\(path, T=T\)", lambda: np.save("x", T)),
        (TypeError, r"dot: .* grid.dot\(T, U\)", lambda: np.dot(T, U)),
        (TypeError, "add.outer: it does not go block by block", lambda: np.add.outer(T, U)),
        (TypeError, r"matmul: .* grid.dot\(T, U\)", lambda: np.matmul(T, U)),
        (TypeError, r"pow: a third argument .* T\*\*n % m", lambda: pow(T, 2, 3)),
        (TypeError, r"in: expected a Field, got float.* grid.any\(T == x\)", lambda: 2.0 in T),
        (TypeError, r"T\[0\] is a block.* T\[...\] = x, or", lambda: T.__setitem__(0, 1.0)),
        (TypeError, r"bool\(T\): T is a field on 2 blocks", lambda: bool(T)),
        (TypeError, r"np.asarray\(T\): T is a field on 2 blocks", lambda: np.asarray(T)),
        (TypeError, "unhashable type: 'Blocks'", lambda: hash(T)),
        (AttributeError, r"Blocks have no 'numpy': T.blocks\[n\].numpy", lambda: T.numpy()),
        (AttributeError, "no attribute 'blokcs'", lambda: T.blokcs),
        (TypeError, r"fields: expected a sequence .* got HostField", lambda: gbd.Blocks(T[0])),
        (TypeError, r"fields: expected a sequence, got int", lambda: gbd.Blocks(3)),
        (TypeError, r"fields\[1\]: expected a Field", lambda: gbd.Blocks([T[0], 1])),
        (ValueError, r"fields\[1\]: its dtype is float32, that of fields\[0\] float64",
         lambda: gbd.Blocks([T[0], T[1].astype("f4")])),
        (ValueError, r"fields\[1\]: its dims is", lambda: gbd.Blocks([T[0], T[1].T])),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(kind: type[Exception], words: str, call: Any) -> None:
    before = [f.numpy().copy() for f in (*T, *U)]
    with pytest.raises(kind, match=words):
        call()
    assert all(np.array_equal(f.numpy(), b) for f, b in zip((*T, *U), before, strict=True))


FIELD = gb.Field.full((6, 8, 3), 1.0, dims="IJK")


@pytest.mark.parametrize(
    "call",
    [
        lambda out: np.clip(T, 0, 9, out=out),
        lambda out: np.clip(T, 0, 9, out),
        lambda out: np.round(T, 1, out),
        lambda out: np.sum(T, axis="K", out=out),  # type: ignore[call-overload]
        lambda out: np.sum(T, "K", None, out),  # type: ignore[call-overload]
        lambda out: np.add.reduce(T, axis="K", out=out),
        lambda out: np.concatenate([T, T], axis="K", out=out),  # type: ignore[call-overload]
        lambda out: T.sum("K", out=out),
        lambda out: T.cumsum("K", None, out),
        lambda out: T.clip(0, 1, out=out),
        lambda out: T.round(0, out),
        lambda out: np.modf(T, out=(out, None)),
        lambda out: gb.fused(lambda T, U: T + U * 2)(T, U, out=out),
    ],
)
@pytest.mark.parametrize("out", [FIELD, FIELD.numpy()])
def test_no_field_is_written_by_every_block(call: Any, out: Any) -> None:
    with pytest.raises(TypeError, match=r"out: expected Blocks, as .* of Blocks gives, got"):
        call(out)
    assert (FIELD.numpy() == 1.0).all()


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("max", lambda: T.clip(0, FIELD)),
        ("max", lambda: T.clip(0, max=FIELD)),
        ("a_max", lambda: np.clip(T, 0, a_max=FIELD)),
        ("b", lambda: np.isclose(T, b=FIELD)),
        ("src", lambda: np.copyto(T, src=FIELD)),
        ("where", lambda: np.copyto(T, U, where=FIELD > 1)),
        ("where", lambda: np.add(T, 1, where=FIELD > 1, out=T)),
        ("where", lambda: T.sum("K", where=FIELD > 1)),
        (r"inputs\[0\]", lambda: np.add(FIELD, 1, out=T)),
        ("fill_value", lambda: np.full_like(T, fill_value=FIELD)),
        ("fill_value", lambda: gb.full_like(T, FIELD)),
        ("choicelist", lambda: np.select([T > 1], [FIELD])),
        ("arrays", lambda: np.concatenate([T, FIELD], axis="K")),  # type: ignore[call-overload]
        ("index", lambda: T[FIELD > 1]),
        ("index", lambda: T.__setitem__(FIELD > 1, 0.0)),
    ],
)
def test_no_field_with_the_grids_dims_is_for_every_block(argument: str, call: Any) -> None:
    before = [f.numpy().copy() for f in T]
    with pytest.raises(ValueError, match=f"^{argument}: a Field of the dims .* the grid cuts I"):
        call()
    assert all(np.array_equal(f.numpy(), b) for f, b in zip(T, before, strict=True))


def test_two_grids_that_are_made_alike_are_one() -> None:
    alike = gbd.grid((8, 6), cuts=((4, 4), (6,)), halo=2).zeros("IJK", sizes={"K": 3})
    assert (T.domain + alike.domain).shape == ((4, 6, 3),) * 2


def test_one_block_is_a_number_or_an_array_where_it_is_alone() -> None:
    one = gbd.Blocks([gb.Field.full((1, 1), 2.0, dims="IJ")])
    assert bool(one) and np.asarray(one).tolist() == [[2.0]]


def test_grids_take_blocks_and_lists(tmp_path: Any) -> None:
    grid, T, U = pair((2, 2))
    whole = grid.gather(T)
    assert np.array_equal(whole.numpy(), grid.gather([*T]).numpy())
    core = grid.core(T)
    assert type(core) is gbd.Blocks and type(grid.core([*T])) is list
    for a, b in zip(core, grid.core([*T]), strict=True):
        same(a, b)
    assert len(grid.rims(T)) == len(grid.coordinates(T)) == 4
    grid.save(tmp_path / "x", format="npy", T=T, U=[*U])
    loaded = grid.load(tmp_path / "x")
    assert type(loaded["T"]) is gbd.Blocks and grid.checksum(loaded["U"]) == grid.checksum(U)
    assert len(loaded["T"] + T) == 4
    other = gbd.grid((8, 6), blocks=(1, 3))
    moved = grid.redistribute(T, other)
    assert type(moved) is gbd.Blocks and other.checksum(moved) == grid.checksum(T)
    grid.redistribute(T, other, out=other.zeros("IJK", sizes={"K": 3}))
    plan = grid.plan(T, gbd.scalar(U))
    wanted = [[f.copy() for f in T], [g.copy() for g in U]]
    plan(*wanted)
    plan(T, U)
    grid.exchange(T, U)
    for a, b in zip((*T, *U), (*wanted[0], *wanted[1]), strict=True):
        same(a, b)
    plan.accumulate(T, U)
    plan.accumulate(*wanted)
    same(T[3], wanted[0][3])
    cube = gbd.cubed_sphere(2, halo=1)
    u, v = cube.ones(), cube.ones()
    cube.exchange(gbd.vector(u, v), gbd.pair(u.copy(), v.copy()))
    tiles = cube.gather(u)
    assert type(tiles) is gbd.Blocks and len(tiles) == 6
    cube.scatter(2 * tiles, u)
    assert cube.sum(u) == 2 * cube.sum(v)
    one, empty = pair((1, 1))[0], pair((1, 1), owners=[None])[0]
    assert isinstance(one.zeros(), gb.Field) and type(empty.zeros()) is gbd.Blocks
    empty.exchange(empty.zeros())
    assert len(empty.core(empty.zeros())) == 0 and empty.core(empty.zeros()).dims == ("I", "J")
