"""Every ufunc whose order does not matter, every dtype, any shape, strides, axes, mask, start and
out: NumPy's results.
"""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gridbuf import gufunc

NAMES = [
    "add", "multiply", "maximum", "minimum", "fmax", "fmin", "bitwise_and", "bitwise_or",
    "bitwise_xor", "logical_and", "logical_or",
    "logical_xor", "hypot", "logaddexp", "logaddexp2", "gcd", "lcm", "subtract", "divide",
]  # fmt: skip
OURS = {name: gufunc.from_ufunc(getattr(np, name)) for name in NAMES}
DTYPES = "?bBhHiIlLqQefdgFDG"
# Each step is rounded, in an order that may be another one
ROUNDS = {"hypot", "logaddexp", "logaddexp2", "divide"}


def _array(data, rng, dtype, shape):
    """Small whole numbers behind any strides: sums and products of them are exact."""
    values = rng.integers(0 if dtype in "?BHILQ" else -2, 3, [2 * n + 1 for n in shape]).astype(
        dtype
    )
    if dtype in "FDG":
        values = values + (1j * rng.integers(-2, 3, values.shape)).astype(dtype)
    view = values[
        tuple(slice(1, 2 * n + 1, 2) if data.draw(st.booleans()) else slice(0, n) for n in shape)
    ]
    flips = data.draw(st.tuples(*[st.sampled_from([1, 1, -1])] * len(shape)))
    view = view[tuple(slice(None, None, f) for f in flips)]
    order = data.draw(st.permutations(range(len(shape))))
    form = data.draw(st.sampled_from(["view", "C", "F", "swapped", "turned"]))
    if form == "C":
        view = np.ascontiguousarray(view)
    elif form == "F":
        view = np.asfortranarray(view)
    elif form == "swapped":
        view = view.astype(view.dtype.newbyteorder())
    elif form == "turned":
        view = np.ascontiguousarray(view.transpose(order)).transpose(np.argsort(order))
    return view


def _arguments(data, rng, name, a):
    axes = st.one_of(
        st.none(),
        st.integers(-a.ndim, a.ndim - 1),
        st.lists(st.integers(0, a.ndim - 1), unique=True, max_size=a.ndim).map(tuple),
    )
    kwargs = {"axis": data.draw(axes), "keepdims": data.draw(st.booleans())}
    if data.draw(st.integers(0, 2)) == 0:
        kwargs["initial"] = data.draw(
            st.sampled_from([1, 2, 0, True, 1.5, None, np.float32(2), -1])
        )
    if data.draw(st.integers(0, 2)) == 0:
        shape = data.draw(st.sampled_from([a.shape, a.shape[1:], (1,) * a.ndim]))
        kwargs["where"] = rng.random(shape) < data.draw(st.sampled_from([0.1, 0.5, 1.0]))
    if data.draw(st.integers(0, 3)) == 0:
        kwargs["dtype"] = data.draw(st.sampled_from("?bHldfDg"))
    return kwargs


def _outcome(function, *args, **kwargs):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*args, **kwargs)
        except (TypeError, ValueError, OverflowError) as error:
            return error


@pytest.mark.slow
@settings(deadline=None, max_examples=1500)
@given(
    st.sampled_from(NAMES),
    st.sampled_from(DTYPES),
    st.lists(
        st.one_of(st.integers(0, 5), st.sampled_from([17, 40])), min_size=1, max_size=4
    ).filter(lambda s: np.prod(s) < 30_000),
    st.data(),
)
def test_reductions_are_numpys(name, dtype, shape, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 100)))
    a = _array(data, rng, dtype, shape)
    kwargs = _arguments(data, rng, name, a)
    expected = _outcome(getattr(np, name).reduce, a, **kwargs)
    if not isinstance(expected, Exception) and data.draw(st.integers(0, 3)) == 0:
        kind = data.draw(st.sampled_from([expected.dtype.char, "d", "l", "f"]))
        # NumPy keeps its running value in out, which loses what out cannot hold; ours is converted
        # at the end.
        whole = (
            name in ("add", "maximum", "minimum")
            and a.dtype.kind != "c"
            and kwargs.get("initial") != 1.5
        )
        assume(
            whole
            or (
                np.can_cast(expected.dtype, kind, "same_kind")
                and (a.dtype.kind != "c" or kind in "FDG")
            )
        )
        expected = _outcome(
            getattr(np, name).reduce, a, out=np.zeros(expected.shape, kind), **kwargs
        )
        kwargs["out"] = np.zeros(np.shape(expected), kind)
    found = _outcome(OURS[name].reduce, a, errors="ignore", **kwargs)
    if isinstance(expected, Exception):
        assert isinstance(found, Exception)
        return
    if isinstance(found, Exception):
        raise found
    if "out" in kwargs:
        assert found is kwargs["out"]
    assert found.dtype == expected.dtype and np.shape(found) == np.shape(expected)
    if np.asarray(expected).dtype.kind in "fc":
        # whole numbers are exact; a step that rounds does so in our order
        tolerance = (
            64 * np.finfo(found.dtype).eps
            if name in ROUNDS or kwargs.get("initial") == 1.5
            else 4 * np.finfo(found.dtype).eps
        )
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_one_element_and_none(name, dtype):
    """One-element rows, axis=() and reductions of nothing begin as NumPy's do."""
    theirs, ours = getattr(np, name).reduce, OURS[name].reduce
    one = (
        np.array([[3]], dtype) * np.array(-1).astype(dtype)
        if dtype not in "?"
        else np.array([[True]])
    )
    for a, axis in ((one, 0), (one, None), (one, ()), (one[:0], 0), (one[:, :0], 1), (one[:0], 1)):
        expected = _outcome(theirs, a, axis=axis)
        found = _outcome(ours, a, axis=axis, errors="ignore")
        assert isinstance(found, Exception) == isinstance(expected, Exception), (
            a,
            axis,
            found,
            expected,
        )
        if not isinstance(found, Exception):
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(100_000,), (2, 3000), (3000, 2), (300, 70), (40, 50, 30)])
@pytest.mark.parametrize("masked", [False, True])
def test_large_items_and_many(dtype, shape, masked):
    """Items up to the 32 bytes of a complex long double, in every way in which a reduction is cut
    up.
    """
    a = (np.arange(np.prod(shape)) % 2).reshape(shape).astype(dtype)
    kwargs = {"where": np.arange(np.prod(shape)).reshape(shape) % 3 > 0} if masked else {}
    for axis in (None, *range(len(shape)), *([(0, 2)] if len(shape) == 3 else [])):
        for name in ("add", "bitwise_or", "maximum"):
            start = {"initial": 0} if name == "maximum" else {}
            # NumPy's sums of float16 stop growing at 2048
            exact = a.astype("d") if dtype == "e" else a
            expected = _outcome(getattr(np, name).reduce, exact, axis=axis, **kwargs, **start)
            found = _outcome(OURS[name].reduce, a, axis=axis, errors="ignore", **kwargs, **start)
            assert isinstance(found, Exception) == isinstance(expected, Exception)
            if not isinstance(found, Exception):
                assert found.dtype == (expected.dtype if dtype != "e" else np.float16)
                np.testing.assert_allclose(found, expected, rtol=2e-3 if dtype == "e" else 0)
