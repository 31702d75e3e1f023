"""What C does quickly is what Python says: views, elements and assignments; and what is aligned in
a view.
"""

import gc
import random
import warnings
from typing import Any

import numpy as np
import pytest

import gridbuf.storage as gs
from gridbuf.storage import indexing

SHAPE = (7, 9, 6)


def random_cut(rng: random.Random, size: int) -> Any:
    if rng.random() < 0.25:
        index = rng.randrange(-size, size)
        return rng.choice([index, np.int64(index), np.int16(index)])
    bounds = [None, *range(-size - 2, size + 3)]
    return slice(rng.choice(bounds), rng.choice(bounds), rng.choice([None, 1, 1, 2, 3, -1, -2]))


def random_key(rng: random.Random, shape: tuple[int, ...]) -> Any:
    cuts = [random_cut(rng, size) for size in shape[: rng.randint(0, len(shape))]]
    if rng.random() < 0.3:
        at = rng.randint(0, len(cuts))
        cuts[at:] = [..., *(random_cut(rng, shape[i - len(cuts)]) for i in range(at, len(cuts)))]
    return cuts[0] if len(cuts) == 1 and rng.random() < 0.5 else tuple(cuts)


def random_storage(rng: random.Random) -> gs.Storage:
    axes = rng.choice(["IJK", "KJI", "JIK", "IJ", "KI", "K", ""])
    shape = SHAPE[: len(axes)]
    halo = [(rng.randint(0, 3), rng.randint(0, 3)) for _ in shape]
    s = gs.empty(
        shape,
        axes=axes,
        halo=halo,
        defaults=rng.choice(["C", "F", "gtmc", "gtx86"]),
        alignment=rng.choice([1, 4, 8]),
    )
    s.to_numpy()[...] = np.arange(float(s.size)).reshape(shape)
    return s


def same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if isinstance(found, gs.Storage):
        assert (
            found._meta is expected._meta
            and found.strides == expected.strides
            and found.shape == expected.shape
        )
        assert (
            found.size == 0
            or found.__array_interface__["data"] == expected.__array_interface__["data"]
        )
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


def test_views_are_what_python_says() -> None:
    rng = random.Random(5)
    for _ in range(3000):
        s = random_storage(rng)
        key = random_key(rng, s.shape)
        same(s[key], indexing.getitem(s, key))
        same(s[key], indexing.getitem(s, key))  # remembered


def test_assignments_are_what_python_says() -> None:
    rng = random.Random(6)
    for _ in range(2000):
        s = random_storage(rng)
        t, key = s.copy(), random_key(rng, s.shape)
        part = s[key]
        whole = random_storage(rng)
        value = rng.choice(
            [
                2.5,
                3,
                True,
                1j.real,
                np.float32(1.5),
                np.array(4.0),
                whole,
                whole[random_key(rng, whole.shape)],
                part,
            ]
        )
        if isinstance(part, gs.Storage) and rng.random() < 0.3:
            value = rng.choice([np.asarray(part) * 2, (part * 2).copy()])
        errors = []
        for call in (
            lambda: s.__setitem__(key, value),  # noqa: B023
            lambda: indexing.setitem(t, key, value),  # noqa: B023
        ):
            try:
                call()
            except (ValueError, TypeError) as error:
                errors.append(str(error))
            else:
                errors.append("")
        assert errors[0] == errors[1]
        np.testing.assert_array_equal(np.asarray(s), np.asarray(t))


def test_a_view_can_be_assigned_to_one_it_overlaps() -> None:
    s = gs.storage(np.arange(8.0), axes="K")
    s[1:] = s[:-1]
    assert s.to_numpy().tolist() == [0, 0, 1, 2, 3, 4, 5, 6]
    s[...] = s[::-1]
    assert s.to_numpy().tolist() == [6, 5, 4, 3, 2, 1, 0, 0]


def test_the_aligned_index_of_a_view_is_aligned() -> None:
    rng = random.Random(7)
    found = 0
    for _ in range(2000):
        s = random_storage(rng)
        view = s[random_key(rng, s.shape)]
        if not isinstance(view, gs.Storage) or any(
            i >= n for i, n in zip(view.aligned_index, view.shape, strict=True)
        ):
            continue
        boundary = s.alignment * s.dtype.itemsize

        def at(view: gs.Storage, index: tuple[int, ...]) -> int:
            start: int = view.__array_interface__["data"][0]
            return start + sum(i * s for i, s in zip(index, view.strides, strict=True))

        candidates = [at(view, index) % boundary for index in np.ndindex(view.shape)]
        if 0 in candidates:
            found += 1
            assert at(view, view.aligned_index) % boundary == 0, (s, view)
    assert found > 500


@pytest.mark.parametrize("preset", ["gtmc", "gtx86", "F"])
def test_what_is_computed_from_a_domain_begins_aligned(preset: str) -> None:
    s = gs.zeros((12, 12, 7), defaults=preset, halo=(2, 2, 0))
    for made in (
        s.domain + s.domain,
        gs.zeros_like(s.domain),
        s.domain.copy(),
        s[2:-2, 2:-2] * 2.0,
    ):
        assert made.aligned_index == (0, 0, 0) and made.__array_interface__["data"][0] % 64 == 0
    assert (s + s).__array_interface__["data"][0] % 64 == s.__array_interface__["data"][0] % 64
    assert s[1:].aligned_index == (1, 2, 0)  # still the first point of the domain


@pytest.mark.parametrize(
    "key", [7, -8, (0, 0, 0, 0), (..., ...), None, (0, None), "K", 1.5, slice(None, "a")]
)
def test_wrong_keys(key: Any) -> None:
    s = gs.zeros(SHAPE)
    with pytest.raises((IndexError, TypeError)) as read:
        s[key]
    with pytest.raises((IndexError, TypeError)) as written:
        s[key] = 1.0
    assert type(read.value) is type(written.value)


def test_deleting() -> None:
    with pytest.raises(TypeError, match="cannot be deleted"):
        del gs.zeros(SHAPE)[0]


def test_a_key_that_reshapes_the_array_while_it_is_read() -> None:
    array = np.zeros((4, 6))
    s = gs.as_storage(array)

    class Index:
        def __index__(self) -> int:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                array.shape = (24,)
            return 1

    assert s[Index() : 3, 0].shape == (2,) and array.shape == (24,)
    s[Index() : 3, 0] = 1.0
    assert s.shape == (4, 6) and array.reshape(4, 6)[:, 0].tolist() == [0, 1, 1, 0]


def test_storages_in_cycles_are_collected() -> None:
    class Holder(np.ndarray):
        pass

    s = gs.zeros((3,), axes="K")
    assert gc.is_tracked(s)
    views = [s[1:]]
    views.append(views)  # type: ignore[arg-type]
    del views
    gc.collect()
    assert s[0] == 0


@pytest.mark.parametrize("cls", [gs.Storage, gs.CPUStorage])
def test_storages_are_not_made_by_calling(cls: Any) -> None:
    with pytest.raises(TypeError, match=f"{cls.__name__} is not made by calling it"):
        cls()
    with pytest.raises(TypeError):
        object.__new__(cls)


def test_iteration_goes_along_the_first_index() -> None:
    s = gs.storage(np.arange(6.0).reshape(3, 2), axes="KI")
    assert [row.axes for row in s] == ["I"] * 3 and [row.to_numpy().tolist() for row in s] == [
        [0, 1],
        [2, 3],
        [4, 5],
    ]
