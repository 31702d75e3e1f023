"""Assignment and copies go by name where both sides have names."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import gridbuf as gb
import gridbuf.storage as gs

A = np.arange(12.0).reshape(3, 4)


def assign(dst: Any, src: Any) -> None:
    dst[...] = src


def numpy_copyto(dst: Any, src: Any) -> None:
    np.copyto(dst, src)


WAYS = pytest.mark.parametrize("copy", [assign, gb.copyto, numpy_copyto])
Copy = Callable[[Any, Any], None]


@WAYS
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "M8[s]", [("a", "f8"), ("b", "i2")]])
def test_values_go_where_the_names_say(copy: Copy, dtype: Any) -> None:
    values = A.astype("i8").astype("M8[s]") if dtype == "M8[s]" else np.zeros((3, 4), dtype)
    if dtype != "M8[s]":
        values[...] = (
            A
            if not values.dtype.names
            else np.array([[(x, int(x)) for x in row] for row in A], dtype)
        )
    target = gb.Field.zeros((4, 3), dtype, dims="JI")
    copy(target, gb.Field(values, "IJ"))
    assert np.array_equal(target.numpy(), values.T)


@WAYS
def test_missing_names_are_broadcast_and_lacking_ones_an_error(copy: Copy) -> None:
    target = gb.Field.zeros((4, 3, 2), dims="JIK")
    copy(target, gb.Field(np.arange(3.0), "I"))
    assert np.array_equal(target.numpy()[1, :, 1], np.arange(3.0))
    with pytest.raises(
        ValueError, match=r"its dims \('0', 'I'\) do not fit into \('J', 'I', 'K'\), which lack '?0"
    ):
        copy(target, gb.Field(np.ones((1, 3)), ["0", "I"]))
    with pytest.raises(ValueError, match="shape"):
        copy(target, gb.Field(np.ones((3, 4)), "JI"))


@WAYS
def test_without_names_on_either_side_it_goes_by_position(copy: Copy) -> None:
    target = gb.Field.zeros((3, 4), dims="JI")
    copy(target, A)
    assert np.array_equal(target.numpy(), A)
    copy(target, gb.Field(2 * A))
    assert np.array_equal(target.numpy(), 2 * A)
    unnamed = gb.Field.zeros((3, 4))
    copy(unnamed, gb.Field(A, "KJ"))
    assert np.array_equal(unnamed.numpy(), A)
    copy(target, np.arange(4.0))
    copy(target, 7.0)
    assert (target.numpy() == 7).all()


@pytest.mark.parametrize(
    "make",
    [
        lambda a, d: gs.storage(a, axes=d),
        lambda a, d: pytest.importorskip("xarray").DataArray(a, dims=list(d)),
    ],
)
@pytest.mark.parametrize("copy", [assign, gb.copyto])
def test_other_objects_with_names(copy: Copy, make: Any) -> None:
    target = gb.Field.zeros((4, 3), dims="JI")
    copy(target, make(A, "IJ"))
    assert np.array_equal(target.numpy(), A.T)
    with pytest.raises(ValueError, match="lack"):
        copy(target, make(A, "IK"))
    storage = gs.zeros((3, 4), axes="IJ")
    gb.copyto(storage, target)
    assert np.array_equal(storage.to_numpy(), A)


def test_a_part_is_a_target_with_the_names_that_its_key_keeps() -> None:
    f = gb.Field.zeros((3, 4, 5), dims="IJK")
    f[1, :, 2:4] = gb.Field(np.arange(8.0).reshape(2, 4), "KJ")
    assert (
        np.array_equal(f.numpy()[1, :, 2:4], np.arange(8.0).reshape(2, 4).T)
        and f.numpy()[0].sum() == 0
    )
    with pytest.raises(ValueError, match="lack 'I'"):
        f[1] = gb.Field(np.ones(3), "I")
    f[0, 0, 0] = gb.Field(np.array(5.0), "")
    assert f[0, 0, 0] == 5


def test_overlapping_by_name() -> None:
    square = gb.Field(np.arange(9.0).reshape(3, 3), "IJ")
    square[...] = gb.Field(square, "JI")
    assert np.array_equal(square.numpy(), np.arange(9.0).reshape(3, 3).T)


def test_keys_that_are_arrays() -> None:
    square = gb.Field(np.arange(9.0).reshape(3, 3), "IJ")
    mask = gb.Field(np.arange(9).reshape(3, 3) > 5, "JI")
    assert np.array_equal(square[mask], square.numpy()[mask.numpy().T])
    square[mask] = -1.0
    assert (square.numpy()[:, 2] == -1).all()
    with pytest.raises(IndexError, match="cannot select from"):
        square[gb.Field(np.ones(3, bool), "I")]
    with pytest.raises(IndexError, match="mask of bools"):
        square[gb.Field(np.ones((3, 3), int), "IJ")]
    with pytest.raises(IndexError, match="whole key only"):
        square[gb.Field(np.ones(3, bool), "I"), 0]
    with pytest.raises(ValueError, match="what this key selects has none"):
        square[[0, 1]] = gb.Field(np.ones((2, 3)), "IJ")
    # Without names by position
    assert square[gb.Field(np.array([True, False, True]))].shape == (2, 3)


def outcome(write: Callable[[], None], array: Any) -> Any:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            write()
        except Exception as error:
            return type(error), array.tolist()
    return [w.category for w in told], array.tobytes()


NUMBERS = (
    1.5,
    -0.0,
    1e300,
    float("nan"),
    float("-inf"),
    7,
    -1,
    200,
    2**24 + 1,
    2**63,
    10**400,
    True,
    np.float32(2.5),
    1j,
)


class Failing:
    """An index that NumPy says is none, whatever it raises."""

    def __index__(self) -> int:
        return 1 // 0


@pytest.mark.parametrize(
    "dtype", ["f8", "f4", "f2", ">f8", "i1", "u1", "i4", "u8", "?", "c8", "m8[s]", "U3"]
)
def test_numbers_come_to_what_numpy_makes_of_them(dtype: str) -> None:
    keys = (
        ...,
        0,
        -1,
        (1, 2),
        (..., 0),
        slice(None, None, -2),
        (slice(1, 1), 0),
        [0, 2],
        None,
        9,
        (0, 0, 0),
        Failing(),
    )
    for value in NUMBERS:
        for key in keys:
            field, array = gb.Field(np.zeros((3, 4), dtype), "JI"), np.zeros((3, 4), dtype)
            theirs = outcome(partial(array.__setitem__, key, value), array)
            assert outcome(partial(field.__setitem__, key, value), field.numpy()) == theirs, (
                value,
                key,
            )
        for casting in ("no", "safe", "same_kind", "unsafe"):
            field, array = gb.Field(np.zeros((3, 4), dtype)), np.zeros((3, 4), dtype)
            theirs = outcome(partial(np.copyto, array, value, casting=casting), array)
            ours = outcome(partial(gb.copyto, field, value, casting=casting), field.numpy())
            assert ours == theirs, (value, casting)


def test_numbers_into_what_is_read_only() -> None:
    array = np.zeros(3)
    array.flags.writeable = False
    for write in (
        lambda f: f.__setitem__(..., 1.0),
        lambda f: f.__setitem__(0, 1),
        lambda f: gb.copyto(f, 1.0),
        lambda f: gb.fill(f, 1.0),
    ):
        with pytest.raises(ValueError, match="read-only"):
            write(gb.Field(array))


def test_copyto_with_a_mask() -> None:
    f = gb.Field.zeros((3, 3), dims="IJ")
    values = np.arange(9.0).reshape(3, 3)
    np.copyto(f, gb.Field(values, "JI"), where=gb.Field(values > 3, "JI"))
    assert np.array_equal(f.numpy(), np.where(values > 3, values, 0).T)
    plain = np.zeros((3, 3))
    np.copyto(plain, gb.Field(values, "JI"))
    assert np.array_equal(plain, values)
    with pytest.raises(TypeError, match="Cannot cast"):
        np.copyto(gb.Field.zeros((3, 3), "i4", dims="IJ"), gb.Field(values, "JI"))


def test_new_names_for_the_same_indices() -> None:
    f = gb.Field(np.arange(12.0).reshape(3, 4), "JI")
    renamed = gb.Field.from_array(f, dims="IJ")
    assert renamed.dims == ("I", "J") and np.array_equal(renamed.numpy(), f.numpy())
