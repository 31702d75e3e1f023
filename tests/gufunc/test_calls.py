"""Calls against NumPy's: types, shapes, strides, masks, overlaps, axes."""

import ctypes
import ctypes.util

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gridbuf import gufunc

TYPES = "?bBhHiIlLefdFD"
NAMES = [
    "add",
    "multiply",
    "subtract",
    "maximum",
    "arctan2",
    "less",
    "bitwise_xor",
    "hypot",
    "divide",
    "power",
    "floor_divide",
]
ADOPTED = {name: gufunc.from_ufunc(getattr(np, name)) for name in NAMES}
add = ADOPTED["add"]
LIBM = ctypes.CDLL(ctypes.util.find_library("m"))
PLAIN = gufunc.GUFunc("(),()->()", [gufunc.scalar(LIBM.fmax, "dd->d")], name="fmax")


# NumPy 1 looks at the values of scalars to find the result's type; gufuncs follow NumPy 2
# everywhere.
as_numpy_2 = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="NumPy 2's promotion is the oracle"
)


def same(ours, theirs):
    assert type(ours) is type(theirs) and ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, theirs)


def numpy_or_error(function, *args, **kwargs):
    with np.errstate(all="ignore"):
        try:
            return function(*args, **kwargs), None
        except Exception as error:
            return None, error


@st.composite
def arrays(draw, shape):
    """An array of any type and layout: reversed, strided, broadcast, transposed, byte-swapped or
    unaligned.
    """
    dtype = np.dtype(draw(st.sampled_from(TYPES)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    a = (
        (rng.normal(size=[2 * s for s in shape]) * 9).astype(dtype)
        if dtype.kind not in "uF"
        else rng.integers(0, 9, [2 * s for s in shape]).astype(dtype)
    )
    a = np.asarray(a)[
        tuple(
            draw(st.sampled_from([slice(0, s), slice(0, 2 * s, 2), slice(None, None, -2)]))
            for s in shape
        )
    ]
    a = np.asarray(a)
    form = draw(st.sampled_from(["plain", "fortran", "swapped", "unaligned", "readonly"]))
    if form == "fortran":
        a = np.asfortranarray(a)
    elif form == "swapped":
        a = a.astype(dtype.newbyteorder())
    elif form == "unaligned":
        room = np.empty(a.size * dtype.itemsize + 1, np.uint8)[1:].view(dtype)
        room = room.reshape(a.shape)
        room[...] = a
        a = room
    elif form == "readonly":
        a.flags.writeable = False
    return a


@st.composite
def pairs(draw):
    shapes = draw(
        hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=6, min_side=0)
    ).input_shapes
    return [draw(arrays(s)) for s in shapes]


@as_numpy_2
@settings(deadline=None, max_examples=250)
@given(st.sampled_from(NAMES), pairs())
def test_elementwise_calls_are_numpys(name, operands):
    theirs, error = numpy_or_error(getattr(np, name), *operands)
    if error is not None:
        with pytest.raises(
            type(error).__mro__[-4] if isinstance(error, TypeError) else type(error)
        ):
            ADOPTED[name](*operands, errors="ignore")
        return
    same(ADOPTED[name](*operands, errors="ignore"), theirs)


@as_numpy_2
@settings(deadline=None, max_examples=150)
@given(pairs(), st.data())
def test_a_mask_leaves_elements_untouched(operands, data):
    shape = np.broadcast_shapes(*(o.shape for o in operands))
    mask = data.draw(hnp.arrays(bool, data.draw(st.sampled_from([shape, (), shape[-1:]]))))
    kind = np.result_type(*operands)
    ours, theirs = np.full(shape, 7, kind), np.full(shape, 7, kind)
    with np.errstate(all="ignore"):
        np.add(*operands, out=theirs, where=mask)
    assert add(*operands, out=ours, where=mask, errors="ignore") is ours
    np.testing.assert_array_equal(ours, theirs)


MANY = {
    "transposed": lambda a: a.T,
    "strided": lambda a: a[::2, ::3],
    "reversed": lambda a: a[::-1, ::-1],
    "thin": lambda a: a.reshape(-1, 3, 5)[:, :2].transpose(1, 0, 2),
    "deep": lambda a: a.reshape(20, 6, 25, 4, 25)[:, ::2, :, 1:, ::-1],
}


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("kernel", ["pure", "plain"])
@pytest.mark.parametrize("types", ["bbd", "dff", "ddd", "ffd", ">d<fd"])
@pytest.mark.parametrize("view", MANY.values(), ids=MANY)
def test_many_blocks_over_several_loops(view, types, kernel, masked):
    a, b, out = (
        (np.random.default_rng(k).normal(size=(500, 600)) * 50).astype(t)
        for k, t in enumerate(types if len(types) == 3 else (">d", "<f", "d"))
    )
    a, b, out = view(a), np.ascontiguousarray(view(b)), view(out)
    mask = np.random.default_rng(9).random(a.shape) < 0.4 if masked else True
    fmax = ADOPTED["maximum"] if kernel == "pure" else PLAIN
    with np.errstate(all="ignore"):
        expected = np.where(mask, np.maximum(a, b, dtype="d"), out)
        assert fmax(a, b, out=out, where=mask, signature="dd->d") is out
    np.testing.assert_array_equal(out, expected.astype(out.dtype))


@settings(deadline=None, max_examples=200)
@given(
    st.integers(1, 300),
    st.integers(0, 40),
    st.integers(0, 40),
    st.integers(0, 40),
    st.sampled_from([1, -1, 2, -2]),
)
def test_overlaps_mean_inputs_copied_first(n, a, b, c, step):
    room = np.random.default_rng(n).normal(size=2 * (n + 40))
    views = [room[k : k + abs(step) * n][::step] for k in (a, b, c)]
    expected = views[0] + views[1]
    add(views[0], views[1], out=views[2])
    np.testing.assert_array_equal(views[2], expected)


@pytest.mark.parametrize("n", [10, 100_000, 1_000_000])
@pytest.mark.parametrize("shift", [1, -1, 7, 5000])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_shifted_view_of_itself(n, shift, workers):
    if abs(shift) >= n:
        pytest.skip("no overlap")
    v = np.arange(float(n))
    source, target = (v[:-shift], v[shift:]) if shift > 0 else (v[-shift:], v[:shift])
    expected = source + source
    add(source, source, out=target, workers=workers)
    np.testing.assert_array_equal(target, expected)


def test_the_example_of_the_proposal():
    v = np.arange(10.0)
    add(v[:-1], v[:-1], out=v[1:])
    assert v.tolist() == [0, 0, 2, 4, 6, 8, 10, 12, 14, 16]


def test_a_transposed_view_of_itself():
    a = np.arange(10_000.0).reshape(100, 100)
    expected = a + a.T
    add(a, a.T, out=a)
    np.testing.assert_array_equal(a, expected)


def test_outputs_may_not_overlap():
    divmod_, room = gufunc.from_ufunc(np.divmod), np.zeros(10)
    with pytest.raises(ValueError, match="two outputs"):
        divmod_(np.ones(5), np.ones(5), out=(room[:5], room[2:7]))
    with pytest.raises(ValueError, match="elements of an output share"):
        add(np.ones(5), 1.0, out=np.lib.stride_tricks.as_strided(room, (5,), (0,)))


@as_numpy_2
@pytest.mark.parametrize("number", [2, -3, 2.5, True, 2j, np.float32(2), np.int8(3), 300])
@pytest.mark.parametrize("dtype", TYPES)
def test_python_numbers_are_weak(number, dtype):
    x = np.arange(4).astype(dtype)
    theirs, error = numpy_or_error(np.add, x, number)
    if error is not None:
        with pytest.raises(type(error)):
            add(x, number, errors="ignore")
        return
    for _ in range(2):  # the second call takes the short way
        same(add(x, number, errors="ignore"), theirs)


def test_python_ints_never_wrap():
    for number in (300, -1, 2**70):
        with pytest.raises(OverflowError):
            add(np.zeros(3, np.uint8), number)


@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
@pytest.mark.parametrize("out", ["f", "d", "i"])
def test_casting_is_numpys(casting, out):
    x = np.arange(4, dtype="f")
    target = np.zeros(4, out)
    theirs, error = numpy_or_error(np.add, x, x.astype("d"), out=np.zeros(4, out), casting=casting)
    if error is not None:
        with pytest.raises(gufunc.SignatureError, match="cast"):
            add(x, x.astype("d"), out=target, casting=casting)
    else:
        np.testing.assert_array_equal(add(x, x.astype("d"), out=target, casting=casting), theirs)


@pytest.mark.parametrize(
    "asked",
    [{"dtype": "f"}, {"dtype": "d"}, {"signature": "ff->f"}, {"signature": (None, None, "d")}],
)
def test_types_may_be_asked_for(asked):
    x = np.arange(4, dtype="f")
    same(add(x, x, **asked), np.add(x, x, **asked))


vecdot = gufunc.from_ufunc(np.vecdot) if hasattr(np, "vecdot") else gufunc.dot
matvec = gufunc.from_ufunc(np.matvec) if hasattr(np, "matvec") else gufunc.matvec
with_numpys = pytest.mark.skipif(
    not hasattr(np, "matvec"), reason="np.vecdot and np.matvec came with NumPy 2.2"
)
rng = np.random.default_rng(5)


@with_numpys
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
@pytest.mark.parametrize("keepdims", [False, True])
def test_axis_and_keepdims(axis, keepdims):
    x, y = rng.normal(size=(3, 3, 3)), rng.normal(size=(3, 3, 3))
    ours, theirs = (f(x, y, axis=axis, keepdims=keepdims) for f in (vecdot, np.vecdot))
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=1e-14)


@with_numpys
@pytest.mark.parametrize("axes", [[(0, 1), (0,), (0,)], [(1, 0), (1,), (1,)], [(-1, 0), 0, 1]])
def test_axes(axes):
    a, x = rng.normal(size=(4, 4, 4)), rng.normal(size=(4, 4))
    ours, theirs = (f(a, x, axes=axes) for f in (matvec, np.matvec))
    np.testing.assert_allclose(ours, theirs, rtol=1e-13)
    room = np.zeros((4, 4))
    assert matvec(a, x, axes=axes, out=room) is room
    np.testing.assert_allclose(room, theirs, rtol=1e-13)


def test_wrong_axes_are_refused():
    x = np.zeros((3, 3))
    for wrong in [
        {"axis": 5},
        {"axes": [0]},
        {"axes": [(0, 1), 0, ()]},
        {"axis": 0, "axes": [0, 0, ()]},
    ]:
        with pytest.raises((ValueError, TypeError)):
            vecdot(x, x, **wrong)


@pytest.mark.parametrize("operand", [np.zeros((2, 3, 4)), np.zeros(3)])
def test_an_output_s_axes_are_as_many_as_it_has(operand):
    for entry in [(0, 1), ()]:
        with pytest.raises(
            ValueError,
            match=(
                rf"axes: an output's entry has {len(entry)} axes, expected 1: those of an input's"
                r" core"
            ),
        ):
            vecdot(operand, operand, axes=[(0,), (0,), entry], keepdims=True)
    with pytest.raises(
        ValueError, match="axes: an output's entry has 1 axes, expected 0: those of its core"
    ):
        vecdot(operand, operand, axes=[(0,), (0,), (0,)])


def test_a_scalar_result_is_a_numpy_scalar():
    for _ in range(2):
        assert (
            type(add(1.5, 2.5)) is np.float64 and type(vecdot([1.0, 2.0], [3.0, 4.0])) is np.float64
        )


def test_empty_stacks():
    assert gufunc.inv(np.zeros((0, 3, 3))).shape == (0, 3, 3)
    assert add(np.zeros((0, 4)), np.zeros(4)).shape == (0, 4)
    assert vecdot(np.zeros((2, 0)), np.zeros((2, 0))).tolist() == [0, 0]


def test_results_are_aligned_and_laid_out_as_the_first_input():
    x = np.asfortranarray(rng.normal(size=(30, 40, 50)))
    out = add(x, 1.0)
    assert out.flags.f_contiguous or out.strides[0] == 8
    assert out.__array_interface__["data"][0] % 64 == 0


def test_read_only_outputs_and_wrong_shapes_are_refused():
    x = np.zeros(4)
    frozen = np.zeros(4)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        add(x, x, out=frozen)
    with pytest.raises(ValueError):
        add(x, x, out=np.zeros(3))
    with pytest.raises(ValueError):
        add(x, np.zeros(3))
    with pytest.raises(TypeError, match="where"):
        add(x, x, where=np.zeros(4))
    with pytest.raises(TypeError):
        add(x)


def test_a_casting_rule_holds_for_the_byte_order_too():
    swapped = np.arange(3, dtype=np.dtype("f8").newbyteorder())
    assert add(swapped, 1.0, casting="equiv").tolist() == [1, 2, 3]
    with pytest.raises(gufunc.SignatureError, match="cast"):
        add(swapped, 1.0, casting="no")
    with pytest.raises(ValueError, match="casting"):
        add(swapped, 1.0, casting="maybe")


def test_too_many_dimensions_and_elements():
    with pytest.raises(ValueError, match="dimension"):
        add(np.ones((1,) * 40), 1.0)
    with pytest.raises((MemoryError, ValueError)):
        add(np.broadcast_to(np.float64(1), (2**42, 2**10)), 1.0)


def test_inputs_stay_untouched():
    x = rng.normal(size=(200, 300))
    before = x.copy()
    add(x, x.astype("f"))
    gufunc.inv(x[:, :9].reshape(200, 3, 3).copy())
    np.testing.assert_array_equal(x, before)


def test_the_other_byte_order_is_a_cast_that_no_refuses():
    swapped = np.arange(3.0).astype(">f8")
    with pytest.raises(gufunc.SignatureError, match="casting='no'"):
        add(swapped, swapped, casting="no")
    assert add(swapped, swapped, casting="equiv").tolist() == [0, 2, 4]
