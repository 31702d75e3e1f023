"""What a call says of wrong arguments, and what a gufunc says of itself."""

import copy
import ctypes
import ctypes.util
import decimal
import inspect
import pickle
import pydoc
from typing import Any

import numpy as np
import pytest

import gridbuf as gb
import gridbuf.storage as gs
from gridbuf import gufunc

add, logical_not = gufunc.from_ufunc(np.add), gufunc.from_ufunc(np.logical_not)
LIBM = ctypes.CDLL(ctypes.util.find_library("m"))
LIBM.cbrt.restype, LIBM.cbrt.argtypes = ctypes.c_double, [ctypes.c_double]
# Never run
scaled = gufunc.GUFunc(
    "()->() ; k:i64, tol:f64", gufunc.numpy_loop(LIBM.cbrt, "d->d"), name="scaled"
)
WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "input": (lambda: add(None, 1.0), TypeError, "^input 0: "),
    "second": (lambda: add(1.0, object()), TypeError, "^input 1: "),
    "text": (lambda: add("a", 1.0), TypeError, "^input 0: no kernel takes elements of type <U1"),
    "decimal": (lambda: add(decimal.Decimal(1), 1.0), TypeError,
    "^input 0: no kernel takes elements of type object"),
    "date": (lambda: add(np.array([1], "M8[s]"), 1), TypeError,
    r"^input 0: no kernel takes elements of type datetime64\[s\]"),
    "masked": (lambda: add(1.0, np.ma.array([1.0, 2.0], mask=[0, 1])), ValueError,
    "^input 1: 1 of its 2 elements are masked"),
    "dimensions": (lambda: add(np.ones((1,) * 33), 1), ValueError,
    "^input 0: 33 dimensions; at most 32"),
    "out": (lambda: add(1.0, 2.0, out=3), TypeError, "^out: "),
    "second out": (lambda: gufunc.from_ufunc(np.modf)(1.0, out=(None, 3)), TypeError,
    r"^out\[1\]: "),
    "read-only": (lambda: add(1.0, 2.0, out=np.broadcast_to(1.0, 3)), ValueError,
    "^out: it is read-only"),
    "where": (lambda: add(1.0, 2.0, where=1.0), TypeError, "^where: expected bools, got float64"),
    "dtype": (lambda: add(1.0, 2.0, dtype="foo"), TypeError, "^dtype: 'foo' is no dtype"),
    "date dtype": (lambda: add(1.0, 2.0, dtype="M8[s]"), TypeError,
    r"^dtype: no kernel has the type datetime64\[s\]"),
    "signature": (lambda: add(1.0, 2.0, signature=("d", "foo", None)), TypeError,
    "^signature: 'foo' is no dtype"),
    "both": (lambda: add(1.0, 2.0, signature="dd->d", dtype="d"), TypeError,
    "^dtype: it cannot be given together with signature"),
    "workers": (lambda: add(1.0, 2.0, workers="a"), TypeError,
    "^workers: expected an int .* or None, got 'a'"),
    "no workers": (lambda: add(1.0, 2.0, workers=0), ValueError,
    "^workers: expected 1 or more, got 0"),
    "errors": (lambda: add(1.0, 2.0, errors="no"), ValueError, "^errors: 'no' is none of"),
    "casting": (lambda: add(1.0, 2.0, casting=3), ValueError, "^casting: 3 is none of"),
    "axis": (lambda: gufunc.dot(np.ones(3), np.ones(3), axis=1.5), TypeError,
    "^axis: expected an int or a name, got 1.5"),
    "far axis": (lambda: gufunc.dot(np.ones(3), np.ones(3), axis=4), ValueError,
    "^axis: 4 is out of range for input 0"),
    "axes": (lambda: gufunc.dot(np.ones(3), np.ones(3), axes=3), TypeError,
    "^axes: expected a list"),
    "set of axes": (lambda: gufunc.dot(np.ones(3), np.ones(3), axes={0}), TypeError,
    "^axes: expected a list"),
    "swapped": (lambda: add(1.0, np.ones(3, ">f8"), casting="no"), TypeError,
    "input 1 cannot be cast from >f8 to float64 with casting='no'"),
    "swapped truth": (lambda: logical_not(np.ones(3, ">f8"), casting="no"), TypeError,
    "input 0 cannot be cast from >f8 to float64"),
    "keyword": (lambda: add(1.0, 2.0, wher=True), TypeError,
    "^wher: .* the keywords of a call are out, where, axes"),
    "uniform": (lambda: scaled(1.0, k=1, toll=1), TypeError,
    "^toll: .* the uniform parameters k, tol"),
    "NumPy's": (lambda: add(1.0, 2.0, order="C"), TypeError,
    "order= of NumPy's ufuncs is none of them"),
    "sizes": (lambda: add(np.ones(3), np.ones(4)), ValueError,
    r"do not broadcast: input 1 has size 4 .*\n    \(\),\(\)->\(\)\n"),
    "size of out": (lambda: add(np.ones(3), 1.0, out=np.ones(4)), ValueError,
    r"\n    \(\),\(\)->\(\)\n    input 0 \(3\)"),
    "float as int": (lambda: add(np.ones(2, "b"), 1.5, dtype="b"), TypeError,
    "input 1 cannot be cast from float64 to int8"),
    "no signature": (lambda: gufunc.GUFunc(None), TypeError,
    "^signature: expected a str .*, got None"),  # type: ignore[arg-type]
    "long name": (lambda: gufunc.GUFunc("(" + "n" * 5000 + ")->()"), gufunc.SignatureError,
    "^signature: its names have 5001 bytes"),
    "kernels": (lambda: gufunc.GUFunc("()->()", 3), TypeError,
    "^kernels: expected a sequence of kernels, got 3"),  # type: ignore[arg-type]
    "flags": (lambda: gufunc.GUFunc("()->()", flags="invalid"), ValueError, "^flags: "),
    "generator": (lambda: gufunc.GUFunc("()->()", generator=3), TypeError,
    "^generator: expected a function"),  # type: ignore[arg-type]
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [("flags", None), ("flags", 1j), ("flags", "invalid"), ("flags", [1]), ("doc", np.zeros(2)),
    ("types", None), ("kernel", "x")],
)  # fmt: skip
def test_what_a_gufunc_is_not_made_of(name: str, value: Any) -> None:
    def make() -> Any:
        if name == "types":
            return gufunc.scalar(1 << 20, value)
        return (
            gufunc.GUFunc("()->()").register(value)
            if name == "kernel"
            else gufunc.GUFunc("()->()", **{name: value})
        )

    with pytest.raises((TypeError, ValueError), match=rf"^{name}: "):
        make()


@pytest.mark.parametrize("name", WRONG)
def test_errors_name_the_argument(name: str) -> None:
    call, kind, message = WRONG[name]
    for _ in range(2):
        with pytest.raises(kind, match=message):
            call()


@pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="NumPy 1 looks at the values of scalars"
)
def test_values_without_memory_are_read_as_numpy_reads_them() -> None:
    class Number(float):
        pass

    x = np.ones(3, np.float32)
    for value in (range(3), Number(2), (1, 2, 3), [[1], [2]], True, np.float32(2)):
        ours, theirs = add(x, value), np.add(x, value)
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


def test_one_kernel_needs_no_list() -> None:
    assert gufunc.GUFunc("()->()", gufunc.scalar(LIBM.fabs, "d->d"))(-2.0) == 2.0


def test_sources_of_scipy_and_numba() -> None:
    scipy = pytest.importorskip("scipy")
    cbrt = gufunc.GUFunc("()->()", gufunc.scalar(scipy.LowLevelCallable(LIBM.cbrt), "d->d"))
    assert cbrt(8.0) == 2.0
    with pytest.raises(ValueError, match="user_data"):
        gufunc.scalar(scipy.LowLevelCallable(LIBM.cbrt, ctypes.c_void_p(1)), "d->d")
    numba = pytest.importorskip("numba")
    with pytest.raises(TypeError, match=r"source: .* compile it with numba\.cfunc"):
        gufunc.scalar(numba.njit(lambda x: x), "d->d")


def test_a_gufunc_shows_how_it_is_called() -> None:
    assert str(inspect.signature(add)).startswith("(x1, x2, /, *, out=None, where=True, axes=None")
    assert list(inspect.signature(scaled).parameters)[:3] == ["x", "k", "tol"]
    assert list(inspect.signature(gufunc.GUFunc).parameters) == [
        "signature", "kernels", "name", "doc", "generator", "output_dims", "flags", "identity",
    ]  # fmt: skip
    text = pydoc.render_doc(gufunc.inv)
    assert "errors='raise', workers=None" in text and "singular ones fail" in text
    with pytest.raises(AttributeError, match="nothing"):
        add.nothing  # noqa: B018


def test_copies_and_pickles() -> None:
    for g in (add, gufunc.inv, gufunc.log, scaled):
        assert copy.copy(g) is g and copy.deepcopy([g])[0] is g
    assert pickle.loads(pickle.dumps(gufunc.inv)) is gufunc.inv
    again = pickle.loads(pickle.dumps(gufunc.from_ufunc(np.divide, flags=("divide",))))
    assert again(np.array([1.0, 0.0]), 0.0, errors="return")[1].codes.tolist() == [2, 0]
    special = pytest.importorskip("scipy.special")
    assert pickle.loads(pickle.dumps(gufunc.from_ufunc(special.gammaln)))(3.0) == special.gammaln(
        3.0
    )
    with pytest.raises(TypeError, match=r"scaled.* cannot be pickled: its kernels are addresses"):
        pickle.dumps(scaled)


def test_resolve_says_what_a_call_would_give() -> None:
    rng = np.random.default_rng(0)
    f = gb.Field(rng.normal(size=(6, 5)), dims="JI")
    for g, args, kwargs in [
        (add, (np.ones((3, 1), "f4"), np.ones(5)), {}),
        (add, (np.ones(3, "f4"), 2), {"dtype": "d"}), (add, (f, 1.0), {}),
        (gufunc.dot, (f, f), {"axis": "J"}),
        (gufunc.dot, (np.ones((3, 4)),) * 2, {"axis": 0, "keepdims": True}),
        (gufunc.inv, (np.ones((0, 3, 3)),), {}),
        (gufunc.from_ufunc(np.modf), (np.ones((2, 2)).T,), {}),
    ]:  # fmt: skip
        plan, made = g.resolve(*args, **kwargs), g(*args, **kwargs)
        made = made if isinstance(made, tuple) else (made,)
        for out, real in zip(plan.outputs, made, strict=True):
            array = np.asarray(real)
            assert (out.shape, out.dtype, out.strides, out.given) == (
                array.shape,
                array.dtype,
                array.strides,
                False,
            )
            assert out.dims == getattr(real, "__gt_dims__", None)
    room = np.zeros((2, 3), "f4")
    plan = add.resolve(np.ones(3), 1.0, out=room)
    assert plan.outputs[0].given and plan.outputs[0].dtype == np.float32 and plan.kernel == "dd->d"
    assert (plan.outer_shape, plan.nelements, plan.chunks) == ((2, 3), 6, 1) and room.sum() == 0
    for out in (gs.zeros((2, 3), axes="IJ"), gb.Field.zeros((2, 3), dims="IJ")):
        assert add.resolve(out, 1.0, out=out).outputs[0].dims == ("I", "J")
    cells = gb.Field.zeros((2,), dims=("Cell",))
    assert add.resolve(cells, 1.0, out=cells).outputs[0].dims == ("Cell",)
    assert gufunc.matvec.resolve(np.ones((2, 3)), np.ones(3)).core == {"m": 2, "n": 3}
    with pytest.raises(gufunc.SignatureError, match="broadcast"):
        add.resolve(np.ones(3), np.ones(4))


def test_outputs_without_elements_need_no_memory() -> None:
    empty = np.broadcast_to(np.float64(1), (0, 2**30, 2**20))
    before = gb.memory.stats()["peak_bytes"]
    assert add(empty, 1.0).shape == empty.shape
    assert gb.memory.stats()["peak_bytes"] - before < 1 << 22


@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
def test_the_first_kernel_asked_for_that_the_casting_rule_reaches_is_taken(casting: str) -> None:
    """As NumPy says of each pair of types, and of the other byte order."""
    fabs = ctypes.CDLL(None).fabs
    for own in "?bBhHiIlLefdgFDG":
        for other in "?bBhHiIlLefdgFDG":
            if own == other:
                continue
            g = gufunc.GUFunc(
                "()->()",
                [gufunc.numpy_loop(fabs, f"{other}->d"), gufunc.numpy_loop(fabs, f"{own}->d")],
            )
            reached = np.can_cast(np.dtype(own), np.dtype(other), casting)  # type: ignore[arg-type]
            found = g.resolve(np.zeros(2, own), dtype="d", casting=casting).kernel
            assert found == (f"{other}->d" if reached else f"{own}->d"), (own, other)
    g = gufunc.GUFunc("()->()", [gufunc.numpy_loop(fabs, "d->d")])
    if casting == "no":
        with pytest.raises(gufunc.SignatureError, match="cannot be cast from >f8"):
            g.resolve(np.zeros(2, ">f8"), dtype="d", casting=casting)
    else:
        assert g.resolve(np.zeros(2, ">f8"), dtype="d", casting=casting).kernel == "d->d"


def test_the_first_name_of_from_ufunc() -> None:
    assert gufunc.adopt is gufunc.from_ufunc
