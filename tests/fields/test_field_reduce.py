"""Reductions over named indices, and the other methods of ufuncs."""

from typing import Any

import numpy as np
import pytest

import gridbuf as gb

VALUES = np.random.default_rng(3).random((4, 5, 6))


def make() -> gb.Field:
    return gb.Field(VALUES.copy(), "KJI", halo=(1, (2, 0), 0))


@pytest.mark.parametrize(
    ("axis", "numbers", "left"),
    [
        ("K", 0, "JI"),
        ("I", 2, "KJ"),
        ("IK", (2, 0), "J"),
        (("J", "K"), (1, 0), "I"),
        (("J", -1), (1, 2), "K"),
        (1, 1, "KI"),
        ((0, 1), (0, 1), "I"),
    ],
)
def test_axes_are_names_or_numbers_and_the_rest_keeps_halo_and_origin(axis: Any, numbers: Any, left: str) -> None:
    f = make()
    pairs = dict(zip("KJI", f.halo, strict=True))
    for result, expected in (
        (np.add.reduce(f, axis=axis), VALUES.sum(numbers)), (f.sum(axis), VALUES.sum(numbers)), (np.max(f, axis), VALUES.max(numbers)),
        (f.mean(axis=axis), VALUES.mean(numbers)), (np.std(f, axis, ddof=1), VALUES.std(numbers, ddof=1)), (f.all(axis), VALUES.all(numbers)),
        (np.nanmin(f, axis), VALUES.min(numbers)), (np.median(f, axis), np.median(VALUES, numbers)),
    ):  # fmt: skip
        assert isinstance(result, gb.Field) and "".join(result.dims) == left
        assert result.halo == tuple(pairs[n] for n in left) and result.origin == tuple(pairs[n][0] for n in left)
        assert np.allclose(result.numpy(), expected) and result.dtype == expected.dtype


def test_of_everything_comes_a_number() -> None:
    f = make()
    for result, expected in (
        (f.sum(), VALUES.sum()),
        (f.min(), VALUES.min()),
        (np.mean(f), VALUES.mean()),
        (np.add.reduce(f, axis=None), VALUES.sum()),
    ):
        assert isinstance(result, np.float64) and np.isclose(result, expected)
    assert f.any() and f.argmax() == VALUES.argmax() and not gb.Field.zeros((2, 2)).any()


def test_options() -> None:
    f = make()
    assert f.sum("J", keepdims=True).shape == (4, 1, 6) and f.sum("J", keepdims=True).halo == ((1, 1), (0, 0), (0, 0))
    assert f.sum("J", dtype="f4").dtype == "f4" and np.isclose(np.sum(f, initial=5.0), VALUES.sum() + 5)
    mask = gb.Field(np.arange(6) > 2, "I")
    assert np.allclose(np.add.reduce(f, axis="K", where=mask).numpy(), (VALUES * (np.arange(6) > 2)).sum(0))
    out = gb.Field.zeros((6, 5), dims="IJ")
    assert np.add.reduce(f, axis="K", out=out) is out and np.allclose(out.numpy(), VALUES.sum(0).T)
    plain = np.zeros((5, 6))
    assert f.sum("K", out=plain) is plain and np.allclose(plain, VALUES.sum(0))
    with pytest.raises(ValueError, match=r"out: its dims are \('I',\), the result has \('J', 'I'\)"):
        np.add.reduce(f, axis="K", out=gb.Field.zeros((6,), dims="I"))
    with pytest.raises(ValueError, match=r"where: its dims \('0',\) are not all among"):
        np.add.reduce(f, where=gb.Field(np.ones(6, bool), ["0"]))


@pytest.mark.parametrize(
    ("axis", "error", "match"),
    [
        ("X", ValueError, "names an index"),
        ("KK", ValueError, "twice"),
        (3, np.exceptions.AxisError, "3"),
        (1.5, TypeError, "names or numbers"),
        ("", ValueError, "names"),
    ],
)
def test_wrong_axes_are_named(axis: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        make().sum(axis)
    with pytest.raises(ValueError, match="no names"):
        gb.Field(VALUES).sum("I")


def test_the_place_of_an_element() -> None:
    f = make()
    assert np.array_equal(f.argmin("J").numpy(), VALUES.argmin(1)) and f.argmin("J").dims == ("K", "I")
    with pytest.raises(ValueError, match="one index"):
        f.argmax("IJ")


def test_accumulating_keeps_all_indices() -> None:
    f = make()
    for result in (np.add.accumulate(f, axis="K"), f.cumsum("K"), np.cumsum(f, axis=0)):
        assert np.allclose(result.numpy(), VALUES.cumsum(0)) and result.halo == f.halo and result.dims == f.dims
    assert np.allclose(f.cumprod("I").numpy(), VALUES.cumprod(2))
    out = gb.Field.zeros((6, 5, 4), dims="IJK")
    assert np.add.accumulate(f, axis="K", out=out) is out and np.allclose(out.numpy(), VALUES.cumsum(0).T)
    with pytest.raises(ValueError, match="which index"):
        f.cumsum()
    parts = np.add.reduceat(f, [0, 2, 3], axis="J")
    assert np.allclose(parts.numpy(), np.add.reduceat(VALUES, [0, 2, 3], axis=1)) and parts.halo == ((1, 1), (0, 0), (0, 0))


def test_outer_of_names_that_differ() -> None:
    a, b = gb.Field(np.arange(3.0), "K"), gb.Field(np.arange(2.0), "I")
    result = np.multiply.outer(a, b)
    assert result.dims == ("K", "I") and np.array_equal(result.numpy(), np.multiply.outer(np.arange(3.0), np.arange(2.0)))
    for other in (a, np.arange(2.0)):
        with pytest.raises(TypeError, match=r"field.numpy\(\) goes by position"):
            np.multiply.outer(a, other)


def test_at_goes_by_position_and_says_so() -> None:
    f = gb.Field.zeros((3,), dims="I")
    np.add.at(f, [0, 0, 2], 1.0)
    assert f.tolist() == [2, 0, 1]
    with pytest.raises(TypeError, match="what the indices select has no names"):
        np.add.at(f, [0, 1], gb.Field(np.ones(2), "I"))
