"""Exact products, means, norms and sums of complex numbers against fractions, to the last bit."""

import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from exact_values import FLOATS, INF, INTEGERS, NAN, any_double, bits, rounded, wide
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import gridbuf as gb


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
            x, y = (
                np.nan_to_num(wide(rng, size, *spread).astype(dtype), posinf=1, neginf=-1)
                for _ in range(2)
            )
        assert bits(gb.exact.dot(x, y)) == bits(dot_exactly(x, y))
        assert bits(gb.exact.dot(x[::2], y[::-2][: (size + 1) // 2])) == bits(
            dot_exactly(x[::2], y[::-2])
        )


def test_products_cancel() -> None:
    rng = np.random.default_rng(7)
    x, y = rng.standard_normal(5000), rng.standard_normal(5000)
    assert gb.exact.dot(np.concatenate([x, x]), np.concatenate([y, -y])) == 0
    assert (
        gb.exact.dot(np.concatenate([x, x, [2.0**-40]]), np.concatenate([y, -y, [1.0]])) == 2.0**-40
    )


def test_specials_in_products() -> None:
    for size in (4, 4000):
        one = np.ones(size)
        for a, b, wanted in [
            (INF, 2, INF),
            (INF, -2, -INF),
            (INF, 0, NAN),
            (NAN, 0, NAN),
            (-INF, -INF, INF),
        ]:
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
    z, w = (
        (rng.standard_normal((40, 60)) + 1j * rng.standard_normal((40, 60))).astype(dtype)[:, ::2]
        for _ in range(2)
    )
    assert gb.exact.sum(z) == complex(
        math.fsum(z.real.ravel().tolist()), math.fsum(z.imag.ravel().tolist())
    )
    real = dot_exactly(np.array([z.real, -z.imag]), np.array([w.real, w.imag]))
    imaginary = dot_exactly(np.array([z.real, z.imag]), np.array([w.imag, w.real]))
    assert gb.exact.dot(z, w) == complex(real, imaginary)
    x = rng.standard_normal(z.shape).astype(z.real.dtype)
    assert (
        gb.exact.dot(x, z)
        == gb.exact.dot(z, x)
        == complex(dot_exactly(x, z.real), dot_exactly(x, z.imag))
    )
    mean = gb.exact.mean(z)
    assert mean.imag == rounded(sum(Fraction(v) for v in z.imag.ravel().tolist()) / z.size)
    field = gb.Field.zeros(z.shape, dtype, dims="IJ", backend="gt:cpu_ifirst")
    field[...] = z
    assert gb.exact.sum(field) == gb.exact.sum(z)


@given(
    hnp.arrays(
        np.float64, st.integers(1, 30), elements=st.floats(allow_nan=False, allow_infinity=False)
    )
)
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
    below, above = (
        Fraction(math.nextafter(root, to)) for to in (0.0, INF) if math.nextafter(root, to) != INF
    )
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
