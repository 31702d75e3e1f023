"""What is wrapped as a masked array and as a bare DLPack capsule."""

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gridbuf as gb


def test_a_masked_array_without_masked_elements_is_shared() -> None:
    for mask in (False, [False, False, False], np.ma.nomask):
        array = np.ma.masked_array([1.0, 2.0, 3.0], mask)
        field = gb.Field(array, "K")
        field[1] = 9.0
        assert array[1] == 9.0 and type(field.numpy()) is np.ndarray
        assert gb.from_array(array).tolist() == [1.0, 9.0, 3.0]


@pytest.mark.parametrize(
    "use",
    [
        gb.Field,
        gb.as_numpy,
        lambda x: gb.Field(x, "K"),
        gb.from_array,
        lambda x: gb.Field.from_array(x, dtype=None),
        lambda x: gb.full((3,), x),
        lambda x: gb.copyto(np.zeros(3), x),
        lambda x: gb.Field.zeros((3,), dims="K").__setitem__(..., x),
        lambda x: gb.Field.zeros((3,), dims="K").__setitem__([0, 1, 2], x),
        lambda x: gb.Field.zeros((3,), dims="K").__setitem__(..., list(x)),
        lambda x: np.where([True, False, True], gb.Field.zeros((3,), dims="K"), x),
        gb.exact.sum,
    ],
)
def test_masked_elements_are_not_shown_in_silence(use: Callable[[Any], Any]) -> None:
    array = np.ma.masked_array([1.0, 1e20, 3.0], [False, True, False])
    with pytest.raises(
        ValueError, match=r"1 of its \d elements are masked.*data\.filled\(value\).*data\.data"
    ):
        use(array)
    use(array.filled(0.0))
    use(array.data)


def test_other_subclasses_are_shared() -> None:
    class Named(np.ndarray):
        mask = "a costume"

    array = np.zeros(3).view(Named)
    assert np.shares_memory(gb.Field(array).numpy(), array)
    assert gb.Field(np.rec.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])).dtype.names == (
        "a",
        "b",
    )


@pytest.mark.parametrize("version", [None, (1, 0)])
@pytest.mark.parametrize(
    "wrap", [gb.Field, gb.from_dlpack, lambda c: gb.from_dlpack(c, copy=False)]
)
def test_a_capsule_is_consumed_once(version: Any, wrap: Callable[[Any], gb.Field]) -> None:
    array = np.arange(6.0).reshape(2, 3).T
    capsule = array.__dlpack__(max_version=version)
    field = wrap(capsule)
    field[2, 1] = -1.0
    assert (
        array[2, 1] == -1.0 and field.strides == array.strides and "used_dltensor" in repr(capsule)
    )
    with pytest.raises(BufferError, match="is not a fresh 'dltensor'"):
        wrap(capsule)
    del array, capsule
    gc.collect()
    assert field.numpy().tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, -1.0]]


def test_a_capsule_says_that_memory_is_read_only() -> None:
    array = np.zeros(3)
    array.flags.writeable = False
    assert gb.Field(array.__dlpack__(max_version=(1, 0))).readonly


def test_a_copy_of_a_capsules_memory() -> None:
    array = np.zeros(3)
    field = gb.from_dlpack(array.__dlpack__(max_version=(1, 0)), "K", copy=True)
    field[0] = 1.0
    assert array[0] == 0.0 and field.dims == ("K",)


def test_other_capsules_are_refused() -> None:
    import datetime

    with pytest.raises(BufferError, match="is not a fresh 'dltensor'"):
        gb.Field(datetime.datetime_CAPI)  # type: ignore[attr-defined]
