"""Reductions over named indices, and the other methods of ufuncs."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import gridbuf as gb
import gridbuf.storage as gs

VALUES = np.random.default_rng(3).random((4, 5, 6))


def make() -> gb.Field:
    return gb.Field(VALUES.copy(), "KJI", halo=(1, (2, 0), 0))


@pytest.mark.parametrize(
    ("axis", "numbers", "left"),
    [
        ("K", 0, "JI"),
        ("I", 2, "KJ"),
        ("IK", (2, 0), "J"),
        (("J", "K"), (1, 0), "I"),
        (("J", -1), (1, 2), "K"),
        (1, 1, "KI"),
        ((0, 1), (0, 1), "I"),
    ],
)
def test_axes_are_names_or_numbers_and_the_rest_keeps_halo_and_origin(
    axis: Any, numbers: Any, left: str
) -> None:
    f = make()
    pairs = dict(zip("KJI", f.halo, strict=True))
    for result, expected in (
        (np.add.reduce(f, axis=axis), VALUES.sum(numbers)), (f.sum(axis), VALUES.sum(numbers)),
        (np.max(f, axis), VALUES.max(numbers)),
        (f.mean(axis=axis), VALUES.mean(numbers)),
        (np.std(f, axis, ddof=1), VALUES.std(numbers, ddof=1)), (f.all(axis), VALUES.all(numbers)),
        (np.nanmin(f, axis), VALUES.min(numbers)), (np.median(f, axis), np.median(VALUES, numbers)),
        (np.ptp(f, axis), np.ptp(VALUES, numbers)),
    ):  # fmt: skip
        assert isinstance(result, gb.Field) and "".join(result.dims) == left
        assert result.halo == tuple(pairs[n] for n in left) and result.origin == tuple(
            pairs[n][0] for n in left
        )
        assert np.allclose(result.numpy(), expected) and result.dtype == expected.dtype


def test_of_everything_comes_a_number() -> None:
    f = make()
    for result, expected in (
        (f.sum(), VALUES.sum()),
        (f.min(), VALUES.min()),
        (np.mean(f), VALUES.mean()),
        (np.add.reduce(f, axis=None), VALUES.sum()),
    ):
        assert isinstance(result, np.float64) and np.isclose(result, expected)
    assert f.any() and f.argmax() == VALUES.argmax() and not gb.Field.zeros((2, 2)).any()


def test_options() -> None:
    f = make()
    assert f.sum("J", keepdims=True).shape == (4, 1, 6) and f.sum("J", keepdims=True).halo == (
        (1, 1),
        (0, 0),
        (0, 0),
    )
    assert f.sum("J", dtype="f4").dtype == "f4" and np.isclose(
        np.sum(f, initial=5.0), VALUES.sum() + 5
    )
    mask = gb.Field(np.arange(6) > 2, "I")
    assert np.allclose(
        np.add.reduce(f, axis="K", where=mask).numpy(), (VALUES * (np.arange(6) > 2)).sum(0)
    )
    out = gb.Field.zeros((6, 5), dims="IJ")
    assert np.add.reduce(f, axis="K", out=out) is out and np.allclose(out.numpy(), VALUES.sum(0).T)
    plain = np.zeros((5, 6))
    assert f.sum("K", out=plain) is plain and np.allclose(plain, VALUES.sum(0))
    with pytest.raises(
        ValueError, match=r"out: its dims are \('I',\), the result has \('J', 'I'\)"
    ):
        np.add.reduce(f, axis="K", out=gb.Field.zeros((6,), dims="I"))
    with pytest.raises(ValueError, match=r"where: its dims \('0',\) are not all among"):
        np.add.reduce(f, where=gb.Field(np.ones(6, bool), ["0"]))


@pytest.mark.parametrize(
    ("axis", "error", "match"),
    [
        ("X", ValueError, "names an index"),
        ("KK", ValueError, "twice"),
        (3, np.exceptions.AxisError, "3"),
        (1.5, TypeError, "names or numbers"),
        ("", ValueError, "names"),
    ],
)
def test_wrong_axes_are_named(axis: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        make().sum(axis)
    with pytest.raises(ValueError, match="no names"):
        gb.Field(VALUES).sum("I")


def test_the_place_of_an_element() -> None:
    f = make()
    assert np.array_equal(f.argmin("J").numpy(), VALUES.argmin(1)) and f.argmin("J").dims == (
        "K",
        "I",
    )
    with pytest.raises(ValueError, match="one index"):
        f.argmax("IJ")


def test_accumulating_keeps_all_indices() -> None:
    f = make()
    for result in (np.add.accumulate(f, axis="K"), f.cumsum("K"), np.cumsum(f, axis=0)):
        assert (
            np.allclose(result.numpy(), VALUES.cumsum(0))
            and result.halo == f.halo
            and result.dims == f.dims
        )
    assert np.allclose(f.cumprod("I").numpy(), VALUES.cumprod(2))
    out = gb.Field.zeros((6, 5, 4), dims="IJK")
    assert np.add.accumulate(f, axis="K", out=out) is out and np.allclose(
        out.numpy(), VALUES.cumsum(0).T
    )
    assert type(f.cumsum()) is np.ndarray and np.array_equal(f.cumsum(), VALUES.cumsum())
    parts = np.add.reduceat(f, [0, 2, 3], axis="J")
    assert np.allclose(
        parts.numpy(), np.add.reduceat(VALUES, [0, 2, 3], axis=1)
    ) and parts.halo == ((1, 1), (0, 0), (0, 0))


def test_outer_of_names_that_differ() -> None:
    a, b = gb.Field(np.arange(3.0), "K"), gb.Field(np.arange(2.0), "I")
    result = np.multiply.outer(a, b)
    assert result.dims == ("K", "I") and np.array_equal(
        result.numpy(), np.multiply.outer(np.arange(3.0), np.arange(2.0))
    )
    for other in (a, np.arange(2.0)):
        with pytest.raises(TypeError, match=r"field.numpy\(\) goes by position"):
            np.multiply.outer(a, other)


def test_at_goes_by_position_and_says_so() -> None:
    f = gb.Field.zeros((3,), dims="I")
    np.add.at(f, [0, 0, 2], 1.0)
    assert f.tolist() == [2, 0, 1]
    with pytest.raises(TypeError, match="what the indices select has no names"):
        np.add.at(f, [0, 1], gb.Field(np.ones(2), "I"))


ARRAY = np.arange(12.0).reshape(3, 4) - 5
MASK = ARRAY > 0
NUMPY_2 = np.__version__[0] != "1"


def of_fields(array: Any, names: str) -> Any:
    return gb.Field(np.array(array), dims=names)


def of_storages(array: Any, names: str) -> Any:
    return gs.storage(np.array(array), axes=names)


def of_arrays(array: Any, names: str) -> Any:
    return np.array(array)


BESIDE_ARRAYS: list[Any] = [
    lambda a, of: np.sum(a, where=of(MASK, "IJ")),
    lambda a, of: np.max(a, axis=0, where=of(MASK, "IJ"), initial=-9),
    lambda a, of: np.any(a, axis=0, where=of(MASK, "IJ"), out=np.zeros(4, bool)),
    lambda a, of: np.mean(a, where=of(MASK, "IJ")),
    lambda a, of: np.nanmean(a, where=of(MASK, "IJ")),
    lambda a, of: np.add.reduce(a, where=of(MASK, "IJ")),
    lambda a, of: np.add.reduce(a, axis=1, out=of(np.zeros(3), "I")),
    lambda a, of: np.add.reduceat(a, of([0, 2], "I"), axis=1),
    lambda a, of: np.argmax(a, axis=1, out=of(np.zeros(3, np.intp), "I")),
    lambda a, of: np.nanargmin(a, 0, of(np.zeros(4, np.intp), "J")),
    lambda a, of: np.argmin(a.tolist(), axis=1, out=of(np.zeros(3, np.intp), "I")),
    lambda a, of: np.cumsum(a, out=of(np.zeros(12), "I")),
    lambda a, of: np.cumprod(a.tolist(), 1, None, of(np.zeros((3, 4)), "IJ")),
    lambda a, of: np.average(a, weights=of(ARRAY + 9, "IJ")),
    lambda a, of: np.average(a.tolist(), axis=1, weights=of(np.arange(4.0), "J")),
]
if NUMPY_2:  # NumPy 1 takes no mean
    BESIDE_ARRAYS.append(
        lambda a, of: np.std(a, axis=0, mean=of(ARRAY.mean(0, keepdims=True), "IJ"))
    )


@pytest.mark.parametrize("of", [of_fields, of_storages])
@pytest.mark.parametrize("call", BESIDE_ARRAYS)
def test_of_a_plain_array_by_position(call: Any, of: Any) -> None:
    found, expected = np.asarray(call(ARRAY, of)), call(ARRAY, of_arrays)
    assert found.dtype == expected.dtype and np.array_equal(found, expected)


NAMED: list[Any] = [
    lambda a, of, turned: np.sum(a, where=np.True_),
    lambda a, of, turned: np.sum(a, axis=0, where=np.array(True)),
    lambda a, of, turned: np.sum(a, where=turned(MASK)),
    lambda a, of, turned: np.mean(a, axis=0, where=turned(MASK)),
]
if NUMPY_2:
    NAMED.append(lambda a, of, turned: np.std(a, axis=0, mean=turned(ARRAY.mean(0, keepdims=True))))
    NAMED.append(lambda a, of, turned: np.var(a, axis=1, mean=0.5))


@pytest.mark.parametrize("of", [of_fields, of_storages])
@pytest.mark.parametrize("other", [of_fields, of_storages])
@pytest.mark.parametrize("call", NAMED)
def test_masks_and_means_go_by_name(call: Any, of: Any, other: Any) -> None:
    if of is of_fields and other is of_storages:
        return  # storages are asked first, and go by position
    found = np.asarray(call(of(ARRAY, "IJ"), of, lambda array: other(array.T, "JI")))
    assert np.allclose(found, call(ARRAY, of_arrays, np.array))


def test_weights_of_storages_go_by_name_or_along_the_axis() -> None:
    s, weights = gs.storage(ARRAY, axes="IJ"), ARRAY + 9
    for turned in (gs.storage(weights.T.copy(), axes="JI"), gb.Field(weights.T.copy(), dims="JI")):
        for axis, number in ((None, None), ("I", 0), (0, 0), (1, 1)):
            assert np.allclose(
                np.average(s, axis=axis, weights=turned), np.average(ARRAY, number, weights)
            )
    for axes, array in (("IJ", ARRAY), ("IJK", np.stack((ARRAY, -ARRAY), 2))):
        found, total = np.average(
            gs.storage(array, axes=axes), axis="J", weights=[1, 2, 3, 4], returned=True
        )
        expected = np.average(array, 1, [1, 2, 3, 4], returned=True)
        assert np.allclose(found, expected[0]) and np.allclose(total, expected[1])
    with pytest.raises(ValueError):
        np.average(s, axis="J", weights=[1, 2, 3])


def test_averages_of_storages_are_numpys_to_the_last_bit() -> None:
    values, rng = np.random.default_rng(3).random((7, 130, 9)), np.random.default_rng(4)
    for dtype in ("f4", "f8"):
        s = gs.storage(values.astype(dtype))
        for axis, number in (("J", 1), ("IK", (0, 2)), (None, None)):
            for weights in (rng.random(values.shape), rng.random(values.shape).astype("f4")):
                for mine in (weights, gs.storage(weights)):
                    found, scale = np.average(s, axis, mine, True)
                    for one, wanted in zip(
                        (found, scale),
                        np.average(values.astype(dtype), number, weights, True),
                        strict=True,
                    ):
                        assert np.array_equal(one, wanted) and one.dtype == wanted.dtype
        row = rng.random(130)
        for mine in (row, gs.storage(row, axes="J"), gb.Field(row, dims="J")):
            assert np.array_equal(
                np.average(s, "J", mine), np.average(values.astype(dtype), 1, row)
            )
        if NUMPY_2:
            assert (
                np.quantile(
                    s, 0.5, "J", weights=gs.storage(row, axes="J"), method="inverted_cdf"
                ).axes
                == "IK"
            )


@pytest.mark.parametrize("function", [
    np.average, np.count_nonzero, np.nanmedian, np.nancumsum, np.nancumprod, np.ptp, np.nanmax,
    *(partial(f, q=q) for f,
    q in ((np.percentile, 30), (np.quantile, 0.3), (np.nanpercentile, 30), (np.nanquantile, 0.3))),
    partial(np.average, returned=True), partial(np.count_nonzero, keepdims=True),
    partial(np.nanquantile, q=0.5, keepdims=True),
])  # fmt: skip
@pytest.mark.parametrize(
    ("axis", "number"), [("I", 2), ("IK", (2, 0)), (("J", -1), (1, 2)), (0, 0), (None, None)]
)
def test_numpys_functions_reduce_by_name_as_by_number(
    function: Any, axis: Any, number: Any
) -> None:
    values = np.where(VALUES < 0.3, 0.0, VALUES)
    values[1, 2, 3] = 0.0 if function in (np.average, np.ptp) else np.nan
    f = gb.Field(values, "KJI", halo=(1, (2, 0), 0))
    if "cum" in getattr(function, "__name__", "") and not isinstance(number, int):
        if axis is None:  # the values in a row
            assert np.array_equal(function(f), function(values), equal_nan=True)
            return
        with pytest.raises(ValueError, match="axis"):
            function(f, axis=axis)
        return
    found, expected = function(f, axis=axis), function(values, axis=number)
    for one, wanted in zip(
        *((x if isinstance(x, tuple) else (x,)) for x in (found, expected)), strict=True
    ):
        assert (
            isinstance(one, gb.Field) == isinstance(wanted, np.ndarray)
            and one.dtype == wanted.dtype
        )
        np.testing.assert_array_equal(np.asarray(one), wanted)
        if isinstance(one, gb.Field) and one.ndim < 3:
            assert one.halo == tuple(f.halo["KJI".index(name)] for name in one.dims)


@pytest.mark.parametrize("weights, axis, number", [
    (gb.Field(np.arange(1.0, 6), "J"), "J", 1), (gb.Field(np.arange(1.0, 6), "J"), None, None),
    (np.arange(1.0, 6), "J", 1),
    (gb.Field(VALUES.T.copy(), "IJK"), "KI", (0, 2)), (VALUES, None, None), ([1.0] * 5, "J", 1),
])  # fmt: skip
def test_weights_go_where_the_field_has_their_names(weights: Any, axis: Any, number: Any) -> None:
    plain = np.asarray(weights)
    aligned = (
        plain.T
        if plain.ndim == 3 and isinstance(weights, gb.Field)
        else plain
        if plain.ndim == 3
        else np.broadcast_to(plain[:, None], VALUES.shape)
    )
    for found, expected in zip(
        np.average(make(), axis, weights, True),
        np.average(VALUES, number, aligned, True),
        strict=True,
    ):
        np.testing.assert_allclose(np.asarray(found), expected)
    single = np.average(gb.Field(VALUES.astype("f4"), "KJI"), axis, weights)
    assert single.dtype == "f8"
    with pytest.raises(ValueError, match="weights: "):
        np.average(make(), "J", gb.Field(np.ones(4), "J"))


@pytest.mark.parametrize(("call", "expected"), [
    (lambda f: np.flip(f, "J"), np.flip(VALUES, 1)),
    (lambda f: np.sort(f, axis="K"), np.sort(VALUES, 0)),
    (lambda f: np.percentile(f, [20, 80], axis="I"), np.percentile(VALUES, [20, 80], 2)),
    (lambda f: np.diff(f, axis="I"), np.diff(VALUES)),
    (lambda f: np.roll(gb.Field(f, halo=(0, 0, 0)), (1, 2), ("K", "J")),
        np.roll(VALUES, (1, 2), (0, 1))),
    (lambda f: np.roll(f, 3), np.roll(VALUES, 3)),
    (lambda f: np.concatenate([f, f], "J"), np.concatenate([VALUES] * 2, 1)),
    (lambda f: np.max(f, None, None, False, 7.0), np.max(VALUES, initial=7.0)),
    (lambda f: np.percentile(f, 40, "K", None, False, "lower"),
    np.percentile(VALUES, 40, 0, method="lower")),
])  # fmt: skip
def test_axis_takes_names_in_functions_that_give_plain_arrays_too(call: Any, expected: Any) -> None:
    assert np.array_equal(np.asarray(call(make())), expected)


@pytest.mark.parametrize("obj", [make(), gs.storage(VALUES)], ids=["Field", "storage"])
@pytest.mark.parametrize("call", [
    lambda f, m: np.average(f, weights=m), lambda f,
    m: np.average(f, weights=[np.ma.masked] * f.size),
    lambda f, m: np.sum(f, initial=np.ma.masked), lambda f, m: f.sum(initial=np.ma.masked),
    lambda f, m: np.max(f, 0, initial=np.ma.masked),
    lambda f, m: np.add.reduce(f, initial=np.ma.masked), lambda f,
    m: f.min(0, initial=np.ma.masked), lambda f, m: np.percentile(f, np.ma.masked),
    lambda f, m: np.quantile(f, 0.5, method="inverted_cdf", weights=m), lambda f,
    m: np.histogram(f, weights=m), lambda f, m: np.put(f, 0, np.ma.masked),
    lambda f, m: np.tensordot(f, m, 3), lambda f, m: np.concatenate([f, m]), lambda f,
    m: np.std(f, mean=m),
    lambda f, m: np.add.at(f, (0, 0, 0), np.ma.masked),
])  # fmt: skip
def test_masked_elements_are_refused_beside_a_reduction(obj: Any, call: Any) -> None:
    with pytest.raises(
        ValueError, match="are masked, and a Field would show the values below the mask"
    ):
        call(obj, np.ma.masked_array(np.ones(VALUES.shape), VALUES > 0.5))
