"""Reading parts: basic results are views, advanced ones plain arrays."""

import numpy as np
import pytest
from fake_device import FakeArray, FakeDevice

import gridbuf.storage as gs

VALUES = np.arange(60.0).reshape(3, 4, 5)


@pytest.mark.parametrize("key, axes", [
    (1, "JK"), ((slice(None), 2), "IK"), ((..., -1), "IJ"), ((1, 2), "K"), (slice(1, 3), "IJK"),
    (..., "IJK"), ((), "IJK"),
    ((slice(None, None, -2), 1, slice(1, 4)), "IK"), ((0, ...), "JK"), ((1, 2, 3, ...), ""),
    ((np.int32(1), slice(None)), "JK"),
])  # fmt: skip
def test_ints_drop_their_axis_and_slices_keep_it(key: object, axes: str) -> None:
    s = gs.storage(VALUES, defaults="gtmc")
    view = s[key]
    assert type(view) is gs.CPUStorage and view.axes == axes
    assert (view.to_numpy() == VALUES[key]).all() and view.shape == np.asarray(VALUES[key]).shape
    assert np.shares_memory(view.to_numpy(), s.to_numpy())
    assert view.layout == s.layout and view.alignment == s.alignment


def test_slices_keep_alignment_and_the_aligned_index_of_the_axes_they_keep() -> None:
    s = gs.empty((8, 9, 7), defaults="gtmc", aligned_index=(1, 2, 3))
    view = s[2:, 4, ::2]
    assert view.aligned_index == (7, 0) and view.alignment == 8  # the next aligned I; all rows are


def test_one_element_is_a_numpy_scalar() -> None:
    s = gs.storage(VALUES)
    assert type(s[1, 2, 3]) is np.float64 and s[1, 2, 3] == VALUES[1, 2, 3] == s[-2, -2, -2]
    assert type(gs.zeros((), axes="")[()]) is np.float64
    assert gs.zeros((), axes="")[...].ndim == 0


def test_views_of_views_share_the_memory_of_the_first() -> None:
    s = gs.zeros((4, 4, 4))
    s[1:][1:][0, 2] = 7.0
    assert (s.to_numpy()[2, 2] == 7).all() and s.to_numpy().sum() == 28


@pytest.mark.parametrize(
    "key",
    [
        5,
        (0, 0, 0, 0),
        (slice(None), 4),
        (..., ...),
        -4,
        2**70,
        (0, -(2**70)),
        np.timedelta64(1),
        (0, np.timedelta64(1)),
    ],
)
def test_what_no_array_takes_as_a_key_is_an_index_error_as_of_numpy(key: object) -> None:
    for obj in (VALUES.copy(), gs.storage(VALUES)):
        with pytest.raises(IndexError):
            obj[key]
        with pytest.raises(IndexError):
            obj[key] = 1


@pytest.mark.parametrize("key", [None, (None, 0), (slice(None), None)])
def test_none_would_add_an_axis_without_a_name(key: object) -> None:
    with pytest.raises(TypeError, match="None"):
        gs.storage(VALUES)[key]


@pytest.mark.parametrize("key", [
    [0, 2], np.array([0, 2]), (slice(None), [1, 3]), ([0, 1], [1, 2], [3, 4]), VALUES > 30,
    np.array([True, False, True]),
    ([0, 1], 2), np.array([[0, 1], [1, 2]]), True, (np.array([0, 1]), ..., np.array([1, 2])),
])  # fmt: skip
def test_advanced_keys_give_a_plain_array_of_numpy_s_shape(key: object) -> None:
    s = gs.storage(VALUES, defaults="gtmc")
    found, expected = s[key], VALUES[key]
    assert type(found) is np.ndarray and found.shape == expected.shape and (found == expected).all()
    assert not np.shares_memory(found, s.to_numpy())


def test_a_boolean_storage_is_aligned_by_name() -> None:
    s = gs.storage(VALUES)
    mask = gs.storage((VALUES % 7 == 0).transpose(2, 0, 1), axes="KIJ")
    assert (s[mask] == VALUES[VALUES % 7 == 0]).all() and type(s[mask]) is np.ndarray
    assert (s[mask,] == s[mask]).all()
    assert (s[s > 30] == VALUES[VALUES > 30]).all()


def test_an_integer_storage_as_key() -> None:
    s = gs.storage(np.arange(10, 16), axes="K")
    assert (s[gs.storage(np.array([5, 4, 3, 2, 1, 0]), axes="K")] == np.arange(15, 9, -1)).all()


@pytest.mark.parametrize("key", [
    gs.ones((3, 4), bool, axes="IJ"), gs.ones((3, 4, 5), bool, axes="KIJ"),
    gs.ones((3, 4, 4), bool), gs.ones((3, 4, 5)),
    (gs.ones((3, 4, 5), bool), 0),
])  # fmt: skip
def test_storages_that_cannot_be_keys(key: object) -> None:
    with pytest.raises(IndexError, match="key"):
        gs.storage(VALUES)[key]


def test_a_device_array_is_a_key_like_any_other(gpu: FakeDevice) -> None:
    assert (gs.storage(VALUES)[FakeArray(np.array([0, 2]))] == VALUES[[0, 2]]).all()


@pytest.mark.parametrize("managed", [None, "gt4py", "cuda"])
def test_on_the_device_views_are_views_of_every_buffer(
    gpu: FakeDevice, managed: str | None
) -> None:
    s = gs.storage(VALUES, device="gpu", managed=managed)
    view = s[1, ::-1, 2:]
    assert type(view) is type(s) and view.axes == "JK"
    assert (
        view._dev.hidden == VALUES[1, ::-1, 2:]
    ).all() or view.sync_state.state == gs.SyncState.SYNC_HOST_DIRTY
    assert np.shares_memory(view._dev.hidden, s._dev.hidden)
    found = s[[0, 2]]
    assert type(found) is FakeArray and (found.hidden == VALUES[[0, 2]]).all()
    assert (s[VALUES > 30].hidden == VALUES[VALUES > 30]).all()
    assert (s[s > 30].hidden == VALUES[VALUES > 30]).all()
    assert s[1, 2, 3] == VALUES[1, 2, 3] and isinstance(s[1, 2, 3], np.float64)


def test_the_device_view_of_a_slice_starts_where_the_host_s_does(gpu: FakeDevice) -> None:
    s = gs.zeros((6, 6), device="gpu")
    view = s[2:, 1:]
    offset = view._host.ctypes.data - s._host.ctypes.data
    assert offset > 0 and view._dev.data - s._dev.data == offset


def test_iteration_and_length() -> None:
    s = gs.storage(VALUES)
    assert len(s) == 3 and [part.axes for part in s] == ["JK"] * 3
    with pytest.raises(TypeError):
        len(gs.zeros((), axes=""))
