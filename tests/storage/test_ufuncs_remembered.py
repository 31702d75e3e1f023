"""ufuncs that C remembers give what Python says, for storages of any axes, layouts, dtypes, for
arrays and for numbers.
"""

import operator
import random
import sys
from typing import Any

import numpy as np
import pytest

import gridbuf as gb
import gridbuf.storage as gs
from gridbuf.named import ufuncs
from gridbuf.storage.results import array_ufunc

SIZES = {"I": 3, "J": 4, "K": 5}
UFUNCS = [
    np.add,
    np.multiply,
    np.maximum,
    np.less,
    np.true_divide,
    np.arctan2,
    np.power,
    np.sqrt,
    np.negative,
    np.isfinite,
]


def random_storage(rng: random.Random) -> gs.Storage:
    axes = "".join(rng.sample("IJK", rng.randint(0, 3)))
    shape = tuple(1 if rng.random() < 0.1 else SIZES[name] for name in axes)
    dtype = rng.choice([np.float64, np.float32, np.int16, np.uint8, bool, complex, ">f8"])
    halo = tuple((rng.randint(0, 1), 0) for _ in axes)
    s = gs.empty(
        shape, dtype, axes=axes, halo=halo, defaults=rng.choice(["C", "F", "gtmc", "gtx86"])
    )
    s.to_numpy()[...] = np.arange(1, s.size + 1).reshape(shape)
    return (
        s[rng.choice([slice(None), slice(None, None, -1), slice(0, None, 2)])]
        if axes and rng.random() < 0.3
        else s
    )


def random_operand(rng: random.Random) -> Any:
    """A storage, a number of Python or of NumPy, a Field, or an array without names, of a storage's
    shape or with indices of size 1.
    """
    s = random_storage(rng)
    field = gb.Field(
        s.to_numpy(),
        dims=rng.choice([s.axes, s.axes[::-1], None, "01"[: s.ndim]]) if s.ndim < 3 else s.axes,
    )
    array = np.arange(1.0, 61.0).astype(rng.choice([np.float64, np.int32, ">f8"])).reshape(3, 4, 5)
    ones = array[tuple(rng.choice([slice(None), slice(0, 1)]) for _ in range(3))]
    unnamed = rng.choice([array, ones, ones[0], s.to_numpy(), np.array(3.0), array[None]])
    return rng.choice(
        [
            s,
            s,
            s,
            field,
            2.5,
            3,
            True,
            1j,
            np.float32(1.5),
            np.int64(2),
            np.bool_(True),
            unnamed,
            unnamed.view(),
        ]
    )


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
    assert (
        found._meta is expected._meta
        and found.dtype == expected.dtype
        and found.strides == expected.strides
    )
    np.testing.assert_array_equal(found.to_numpy(), expected.to_numpy())


def test_calls_are_what_python_says() -> None:
    rng = random.Random(11)
    for _ in range(1500):
        ufunc = rng.choice(UFUNCS)
        inputs = [random_operand(rng) for _ in range(ufunc.nin)]
        if not any(isinstance(obj, gs.Storage) for obj in inputs):
            continue
        for _ in range(2):
            same(
                outcome(lambda: ufunc(*inputs)),  # noqa: B023
                outcome(lambda: array_ufunc(ufunc, "__call__", *inputs)),  # noqa: B023
            )


def test_outputs_are_what_python_says() -> None:
    rng = random.Random(12)
    for _ in range(1000):
        ufunc = rng.choice(UFUNCS)
        inputs = tuple(random_operand(rng) for _ in range(ufunc.nin))
        first = random_storage(rng)
        second = first.copy()
        for _ in range(2):
            found = outcome(lambda: ufunc(*inputs, out=first))  # noqa: B023
            expected = outcome(lambda: array_ufunc(ufunc, "__call__", *inputs, out=(second,)))  # noqa: B023
            assert (found is first) == (expected is second)
            if isinstance(expected, tuple):
                assert found == expected
            np.testing.assert_array_equal(first.to_numpy(), second.to_numpy())


OPERATORS = {
    np.add: operator.add, np.multiply: operator.mul, np.less: operator.lt,
    np.true_divide: operator.truediv, np.equal: operator.eq,
    np.negative: operator.neg, np.absolute: abs, np.floor_divide: operator.floordiv,
}  # fmt: skip


def test_operators_are_what_python_says() -> None:
    rng = random.Random(13)
    for _ in range(1500):
        ufunc, operation = rng.choice(list(OPERATORS.items()))
        inputs = [random_operand(rng) for _ in range(ufunc.nin)]
        if any(isinstance(obj, gs.Storage) for obj in inputs):
            for _ in range(2):
                same(
                    outcome(lambda: operation(*inputs)),  # noqa: B023
                    outcome(lambda: array_ufunc(ufunc, "__call__", *inputs)),  # noqa: B023
                )


def by_index(s: gs.Storage, axes: str) -> np.ndarray:
    """The values with an index for each of the axes, of size 1 where the storage has none."""
    array = s.to_numpy().transpose([s.axes.index(name) for name in axes if name in s.axes])
    return array[tuple(slice(None) if name in s.axes else None for name in axes)]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i2", "c16"])
@pytest.mark.parametrize("defaults", ["C", "F", "gtmc"])
@pytest.mark.parametrize("axes", ["IJK", "KJI", "JIK"])
def test_inputs_that_are_repeated(defaults: str, axes: str, dtype: str) -> None:
    rng = np.random.default_rng(1)
    for shape in (
        (9, 8, 3),
        (3, 9, 8),
        (8, 3, 9),
        (30, 9, 8),
        (9, 1, 3),
        (40, 30, 6),
        (6, 40, 30),
        (40, 40, 1),
        (0, 4, 3),
    ):
        a = gs.storage((rng.random(shape) * 50).astype(dtype), axes=axes, defaults=defaults)
        for names in ("I", "J", "K", axes[:2], axes[1:], axes[::-2]):
            sizes = tuple(a.shape[axes.index(name)] for name in names)
            part = gs.storage(
                (rng.random(sizes) * 50).astype(rng.choice([dtype, "f8"])),
                axes=names,
                defaults=defaults,
            )
            for rest in (a, gs.storage(rng.random(a.shape[axes.index("K")]), axes="K"), part):
                both = rest + part
                expected = by_index(rest, both.axes) + by_index(part, both.axes)
                assert both.dtype == expected.dtype and np.array_equal(both.to_numpy(), expected)
                assert np.array_equal((part + rest).to_numpy(), by_index(both, (part + rest).axes))
            b = a.copy()
            np.add(b, part, out=b, casting="unsafe")
            if part.dtype == b.dtype:
                for operand, view in (
                    (part, b),
                    (
                        part[::-1],
                        b[tuple(slice(None, None, -1 if n == names[0] else 1) for n in axes)],
                    ),
                ):
                    expected = view.to_numpy() - by_index(operand, axes)
                    view -= operand
                    assert np.array_equal(view.to_numpy(), expected)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1", "?", "c16"])
@pytest.mark.parametrize("exponent", [2, 2.0, 0.5, 3, -1.0, True, np.int64(2), np.float32(0.5)])
def test_powers_are_ndarrays_powers(dtype: str, exponent: Any) -> None:
    array = (np.random.default_rng(2).random((3, 4)) * 5).astype(dtype)
    for operation in (operator.pow, operator.ipow):
        found = outcome(lambda: operation(gs.storage(array), exponent))  # noqa: B023
        expected = outcome(lambda: operation(array.copy(), exponent))  # noqa: B023
        assert isinstance(found, tuple) == isinstance(expected, tuple)
        if not isinstance(expected, tuple):
            assert found.dtype == expected.dtype and np.array_equal(found, expected)


def test_a_field_is_asked_of_python_once(monkeypatch: pytest.MonkeyPatch) -> None:
    s, field = gs.ones((3, 4, 5)), gb.Field(np.full((5, 3), 2.0), dims="KI")
    for _ in range(2):
        found = [s + field, field + s, np.multiply(field, s)]
        assert [type(one) for one in found] == [gs.CPUStorage] * 3 and [
            float(one[0, 0, 0]) for one in found
        ] == [3.0, 3.0, 2.0]
        monkeypatch.setattr(ufuncs, "elementwise", None)
    found[0] -= field
    assert float(found[0].to_numpy().max()) == 1.0


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
        assert (
            (s * 2.5).dtype == np.float32
            and (s * 2).dtype == np.float32
            and (s * 1j).dtype == np.complex64
        )
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
    a.flags.writeable = False  # for views that are made from now on
    locked = gs.as_storage(a, axes="K")
    with pytest.raises(ValueError, match="read-only"):
        np.add(s, 1.0, out=locked)


def test_results_of_a_halo_set_later_have_it() -> None:
    a = gs.ones((4, 4), halo=(1, 1))
    assert (a + a).halo == ((1, 1), (1, 1))
    a.halo = (0, 2)
    assert (a + a).halo == ((0, 0), (2, 2))


@pytest.mark.parametrize(
    ("size", "shape"), [(5, (3, 8)), (2, (3, 8)), (5, (1, 4)), (2, (200, 4)), (900, (3, 4))]
)
def test_an_input_of_another_size_than_out_is_refused(size: int, shape: tuple[int, int]) -> None:
    s, out = gs.ones((size,), axes="I"), gs.zeros(shape, axes="IJ")
    for _ in range(3):
        with pytest.raises(ValueError):
            np.add(s, 1.0, out=out)
        with pytest.raises(ValueError):
            out += s
        with pytest.raises(ValueError):
            np.multiply(s, gs.ones((shape[1],), axes="J"), out=out)
    assert not out.to_numpy().any()


@pytest.mark.parametrize("dtype", [object, [("a", object)]])
def test_references_are_not_copied_as_bytes(dtype: Any) -> None:
    values = [float(i) + 0.5 for i in range(4)]
    objects: Any = np.zeros((1, 4, 1), dtype)
    objects[...] = np.array(values, object).reshape(1, 4, 1)
    before = [sys.getrefcount(value) for value in values]
    for s in (gs.ones((5, 4), axes="IJ"), gs.ones((40, 4), axes="JI")):
        for _ in range(3):
            outcome(lambda: s == objects)  # noqa: B023
            outcome(lambda: np.less(objects, s))  # noqa: B023
    assert [sys.getrefcount(value) for value in values] == before
