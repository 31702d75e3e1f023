"""What reduce takes, what it says about what it does not take, Fields, and forked children."""

import os
import signal
import threading

import numpy as np
import pytest

import gridbuf as gb
from gridbuf import gufunc

add, multiply, maximum = (gufunc.from_ufunc(u) for u in (np.add, np.multiply, np.maximum))


# ---- items of 32 bytes ----


def test_complex_long_doubles_by_any_door():
    assert add.reduce(np.ones(100_000, "G")) == 100_000
    assert add.reduce(np.ones(100_000, "G"), where=np.ones(100_000, bool)) == 100_000
    assert add.reduce(np.ones(5, "G"), where=np.zeros(5, bool)) == 0
    assert (
        multiply.reduce(np.ones(0, "G")) == 1
        and multiply.reduce(np.ones(3, "G"), where=np.array([True, False, True])) == 1
    )
    for axis in (0, 1, None):
        found = add.reduce(np.full((2, 3000), 1 + 2j, "G"), axis=axis)
        assert (
            found.dtype == np.clongdouble
            and (found == np.add.reduce(np.full((2, 3000), 1 + 2j, "G"), axis=axis)).all()
        )
    assert add.reduce(np.ones(3, "G"), initial=1j) == 3 + 1j


# ---- where it begins ----


def test_one_element_begins_with_the_identity():
    assert (
        gufunc.from_ufunc(np.hypot).reduce(np.array([-3.0])) == 3
        and gufunc.from_ufunc(np.gcd).reduce(np.array([-4])) == 4
    )
    assert gufunc.from_ufunc(np.hypot).reduce(np.array([[-3.0]]), axis=()) == 3
    for dtype in "BHIL":
        assert gufunc.from_ufunc(np.bitwise_and).reduce(np.array([7, 5], dtype)) == 5


def test_initial_comes_first():
    assert multiply.reduce(np.array([1e200, 1e200]), initial=1e-300) == 1e100
    assert (
        add.reduce(np.arange(3), initial=2.5) == 5
        and add.reduce(np.ones(3), initial=np.float32(2)) == 5
    )


@pytest.mark.parametrize("initial", [1j, np.complex128(1), "a", "5", np.ones(3), np.ones(1), [1]])
def test_initial_is_one_number_of_the_type(initial):
    with pytest.raises((TypeError, ValueError), match="initial"):
        add.reduce(np.ones((2, 3)), initial=initial)
    with pytest.raises(OverflowError, match="initial"):
        gufunc.from_ufunc(np.bitwise_or).reduce(np.ones(3, np.uint8), initial=300)


def test_nothing_to_begin_with():
    with pytest.raises(ValueError, match="identity"):
        add.reduce(np.zeros((3, 0)), axis=1, initial=None)
    with pytest.raises(ValueError, match="where"):
        add.reduce(np.zeros(3), where=np.ones(3, bool), initial=None)
    assert add.reduce(np.zeros(3), initial=None) == 0


# ---- types ----


def test_the_type_of_out_counts_as_numpys():
    a = np.full((2, 3), 2.7)
    for kind in "ilfdB":
        out, expected = np.zeros(3, kind), np.add.reduce(a, out=np.zeros(3, kind))
        assert add.reduce(a, out=out) is out and np.array_equal(out, expected)
    out = np.zeros((), np.int8)
    np.add.reduce(np.full(3, 100, np.int8), out=(expected := np.zeros((), np.int8)))
    assert add.reduce(np.full(3, 100, np.int8), out=out) == expected


def test_any_number_of_combinations_of_types():
    one = gufunc.from_ufunc(np.add)
    types = "bBhHiIlLefd"
    for dtype in types:
        for out in types:
            for array in types:
                assert one.reduce(np.ones(3, array), dtype=dtype, out=np.zeros((), out)) == 3


def test_states_say_what_they_take():
    with pytest.raises(gufunc.SignatureError, match="type f and d"):
        gufunc.moments.reduce(np.ones(3, np.longdouble))
    for keywords in ({"where": np.ones(3, bool)}, {"initial": 1}, {"dtype": "d"}):
        with pytest.raises(gufunc.SignatureError, match="StateKernel"):
            gufunc.moments.reduce(np.ones(3), **keywords)
    mean, variance = gufunc.moments.reduce(
        np.arange(6, dtype=np.int16).reshape(2, 3), axis=1, keepdims=True
    )
    assert mean.tolist() == [[1], [4]] and np.allclose(variance, 2 / 3)


# ---- arguments ----


@pytest.mark.parametrize(
    ("axis", "says"),
    [
        (2, "dimensions"),
        (-3, "dimensions"),
        ((0, 0), "twice"),
        ((0, -2), "twice"),
        ("I", "name"),
        (("I",), "name"),
        ("X", "unknown"),
    ],
)
def test_axes_that_are_not_there(axis, says):
    with pytest.raises(ValueError, match=f"axis: .*{says}"):
        add.reduce(np.ones((2, 3)), axis=axis)


@pytest.mark.parametrize("axis", [1.0, True, [0], object()])
def test_axes_that_are_none(axis):
    with pytest.raises(TypeError, match="axis"):
        add.reduce(np.ones((2, 3)), axis=axis)


@pytest.mark.parametrize(
    ("keywords", "error", "says"),
    [
        ({"errors": "never"}, ValueError, "errors"),
        ({"workers": 0}, ValueError, "workers"),
        ({"workers": 1.5}, TypeError, "workers"),
        ({"out": np.zeros(2)}, ValueError, "out: its shape"),
        ({"out": (np.zeros(3), np.zeros(3))}, ValueError, "out"),
        ({"out": [1, 2, 3]}, TypeError, "out"),
        ({"out": np.broadcast_to(0.0, 3)}, ValueError, "read-only"),
        ({"out": np.lib.stride_tricks.as_strided(np.zeros(1), (3,), (0,))}, ValueError, "share"),
        ({"where": np.ones((2, 3))}, TypeError, "where"),
        ({"where": np.ones((4, 2, 3), bool)}, ValueError, "where"),
        ({"where": np.ones(2, bool)}, ValueError, "where"),
        ({"dtype": "M8[s]"}, TypeError, "dtype"),
        ({"keep": 1}, TypeError, "keep"),
    ],
)
def test_wrong_arguments_are_named(keywords, error, says):
    with pytest.raises(error, match=says):
        add.reduce(np.ones((2, 3)), **keywords)


def test_what_has_no_memory_or_no_kernel_is_named():
    with pytest.raises(TypeError, match="array"):
        add.reduce(None)
    with pytest.raises(TypeError, match="array"):
        add.reduce(np.array(["a"]))
    with pytest.raises(TypeError, match="array"):
        add.reduce()
    assert (
        add.reduce([1, 2, 3]) == 6
        and add.reduce(5.0) == 5
        and add.reduce(memoryview(b"abc")) == sum(b"abc")
    )


def test_out_may_overlap_the_array():
    for out_of in (lambda a: a[0], lambda a: a[-1], lambda a: a[:, 2][:3], lambda a: a[1:4, 1]):
        a = np.arange(30.0).reshape(5, 6)
        out = out_of(a)
        axis = 0 if out.shape == (6,) else 1
        expected = a[: out.size].sum(1) if axis else a.sum(0)
        add.reduce(a if not axis else a[: out.size], axis=axis, out=out)
        assert np.array_equal(out, expected)


@pytest.mark.filterwarnings("ignore:Setting the dtype")
def test_a_dtype_that_changes_while_the_arguments_are_read():
    a = np.ones(4)

    class Axis:
        def __index__(self):
            a.dtype = np.int64
            return 0

    assert add.reduce(a, axis=Axis()) == np.ones(4).view(np.int64).sum()


# ---- Fields ----


def test_fields_keep_what_stays():
    f = gb.Field(
        np.arange(120.0).reshape(4, 5, 6), dims="IJK", halo=(1, (1, 2), 0), origin=(1, 1, 0)
    )
    a = f.numpy()
    for axis, number in (
        ("K", 2),
        ("I", 0),
        (1, 1),
        ("IJ", (0, 1)),
        (("I", "K"), (0, 2)),
        (("J", 0), (1, 0)),
    ):
        found = add.reduce(f, axis=axis)
        gone = number if isinstance(number, tuple) else (number,)
        assert np.array_equal(found.numpy(), a.sum(number))
        assert found.dims == tuple(n for d, n in enumerate("IJK") if d not in gone)
        assert found.halo == tuple(h for d, h in enumerate(f.halo) if d not in gone)
        assert found.origin == tuple(o for d, o in enumerate(f.origin) if d not in gone)
    kept = add.reduce(f, axis="J", keepdims=True)
    assert (
        kept.dims == ("I", "J", "K")
        and kept.halo == ((1, 1), (0, 0), (0, 0))
        and kept.origin == (1, 0, 0)
    )
    assert isinstance(add.reduce(f, axis="IJK"), np.float64)
    mean, variance = gufunc.moments.reduce(f, axis="K")
    assert mean.dims == variance.dims == ("I", "J") and mean.halo == ((1, 1), (1, 2))


def test_names_that_are_not_there():
    f = gb.Field(np.ones((2, 3)), dims="IJ")
    for axis in ("K", ("I", "K"), "IK"):
        with pytest.raises(ValueError, match="axis: K is none"):
            add.reduce(f, axis=axis)
    with pytest.raises(ValueError, match="where"):
        add.reduce(f, where=gb.Field(np.ones(2, bool), dims="K"))


def test_results_and_masks_by_name():
    a = np.arange(24.0).reshape(2, 3, 4)
    f, out = gb.Field(a, dims="IJK"), gb.Field(np.zeros((4, 2)), dims="KI")
    assert add.reduce(f, axis="J", out=out) is out and np.array_equal(out.numpy(), a.sum(1).T)
    with pytest.raises(ValueError, match="out"):
        add.reduce(f, axis="J", out=gb.Field(np.zeros((2, 4)), dims="IJ"))
    mask = gb.Field(np.array([[True, False], [True, True], [False, True]]), dims="JI")
    expected = np.add.reduce(a, axis=1, where=mask.numpy().T[:, :, None])
    assert np.array_equal(add.reduce(f, axis="J", where=mask).numpy(), expected)
    plain = np.zeros((2, 4))
    assert add.reduce(f, axis="J", out=plain) is plain and np.array_equal(plain, a.sum(1))


# ---- failures ----


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("shape", [(5, 7), (300, 400), (3, 70_000), (70_000, 3)])
def test_the_same_outputs_fail_for_any_number_of_workers(shape, axis):
    a = np.ones(shape)
    a[1, 2], a[2, 2] = np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        expected = np.isnan(a.sum(axis)) if axis != 1 else None
        codes = [add.reduce(a, axis, errors="return", workers=w)[1] for w in (1, 2, 4)]
    if axis == 1:
        assert not any(codes)  # inf and -inf are in different rows
    else:
        assert all(np.array_equal(c.failed, expected) for c in codes) and all(
            c.codes.shape == expected.shape for c in codes
        )


def test_warnings_point_at_the_caller():
    with pytest.warns(RuntimeWarning, match="1 of 1 elements failed") as caught:
        add.reduce(np.array([np.inf, -np.inf]), errors="warn")
    assert caught[0].filename == __file__


# ---- long ones, children ----


def test_ctrl_c_reaches_a_fold_of_slow_elements():
    numba = pytest.importorskip("numba")

    @numba.cfunc("float64(float64, float64)")
    def slow(a, b):
        for i in range(300_000):
            a += b / (1.0 + i + a * a)
        return a

    g = gufunc.GUFunc("(),()->()", [gufunc.scalar(slow, "dd->d")], identity=0.0)
    with pytest.raises(KeyboardInterrupt):
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        while True:
            g.reduce(np.ones(100_000))


@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_forked_child_reduces_what_its_parent_did():
    a = np.arange(300_000.0).reshape(300, 1000)
    f = gb.Field(a, dims="IJ")
    calls = [
        lambda: add.reduce(a).sum(), lambda: add.reduce(a, axis=None),
        lambda: add.reduce(a, axis=1, keepdims=True, workers=2).sum(),
        lambda: add.reduce(f, axis="J").numpy().sum(), lambda: maximum.reduce(a, axis=None),
        lambda: gufunc.moments.reduce(a, None)[0],
        lambda: add.reduce(a, None, where=a > 3), lambda: add.reduce(a, None, initial=4.0),
        lambda: add.reduce(a, None, dtype="f"),
    ]  # fmt: skip
    before = [call() for call in calls]
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            same = [call() for call in calls] == before
            os.write(writer, b"y" if same else b"n")
        except BaseException as error:
            os.write(writer, repr(error).encode()[:200])
        os._exit(0)
    os.close(writer)
    assert os.read(reader, 200) == b"y"
    os.close(reader)
    os.waitpid(child, 0)


def test_a_repeated_reduction_runs_no_python(monkeypatch):
    from gridbuf.gufunc import choosing, errors, operands

    a = np.ones((3, 5), np.float32)
    calls = [
        lambda: add.reduce(a),
        lambda: add.reduce(a, axis=(0, 1), keepdims=True),
        lambda: add.reduce(gb.Field(a, dims="IJ"), "J"),
    ]
    for call in calls:
        call()
    for module, name in (
        (choosing, "choose_reduction"),
        (choosing, "initial_value"),
        (operands, "normal"),
        (errors, "conclude"),
    ):
        monkeypatch.delattr(module, name)
    for call in calls:
        call()
    # Another shape of a known type asks Go alone
    add.reduce(np.ones((7, 2, 9), np.float32), axis=1)
