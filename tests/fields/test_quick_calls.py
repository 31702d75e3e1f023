"""Reductions over indices and np.where that C answers give what gridbuf.fields says: values, names,
halo, origin and layout.
"""

import random
import re
import warnings
from typing import Any

import numpy as np
import pytest

import gridbuf as gb
from gridbuf.named import functions
from gridbuf.named.kinds import FIELDS

NAMES = ["sum", "prod", "mean", "std", "var", "min", "max", "any", "all"]
FUNCTIONS = [np.sum, np.mean, np.max, np.amin, np.median, np.nansum, np.nanmax, np.any, np.std]
UFUNCS = [np.add, np.multiply, np.maximum, np.logical_or]


def drawn(rng: random.Random) -> gb.Field:
    names = rng.choice(["IJK", "KJI", "JK", "I", "IJ", "K0", "IJK0", None])
    ndim = rng.randint(1, 3) if names is None else len(names)
    shape = tuple(rng.choice([3, 4, 7]) for _ in range(ndim))
    spec: dict[str, Any] = {
        "dims": names,
        "backend": rng.choice(["C", "F", "gtmc", "gt:cpu_ifirst", "dace:cpu"]),
    }
    if rng.random() < 0.6:
        spec["halo"] = tuple((rng.randint(0, n // 3), rng.randint(0, n // 3)) for n in shape)
    if rng.random() < 0.2:
        spec["byte_alignment"] = 4096
    field = gb.Field.empty(shape, rng.choice(["f8", "f4", "f2", "i4", "?", "c16", ">f8"]), **spec)
    field.numpy()[...] = np.arange(1, field.size + 1).reshape(shape)
    cut = (slice(rng.randint(0, 1), None), ...) if rng.random() < 0.3 else ...
    return field[cut] if rng.random() < 0.7 else field.T


def drawn_axis(rng: random.Random, field: gb.Field) -> Any:
    some = rng.sample(range(field.ndim), rng.randint(1, field.ndim))
    named = hasattr(field, "__gt_dims__")
    parts = [
        field.dims[i] if named and rng.random() < 0.7 else i - rng.choice([0, field.ndim])
        for i in some
    ]
    if len(parts) == 1 and rng.random() < 0.7:
        return parts[0]
    if (
        all(isinstance(part, str) and len(part) == 1 and part in "IJK" for part in parts)
        and rng.random() < 0.5
    ):
        return "".join(map(str, parts))
    return rng.choice([tuple(parts), tuple(parts), list(parts)])


def same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if not isinstance(expected, gb.Field):
        np.testing.assert_array_equal(found, expected)
        assert getattr(found, "dtype", None) == getattr(expected, "dtype", None)
        return
    np.testing.assert_array_equal(found.numpy(), expected.numpy())
    for what in ("dtype", "dims", "halo", "origin", "strides", "_dims_given"):
        assert getattr(found, what) == getattr(expected, what), what
    for what in ("aligned_index", "byte_alignment", "padded_shape"):
        assert getattr(found.plan, what) == getattr(expected.plan, what), what


@pytest.mark.parametrize("seed", range(4))
def test_reductions(seed: int) -> None:
    rng = random.Random(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(300):
            field = drawn(rng)
            axis = drawn_axis(rng, field)
            name, function, ufunc = rng.choice(NAMES), rng.choice(FUNCTIONS), rng.choice(UFUNCS)
            general = {"axis": axis, "keepdims": False}  # more than an axis is Python's
            same(getattr(field, name)(axis), getattr(np, name)(field, **general))
            if field.dtype.kind != "c" or function not in (np.median, np.max, np.amin, np.nanmax):
                same(function(field, axis=axis), function(field, **general))
            same(ufunc.reduce(field, axis=axis), ufunc.reduce(field, **general))
            same(ufunc.reduce(field), ufunc.reduce(field, axis=0, keepdims=False))


WRONG = [
    "Q",
    "II",
    "",
    7,
    -9,
    1.5,
    True,
    (0, 0),
    ("I", 0),
    ("I", "I"),
    [],
    "IQ",
    2**70,
    None.__class__,
]


@pytest.mark.parametrize("axis", WRONG, ids=repr)
def test_wrong_axes_are_refused_with_the_same_words(axis: Any) -> None:
    field = gb.Field(np.ones((3, 4, 5)), dims="IJK")
    said = []
    for call in (
        lambda: np.sum(field, axis=axis, keepdims=False),
        lambda: np.sum(field, axis=axis),
        lambda: field.sum(axis),
    ):
        try:
            said.append(("gives", call().shape))
        except Exception as error:
            said.append((type(error).__name__, str(error)))
    assert said[0] == said[1] == said[2]


def test_names_are_not_guessed_where_none_were_given() -> None:
    with pytest.raises(ValueError, match="axis: 'I' names an index that is not there"):
        gb.Field(np.ones((3, 4))).sum("I")


def test_a_class_of_the_users_keeps_its_class() -> None:
    class Own(gb.Field):
        pass

    field = Own(np.ones((3, 4)), dims="IJ")
    field.units = "K"
    assert type(field.sum("I")) is type(field) and field.sum("I").units == "K"
    assert isinstance(np.where(field > 0, field, 0.0), Own)


@pytest.mark.parametrize("seed", range(3))
def test_where(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(200):
        field = drawn(rng)
        other = rng.choice(
            [
                field,
                field.copy(),
                field + 1,
                np.asarray(field),
                2,
                2.5,
                np.float32(1),
                True,
                drawn(rng),
            ]
        )
        condition = rng.choice([field > 3, field, np.asarray(field > 3), True, drawn(rng) > 2])
        operands = [condition, field, other] if rng.random() < 0.5 else [condition, other, field]
        try:
            expected = functions.HANDLERS[np.where](FIELDS, *operands)
        except ValueError as error:
            with pytest.raises(ValueError, match=re.escape(str(error))):
                np.where(*operands)
            continue
        same(np.where(*operands), expected)


def test_numbers_that_do_not_fit_fail_as_in_numpy() -> None:
    """NumPy 2.5 refuses the number; before, it took the bytes that fit."""
    small = gb.Field.ones((3,), "u1", dims="I")
    try:
        expected = np.where(small.numpy() > 0, small.numpy(), 300)
    except OverflowError:
        with pytest.raises(OverflowError):
            np.where(small > 0, small, 300)
    else:
        found = np.where(small > 0, small, 300)
        assert found.dtype == expected.dtype
        assert np.array_equal(found.numpy(), expected)
