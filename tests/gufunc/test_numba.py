"""What numba compiles: cfuncs in each form, ufuncs and gufuncs to adopt, a kernel for each type on
demand.
"""

import ctypes
import threading

import numpy as np
import pytest

from gridbuf import gufunc

numba = pytest.importorskip("numba")
types = numba.types
LOOP = types.void(
    types.CPointer(types.intp),
    types.CPointer(types.intp),
    types.CPointer(types.intp),
    types.voidptr,
)


@pytest.fixture(scope="module")
def scale_loop():
    """A NumPy loop: ()->() that adds 1."""

    @numba.extending.intrinsic
    def at(context, address):
        def codegen(context, builder, signature, args):
            return builder.inttoptr(args[0], context.get_value_type(types.CPointer(types.float64)))

        return types.CPointer(types.float64)(types.intp), codegen

    @numba.cfunc(LOOP)
    def loop(args, dims, steps, data):
        for e in range(dims[0]):
            x = numba.carray(at(args[0] + e * steps[0]), 1)
            y = numba.carray(at(args[1] + e * steps[1]), 1)
            y[0] = x[0] + 1

    return loop


def test_a_cfunc_as_a_loop(scale_loop):
    g = gufunc.GUFunc("()->()", [gufunc.numpy_loop(scale_loop, "d->d")])
    x = np.arange(300_000.0)[::3]
    np.testing.assert_array_equal(g(x), x + 1)
    by_address = gufunc.GUFunc(
        "()->()", [gufunc.numpy_loop(scale_loop.address, "d->d", owner=scale_loop)]
    )
    np.testing.assert_array_equal(by_address(x), x + 1)


def test_a_cfunc_of_numbers_fails_where_its_flags_say():
    @numba.cfunc("float64(float64, float64)", error_model="numpy")
    def quotient(a, b):
        return a / b

    g = gufunc.GUFunc("(),()->()", [gufunc.scalar(quotient, "dd->d")])
    x, y = np.arange(100_000.0), np.ones(100_000)
    y[[0, 5, 70_000]] = 0
    for workers in (1, 2):
        result, info = g(x, y, errors="return", workers=workers)
        assert info.codes[[0, 5, 70_000]].tolist() == [1, 2, 2] and info.nfailed == 3
        assert np.array_equal(result[y != 0], x[y != 0])


@numba.vectorize(["f4(f4,f4)", "f8(f8,f8)"])
def mean(a, b):
    return (a + b) / 2


@numba.vectorize
def lazily(a):
    return a * 2


@numba.guvectorize(["(f4[:], f4[:])", "(f8[:], f8[:])"], "(n)->()")
def total(x, out):
    out[0] = x.sum()


def test_adopted_ufuncs():
    g = gufunc.from_ufunc(mean)
    assert g.types == ["ff->f", "dd->d"] and g([1.0, 2.0], 4.0).tolist() == [2.5, 3]
    assert g(np.float32([1, 2]), np.float32(3)).dtype == np.float32
    x, mask = np.random.default_rng(0).normal(size=(200, 300)).T, np.arange(200) % 3 == 0
    out = np.zeros((300, 200))
    g(x, 1.0, where=mask, out=out)
    np.testing.assert_array_equal(out, np.where(mask, (x + 1) / 2, 0))


def test_a_ufunc_without_types_yet():
    with pytest.raises(gufunc.SignatureError, match="no compiled loops"):
        gufunc.from_ufunc(lazily)
    lazily(np.ones(2))
    assert gufunc.from_ufunc(lazily)(np.ones(2)).tolist() == [2, 2]


def test_adopted_gufuncs():
    g = gufunc.from_ufunc(total)
    a = np.random.default_rng(0).normal(size=(40, 50, 60))
    np.testing.assert_allclose(g(a), a.sum(-1))
    np.testing.assert_allclose(g(a, axis=0), a.sum(0))
    assert g(a.astype("f")).dtype == np.float32
    bad = np.zeros((3, 2))
    bad[1] = np.inf, -np.inf
    assert g(bad, errors="return")[1].failed.tolist() == [False, True, False]


def test_a_loop_that_raises_a_python_error():
    @numba.vectorize(["i8(i8,i8)"])
    def divide(a, b):
        return a // b

    g = gufunc.from_ufunc(divide)
    assert g(np.array([7, 8]), 2).tolist() == [3, 4]
    try:  # numba's own ufunc decides whether a zero divisor raises
        expected = divide(np.array([7, 8]), np.array([2, 0]))
    except ZeroDivisionError:
        with pytest.raises(ZeroDivisionError):
            g(np.array([7, 8]), np.array([2, 0]))
    else:
        assert g(np.array([7, 8]), np.array([2, 0]), errors="ignore").tolist() == expected.tolist()


def test_a_kernel_for_each_type_on_demand():
    asked = []

    def generate(chars, layouts):
        asked.append((chars, layouts))
        kind = {"d": numba.float64, "f": numba.float32}[chars[0]]
        return gufunc.scalar(numba.cfunc(kind(kind))(lambda x: 2 * x), f"{chars}->{chars[0]}")

    twice = gufunc.GUFunc("()->()", generator=generate)
    assert twice(np.ones(2, "f")).dtype == np.float32 and twice(np.arange(3.0)[::2]).tolist() == [
        0,
        4,
    ]
    assert twice(np.ones((3, 2), "f", order="F")).dtype == np.float32
    assert asked == [("f", ("C",)), ("d", ("strided",))] and twice.types == ["f->f", "d->d"]
    # A kernel serves what it was asked for, also where a safe cast would reach it
    for other in (complex, "i2"):
        with pytest.raises(KeyError):
            twice(np.ones(2, other))


def test_a_loop_of_numba():
    types = numba.types
    pointer = types.CPointer(types.intp)

    @numba.cfunc(
        types.void(types.CPointer(types.CPointer(types.float64)), pointer, pointer, types.voidptr)
    )
    def largest(args, dims, steps, data):
        for e in range(dims[0]):
            row = numba.carray(args[0], (dims[0] * dims[1],))  # rows one after another
            best = row[e * dims[1]]
            for i in range(1, dims[1]):
                best = max(best, row[e * dims[1] + i])
            numba.carray(args[1], (dims[0],))[e] = best

    x = np.random.default_rng(0).normal(size=(1000, 7))
    f = gufunc.GUFunc("(n)->()", [gufunc.numpy_loop(largest, "d->d")], name="largest")
    np.testing.assert_array_equal(f(x), x.max(1))


def test_numbas_ufuncs_without_types_are_refused():
    @numba.vectorize
    def later(a):
        return a + 1

    with pytest.raises(gufunc.SignatureError, match="no compiled loops"):
        gufunc.from_ufunc(later)
    later(np.ones(3))  # now it has one
    assert gufunc.from_ufunc(later)(np.arange(3.0)).tolist() == [1, 2, 3]


def test_a_failure_in_numbas_loop_is_reported():
    @numba.guvectorize(["(f8[:], f8[:])"], "(n)->()")
    def geometric_mean(x, out):
        total = 0.0
        for v in x:
            total += np.log(v)
        out[0] = np.exp(total / len(x))

    result, info = gufunc.from_ufunc(geometric_mean)(
        np.array([[1.0, 4.0], [-1.0, 2.0], [9.0, 1.0]]), errors="return"
    )
    np.testing.assert_allclose(result[[0, 2]], [2, 3])
    assert info.failed.tolist() == [False, True, False]


@pytest.fixture
def slow(kernels):
    """A vectorized function that does what element() of slow_kernels.c does."""
    kernels.reset()
    element = kernels.element
    element.argtypes, element.restype = [ctypes.c_double], ctypes.c_double
    return gufunc.from_ufunc(numba.vectorize(["f8(f8)"])(lambda x: element(x)))


def test_a_vectorized_function_runs_on_all_cores(slow):
    # The last ones wait until two threads are there
    x = np.concatenate([np.full(5, 10.0), np.full(20, -1.0)])
    np.testing.assert_array_equal(slow(x, workers=2), 2 * x)


def test_a_vectorized_function_runs_without_the_gil(slow, kernels):
    threading.Timer(0.01, kernels.set_flag).start()
    np.testing.assert_array_equal(slow(np.full(3, -2.0)), -4)


@numba.vectorize(["f8(f8)"])
def plus_one(x):
    if x < 0:
        raise ValueError("it is negative")
    return x + 1


@pytest.mark.parametrize("n", [1, 3, 100, 3000, 2_000_000])
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_an_error_comes_through_from_any_element_and_any_thread(n, workers):
    g = gufunc.from_ufunc(plus_one)
    for at in {0, n // 3, n // 2, n - 1}:
        x = np.ones(n)
        x[at] = -1
        with pytest.raises(ValueError, match="it is negative"):
            g(x, workers=workers)
        with pytest.raises(ValueError, match="it is negative"):
            g.submit(x, workers=workers).result()
        np.testing.assert_array_equal(g(np.ones(n), workers=workers), 2)


def test_every_thread_may_raise():
    g = gufunc.from_ufunc(plus_one)
    x = np.full(300_000, 1.0)
    x[::100] = -1
    for _ in range(10):
        with pytest.raises(ValueError, match="it is negative"):
            g(x, workers=4)
    assert g(np.ones(3)).tolist() == [2, 2, 2]


def test_an_error_in_a_reduction():
    @numba.vectorize(["f8(f8,f8)"])
    def add(a, b):
        if b == 7:
            raise ValueError("seven")
        return a + b

    g = gufunc.from_ufunc(add)
    x = np.ones((50, 40_000))
    np.testing.assert_array_equal(g.reduce(x, axis=1), 40_000)
    x[30, 30_000] = 7
    for workers in (1, 2):
        for axis in (0, 1):
            with pytest.raises(ValueError, match="seven"):
                g.reduce(x, axis=axis, workers=workers)


@pytest.mark.parametrize("n", [2, 5000, 1_000_000])
def test_numpys_integer_power_raises_from_any_thread(n):
    power = gufunc.from_ufunc(np.power)
    x, exponents = np.full(n, 3), np.full(n, 2)
    np.testing.assert_array_equal(power(x, exponents, workers=2), 9)
    for at in (0, n // 2, n - 1):
        exponents[:] = 2
        exponents[at] = -1
        for workers in (1, 2):
            with pytest.raises(ValueError, match="negative integer powers"):
                power(x, exponents, workers=workers)
