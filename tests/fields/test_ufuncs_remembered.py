"""ufuncs of Fields that C remembers by names, shapes, halos and layouts give what Python says."""

import random
from typing import Any

import numpy as np
import pytest

import gridbuf as gb
from gridbuf.named.kinds import FIELDS
from gridbuf.named.ufuncs import call

SIZES = {"I": 3, "J": 4, "K": 5}
UFUNCS = [
    np.add, np.multiply, np.maximum, np.less, np.true_divide, np.arctan2, np.power, np.sqrt,
    np.negative, np.isfinite,
]  # fmt: skip


def random_field(rng: random.Random) -> gb.Field:
    names = rng.choice(["IJK", "KJI", "JK", "KI", "I", "J", "K", "IJ"])
    shape = tuple(1 if rng.random() < 0.1 else SIZES[name] for name in names)
    spec: dict[str, Any] = {"backend": rng.choice(["C", "F", "gtmc", "gt:cpu_ifirst", "dace:cpu"])}
    if rng.random() < 0.7:
        spec["halo"] = tuple((rng.randint(0, n // 3), rng.randint(0, n // 3)) for n in shape)
    elif rng.random() < 0.3:
        spec["origin"] = tuple(rng.randint(0, n // 3) for n in shape)
    if rng.random() < 0.2:
        spec["byte_alignment"] = 4096
    if rng.random() < 0.9:
        spec["dims"] = names
    field = gb.Field.empty(shape, rng.choice(["f8", "f4", "i2", "?", "c16", ">f8"]), **spec)
    field.numpy()[...] = np.arange(1, field.size + 1).reshape(shape)
    cut = rng.choice([slice(None), slice(None, None, -1), slice(0, None, 2)])
    return field[cut] if rng.random() < 0.3 else field.T if rng.random() < 0.3 else field


def random_operand(rng: random.Random) -> Any:
    array = np.arange(1.0, 61.0).reshape(3, 4, 5)
    other = rng.choice([2.5, 3, True, 1j, np.float32(1.5), np.int64(2), array, array[0], array[:1]])
    return random_field(rng) if rng.random() < 0.7 else other


def outcome(run: Any) -> Any:
    try:
        with np.errstate(all="ignore"):
            return run()
    except (TypeError, ValueError) as error:
        return type(error), str(error)


def same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if isinstance(expected, tuple):
        assert found == expected
        return
    for what in ("shape", "dtype", "dims", "halo", "origin", "_dims_given"):
        assert getattr(found, what) == getattr(expected, what), what
    for size, own, wanted in zip(found.shape, found.strides, expected.strides, strict=True):
        assert own == wanted or size == 1  # of one element no stride is used
    for what in ("aligned_index", "byte_alignment", "padded_shape"):
        assert getattr(found.plan, what) == getattr(expected.plan, what), what
    np.testing.assert_array_equal(found.numpy(), expected.numpy())


@pytest.mark.parametrize("seed", range(3))
def test_calls_are_what_python_says(seed: int) -> None:
    rng, joined = random.Random(seed), 0
    for _ in range(700):
        ufunc = rng.choice(UFUNCS)
        inputs = tuple(random_operand(rng) for _ in range(ufunc.nin))
        if not any(isinstance(obj, gb.Field) for obj in inputs):
            continue
        expected = outcome(lambda: call(FIELDS, ufunc, "__call__", inputs, {}))  # noqa: B023
        joined += isinstance(expected, gb.Field) and len({np.shape(obj) for obj in inputs}) > 1
        for _ in range(2):
            same(outcome(lambda: ufunc(*inputs)), expected)  # noqa: B023
    assert joined > 100


@pytest.mark.parametrize("seed", range(2))
def test_outputs_are_what_python_says(seed: int) -> None:
    rng, written = random.Random(seed), 0
    for _ in range(700):
        ufunc = rng.choice(UFUNCS)
        inputs = tuple(random_operand(rng) for _ in range(ufunc.nin))
        first = random_field(rng).copy()
        second = first.copy()
        for _ in range(2):
            options = {"out": (second,)}
            expected = outcome(lambda: call(FIELDS, ufunc, "__call__", inputs, options))  # noqa: B023
            found = outcome(lambda: ufunc(*inputs, out=first))  # noqa: B023
            assert (found is first) == (expected is second)
            written += found is first
            if isinstance(expected, tuple):  # the shapes in NumPy's text are not the same
                assert found[0] is expected[0]
            np.testing.assert_array_equal(first.numpy(), second.numpy())
    assert written > 50


def test_python_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from gridbuf.named import ufuncs

    f = gb.Field.ones((3, 4, 5), dims="IJK", halo=(1, 0, 0))
    k = gb.Field(np.full(5, 2.0), dims="K", halo=((1, 1),))
    for _ in range(2):
        for found in (f + k, k + f, np.add(f, k)):
            assert float(found[0, 0, 0]) == 3.0 and found.halo == ((1, 1), (0, 0), (1, 1))
        monkeypatch.setattr(ufuncs, "elementwise", None)
    f -= k
    assert float(f.numpy().max()) == -1.0


def test_a_read_only_target_is_refused() -> None:
    f, k = gb.Field.ones((3, 5), dims="IK"), gb.Field(np.ones(5), dims="K")
    locked = gb.Field(np.broadcast_to(np.float64(0), (3, 5)), "IK")
    for _ in range(2):
        np.add(f, k, out=f)
        with pytest.raises(ValueError, match="read-only"):
            np.add(f, k, out=locked)
