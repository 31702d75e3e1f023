"""Gather, scatter, redistribution and the numbers of whole fields against a dictionary of all
points: every point counts once, with its owner's value.
"""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from oracle import Globe, cartesian, fill, halos, own_points, transposed
from seams import STAGGERED, made, on_cube, tripolar

import gridbuf as gb
import gridbuf.distributed as gbd

NOTHING: Callable[..., bool] = lambda tile, x: False  # noqa: E731
CASES: list[tuple[str, Any, Any, Any]] = [
    (
        "plain",
        gbd.grid((7, 5), blocks=(3, 2), halo=((2, 1), 3)),
        cartesian((7, 5), (False, False)),
        NOTHING,
    ),
    ("one", gbd.grid((7, 5), halo=2), cartesian((7, 5), (False, False)), NOTHING),
    (
        "ring",
        gbd.grid((6, 5), cuts=((1, 5), (0, 5)), periodic="IJ", halo=1),
        cartesian((6, 5), (True, True)),
        NOTHING,
    ),
    ("F", gbd.tripolar((6, 4), pivot="F", blocks=(3, 2), halo=1), *tripolar((6, 4), "F")),
    ("T", gbd.tripolar((6, 4), pivot="T", cuts=((2, 3, 1), (4,)), halo=2), *tripolar((6, 4), "T")),
    ("cube", gbd.cubed_sphere(3, blocks=(2, 1), halo=1), on_cube(3)[0], NOTHING),
]


def wanted(
    grid: gbd.Grid, where: Any, over: Any, components: list[Any], positions: Any, sign: int
) -> list[list[np.ndarray]]:
    """Of each component the whole of each tile, the owner's value at every place."""
    globe = Globe(grid, where, positions, over)
    place = {block.number: i for i, block in enumerate(grid.blocks)}
    whole = []
    for c, (fields, its) in enumerate(zip(components, positions, strict=True)):
        rest = transposed(fields[0], grid.dims).shape[2:]
        tiles = [
            np.zeros((*(n + 1 - p for n, p in zip(tile, its, strict=True)), *rest), fields[0].dtype)
            for tile in grid.tiles
        ]
        for block in grid.blocks:
            for index, x in own_points(block, its):
                found = globe.source(block, c, index)
                assert found is not None
                source, other, there, turned = found
                giver = components[other][place[source.number]]
                low = [pair[0] for pair in halos(grid, giver)]
                value = transposed(giver, grid.dims)[tuple(np.add(there, low))]
                tiles[block.tile][tuple((c - p) // 2 for c, p in zip(x, its, strict=True))] = (
                    -value if sign * turned < 0 else value
                )
        whole.append(tiles)
    return whole


def tiles_of(gathered: Any) -> list[Any]:
    return [gathered] if isinstance(gathered, gb.Field) else [*gathered]


@pytest.mark.parametrize(
    ("grid", "where", "over"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_what_is_gathered_has_the_owners_values(grid: gbd.Grid, where: Any, over: Any) -> None:
    for positions, dtype in zip(product((1, 0), (1, 0)), ("f8", "i4", "c16", ">f4"), strict=True):
        fields = made(
            grid, positions, dims="JKI", sizes={"K": 2}, dtype=dtype, backend="gt:cpu_ifirst"
        )
        fill(fields, np.random.default_rng(1))
        before = [f.numpy().copy() for f in fields]
        (tiles,) = wanted(grid, where, over, [fields], [positions], 0)
        found = tiles_of(grid.gather(fields if len(grid.blocks) > 1 else fields[0], backend="F"))
        assert all(f.dims == ("J", "K", "I") and f.domain.shape == f.shape for f in found)
        assert all(
            np.array_equal(f.transpose("I", "J", "K").numpy(), tile)
            for f, tile in zip(found, tiles, strict=True)
        )
        assert all(np.array_equal(f.numpy(), old) for f, old in zip(fields, before, strict=True))
    for positions, rule in product(STAGGERED, ("vector", "pair")):
        components = [made(grid, each) for each in positions]
        for i, fields in enumerate(components):
            fill(fields, np.random.default_rng(i))
        if len(grid.tiles) > 1 and positions[0] != positions[1] and rule == "vector":
            # at a vertex of the cube where the vector turns to depends on the way there; below it
            # is a pair
            continue
        globe = Globe(grid, where, positions, over)
        whole = wanted(grid, where, over, components, positions, 1 if rule == "vector" else 0)
        given = components if len(grid.blocks) > 1 else [fields[0] for fields in components]
        for fields, tiles, its in zip(
            grid.gather(getattr(gbd, rule)(*given)), whole, positions, strict=True
        ):
            for t, (f, tile) in enumerate(zip(tiles_of(fields), tiles, strict=True)):
                clear = np.ones(tile.shape, bool)
                for index in np.ndindex(tile.shape):
                    x = tuple(2 * i + p for i, p in zip(index, its, strict=True))
                    clear[index] = all(any(globe.named(t, x, c)[1]) for c in range(2))
                assert np.array_equal(f.numpy()[clear], tile[clear])


@pytest.mark.parametrize(
    ("grid", "where", "over"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_what_is_scattered_lies_where_it_lay(grid: gbd.Grid, where: Any, over: Any) -> None:
    for positions in product((1, 0), (1, 0)):
        fields = made(grid, positions, dims="KIJ", sizes={"K": 2}, dtype="i4", halo=1)
        for f in fields:
            f[...] = -1
        shapes = [
            (2, *(n + 1 - p for n, p in zip(tile, positions, strict=True))) for tile in grid.tiles
        ]
        whole = [
            np.arange(t * 1000, t * 1000 + math.prod(shape), dtype="i4").reshape(shape)
            for t, shape in enumerate(shapes)
        ]
        for given in (whole, [gb.Field(np.asfortranarray(tile.T), dims="JIK") for tile in whole]):
            grid.scatter(
                given if len(whole) > 1 else given[0], fields if len(fields) > 1 else fields[0]
            )
            for block, f in zip(grid.blocks, fields, strict=True):
                part = tuple(
                    slice(a, b + 1 - p)
                    for a, b, p in zip(block.start, block.stop, positions, strict=True)
                )
                assert np.array_equal(f.domain.numpy(), whole[block.tile][(slice(None), *part)])
                # Its halo is as it was
                assert f.numpy().sum() == f.domain.numpy().sum() - (f.size - f.domain.size)
                f[...] = -1


@pytest.mark.parametrize(
    ("grid", "where", "over"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_numbers_count_every_point_once(grid: gbd.Grid, where: Any, over: Any) -> None:
    for positions in product((1, 0), (1, 0)):
        fields, others = (made(grid, positions, dims="JI", halo=2) for _ in range(2))
        for i, each in enumerate((fields, others)):
            fill(each, np.random.default_rng(i))
            for f in each:
                f.numpy()[...] *= 10.0 ** np.random.default_rng(2).integers(-20, 20, f.shape)
        globe = Globe(grid, where, [positions], over)
        place = {block.number: i for i, block in enumerate(grid.blocks)}

        def values(given: list[Any], globe: Globe = globe, place: Any = place) -> dict[Any, float]:
            return {
                (
                    block.tile,
                    *((c - p) // 2 for c, p in zip(x, globe.components[0], strict=True)),
                ): float(given[place[block.number]].domain.transpose("I", "J").numpy()[index])
                for block in grid.blocks
                for index, x in own_points(block, globe.components[0])
                if globe.owner[globe.named(block.tile, x, 0)[0]][1:4:2] == (block, index)
            }

        a, b = values(fields), values(others)
        one, two = (each if len(each) > 1 else each[0] for each in (fields, others))
        assert len(a) == len(globe.owner)
        assert grid.sum(one) == math.fsum(a.values())
        assert grid.sum(one, two, one, two) == (math.fsum(a.values()), math.fsum(b.values())) * 2
        assert grid.mean(one) == gb.exact.mean(list(a.values()))
        assert grid.dot(one, two) == gb.exact.dot(list(a.values()), list(b.values()))
        assert grid.norm(one) == gb.exact.norm(list(a.values()))
        assert grid.min(one) == min(a.values()) and grid.max(one) == max(a.values())
        several = len(grid.tiles) > 1
        for found, key in (
            (grid.argmin(one), min(a, key=a.__getitem__)),
            (grid.argmax(one), max(a, key=a.__getitem__)),
        ):
            assert found == ((key[0],) * several + (key[2], key[1]))  # in the field's dims, JI


def test_sums_of_other_numbers() -> None:
    grid = gbd.grid((6, 4), blocks=(2, 2), halo=1)
    big = grid.full(2**62, dtype="int64")
    assert grid.sum(big) == 24 * 2**62 and grid.norm(grid.full(2, dtype="u1")) == math.sqrt(96)
    assert grid.sum(grid.ones(dtype=bool)) == 24 and grid.mean(grid.ones(dtype=bool)) == 1.0
    assert grid.sum(grid.full(0.1 + 0.2j, dtype="c16")) == complex(
        math.fsum([0.1] * 24), math.fsum([0.2] * 24)
    )
    assert grid.norm(grid.full(3 + 4j, dtype="c8")) == 5 * math.sqrt(24)
    assert grid.dot(grid.full(0.5, "JI"), grid.full(3, "IJ", dtype="i4")) == 36.0
    assert type(grid.sum(grid.ones(dtype="f4"))) is float and grid.sum(
        grid.full(0.1, dtype="f2")
    ) == 24 * float(np.float16(0.1))
    assert grid.sum(grid.full(math.inf)) == math.inf and math.isnan(grid.sum(grid.full(math.nan)))
    nothing = gbd.grid((0, 4))
    assert (
        grid.sum(grid.zeros("I")) == 0
        and nothing.sum(nothing.zeros()) == 0.0
        and math.isnan(nothing.mean(nothing.zeros()))
    )
    with pytest.raises(ValueError, match="min: the field has no points"):
        nothing.min(nothing.zeros())
    assert nothing.all(nothing.zeros()) and not nothing.any(nothing.ones())


def test_the_smallest_and_the_largest() -> None:
    grid = gbd.grid((6, 4), blocks=(2, 2), halo=1)
    for f in (zeros := grid.zeros()):
        f[...] = 0.0
    zeros[3][2, 2] = -0.0
    assert (
        math.copysign(1, grid.min(zeros)) == -1
        and grid.argmin(zeros) == (4, 3)
        and grid.argmax(zeros) == (0, 0)
    )
    minus = grid.full(-0.0)
    assert math.copysign(1, grid.max(minus)) == -1
    minus[1][1, 1] = 0.0
    assert math.copysign(1, grid.max(minus)) == 1 and grid.argmax(minus) == (0, 2)
    minus[2][3, 1] = minus[2][2, 2] = math.nan
    assert (
        math.isnan(grid.min(minus))
        and math.isnan(grid.max(minus))
        and grid.argmin(minus) == grid.argmax(minus) == (4, 1)
    )
    for dtype in ("i1", "u1", "i8", "u8", "f2", "f4", ">i4", ">f8", bool):
        info = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else None
        low, high = (
            (int(info.min), int(info.max))
            if info
            else (False, True)
            if dtype is bool
            else (-math.inf, math.inf)
        )
        f = grid.full(high, dtype=dtype)
        f[1][1, 1] = low
        found = grid.min(f), grid.max(f)
        assert found == (low, high) and [type(each) for each in found] == [type(low)] * 2
        assert grid.argmin(f) == (0, 2)
    for dtype in ("c8", "longdouble", [("a", "i4")]):
        with pytest.raises(TypeError, match="field: elements of dtype"):
            grid.min(grid.zeros(dtype=dtype))


def test_fields_without_a_dim_count_once() -> None:
    grid = gbd.grid((6, 4), blocks=(3, 2), halo=1)
    line = grid.zeros("KI", sizes={"K": 2}, faces="I")
    for block, f in zip(grid.blocks, line, strict=True):
        f.domain[...] = np.arange(block.start[0], block.stop[0] + 1) + 100 * block.index[1]
    assert grid.sum(line) == 2 * sum(range(7)) and grid.argmax(line) == (0, 6)
    assert grid.gather(line).numpy().tolist() == [list(range(7))] * 2
    column = grid.zeros("K", sizes={"K": 3})
    for block, f in zip(grid.blocks, column, strict=True):
        f[...] = block.number
    assert grid.gather(column).numpy().tolist() == [0.0] * 3 and grid.sum(column) == 0.0
    grid.scatter(np.arange(3.0), column)
    assert [f.numpy().tolist() for f in column] == [[0.0, 1.0, 2.0]] * 6
    grid.scatter(np.arange(14).reshape(2, 7).astype(float), line)
    assert line[5].domain.numpy().tolist() == [[4.0, 5.0, 6.0], [11.0, 12.0, 13.0]]


def test_land() -> None:
    grid = gbd.grid((4, 4), blocks=(2, 2), owners=[0, None, 0, 0], halo=1)
    T = grid.full(2.0, faces="I")
    # A face beside a block is the block's
    assert np.isnan(grid.gather(T, fill_value=math.nan).numpy()).sum() == 4
    assert (
        (grid.gather(T).numpy() == 0).sum() == 4 and grid.sum(T) == 2.0 * 16 and grid.max(T) == 2.0
    )
    nobody = gbd.grid((4, 4), blocks=(1, 1), owners=[None])
    for call in (
        lambda: nobody.gather([]),
        lambda: nobody.sum([]),
        lambda: nobody.scatter(np.zeros((4, 4)), []),
    ):
        with pytest.raises(ValueError, match="no rank has a block"):
            call()


def test_bytes_survive() -> None:
    grid = gbd.grid((4,), "I", blocks=(2,))
    T = grid.zeros()
    bits = np.array(
        [0x7FF8DEADBEEF0001, 0x8000000000000000, 0x0000000000000001, 0xFFF0000000000000], "u8"
    )
    grid.scatter(bits.view("f8"), T)
    assert grid.gather(T).numpy().view("u8").tolist() == bits.tolist()
    frozen = np.arange(2.0)
    frozen.flags.writeable = False
    # A source is not written
    assert grid.gather([gb.Field(frozen, "I"), T[1]]).numpy()[:2].tolist() == [0.0, 1.0]
    records = grid.zeros(dtype=[("a", "i4"), ("b", "f8")])
    assert grid.gather(records).dtype == records[0].dtype


@pytest.mark.parametrize("kind", ["vector", "pair"])
def test_components_in_other_orders_of_dims(kind: str) -> None:
    grid = gbd.cubed_sphere(3, blocks=(3, 1), halo=1)
    u, v = grid.zeros(faces="I"), grid.zeros(faces="J")
    for i, fields in enumerate((u, v)):
        fill(fields, np.random.default_rng(i))
    turned = [gb.Field(f.transpose("J", "I").numpy().copy(), "JI", halo=(1, 1)) for f in v]
    make = getattr(gbd, kind)
    for fields, others in zip(grid.gather(make(u, v)), grid.gather(make(u, turned)), strict=True):
        for a, b in zip(fields, others, strict=True):
            assert np.array_equal(a.numpy(), b.transpose("I", "J").numpy())


def test_wrong_arguments_are_named() -> None:
    grid = gbd.grid((6, 4), blocks=(2, 1), halo=1)
    T, cube = grid.zeros("IJK", sizes={"K": 2}), gbd.cubed_sphere(3)
    good = np.zeros((6, 4, 2))
    for error, words, call in (
        (TypeError, "root: expected an integer", lambda: grid.gather(T, root="0")),
        (ValueError, "root: there is no rank 1; ranks are 0 to 0", lambda: grid.gather(T, 1)),
        (ValueError, "field: got 1 fields, this rank has 2 blocks", lambda: grid.gather([T[0]])),
        (ValueError, r"field: its domain has 2 points along I",
        lambda: grid.gather([gb.Field(np.zeros((2, 2)), "IJ")] * 2)),
        (TypeError, "halo: not allowed here; the result has the field's",
        lambda: grid.gather(T, halo=1)),
        (
            TypeError,
            "field: expected Blocks, or a list of 2 Fields",
            lambda: grid.scatter(good, T[0]),
        ),
        (ValueError, r"array: its shape is \(6, 2, 4\), that of the whole field \(6, 4, 2\)",
        lambda: grid.scatter(good.reshape(6, 2, 4), T)),
        (ValueError, "array: its dtype is float32, that of the field float64",
        lambda: grid.scatter(good.astype("f4"), T)),
        (ValueError, "array: 1 of its 48 elements are masked",
        lambda: grid.scatter(np.ma.masked_array(good, np.arange(48) == 5), T)),
        (ValueError, "array: its dims are",
        lambda: grid.scatter(gb.Field.zeros((6, 4), dims="IJ"), T)),
        (TypeError, "array: expected an array on the root, got NoneType",
        lambda: grid.scatter(None, T)),
        (ValueError, "array: 1 for 6 tiles", lambda: cube.scatter(np.zeros((3, 3)), cube.zeros())),
        (TypeError, "fields: none were given", lambda: grid.sum()),
        (TypeError, "elements of dtype longdouble|elements of dtype float128",
        lambda: grid.sum(grid.zeros(dtype="longdouble"))),
        (ValueError, r"fields\[1\]: its positions are \['face', 'centre'\]",
        lambda: grid.dot(grid.zeros(), grid.zeros(faces="I"))),
        (ValueError, r"fields\[1\]: its dims are", lambda: grid.dot(T, grid.zeros())),
        (ValueError, "turns them into others", lambda: cube.gather(cube.zeros("I"))),
        (ValueError, "has no sign",
        lambda: cube.gather(gbd.vector(cube.zeros(dtype="i4"), cube.zeros(dtype="i4")))),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            call()
        assert grid.sum(T) == 0.0


PAIRS: list[tuple[Any, dict[str, Any], dict[str, Any]]] = [
    (
        lambda **k: gbd.grid((7, 5), periodic="I", **k),
        {"blocks": (3, 2), "halo": 2},
        {"cuts": ((1, 0, 6), (5,)), "halo": 1},
    ),
    (lambda **k: gbd.grid((7, 5), **k), {"blocks": (1, 1)}, {"blocks": (2, 5), "halo": 3}),
    (
        lambda **k: gbd.tripolar((6, 4), pivot="T", **k),
        {"blocks": (3, 1)},
        {"blocks": (2, 2), "halo": 1},
    ),
    (lambda **k: gbd.cubed_sphere(4, **k), {"blocks": (2, 1), "halo": 1}, {"blocks": (1, 3)}),
]


@pytest.mark.parametrize(("make", "one", "other"), PAIRS, ids=["ring", "plain", "fold", "cube"])
def test_every_place_keeps_its_value(make: Any, one: Any, other: Any) -> None:
    here, there = make(**one), make(**other)
    for positions, (a, b) in product(product((1, 0), (1, 0)), ((here, there), (there, here))):
        fields = made(
            a, positions, dims="JKI", sizes={"K": 2}, dtype="i4", backend="gt:cpu_ifirst", halo=1
        )
        fill(fields, np.random.default_rng(1))
        (
            a.sync(fields if len(fields) > 1 else fields[0])
            if len(a.tiles) == 1 or positions[0] == positions[1]
            else None
        )
        given = fields if len(fields) > 1 else fields[0]
        moved = a.redistribute(given, b, backend="F")
        assert b.checksum(moved) == a.checksum(given)
        out = made(b, positions, dims="IJK", sizes={"K": 2}, dtype="i4")
        found = a.redistribute(given, b, out=out if len(out) > 1 else out[0])
        assert (found if len(out) > 1 else [found])[0] is out[0]
        back = b.redistribute(found, a)
        for f, g in zip(fields, back if len(fields) > 1 else [back], strict=True):
            assert set(g.dims) == set(f.dims)
            if len(a.tiles) == 1:
                assert np.array_equal(g.domain.transpose(*f.dims).numpy(), f.domain.numpy())


def test_fields_without_a_dim_and_halos() -> None:
    here, there = gbd.grid((6, 4), blocks=(3, 1), halo=1), gbd.grid((6, 4), blocks=(2, 2), halo=2)
    line = here.zeros("IK", "f4", sizes={"K": 2})
    here.scatter(np.arange(12.0, dtype="f4").reshape(6, 2), line)
    moved = here.redistribute(line, there)
    assert [f.domain.numpy()[0, 0] for f in moved] == [0.0, 0.0, 6.0, 6.0] and moved[0].shape == (
        7,
        2,
    )
    assert all((f.numpy()[:2] == 0).all() for f in moved)  # halos are 0, not what was there before


def test_wrong_arguments_of_redistribute_are_named() -> None:
    here, there = gbd.grid((6, 4), blocks=(3, 1)), gbd.grid((6, 4), blocks=(2, 1))
    T = here.ones()
    array = np.zeros((3, 4))
    array.flags.writeable = False
    frozen = [gb.Field(array, "IJ")] * 2
    for error, words, call in (
        (TypeError, "other: expected a grid, got int", lambda: here.redistribute(T, 3)),
        (ValueError, "other: it is None on every rank", lambda: here.redistribute(T, None)),
        (
            ValueError,
            r"other: its tiles are \(\(6, 5\),\)",
            lambda: here.redistribute(T, gbd.grid((6, 5))),
        ),
        (ValueError, "field: got 1 fields", lambda: here.redistribute([T[0]], there)),
        (
            ValueError,
            "out: its dtype is float32",
            lambda: here.redistribute(T, there, there.zeros(dtype="f4")),
        ),
        (
            ValueError,
            "out: its positions is",
            lambda: here.redistribute(T, there, there.zeros(faces="J")),
        ),
        (
            ValueError,
            "out: its sizes is|out: its dims is",
            lambda: here.redistribute(T, there, there.zeros("IJK", sizes={"K": 1})),
        ),
        (ValueError, "out: it is read-only", lambda: here.redistribute(T, there, frozen)),
        (
            TypeError,
            "dtype: not allowed here; the result has the field's",
            lambda: here.redistribute(T, there, dtype="f4"),
        ),
    ):
        with pytest.raises(error, match=words):
            call()
    assert there.sum(here.redistribute(T, there)) == 24.0


def test_what_shares_memory_is_refused() -> None:
    here, there = gbd.grid((8, 6)), gbd.grid((8, 6), blocks=(2, 1))
    memory = np.arange(60.0)
    T = gb.Field(memory[:48].reshape(8, 6), dims="IJ")
    beyond = [gb.Field(memory[a : a + 24].reshape(4, 6), dims="IJ") for a in (6, 30)]
    one = gb.Field(np.zeros((4, 6)), dims="IJ")
    with pytest.raises(ValueError, match="out: it shares memory with field"):
        here.redistribute(T, there, out=beyond)
    with pytest.raises(ValueError, match="out: two of its blocks share memory"):
        here.redistribute(T, there, out=[one, one])
    with pytest.raises(ValueError, match="field: it shares memory with the array"):
        there.scatter(T.numpy(), beyond)
    with pytest.raises(ValueError, match="field: two of its blocks share memory"):
        there.scatter(np.ones((8, 6)), [one, one])
    assert memory.tolist() == list(range(60)) and not one.numpy().any()
    wide = gb.Field(np.zeros((2, 48)), dims="IJ").numpy()
    apart = [gb.Field(wide[i].reshape(8, 6), dims="IJ") for i in range(2)]
    here.scatter(T.numpy(), apart[0])
    assert here.redistribute(apart[0], here, out=apart[1]).numpy().tolist() == T.numpy().tolist()
