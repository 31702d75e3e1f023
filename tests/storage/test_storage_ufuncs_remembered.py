"""ufuncs that C remembers give what Python says, for storages of any axes, layouts, dtypes and for numbers."""

import random
from typing import Any

import numpy as np
import pytest

import gridbuf.storage as gs
from gridbuf.storage import ufuncs

SIZES = {"I": 3, "J": 4, "K": 5}
UFUNCS = [np.add, np.multiply, np.maximum, np.less, np.true_divide, np.arctan2, np.power, np.sqrt, np.negative, np.isfinite]


def random_storage(rng: random.Random) -> gs.Storage:
    axes = "".join(rng.sample("IJK", rng.randint(0, 3)))
    shape = tuple(1 if rng.random() < 0.1 else SIZES[name] for name in axes)
    dtype = rng.choice([np.float64, np.float32, np.int16, np.uint8, bool, complex, ">f8"])
    halo = tuple((rng.randint(0, 1), 0) for _ in axes)
    s = gs.empty(shape, dtype, axes=axes, halo=halo, defaults=rng.choice(["C", "F", "gtmc", "gtx86"]))
    s.to_numpy()[...] = np.arange(1, s.size + 1).reshape(shape)
    return s[rng.choice([slice(None), slice(None, None, -1), slice(0, None, 2)])] if axes and rng.random() < 0.3 else s


def outcome(call: Any) -> Any:
    try:
        with np.errstate(all="ignore"):
            return call()
    except (TypeError, ValueError) as error:
        return type(error), str(error)


def same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if isinstance(expected, tuple):
        assert found == expected
        return
    assert found._meta is expected._meta and found.dtype == expected.dtype and found.strides == expected.strides
    np.testing.assert_array_equal(found.to_numpy(), expected.to_numpy())


def test_calls_are_what_python_says() -> None:
    rng = random.Random(11)
    for _ in range(1500):
        ufunc = rng.choice(UFUNCS)
        inputs = [rng.choice([random_storage(rng), random_storage(rng), 2.5, 3, True, 1j]) for _ in range(ufunc.nin)]
        if not any(isinstance(obj, gs.Storage) for obj in inputs):
            continue
        for _ in range(2):
            same(outcome(lambda: ufunc(*inputs)), outcome(lambda: ufuncs.call(ufunc, tuple(inputs), {})))  # noqa: B023


def test_outputs_are_what_python_says() -> None:
    rng = random.Random(12)
    for _ in range(1000):
        ufunc = rng.choice(UFUNCS)
        inputs = tuple(rng.choice([random_storage(rng), 2.5, 3]) for _ in range(ufunc.nin))
        first = random_storage(rng)
        second = first.copy()
        for _ in range(2):
            found = outcome(lambda: ufunc(*inputs, out=first))  # noqa: B023
            expected = outcome(lambda: ufuncs.call(ufunc, inputs, {"out": (second,)}))  # noqa: B023
            assert (found is first) == (expected is second)
            if isinstance(expected, tuple):
                assert found == expected
            np.testing.assert_array_equal(first.to_numpy(), second.to_numpy())


def test_in_place_keeps_the_storage() -> None:
    a, k = gs.ones((3, 4, 5), defaults="gtmc", halo=(1, 1, 0)), gs.storage(np.arange(5.0), axes="K")
    before, meta = a, a._meta
    for _ in range(3):
        a += k
        a *= 2.0
    assert a is before and a._meta is meta
    np.testing.assert_array_equal(a[0, 0].to_numpy(), 8 + 14 * np.arange(5.0))


def test_numbers_keep_the_dtype() -> None:
    s = gs.ones((3,), np.float32, axes="K")
    for _ in range(2):
        assert (s * 2.5).dtype == np.float32 and (s * 2).dtype == np.float32 and (s * 1j).dtype == np.complex64
        assert (gs.ones((3,), np.int8, axes="K") + 1).dtype == np.int8
        assert (gs.ones((3,), np.int8, axes="K") + True).dtype == np.int8
        assert (s + np.float64(1.0)).dtype == np.float64


def test_a_number_that_does_not_fit_is_numpy_s_error_each_time() -> None:
    s = gs.ones((3,), np.int8, axes="K")
    for _ in range(2):
        assert (s + 1).dtype == np.int8
        with pytest.raises(OverflowError):
            s + 1000


def test_read_only_outputs() -> None:
    a = np.zeros(3)
    s = gs.as_storage(a, axes="K")
    np.add(s, 1.0, out=s)
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        np.add(s, 1.0, out=s)


def test_results_of_a_halo_set_later_have_it() -> None:
    a = gs.ones((4, 4), halo=(1, 1))
    assert (a + a).halo == ((1, 1), (1, 1))
    a.halo = (0, 2)
    assert (a + a).halo == ((0, 0), (2, 2))
