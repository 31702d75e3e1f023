"""Reductions: NumPy's values where the order does not matter, the same bits for any number of
workers.
"""

import ctypes

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridbuf import gufunc

ADOPTED = {
    name: gufunc.from_ufunc(getattr(np, name))
    for name in [
        "add",
        "multiply",
        "maximum",
        "minimum",
        "bitwise_xor",
        "logical_or",
        "subtract",
        "hypot",
    ]
}
add = ADOPTED["add"]


@settings(deadline=None, max_examples=300)
@given(
    st.sampled_from(list(ADOPTED)),
    st.lists(st.integers(0, 5), min_size=1, max_size=4),
    st.sampled_from("?bBhilLfd"),
    st.data(),
)
def test_reductions_of_whole_numbers_are_numpys(name, shape, dtype, data):
    ours, theirs = ADOPTED[name], getattr(np, name)
    a = np.random.default_rng(len(shape)).integers(0, 3, shape).astype(dtype)
    if data.draw(st.booleans()):
        a = a.T
    axis = data.draw(
        st.one_of(
            st.none(),
            st.integers(-a.ndim, a.ndim - 1),
            st.lists(st.integers(0, a.ndim - 1), unique=True).map(tuple),
        )
    )
    kwargs = {"axis": axis, "keepdims": data.draw(st.booleans())}
    if data.draw(st.booleans()):
        kwargs["initial"] = 1
    if data.draw(st.booleans()):
        kwargs["where"] = np.random.default_rng(0).random(a.shape) < 0.5
    try:
        with np.errstate(all="ignore"):
            expected = theirs.reduce(a, **kwargs)
    except (TypeError, ValueError) as error:
        with pytest.raises((TypeError, ValueError)):
            ours.reduce(a, errors="ignore", **kwargs)
        assert error
        return
    found = ours.reduce(a, errors="ignore", **kwargs)
    assert found.dtype == expected.dtype and np.shape(found) == np.shape(expected)
    # hypot rounds at each step, in NumPy's order or ours; the others are exact here
    np.testing.assert_allclose(
        found, expected, rtol=16 * np.finfo(found.dtype).eps if name == "hypot" else 0
    )


LAYOUTS = {
    "long": ((300_000,), None),
    "rows": ((50, 70_001), 1),
    "columns": ((70_001, 50), 0),
    "middle": ((20, 3000, 30), 1),
    "all": ((40, 50, 60), None),
    "two": ((40, 50, 60), (0, 2)),
}


@pytest.mark.parametrize(("shape", "axis"), LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("dtype", ["d", "f"])
@pytest.mark.parametrize("name", ["add", "maximum", "hypot"])
def test_the_bits_do_not_depend_on_the_workers(shape, axis, dtype, name):
    a = np.random.default_rng(3).normal(size=shape).astype(dtype)
    results = [ADOPTED[name].reduce(a, axis, workers=w) for w in (1, 2, 3, 8)]
    assert len({np.asarray(r).tobytes() for r in results}) == 1
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(
            results[0],
            getattr(np, name).reduce(a, axis),
            rtol=1e-3 if dtype == "f" else 1e-9,
            atol=1e-2 if dtype == "f" else 1e-9,
        )


def test_sums_are_close_to_the_exact_ones():
    import math

    a = np.random.default_rng(4).normal(size=1_000_000)
    exact = math.fsum(a)
    assert abs(add.reduce(a) - exact) < 1e-10


def test_a_masked_long_axis():
    a = np.random.default_rng(5).normal(size=100_000)
    mask = np.random.default_rng(6).random(100_000) < 0.3
    np.testing.assert_allclose(add.reduce(a, where=mask), a[mask].sum(), rtol=1e-10)
    assert ADOPTED["maximum"].reduce(a, where=mask, initial=-np.inf) == a[mask].max()
    with pytest.raises(ValueError, match="where"):
        ADOPTED["maximum"].reduce(a, where=mask)


def test_ordered_goes_from_left_to_right():
    a = np.array([1e16, 1.0, -1e16, 1.0] * 5000)
    expected = 0.0
    for v in a:
        expected = expected + v
    assert add.reduce(a, ordered=True) == expected


@pytest.mark.parametrize("axis", [None, (0, 1), (2, 0), (1, 2)])
def test_an_order_that_is_asked_for_may_go_over_several_axes(axis):
    """As if the axes that go were one, in the order in which they are given: NumPy has no way to
    ask for that, and refuses.
    """
    a = np.random.default_rng(8).normal(size=(4, 5, 6)).transpose(1, 2, 0)
    gone = list(range(3) if axis is None else axis)
    stay = [d for d in range(3) if d not in gone]
    flat = np.ascontiguousarray(a.transpose(*stay, *gone)).reshape(*[a.shape[d] for d in stay], -1)
    subtract = ADOPTED["subtract"]
    for more in ({}, {"initial": 3.0}):
        assert np.array_equal(
            subtract.reduce(a, axis, ordered=True, **more), np.subtract.reduce(flat, -1, **more)
        )
    with pytest.raises(ValueError, match="ordered=True"):
        subtract.reduce(a, axis)


def test_small_integers_widen_as_numpys():
    a = np.full(1000, 100, np.int8)
    assert add.reduce(a) == 100_000 and add.reduce(a).dtype == np.add.reduce(a).dtype
    assert add.reduce(a, dtype="d").dtype == np.float64


def test_nothing_to_reduce():
    assert add.reduce(np.zeros((3, 0)), axis=1).tolist() == [0, 0, 0] and add.reduce(
        np.zeros((0, 3))
    ).tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="identity"):
        ADOPTED["maximum"].reduce(np.zeros((3, 0)), axis=1)
    assert add.reduce(np.zeros((0, 3)), axis=1).shape == (0,)


def test_an_output_fails_when_a_contribution_did():
    a = np.ones((3, 50_000))
    a[1, 40_000] = np.inf
    a[1, 40_001] = -np.inf
    for workers in (1, 2):
        with pytest.raises(gufunc.PartialSuccess) as caught:
            add.reduce(a, axis=1, workers=workers)
        assert (
            caught.value.failed.tolist() == [False, True, False]
            and caught.value.results[0] == 50_000
        )
    _, info = add.reduce(np.ones(5), errors="return")
    assert not info and info.codes.shape == ()


def test_out_and_what_is_refused():
    out = np.zeros(4)
    assert add.reduce(np.ones((3, 4)), out=out) is out and out.tolist() == [3, 3, 3, 3]
    with pytest.raises(ValueError, match="shape"):
        add.reduce(np.ones((3, 4)), out=np.zeros(3))
    with pytest.raises(gufunc.SignatureError, match="reduce"):
        gufunc.sqrt.reduce(np.ones(3))
    with pytest.raises(ValueError, match="axis"):
        add.reduce(np.ones(3), axis=1)
    with pytest.raises(ValueError, match="reorderable"):
        ADOPTED["subtract"].reduce(np.ones((3, 3)), axis=(0, 1))


@pytest.mark.parametrize("n", [1, 7, 16_384, 100_001])
@pytest.mark.parametrize("dtype", ["d", "f"])
def test_the_shipped_statistics(n, dtype):
    a = np.random.default_rng(n).normal(size=(3, n)).astype(dtype)
    for axis in (1, None):
        assert np.array_equal(gufunc.argmin.reduce(a, axis), a.argmin(axis)) and np.array_equal(
            gufunc.argmax.reduce(a, axis), a.argmax(axis)
        )
        low, high = gufunc.minmax.reduce(a, axis)
        assert np.array_equal(low, a.min(axis)) and np.array_equal(high, a.max(axis))
        for workers in (1, 2):
            mean, variance = gufunc.moments.reduce(a, axis, workers=workers)
            np.testing.assert_allclose(mean, a.mean(axis, dtype="d"), atol=1e-6)
            np.testing.assert_allclose(variance, a.var(axis, dtype="d"), rtol=1e-5, atol=1e-12)
    assert np.array_equal(gufunc.argmin(a), a.argmin(1)) and np.array_equal(
        gufunc.argmin.reduce(a, 0), a.argmin(0)
    )


def test_a_nan_is_an_extreme_as_in_numpy():
    a = np.random.default_rng(0).normal(size=50_000)
    a[[30_000, 40_000]] = np.nan
    assert (
        gufunc.argmin.reduce(a) == 30_000 == a.argmin() and np.isnan(gufunc.minmax.reduce(a)).all()
    )


def test_nothing_has_no_extreme():
    with pytest.raises(gufunc.TotalFailure):
        gufunc.argmax.reduce(np.zeros((2, 0)), axis=1)


def test_a_state_kernel_of_ones_own():
    step_type = ctypes.CFUNCTYPE(
        None,
        ctypes.c_void_p,
        ctypes.c_ssize_t,
        ctypes.c_ssize_t,
        ctypes.POINTER(ctypes.c_void_p),
        ctypes.POINTER(ctypes.c_ssize_t),
        ctypes.c_void_p,
    )
    merge_type = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    final_type = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p
    )
    item = ctypes.c_double.from_address

    @step_type
    def step(state, first, n, args, steps, data):
        item(state).value += sum((first + i) * item(args[0] + i * steps[0]).value for i in range(n))

    @merge_type
    def merge(state, later, data):
        item(state).value += item(later).value

    @final_type
    def final(state, outs, data):
        item(outs[0]).value = item(state).value
        return int(item(state).value < 0)

    moment = gufunc.GUFunc(
        "()->()", [gufunc.StateKernel(np.float64(0), step, merge, final, "d->d")], name="moment"
    )
    a = np.arange(40_000.0)
    assert moment.reduce(a) == (np.arange(40_000.0) ** 2).sum()
    _, info = moment.reduce(np.array([[1.0, 1.0], [-1.0, -1.0]]), axis=1, errors="return")
    assert info.codes.tolist() == [0, 8]
    with pytest.raises(gufunc.SignatureError, match="StateKernel"):
        moment.reduce(a, where=a > 3)


def _sum_of_ones_own(kernels, step):
    state = gufunc.StateKernel(np.float64(0), step, kernels.sum_merge, kernels.sum_final, "d->d")
    return gufunc.GUFunc("()->()", [state], name="sum")


@pytest.mark.parametrize(("shape", "axis"), LAYOUTS.values(), ids=LAYOUTS)
def test_a_state_is_cut_for_any_number_of_workers(kernels, shape, axis):
    """The order of elements counts for a state, so blocks are joined in their order: whole numbers
    sum exactly.
    """
    total = _sum_of_ones_own(kernels, kernels.sum_step)
    a = np.random.default_rng(9).integers(0, 50, shape).astype("d")
    for array in (a, np.asfortranarray(a), a.astype(a.dtype.newbyteorder()), a.astype("f4")):
        for workers in (1, 2, 3, 8):
            assert np.array_equal(total.reduce(array, axis, workers=workers), a.sum(axis))


def test_two_workers_fold_states_at_once(kernels):
    """Elements of -1 wait for another thread, those of the first block aside: a helper is woken
    when it is done.
    """
    kernels.reset()
    a = np.zeros(300_000)
    a[65_536::16_384] = -1.0
    found, info = _sum_of_ones_own(kernels, kernels.meeting_step).reduce(
        a, workers=2, errors="return"
    )
    assert found == 2 * a.sum() and info.codes == 8


@pytest.mark.parametrize("dtype", ["d", "f"])
def test_a_reduction_asks_the_generator(kernels, dtype):
    asked = []

    def generate(types, layouts):
        asked.append(types)
        if "d" not in types:
            raise LookupError(types)
        return gufunc.numpy_loop(kernels.sum_form, "dd->d")

    g = gufunc.GUFunc("(),()->()", generator=generate, identity=0)
    a = np.arange(300_000.0).astype(dtype)
    for _ in range(2):
        if dtype == "f":
            with pytest.raises(LookupError, match="ff"):
                g.reduce(a)
        else:
            assert g.reduce(a, workers=2) == a.sum() == g.reduce(a.reshape(3, -1), axis=None)
        assert g.reduce(a, dtype="d") == a.astype("d").sum()
    assert asked == (["ff", "dd", "ff"] if dtype == "f" else ["dd"])
    assert g(a.astype("d"), a.astype("d"))[-1] == 2 * a[-1] and asked[-1] == (
        "ff" if dtype == "f" else "dd"
    )
    narrowing = gufunc.GUFunc(
        "(),()->()", generator=lambda types, layouts: gufunc.numpy_loop(kernels.sum_form, "dd->f")
    )
    with pytest.raises(
        gufunc.SignatureError, match="one type for its operands; its kernels are dd->f"
    ):
        narrowing.reduce(a.astype("d"))
