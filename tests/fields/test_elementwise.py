"""Ufuncs of Fields that run without NumPy's iterator give NumPy's values, dtypes, warnings and
errors.
"""

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gridbuf as gb

UFUNCS = [
    u
    for u in vars(np).values()
    if isinstance(u, np.ufunc) and u.nout == 1 and u.nin in (1, 2) and u.signature is None
]
ROWS = [np.add, np.subtract, np.multiply, np.true_divide]
EXACT = {
    np.add, np.subtract, np.multiply, np.true_divide, np.negative, np.absolute, np.sqrt, np.square,
    np.maximum, np.minimum, np.less,
    np.equal, np.greater_equal, np.logical_and, np.isfinite, np.floor, np.sign, np.bitwise_and,
    np.invert, np.left_shift,
}  # fmt: skip
DTYPES = "?bBhHiIlLqQefdgFDG"
VALUES = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    3.0,
    1e300,
    -1e300,
    1e-310,
    1e38,
    2.0**-140,
    float("inf"),
    -float("inf"),
    float("nan"),
]


def drawn_array(rng: random.Random, dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    special = rng.random() < 0.3 and dtype in "efdgFDG"
    pool = np.array(VALUES if special else [1.0, 2.0, 3.0, 0.5, 0.0, 5.0, 7.0])
    with np.errstate(all="ignore"):
        values: np.ndarray[Any, Any] = pool[
            np.array([rng.randrange(len(pool)) for _ in range(int(np.prod(shape)))], int)
        ].astype(dtype)
    return values.reshape(shape)


def laid(rng: random.Random, values: np.ndarray[Any, Any]) -> Any:
    """A Field of the values: whole, the interior of a larger one, in another order of strides,
    reversed or strided.
    """
    n = values.ndim
    how = rng.choice(["whole", "inside", "inside", "order", "reversed", "step"])
    order = rng.sample(range(n), n)
    grown = [
        size + 2 if how == "inside" else 2 * size if how == "step" else size
        for size in values.shape
    ]
    memory = gb.empty([grown[i] for i in order], values.dtype).transpose(np.argsort(order))
    cut = {
        "inside": slice(1, -1),
        "reversed": slice(None, None, -1),
        "step": slice(None, None, 2),
    }.get(how, slice(None))
    field = gb.Field(memory, dims="IJK"[:n])[(cut,) * n]
    field.numpy()[...] = values
    return field


def told(call: Callable[[], Any]) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            found = call()
        except (FloatingPointError, TypeError, ValueError, OverflowError) as error:
            found = type(error), str(error)
    return found, [str(one.message) for one in heard]


def same(found: Any, expected: Any, exact: bool) -> None:
    if isinstance(expected, tuple):
        assert found == expected
        return
    array = found.numpy() if isinstance(found, gb.Field) else found
    assert array.dtype == expected.dtype and array.shape == expected.shape
    if exact or expected.dtype.kind in "biu":
        np.testing.assert_array_equal(array, expected)
        if expected.dtype.kind == "f":
            number = ~np.isnan(expected)
            assert np.array_equal(np.signbit(array[number]), np.signbit(expected[number]))
    else:
        digits = {"e": 1e-2, "f": 1e-5, "F": 1e-5}.get(expected.dtype.char, 1e-12)
        np.testing.assert_allclose(array, expected, rtol=digits)


SHAPES = [
    (5,),
    (3, 4),
    (2, 3, 4),
    (3, 1, 5),
    (0, 3),
    (7, 130),
    (4, 3, 130),
    (3, 40, 9),
    (1, 1, 1),
    (33, 17),
    (2, 700),
]
NUMBERS = [2, 2.0, -0.5, 0, 0.0, 1e300, 1e-50, float("nan"), float("inf"), True, 1j, 300, -1,
np.float32(1.5), np.float64(3.0),
           np.int8(2), np.bool_(True)]  # fmt: skip


def drawn_call(rng: random.Random) -> tuple[np.ufunc, list[Any], list[Any]]:
    plain = rng.random() < 0.3  # what has rows of its own
    ufunc = rng.choice(ROWS if plain else UFUNCS)
    dtype, shape = rng.choice("df" if plain else DTYPES), rng.choice(SHAPES)
    ours: list[Any] = []
    theirs: list[Any] = []
    for _ in range(ufunc.nin):
        kind = rng.choice(["field", "field", "field", "array", "number"]) if ours else "field"
        value = (
            rng.choice(NUMBERS)
            if kind == "number"
            else drawn_array(rng, rng.choice([dtype, dtype, dtype, rng.choice(DTYPES)]), shape)
        )
        ours.append(laid(rng, value) if kind == "field" else value)
        theirs.append(value)
    if rng.random() < 0.5:
        ours.reverse(), theirs.reverse()
    return ufunc, ours, theirs


@pytest.mark.parametrize("seed", range(8))
def test_drawn_calls_are_numpys(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(500):
        ufunc, ours, theirs = drawn_call(rng)
        how = rng.choice(["warn", "warn", "ignore", "raise"])
        # NumPy's sinh and its kin underflow on the same subnormals or not, as the strides choose
        # their loop.
        with np.errstate(all=how, under=how if ufunc in EXACT else "ignore"):
            expected, said = told(lambda: ufunc(*theirs))  # noqa: B023
            found = [told(lambda: ufunc(*ours)) for _ in range(2)]  # noqa: B023
        for result, heard in found:
            assert heard == said, (ufunc, ours)
            same(result, expected, ufunc in EXACT)


@pytest.mark.parametrize("seed", range(4))
def test_drawn_targets_are_numpys(seed: int) -> None:
    """Into another Field, an operand itself, or memory that overlaps one."""
    rng = random.Random(seed)
    ufuncs = [u for u in EXACT if u.nin == 2]
    for _ in range(400):
        ufunc = rng.choice(ufuncs)
        dtype = rng.choice("dfilF?")
        shape = rng.choice([s for s in SHAPES if len(s) > 1])
        values = drawn_array(rng, dtype, tuple(n + 1 for n in shape))
        others = drawn_array(rng, dtype, shape)
        field, array, other = laid(rng, values), values.copy(), laid(rng, others)
        first, second = (
            [rng.choice([slice(None, -1), slice(1, None)]) for _ in shape] for _ in range(2)
        )
        reads, writes = tuple(first), rng.choice([tuple(first), tuple(second)])
        with np.errstate(all=rng.choice(["warn", "ignore", "raise"])):
            expected, said = told(lambda: ufunc(array[reads], others, out=array[writes]))  # noqa: B023
            target = field[writes]
            found, heard = told(lambda: ufunc(field[reads], other, out=target))  # noqa: B023
        assert heard == said and (
            found is target or (isinstance(found, tuple) and found == expected)
        )
        same(field, array, True)


def test_in_place_operators() -> None:
    for dtype in ("f8", "f4", "i4"):
        field = gb.Field(np.arange(60, dtype=dtype).reshape(6, 10), dims="IJ")
        array = np.arange(60, dtype=dtype).reshape(6, 10)
        a, b = field[1:-1, 1:-1], array[1:-1, 1:-1]
        for _ in range(2):
            a += a
            b += b
            a -= field[:-2, 2:]
            b -= array[:-2, 2:]
            a *= 3
            b *= 3
        assert np.array_equal(field.numpy(), array)


def test_memory_that_is_not_aligned_or_read_only() -> None:
    odd = np.zeros(8 * 12 + 1, np.uint8)[1:].view("f8").reshape(3, 4)
    odd[...] = 2.0
    assert not odd.flags.aligned and ((gb.Field(odd, dims="IJ") + odd).numpy() == 4.0).all()
    locked = np.zeros((3, 4))
    locked.flags.writeable = False
    field = gb.Field.ones((3, 4), dims="IJ")
    for target in (locked, gb.Field(locked, dims="IJ")):
        with pytest.raises(ValueError, match="read-only"):
            np.add(field, field, out=target)
    swapped = gb.Field(np.full((3, 4), 2.0, ">f8"), dims="IJ")
    assert ((swapped + field).numpy() == 3.0).all() and (swapped + swapped).dtype == (
        swapped.numpy() + swapped.numpy()
    ).dtype


def test_errors_that_loops_raise() -> None:
    field = gb.Field(np.full((20, 50), 2), dims="IJ")
    for a in (field, field[1:-1, 1:-1]):
        with pytest.raises(ValueError, match="Integers to negative integer powers"):
            np.power(a, gb.Field(np.full(a.shape, -1), dims="IJ"))


def test_an_error_handler_is_called_once() -> None:
    heard: list[Any] = []
    field = gb.Field(np.zeros((40, 200)), dims="IJ")[1:-1, 1:-1]
    with np.errstate(all="call", call=lambda *args: heard.append(args)):
        field / 0.0
        before = len(heard)
        field.numpy() / 0.0
    assert before == 1 and heard[0] == heard[1]
