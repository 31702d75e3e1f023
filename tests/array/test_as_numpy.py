"""What Fields and storages say, give and warn of where NumPy's arrays do: found by programs drawn
at random beside NumPy.
"""

import warnings
from collections import deque
from typing import Any

import numpy as np
import pytest

import gridbuf as gb
import gridbuf.storage as gs
from gridbuf import gufunc

MAKES = (lambda a, dims: gb.Field(a, dims=dims), lambda a, axes: gs.storage(a, axes=axes))


@pytest.mark.parametrize("make", MAKES, ids=["Field", "storage"])
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_result_is_numpy_s_own(make: Any) -> None:
    """NumPy's dtype depends on more than dtypes, and so does what it sums in; and a conversion is
    spoken of once.
    """
    halves = np.full((2, 4), 40000, "f2")
    assert np.array_equal(np.median(make(halves, "IJ"), axis=1), [40000, 40000])
    for function, values, q in (
        (np.nanpercentile, np.zeros((2, 0), "f2"), np.array(0.5)),
        (np.nanquantile, np.zeros((0, 4), "?"), 0.5),
    ):
        with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
            found, wanted = (
                function(a, q, axis=-1 if values.shape[0] else 0)
                for a in (make(values, "IJ"), values)
            )
        assert np.array_equal(found, wanted, equal_nan=True) and found.dtype == wanted.dtype
    values = np.full((2, 3), 1 + 2j)
    for call in (
        lambda a: np.sum(a, axis=0, dtype="f8"), lambda a: np.mean(a, axis=0, dtype="f4"),
        lambda a: np.cumsum(a, axis=0, dtype="f8"),
        lambda a: np.add.accumulate(a, axis=0, dtype="f8"),
    ):  # fmt: skip
        said = []
        for a in (make(values, "IJ"), values):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                call(a)
            said.append([str(w.message) for w in caught])
        assert said[0] == said[1] and said[0]


@pytest.mark.parametrize("make", MAKES, ids=["Field", "storage"])
@pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="NumPy 1 gives it another dtype"
)
def test_a_number_that_does_not_fit_is_spoken_of_once(make: Any) -> None:
    heard: list[Any] = []
    for dtype in ("f2", "f4"):
        a = make(np.ones((2, 3), dtype), "IJ")
        for call in (
            lambda a: a + 1e300,
            lambda a: a < 1e300,
            lambda a: np.add(a, 1e300, order="C"),
            lambda a: np.hypot(1e300, a),
        ):
            heard.clear()
            for _ in range(2):
                with np.errstate(over="call", call=lambda *said: heard.append(said)):
                    call(a)
            assert len(heard) == 2


def test_of_no_indices_numpy_judges_the_axis() -> None:
    f = gb.Field(np.array(2.0))
    assert np.add.reduce(f, axis=0) == np.add.reduce(f, axis=-1) == 2.0
    for call in (
        lambda a: np.sum(a, axis=5),
        lambda a: np.mean(a, axis=0),
        lambda a: np.sum(a, axis=(0,)),
    ):
        for a in (f, f.numpy()):
            with pytest.raises(np.exceptions.AxisError):
                call(a)


def test_reduceat_takes_an_empty_list() -> None:
    assert (
        np.add.reduceat(gb.Field(np.ones(3), "I"), []).shape
        == np.add.reduceat(np.ones(3), []).shape
    )


@pytest.mark.parametrize("make", MAKES, ids=["Field", "storage"])
@pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.1.0",
    reason="older ones refuse them, or give another dtype",
)
def test_bounds_of_clip_that_the_dtype_does_not_hold(make: Any) -> None:
    a = np.arange(6, dtype="u1").reshape(2, 3)
    for bounds in ((-1, 300), (2, 300), (-1, 3), (None, 3), (2, None), (-5, 2**70)):
        for call in (
            lambda x, b: np.clip(x, *b),
            lambda x, b: x.clip(*b),
            lambda x, b: np.clip([[1, 2, 3]] * 2, x, b[1] or 9),
        ):
            assert _same(call, a, make(a, "IJ"), bounds), bounds


@pytest.mark.parametrize("make", MAKES, ids=["Field", "storage"])
@pytest.mark.parametrize("dtype", "?bBlLefdFD")
@pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.3.0", reason="older ones have more such exponents"
)
def test_powers_and_roundings(make: Any, dtype: str) -> None:
    """NumPy has a ufunc of its own for some exponents, and for no other: bits and warnings tell
    which.
    """
    values = np.arange(6).reshape(2, 3).astype(dtype) + (
        np.array(1e-3j) if dtype in "FD" else np.array(0)
    ).astype(dtype)
    for exponent in (2, 2.0, 0.5, -1, -1.0, 3, 0, True, np.int64(2), np.float64(2)):
        assert _same(lambda x, e: x**e, values, make(values, "IJ"), exponent), exponent
        assert _same(_to_the, values.copy(), make(values.copy(), "IJ"), exponent), exponent
    for decimals in (0, 1, -1, -5):
        assert _same(lambda x, n: x.round(n), values, make(values, "IJ"), decimals), decimals


def _to_the(x: Any, exponent: Any) -> Any:
    x **= exponent
    return x


def _same(call: Any, array: Any, ours: Any, argument: Any) -> bool:
    """Bits, dtype, warnings, or the type of the error."""
    found = []
    for a in (array, ours):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = np.asarray(call(a, argument))
                what: Any = result.dtype.newbyteorder("="), result.shape, result.tobytes()
            except Exception as error:
                what = type(error)
        found.append((what, sorted(str(w.message) for w in caught)))
    return bool(found[0] == found[1])


@pytest.mark.parametrize("make", MAKES, ids=["Field", "storage"])
def test_empty_lists_and_tuples_in_a_tuple_as_keys(make: Any) -> None:
    a = np.arange(6.0).reshape(2, 3)
    for key in ([], ([],), (0, []), ([], slice(1)), ((0,),), ((1, 0),), ([[]],)):
        assert _same(lambda x, k: x[k], a, make(a, "IJ"), key), key


@pytest.mark.parametrize("make", MAKES, ids=["Field", "storage"])
def test_true_is_no_axis(make: Any) -> None:
    for axis in (True, (True,), np.True_):
        with pytest.raises(TypeError, match="axis: expected"):
            np.sum(make(np.ones((2, 3)), "IJ"), axis=axis)


@pytest.mark.parametrize("make", MAKES, ids=["Field", "storage"])
def test_an_index_beside_a_list(make: Any) -> None:
    class Index:
        def __index__(self) -> int:
            return 1

    a = np.arange(6.0).reshape(2, 3)
    for key in ((Index(), [0, 1]), ([0, 1], Index()), ([], Index())):
        assert _same(lambda x, k: x[k], a, make(a, "IJ"), key)


@pytest.mark.parametrize("ufunc", [np.power, np.arctan2], ids=["power", "arctan2"])
@pytest.mark.parametrize("dtype", "fd")
def test_what_goes_from_left_to_right_though_numpy_does_not(ufunc: Any, dtype: str) -> None:
    adopted = gufunc.from_ufunc(ufunc)
    for shape in ((3,), (40,), (2, 3), (5, 2), (3, 1), (2, 40, 3)):
        a = np.random.default_rng(1).uniform(1, 1.1, shape).astype(dtype)
        for axis in range(len(shape)):
            rows = np.moveaxis(a, axis, 0)
            expected = rows[0].copy()
            for row in rows[1:]:
                expected = ufunc(expected, row)
            assert np.allclose(adopted.reduce(a, axis=axis), expected, rtol=1e-5), (shape, axis)


@pytest.mark.parametrize(
    "make", [gb.Field, lambda a: gs.storage(a, axes="")], ids=["Field", "storage"]
)
def test_without_indices(make: Any) -> None:
    for sequence in ("x", b"x", deque([1])):
        for call in (lambda a, b: a * b, lambda a, b: b * a):
            with pytest.raises(
                TypeError, match=r"multiply: a .* is multiplied by numbers and arrays, not by"
            ):
                call(make(np.array(3)), sequence)
        for call in (lambda a, b: a + b, lambda a, b: b + a):
            with pytest.raises(
                TypeError, match=r"add: a .* is added to numbers and arrays, not to"
            ):
                call(make(np.array(3)), sequence)  # a Field's memory was appended to bytes
    assert np.add.reduce(make(np.array(3.0)), axis=0) == 3.0
    with pytest.raises(np.exceptions.AxisError):
        np.std(make(np.array(3.0)), axis=-1)
    target = np.zeros(())
    np.copyto(target, make(np.array(3.0)))
    np.copyto(target, make(np.array(4.0)), where=False)
    assert target == 3.0


def test_an_average_and_its_weight_are_worked_out_once() -> None:
    heard: list[Any] = []
    f = gb.Field(np.full((2, 3), 3e38, "f4"), "IJ", halo=(1, 0))
    with np.errstate(over="call", call=lambda *said: heard.append(said)):
        found, scale = np.average(f, axis="J", weights=np.full((2, 3), 2.0, "f4"), returned=True)
        once = len(heard)
        np.average(f.numpy(), axis=1, weights=np.full((2, 3), 2.0, "f4"), returned=True)
    assert (found.halo, scale.halo, scale.tolist()) == (((1, 1),), ((1, 1),), [6.0, 6.0])
    assert once == len(heard) - once > 0
