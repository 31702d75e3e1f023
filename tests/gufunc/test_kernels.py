"""The four forms of kernels, signatures, uniform parameters, generators, computed dimensions."""

import ctypes
import ctypes.util
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from gridbuf import gufunc

ARGS, DIMS = ctypes.POINTER(ctypes.c_char_p), ctypes.POINTER(ctypes.c_ssize_t)
ADDRESSES = ctypes.POINTER(ctypes.c_void_p)
LOOP = ctypes.CFUNCTYPE(None, ADDRESSES, DIMS, DIMS, ctypes.c_void_p)
STATUS = ctypes.CFUNCTYPE(
    ctypes.c_ssize_t, ADDRESSES, DIMS, DIMS, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint8)
)


def item(address, type_=ctypes.c_double):
    return type_.from_address(address)


def test_a_scalar_function_of_libm():
    libm = ctypes.CDLL(ctypes.util.find_library("m"))
    cbrt = gufunc.GUFunc(
        "()->()", [gufunc.scalar(libm.cbrtf, "f->f"), gufunc.scalar(libm.cbrt, "d->d")], name="cbrt"
    )
    x = np.linspace(-5, 5, 100_001)
    np.testing.assert_allclose(cbrt(x), np.cbrt(x), rtol=1e-15)
    assert cbrt(x.astype("f")).dtype == np.float32 and cbrt.types == ["f->f", "d->d"]
    fma = gufunc.GUFunc("(),(),()->()", [gufunc.scalar(libm.fma, "ddd->d")])
    assert fma(2.0, [3.0, 4.0], 1.0).tolist() == [7, 9]


def test_a_loop_in_ctypes():
    @LOOP
    def loop(args, dims, steps, data):
        for e in range(dims[0]):
            total = sum(item(args[0] + e * steps[0] + i * steps[2]).value for i in range(dims[1]))
            item(args[1] + e * steps[1]).value = total

    total = gufunc.GUFunc("(n)->()", [gufunc.numpy_loop(loop, "d->d")])
    x = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(total(x), x.sum(-1))
    np.testing.assert_array_equal(total(x, axis=1), x.sum(1))


def test_a_status_loop_says_what_failed():
    @STATUS
    def loop(args, dims, steps, data, status):
        failed = 0
        for e in range(dims[0]):
            x = item(args[0] + e * steps[0]).value
            item(args[1] + e * steps[1]).value = -x
            if x > 2:
                failed += 1
                if status:
                    status[e] = 1
        return failed

    negate = gufunc.GUFunc("()->()", [gufunc.status_loop(loop, "d->d")])
    result, info = negate(np.arange(5.0), errors="return")
    assert info.codes.tolist() == [0, 0, 0, 8, 8] and result.tolist() == [0, -1, -2, -3, -4]


def test_uniform_parameters_arrive_as_a_c_struct():
    class Uniforms(ctypes.Structure):
        _fields_ = [
            ("flag", ctypes.c_bool),
            ("k", ctypes.c_int64),
            ("f", ctypes.c_float),
            ("tol", ctypes.c_double),
        ]

    seen = []

    @LOOP
    def loop(args, dims, steps, data):
        u = Uniforms.from_address(data)
        seen.append((u.flag, u.k, u.f, u.tol))
        for e in range(dims[0]):
            item(args[1] + e * steps[1]).value = item(args[0] + e * steps[0]).value * u.k + u.tol

    g = gufunc.GUFunc(
        "()->() ; flag:bool, k:i64, f:f32, tol:f64", [gufunc.numpy_loop(loop, "d->d")]
    )
    assert g(np.arange(3.0), flag=True, k=-2, f=0.5, tol=1e-3).tolist() == [0.001, -1.999, -3.999]
    assert seen[0] == (True, -2, 0.5, 1e-3)
    good = {"flag": True, "k": 1, "f": 1.0, "tol": 1.0}
    for name, wrong, error in [
        ("k", 1.5, TypeError),
        ("k", 2**63, OverflowError),
        ("flag", 1, TypeError),
        ("tol", "x", TypeError),
        ("tol", [1.0], TypeError),
    ]:
        with pytest.raises(error, match=name):
            g(1.0, **(good | {name: wrong}))
    with pytest.raises(TypeError, match="tol"):
        g(1.0, flag=True, k=1, f=1.0)
    with pytest.raises(OverflowError, match="f: 1e\\+300 does not fit"):
        g(1.0, **(good | {"f": 1e300}))
    g(1.0, flag=np.True_, k=np.int8(-3), f=np.float32(0.25), tol=np.longdouble(2))
    assert seen[-1] == (True, -3, 0.25, 2.0)
    with pytest.raises(TypeError, match="nothing"):
        g(1.0, **good, nothing=1)
    with pytest.raises(gufunc.SignatureError, match="workers"):
        gufunc.GUFunc("()->() ; workers:i64")


@pytest.mark.parametrize(
    "name, low, high",
    [("i8", -128, 127), ("u16", 0, 65535), ("i64", -(2**63), 2**63 - 1), ("u64", 0, 2**64 - 1)],
)
def test_integer_parameters_take_what_fits(name, low, high):
    seen = []

    @LOOP
    def loop(args, dims, steps, data):
        seen.append(
            int(
                np.ctypeslib.as_array(
                    (
                        np.ctypeslib.as_ctypes_type(name[0] + str(int(name[1:]) // 8)) * 1
                    ).from_address(data)
                )[0]
            )
        )

    g = gufunc.GUFunc(f"()->() ; k:{name}", [gufunc.numpy_loop(loop, "d->d")])
    for value in (low, high):
        g(1.0, k=value)
    assert seen == [low, high]
    for value in (low - 1, high + 1):
        with pytest.raises(OverflowError, match=f"k: {value} does not fit"):
            g(1.0, k=value)


def test_the_generator_is_asked_once_for_each_set_of_types():
    libm, asked = ctypes.CDLL(ctypes.util.find_library("m")), []

    def generate(types, layouts):
        asked.append((types, layouts))
        return gufunc.scalar(
            getattr(libm, "cbrt" + ("f" if types == "f" else "")),
            "f->f" if types == "f" else "d->d",
        )

    cbrt = gufunc.GUFunc("()->()", generator=generate)
    for dtype in "fdfdf":
        cbrt(np.ones(3, dtype))
    cbrt(np.ones((3, 2), "d").T)
    assert asked == [("f", ("C",)), ("d", ("C",))]
    with pytest.raises(gufunc.SignatureError, match="generator"):
        gufunc.GUFunc("()->()", generator=lambda types, layouts: None)(1.0)

    def fails(types, layouts):
        raise ZeroDivisionError("mine")

    g = gufunc.GUFunc("()->()", generator=fails)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError, match="mine"):
            g(1.0)


def test_threads_share_the_generators_kernel():
    libm, asked = ctypes.CDLL(ctypes.util.find_library("m")), []

    def generate(types, layouts):
        asked.append(types)
        time.sleep(0.05)
        return gufunc.scalar(libm.cbrt, "d->d")

    cbrt, x = gufunc.GUFunc("()->()", generator=generate), np.full(4, 8.0)
    with ThreadPoolExecutor(4) as pool:
        assert all(r.tolist() == [2, 2, 2, 2] for r in pool.map(cbrt, [x] * 8))
    assert asked == ["d"]


@LOOP
def fill(args, dims, steps, data):
    """(m),(n)->(k): outputs 0, 1, 2, ..."""
    for e in range(dims[0]):
        for i in range(dims[3]):
            item(args[2] + e * steps[2] + i * steps[5]).value = i


def test_computed_dimensions():
    g = gufunc.GUFunc("(m),(n)->(m+n-1)", [gufunc.numpy_loop(fill, "dd->d")])
    assert g(np.ones(3), np.ones(4)).tolist() == [0, 1, 2, 3, 4, 5]
    assert g(np.ones((2, 3)), np.ones(1)).shape == (2, 3)
    with pytest.raises(gufunc.SignatureError):
        g(np.ones(0), np.ones(0))


def test_output_dims():
    g = gufunc.GUFunc(
        "(m),(n)->(k)",
        [gufunc.numpy_loop(fill, "dd->d")],
        output_dims=lambda d: d | {"k": d["m"] * d["n"]},
    )
    assert g(np.ones((5, 3)), np.ones(4)).shape == (5, 12)
    with pytest.raises(gufunc.SignatureError, match="output_dims"):
        gufunc.GUFunc("(m),(n)->(k)", [gufunc.numpy_loop(fill, "dd->d")], output_dims=lambda d: 3)(
            np.ones(2), np.ones(2)
        )


def test_an_output_may_bind_a_dimension():
    g = gufunc.GUFunc("(m),(n)->(k)", [gufunc.numpy_loop(fill, "dd->d")])
    assert g(np.ones(2), np.ones(3), out=np.zeros(7)).tolist() == [0, 1, 2, 3, 4, 5, 6]
    with pytest.raises(gufunc.SignatureError, match="k"):
        g(np.ones(2), np.ones(3))


@pytest.mark.parametrize(
    "signature",
    [
        "",
        "(n",
        "(n)->",
        "->",
        "(n)(m)->()",
        "(n),->()",
        "(n)->() x",
        "(n+1)->()",
        "(n?|2)->()",
        "(n)->(n|1)",
        "(n)->() ; k",
        "(0)->()",
    ],
)
def test_a_bad_signature_shows_the_place(signature):
    with pytest.raises(gufunc.SignatureError) as caught:
        gufunc.GUFunc(signature)
    assert str(caught.value).endswith("^")


def test_a_bad_call_shows_the_signature():
    with pytest.raises(gufunc.SignatureError, match=r"\(n,n\)->\(n,n\)\n +\^"):
        gufunc.inv(np.zeros((3, 4)))
    with pytest.raises(gufunc.SignatureError, match="no kernel"):
        gufunc.inv(np.zeros((3, 3), complex))
    with pytest.raises(gufunc.SignatureError, match="types"):
        gufunc.GUFunc("()->()", [gufunc.numpy_loop(1, "dd->d")])


def test_what_cannot_be_a_source_is_refused():
    for wrong in (0, -1, 2**64):
        with pytest.raises(ValueError, match="address"):
            gufunc.numpy_loop(wrong, "d->d")
    for wrong in ("f", None, 1.5, len):
        with pytest.raises(TypeError, match="source"):
            gufunc.numpy_loop(wrong, "d->d")
    with pytest.raises(TypeError, match="ufunc"):
        gufunc.from_ufunc(len)
    with pytest.raises(gufunc.SignatureError, match="calls Python"):
        gufunc.from_ufunc(np.frompyfunc(abs, 1, 1))
    with pytest.raises(gufunc.SignatureError, match="no Go kernel"):
        gufunc.go("nothing")


def test_optional_and_broadcast_dimensions_as_matmul():
    matmul, rng = gufunc.from_ufunc(np.matmul), np.random.default_rng(0)
    assert np.matmul.signature == "(n?,k),(k,m?)->(n?,m?)"
    for a, b in [
        ((2, 3), (3, 4)),
        ((3,), (3, 4)),
        ((2, 3), (3,)),
        ((3,), (3,)),
        ((5, 2, 3), (3, 4)),
        ((5, 2, 3), (5, 3, 4)),
    ]:
        x, y = rng.normal(size=a), rng.normal(size=b)
        ours, theirs = matmul(x, y), np.matmul(x, y)
        assert np.shape(ours) == np.shape(theirs)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_scipys_ufuncs():
    special = pytest.importorskip("scipy.special")
    x = np.linspace(0.1, 20, 100_000)
    np.testing.assert_array_equal(gufunc.from_ufunc(special.gammaln)(x), special.gammaln(x))
    np.testing.assert_array_equal(gufunc.from_ufunc(special.jv)(0.5, x), special.jv(0.5, x))


def test_a_capsule_and_a_cffi_function():
    new, sin = ctypes.pythonapi.PyCapsule_New, ctypes.CDLL(ctypes.util.find_library("m")).sin
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    sources = [new(ctypes.cast(sin, ctypes.c_void_p), b"double (double)", None)]
    try:
        import cffi
    except ImportError:
        pass
    else:
        ffi = cffi.FFI()
        ffi.cdef("double sin(double);")
        library = ffi.dlopen(ctypes.util.find_library("m"))
        sources += [library.sin, ffi.addressof(library, "sin")]
    x = np.linspace(0, 3, 1000)
    for source in sources:
        g = gufunc.GUFunc("()->()", [gufunc.scalar(source, "d->d", owner=sin)])
        np.testing.assert_allclose(g(x), np.sin(x), rtol=1e-15)
