"""Copy programs that add: sums against NumPy's, of every type, in the order of the entries."""

from collections.abc import Sequence

import numpy as np
import pytest
from copy_entries import (
    ADD,
    CLEAR,
    FLOATS,
    ITEMS,
    SIGN,
    copy,
    entry,
    expected,
    random_case,
    same_bits,
    slot,
)

from gridbuf._core import CopyProgram

NUMBERS = ["?", *"bBhHiIlLqQ", *FLOATS]


def numbers(rng: np.random.Generator, shape: Sequence[int], char: str) -> np.ndarray:
    values = rng.standard_normal(shape) * 10.0 ** rng.integers(-6, 4, shape)
    if char in "?":
        return values > 0
    return values.astype(char) if char in FLOATS else (values * 1000).astype(np.int64).astype(char)


@pytest.mark.parametrize("mode", [ADD, ADD | SIGN, ADD | CLEAR])
@pytest.mark.parametrize("char", NUMBERS)
def test_sums(char: str, mode: int) -> None:
    if mode & SIGN and char == "?":
        pytest.skip("bools are not subtracted")
    rng = np.random.default_rng(ord(char) + mode)
    for _ in range(20):
        to, dst, source, src = random_case(rng, char)
        to[...], source[...] = numbers(rng, to.shape, char), numbers(rng, source.shape, char)
        wanted = expected(to, dst, dst - src if mode & SIGN else dst + src)
        left = expected(source, src, np.zeros(src.shape, char) if mode & CLEAR else src)
        copy(dst, to, src, source, mode)
        assert np.array_equal(to, wanted), (dst.shape, dst.strides, src.strides)
        assert same_bits(source, left)


@pytest.mark.parametrize("mode", [ADD, ADD | SIGN])
@pytest.mark.parametrize("char", NUMBERS)
def test_sums_of_dense_rows(char: str, mode: int) -> None:
    """Of any length and place in memory; rows that overlap go element by element in its order."""
    if mode & SIGN and char == "?":
        pytest.skip("bools are not subtracted")
    rng = np.random.default_rng(ord(char))
    for n in [*range(1, 20), 33, 130]:
        for to, by in ((0, 0), (1, 0), (3, 2)):
            total, other = numbers(rng, (n + 3,), char), numbers(rng, (n + 3,), char)
            dst, src = total[to : to + n], other[by : by + n]
            wanted = expected(total, dst, dst - src if mode & SIGN else dst + src)
            copy(dst, total, src, other, mode)
            assert np.array_equal(total, wanted), (n, to, by)
    for shift in (1, 2, 5, 17):
        values = numbers(rng, (60,), char)
        wanted = values.copy()
        for i in range(60 - shift):
            x, y = wanted[i + shift : i + shift + 1], wanted[i : i + 1]
            wanted[i + shift] = (x - y if mode & SIGN else x + y)[0]
        copy(values[shift:], values, values[:-shift], values, mode)
        assert np.array_equal(values, wanted), shift


def test_sums_of_halves_are_numpys() -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        for _ in range(40):
            other = rng.permutation(every)
            total = every.copy()
            copy(total, total, other, other, ADD)
            wanted = every + other
            assert np.array_equal(total, wanted, equal_nan=True)
            finite = ~np.isnan(wanted)
            assert np.array_equal(total.view(np.uint16)[finite], wanted.view(np.uint16)[finite])


@pytest.mark.parametrize("dtype", [">f8", ">i4", "V8", "M8[s]", "m8[s]", "S3", "U2"])
def test_what_cannot_be_added(dtype: str) -> None:
    a = np.zeros(3, dtype)
    with pytest.raises(TypeError, match=r"entries\[0\]: elements of dtype .* cannot be added"):
        copy(a, a, a, a, ADD)


def test_cleared_sources() -> None:
    rng = np.random.default_rng(5)
    for item in ITEMS:
        to, dst, source, src = random_case(rng, f"V{item}")
        wanted, left = expected(to, dst, src), expected(source, src, np.zeros(src.shape, src.dtype))
        copy(dst, to, src, source, CLEAR)
        assert same_bits(to, wanted)
        assert same_bits(source, left)


def test_sums_go_in_order() -> None:
    """Float sums depend on their order: that of the entries."""
    values = np.array([1e16, 1.0, -1e16, 1.0])
    total = np.zeros(1)
    parts = [entry(0, total, total, 1, values[i : i + 1], values, ADD | CLEAR) for i in range(4)]
    for order in ([0, 1, 2, 3], [0, 2, 1, 3], [1, 3, 0, 2]):
        values[:] = [1e16, 1.0, -1e16, 1.0]
        total[:] = 0
        wanted = 0.0
        for i in order:
            wanted += values[i]
        CopyProgram([slot("t", total), slot("v", values)], [parts[i] for i in order]).run(
            total, values
        )
        assert total[0] == wanted
        assert not values.any()
