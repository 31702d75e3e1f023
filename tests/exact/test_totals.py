"""Totals of parts are those of the whole; what is not summed is refused."""

from typing import Any

import numpy as np
import pytest
from exact_values import wide

import gridbuf as gb
from gridbuf.exact import Total


@pytest.mark.parametrize("dtype", ["int64", "float64", "complex128"])
def test_totals_of_parts_are_that_of_the_whole(dtype: str) -> None:
    rng = np.random.default_rng(9)
    x = wide(rng, 10_000, -500, 500)
    x = (
        (x + 1j * x[::-1]).astype(dtype)
        if dtype[0] == "c"
        else (rng.integers(-(2**62), 2**62, 10_000) if dtype[0] == "i" else x)
    )
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
    for dtype, wrong in [
        ("int64", 1.5),
        ("float64", 1),
        ("float64", 1j),
        ("complex128", 1),
        ("int64", 1j),
    ]:
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


@pytest.mark.parametrize(
    "dtype",
    ["longdouble", "clongdouble", "M8[s]", "m8[s]", "S3", "U3", "V8", object, [("x", "f8")]],
)
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
