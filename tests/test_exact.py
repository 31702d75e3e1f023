"""Exact sums against math.fsum, fractions and Python's integers, to the last bit."""

import math
import os
import struct
import sys
import threading
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import gridbuf as gb
from gridbuf.exact import Total

FLOATS = ["float16", "float32", "float64"]
INTEGERS = ["bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))]
any_double = st.floats(allow_nan=False, allow_infinity=False)


def bits(x: float) -> bytes:
    return struct.pack("<d", x)


def rounded(value: Fraction) -> float:
    """To the nearest double, as math.fsum rounds; beyond the range an infinity."""
    try:
        return value.numerator / value.denominator
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def exactly(values: Any) -> float:
    return rounded(sum((Fraction(float(v)) for v in np.asarray(values).ravel()), Fraction()))


def wide(rng: np.random.Generator, shape: Any, low: int = -1074, high: int = 1020) -> np.ndarray:
    """Numbers of every exponent."""
    return np.ldexp(rng.uniform(-1, 1, shape), rng.integers(low, high, shape))


# ---- sums ----


@given(st.lists(any_double, max_size=60))
@settings(deadline=None)
def test_sum_has_the_bits_of_fsum(values: list[float]) -> None:
    try:
        wanted = math.fsum(values)
    except OverflowError:  # an intermediate sum; ours has none
        wanted = exactly(values)
    assert bits(gb.exact.sum(np.array(values))) == bits(wanted)


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=40), st.sampled_from([1, 2, -1, 3]))
@settings(deadline=None)
def test_float32_sums_are_exact(values: list[float], step: int) -> None:
    x = np.array(values, "f4")[::step]
    assert bits(gb.exact.sum(x)) == bits(math.fsum(x.tolist()))


@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 511, 512, 513, 2047, 2048, 2049, 5000, 40_000])
@pytest.mark.parametrize("spread", [(0, 1), (-20, 20), (-300, 300), (-1074, 1000), (-1074, -1000), (960, 1010)])
def test_sizes_and_spreads(size: int, spread: tuple[int, int]) -> None:
    rng = np.random.default_rng(size)
    x = wide(rng, size, *spread)
    assert bits(gb.exact.sum(x)) == bits(math.fsum(x))
    total = np.concatenate([x, -x[::-1]])
    rng.shuffle(total)
    assert bits(gb.exact.sum(total)) == bits(0.0)
    if size:
        total[3 % size] += total[3 % size] + 1
        assert bits(gb.exact.sum(total)) == bits(math.fsum(total))


@pytest.mark.parametrize("dtype", FLOATS)
def test_layouts(dtype: str) -> None:
    rng = np.random.default_rng(1)
    base = rng.standard_normal((23, 41, 37)).astype(dtype)
    views = [base, base.T, base[::2, ::-3], base[:, 5:8], base[5, 5, 5], base[3:3], base.transpose(1, 2, 0)[::-1, :, ::7]]
    views += [np.broadcast_to(base[0, 0], (9, 37)), np.asfortranarray(base)[1:-1, 1:-1, 1:-1]]
    for view in views:
        assert bits(gb.exact.sum(view)) == bits(math.fsum(view.ravel().tolist())), view.strides
    swapped = base.astype(np.dtype(dtype).newbyteorder(">"))
    assert bits(gb.exact.sum(swapped)) == bits(gb.exact.sum(base))


def test_unaligned_memory() -> None:
    raw = np.zeros(8 * 4000 + 3, np.uint8)
    x = raw[3:].view(np.float64)
    x[...] = np.random.default_rng(2).standard_normal(4000)
    assert bits(gb.exact.sum(x)) == bits(math.fsum(x))
    assert gb.exact.dot(x, x) == exactly([0]) + rounded(sum(Fraction(v) ** 2 for v in x.tolist()))


def test_fields_storages_and_lists() -> None:
    f = gb.Field.zeros((20, 30, 10), "float64", dims="IJK", halo=(3, 3, 0), backend="gt:cpu_ifirst")
    f[...] = np.random.default_rng(3).standard_normal((20, 30, 10))
    assert bits(gb.exact.sum(f)) == bits(math.fsum(f.numpy().ravel()))
    assert bits(gb.exact.sum(f.domain)) == bits(math.fsum(f.domain.numpy().ravel()))
    assert gb.exact.sum(gb.storage.ones((3, 4), "float64")) == 12
    assert gb.exact.sum([[1, 2], [3, 4]]) == 10
    assert gb.exact.sum(2.5) == 2.5


def test_signed_zeros_and_nothing() -> None:
    for x in ([], [0.0], [-0.0], [-0.0, -0.0], [1.0, -1.0]):
        assert bits(gb.exact.sum(np.array(x, float))) == bits(math.fsum(x))
    assert gb.exact.sum(np.zeros(0, int)) == 0
    assert isinstance(gb.exact.sum(np.zeros(0, int)), int)
    assert gb.exact.sum(np.zeros((3, 0), complex)) == 0j


INF, NAN = math.inf, math.nan


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", [3, 3000])
@pytest.mark.parametrize(
    ("special", "wanted"),
    [([INF], INF), ([-INF], -INF), ([INF, INF], INF), ([INF, -INF], NAN), ([NAN], NAN), ([NAN, INF], NAN), ([-NAN], NAN)],
)
def test_infinities_and_nan(dtype: str, size: int, special: list[float], wanted: float) -> None:
    for at in (0, size // 2, size - len(special)):
        x = np.ones(size, dtype)
        x[at : at + len(special)] = special
        for result in (gb.exact.sum(x), gb.exact.mean(x)):
            assert result == wanted or (math.isnan(result) and math.isnan(wanted))
        y = -x
        result = gb.exact.sum(y)
        assert result == -wanted or (math.isnan(result) and math.isnan(wanted))


def test_nan_among_zeros() -> None:
    for at in range(70):
        x = np.zeros(2048)
        x[at * 29] = NAN
        assert math.isnan(gb.exact.sum(x))
        assert math.isnan(gb.exact.dot(x, np.ones(2048)))


def test_beyond_the_range() -> None:
    largest = sys.float_info.max
    assert gb.exact.sum([largest, largest]) == INF
    assert gb.exact.sum([-largest, -largest]) == -INF
    assert gb.exact.sum([largest, largest, -largest]) == largest
    assert gb.exact.sum(np.tile([largest, -largest], 5000)) == 0
    assert gb.exact.mean([largest, largest]) == largest
    half = math.ulp(largest) / 2
    assert gb.exact.sum([largest, half]) == INF
    assert gb.exact.sum([largest, math.nextafter(half, 0)]) == largest


def test_subnormals_where_a_library_flushes_them() -> None:
    """Compilers' fast-math start-up code sets flush-to-zero for the whole thread."""
    if not sys.platform.startswith("linux") or os.uname().machine != "x86_64":
        pytest.skip("the machine code below is x86-64's")
    import ctypes
    import mmap

    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(bytes.fromhex("897c24fc0fae5424fcc3"))  # mov [rsp-4], edi; ldmxcsr [rsp-4]; ret
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    set_csr = ctypes.CFUNCTYPE(None, ctypes.c_uint32)(address)
    x = np.full(4096, 5e-324)
    y = np.full(4096, 2.0**-500)
    total, product = Total("float64"), Total("float64")
    set_csr(0x1F80 | 0x8040)
    try:
        flushed = float(x[0]) * 1.0  # what Python makes of it, and of results, is the thread's affair
        total.add(x)
        product.add_product(x, y)
    finally:
        set_csr(0x1F80)
    assert flushed == 0
    assert total.sum() == 4096 * 5e-324
    assert product.root() == math.sqrt(4096 * 2.0**-574) * 2.0**-500


# ---- integers ----


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_are_pythons(dtype: str) -> None:
    rng = np.random.default_rng(4)
    for shape in [(0,), (1,), (7, 3), (100, 50), (30_000,)]:
        x = (
            rng.integers(0, 2, shape).astype(bool)
            if dtype == "bool"
            else rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)
        )
        for view in (x, x[::2], x[::-1], x.T):
            result = gb.exact.sum(view)
            assert type(result) is int
            assert result == sum(view.ravel().tolist())
        if x.size:
            assert gb.exact.mean(x) == sum(x.ravel().tolist()) / x.size


@pytest.mark.parametrize("value", [-(2**63), 2**63 - 1])
def test_integers_beyond_64_bits(value: int) -> None:
    x = np.full(100_000, value)
    assert gb.exact.sum(x) == 100_000 * value
    assert gb.exact.dot(x, x) == 100_000 * value * value


@pytest.mark.parametrize("other", INTEGERS)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_products_of_integers(dtype: str, other: str) -> None:
    rng = np.random.default_rng(5)

    def draw(name: str) -> np.ndarray:
        if name == "bool":
            return rng.integers(0, 2, 300).astype(bool)
        return rng.integers(np.iinfo(name).min, np.iinfo(name).max, 300, name, endpoint=True)

    x, y = draw(dtype), draw(other)
    assert gb.exact.dot(x, y) == sum(int(a) * int(b) for a, b in zip(x, y, strict=True))


# ---- products ----


def dot_exactly(x: np.ndarray, y: np.ndarray) -> float:
    pairs = zip(x.ravel().tolist(), y.ravel().tolist(), strict=True)
    return rounded(sum((Fraction(a) * Fraction(b) for a, b in pairs), Fraction()))


@given(st.lists(st.tuples(any_double, any_double), max_size=40))
@settings(deadline=None)
def test_products_are_exact(values: list[tuple[float, float]]) -> None:
    x, y = np.array([a for a, _ in values]), np.array([b for _, b in values])
    assert bits(gb.exact.dot(x, y)) == bits(dot_exactly(x, y))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("spread", [(0, 1), (-30, 30), (-500, 500), (-1074, -400), (480, 540)])
def test_products_of_many_sizes(dtype: str, spread: tuple[int, int]) -> None:
    rng = np.random.default_rng(6)
    for size in (1, 33, 2048, 3001):
        with np.errstate(over="ignore"):
            x, y = (np.nan_to_num(wide(rng, size, *spread).astype(dtype), posinf=1, neginf=-1) for _ in range(2))
        assert bits(gb.exact.dot(x, y)) == bits(dot_exactly(x, y))
        assert bits(gb.exact.dot(x[::2], y[::-2][: (size + 1) // 2])) == bits(dot_exactly(x[::2], y[::-2]))


def test_products_cancel() -> None:
    rng = np.random.default_rng(7)
    x, y = rng.standard_normal(5000), rng.standard_normal(5000)
    assert gb.exact.dot(np.concatenate([x, x]), np.concatenate([y, -y])) == 0
    assert gb.exact.dot(np.concatenate([x, x, [2.0**-40]]), np.concatenate([y, -y, [1.0]])) == 2.0**-40


def test_specials_in_products() -> None:
    for size in (4, 4000):
        one = np.ones(size)
        for a, b, wanted in [(INF, 2, INF), (INF, -2, -INF), (INF, 0, NAN), (NAN, 0, NAN), (-INF, -INF, INF)]:
            x, y = one.copy(), one.copy()
            x[-1], y[-1] = a, b
            result = gb.exact.dot(x, y)
            assert result == wanted or (math.isnan(result) and math.isnan(wanted))
        x, y = one.copy(), one.copy()
        x[:2], y[:2] = INF, [1, -1]
        assert math.isnan(gb.exact.dot(x, y))


def test_floats_with_small_integers() -> None:
    x = np.array([0.1, 0.2, 0.3])
    for dtype in ("bool", "int8", "uint32"):
        y = np.array([1, 0, 1]).astype(dtype)
        assert gb.exact.dot(x, y) == gb.exact.dot(y, x) == math.fsum([0.1, 0.3])
    for dtype in ("int64", "uint64"):
        with pytest.raises(TypeError, match=f"y: not every {dtype} is a float64"):
            gb.exact.dot(x, np.ones(3, dtype))
        with pytest.raises(TypeError, match=f"x: not every {dtype} is a float64"):
            gb.exact.dot(np.ones(3, dtype), x)


def test_fields_meet_by_name() -> None:
    a = gb.Field.zeros((3, 5), dims="IJ")
    b = gb.Field.zeros((5, 3), dims="JI")
    a[...] = np.arange(15.0).reshape(3, 5)
    b[...] = np.arange(15.0).reshape(5, 3)
    assert gb.exact.dot(a, b) == float((a.numpy() * b.numpy().T).sum())
    with pytest.raises(ValueError, match=r"y: dims \('K', 'J'\); x has \('I', 'J'\)"):
        gb.exact.dot(a, gb.Field.zeros((3, 5), dims="KJ"))


# ---- complex numbers, means, norms ----


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers_go_by_part(dtype: str) -> None:
    rng = np.random.default_rng(8)
    z, w = ((rng.standard_normal((40, 60)) + 1j * rng.standard_normal((40, 60))).astype(dtype)[:, ::2] for _ in range(2))
    assert gb.exact.sum(z) == complex(math.fsum(z.real.ravel().tolist()), math.fsum(z.imag.ravel().tolist()))
    real = dot_exactly(np.array([z.real, -z.imag]), np.array([w.real, w.imag]))
    imaginary = dot_exactly(np.array([z.real, z.imag]), np.array([w.imag, w.real]))
    assert gb.exact.dot(z, w) == complex(real, imaginary)
    x = rng.standard_normal(z.shape).astype(z.real.dtype)
    assert gb.exact.dot(x, z) == gb.exact.dot(z, x) == complex(dot_exactly(x, z.real), dot_exactly(x, z.imag))
    mean = gb.exact.mean(z)
    assert mean.imag == rounded(sum(Fraction(v) for v in z.imag.ravel().tolist()) / z.size)
    field = gb.Field.zeros(z.shape, dtype, dims="IJ", backend="gt:cpu_ifirst")
    field[...] = z
    assert gb.exact.sum(field) == gb.exact.sum(z)


@given(hnp.arrays(np.float64, st.integers(1, 30), elements=st.floats(allow_nan=False, allow_infinity=False)))
@settings(deadline=None)
def test_means_are_rounded_once(x: np.ndarray) -> None:
    assert bits(gb.exact.mean(x)) == bits(rounded(sum(Fraction(v) for v in x.tolist()) / len(x)))


def test_means_of_nothing() -> None:
    assert math.isnan(gb.exact.mean([]))
    assert math.isnan(gb.exact.mean(np.zeros(0, int)))
    assert math.isnan(gb.exact.mean(np.zeros(0, complex)).real)


def close(root: float, square: Fraction) -> bool:
    """No other double is closer to the square root."""
    if root == INF:
        return square >= Fraction(sys.float_info.max) ** 2
    below, above = (Fraction(math.nextafter(root, to)) for to in (0.0, INF) if math.nextafter(root, to) != INF)
    return ((below + Fraction(root)) / 2) ** 2 <= square <= ((above + Fraction(root)) / 2) ** 2


@given(hnp.arrays(np.float64, st.integers(1, 10), elements=st.floats(-1e300, 1e300)))
@settings(deadline=None)
def test_norms_are_rounded_once(x: np.ndarray) -> None:
    root, square = gb.exact.norm(x), sum(Fraction(v) ** 2 for v in x.tolist())
    assert close(root, square)


def test_norms() -> None:
    assert gb.exact.norm(np.array([3, 4], "i1")) == 5
    assert gb.exact.norm(np.array([3e-200, 4e-200])) == 5e-200
    assert gb.exact.norm([3 + 4j, 12]) == 13
    assert gb.exact.norm([]) == 0
    assert gb.exact.norm([INF, 1]) == INF
    assert math.isnan(gb.exact.norm([NAN, INF]))
    assert gb.exact.norm([sys.float_info.max] * 2) == INF


# ---- totals ----


@pytest.mark.parametrize("dtype", ["int64", "float64", "complex128"])
def test_totals_of_parts_are_that_of_the_whole(dtype: str) -> None:
    rng = np.random.default_rng(9)
    x = wide(rng, 10_000, -500, 500)
    x = (x + 1j * x[::-1]).astype(dtype) if dtype[0] == "c" else (rng.integers(-(2**62), 2**62, 10_000) if dtype[0] == "i" else x)
    whole = gb.exact.sum(x)
    for cuts in ([3, 5000], [1, 2, 3, 9999], list(range(0, 10_000, 97))):
        totals = []
        for part in np.split(x, cuts):
            totals.append(Total(dtype))
            totals[-1].add(part)
        reduced = Total(dtype, np.sum([t.values for t in totals], axis=0))  # as an Allreduce does
        assert reduced.sum() == whole
        assert reduced.count == 10_000
        merged = Total(dtype)
        for t in reversed(totals):
            merged += t
        assert merged.sum() == whole
        assert np.array_equal(merged.values, _one_form(reduced).values)


def _one_form(total: Total) -> Total:
    other = Total(total.sum().__class__)
    other += total
    return other


def test_the_words_do_not_depend_on_the_order() -> None:
    rng = np.random.default_rng(10)
    x = wide(rng, 5000)
    words = set()
    for _ in range(5):
        rng.shuffle(x)
        total = Total("float64")
        total.add(x)
        words.add(total.values.tobytes())
    assert len(words) == 1


def test_a_total_takes_its_own_kind() -> None:
    for dtype, wrong in [("int64", 1.5), ("float64", 1), ("float64", 1j), ("complex128", 1), ("int64", 1j)]:
        with pytest.raises(TypeError, match=r"x: .* do not go into a Total of"):
            Total(dtype).add(np.array([wrong]))
    total = Total("complex128")
    total.add(np.array([1.5]))  # reals are complex numbers
    total.add(np.array([1j]))
    assert total.sum() == 1.5 + 1j
    with pytest.raises(TypeError):
        total += 3
    with pytest.raises(ValueError, match="complex"):
        total.root()
    negative = Total("float64")
    negative.add([-1.0])
    with pytest.raises(ValueError, match="negative"):
        negative.root()


@pytest.mark.parametrize(
    ("values", "error"),
    [
        (np.zeros(3, np.int64), ValueError),
        (np.zeros(140), TypeError),
        (np.zeros(280, np.int64)[::2], TypeError),
        ([0] * 140, TypeError),
    ],
)
def test_wrong_values(values: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="values: "):
        Total("float64", values)


@pytest.mark.parametrize("dtype", ["longdouble", "clongdouble", "M8[s]", "m8[s]", "S3", "U3", "V8", object, [("x", "f8")]])
def test_what_is_not_summed(dtype: Any) -> None:
    x = np.zeros(3, dtype)
    for call in (gb.exact.sum, gb.exact.mean, gb.exact.norm, lambda x: gb.exact.dot(x, x)):
        with pytest.raises(TypeError, match=r"x: .*(elements|objects)"):
            call(x)
    with pytest.raises(TypeError, match="dtype: "):
        Total(x.dtype)


def test_wrong_operands() -> None:
    with pytest.raises(TypeError, match="x: "):
        gb.exact.sum(object())
    with pytest.raises(TypeError, match="x: "):
        gb.exact.sum("abc")
    with pytest.raises(ValueError, match=r"y: shape \(4,\); x has \(3,\)"):
        gb.exact.dot(np.ones(3), np.ones(4))
    with pytest.raises(ValueError, match=r"y: shape"):
        gb.exact.dot(np.ones((3, 1)), np.ones(3))


# ---- threads and processes ----


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_threads_make_no_difference(threads: int) -> None:
    x = wide(np.random.default_rng(11), (300, 2001), -300, 300)
    before = gb.get_num_threads()
    gb.set_num_threads(threads)
    try:
        assert bits(gb.exact.sum(x)) == bits(math.fsum(x.ravel()))
        assert bits(gb.exact.sum(x.T[1:])) == bits(math.fsum(x.T[1:].ravel()))
        total = Total("float64")
        total.add_product(x, x)
        total.add_product(-x, x)
        assert total.sum() == 0
    finally:
        gb.set_num_threads(before)


def test_sums_on_several_threads_at_once() -> None:
    x = wide(np.random.default_rng(12), 200_000, -300, 300)
    wanted, results = math.fsum(x), []
    threads = [threading.Thread(target=lambda: results.extend(gb.exact.sum(x) for _ in range(10))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [wanted] * 40


def test_a_forked_child_sums() -> None:
    x = np.random.default_rng(13).standard_normal(500_000)
    wanted = gb.exact.sum(x)
    child = os.fork()
    if child == 0:
        os._exit(0 if gb.exact.sum(x) == wanted else 1)
    assert os.waitpid(child, 0)[1] == 0
