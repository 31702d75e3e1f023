"""Writing parts: by axis name, and which side is written."""

from collections import UserList, deque
from typing import Any

import numpy as np
import pytest
from fake_device import FakeArray, FakeDevice

import gridbuf as gb
import gridbuf.storage as gs

CLEAN = gs.SyncState.SYNC_CLEAN
HOST = gs.SyncState.SYNC_HOST_DIRTY
DEVICE = gs.SyncState.SYNC_DEVICE_DIRTY


def test_lower_dimensional_storages_are_broadcast_by_name() -> None:
    s = gs.zeros((2, 3, 4))
    ij = gs.storage(np.arange(6.0).reshape(3, 2), axes="JI")
    s[...] = ij
    assert (s.to_numpy() == np.arange(6.0).reshape(3, 2).T[:, :, None]).all()
    s[:, 1] = gs.storage(np.arange(4.0), axes="K")
    assert (s.to_numpy()[:, 1] == np.arange(4.0)).all()
    s[0] = gs.storage(np.array([1.0, 2.0, 3.0]), axes="J")
    assert (s.to_numpy()[0] == np.array([[1.0], [2], [3]])).all()


def test_nothing_goes_into_an_axis_that_is_not_there() -> None:
    k = gs.zeros((4,), axes="K")
    for value in (gs.zeros((1, 1, 4)), gs.zeros((4,), axes="I"), gs.zeros((2, 3, 4))):
        with pytest.raises(ValueError, match="axes"):
            k[...] = value
    s = gs.zeros((2, 3, 4))
    with pytest.raises(ValueError, match="axes"):
        s[0] = gs.zeros((2,), axes="I")


def test_sizes_of_one_are_broadcast_and_others_are_not() -> None:
    s = gs.zeros((2, 3, 4))
    s[...] = gs.full((1, 3, 1), 2.0)
    assert (s.to_numpy() == 2).all()
    with pytest.raises(ValueError):
        s[...] = gs.zeros((2, 2, 4))
    with pytest.raises(ValueError):
        gs.zeros((1, 3, 4))[...] = s


def test_arrays_without_names() -> None:
    s, kji = gs.zeros((2, 3, 4)), gs.zeros((4, 3, 2), axes="KJI")
    values = np.arange(24.0).reshape(2, 3, 4)
    s[...] = values
    kji[...] = values.transpose(2, 1, 0)
    assert (s.to_numpy() == values).all() and (np.transpose(kji, "IJK").to_numpy() == values).all()
    s[...] = values[:, :1, :]  # three dimensions: ones are broadcast
    assert (s.to_numpy() == values[:, :1, :]).all()
    s[1] = values[0]
    s[1, 2] = [1, 2, 3, 4]
    assert (s.to_numpy()[1, 2] == [1, 2, 3, 4]).all() and (
        s.to_numpy()[1, :2] == values[0, :2]
    ).all()
    for shape in ((4,), (3, 1), (1, 4)):
        with pytest.raises(ValueError, match="broadcast"):
            s[...] = np.zeros(shape)
    with pytest.raises(ValueError):
        gs.zeros((2, 3))[...] = np.zeros((2, 3, 2))  # counts as an IJK operand


def test_a_field_is_broadcast_by_its_names() -> None:
    s = gs.zeros((2, 3, 4))
    s[...] = gb.Field.from_array([5.0, 6.0, 7.0], dims="J")
    assert (s.to_numpy() == np.array([5.0, 6, 7])[None, :, None]).all()


def test_scalars_elements_and_casts() -> None:
    s = gs.zeros((2, 3), np.int32)
    s[...] = 3
    s[0, 1] = 7.9
    s[1] = np.array([1.5, 2.5, 3.5])
    s[0, 0] = np.array(9)
    assert s.to_numpy().tolist() == [[9, 7, 3], [1, 2, 3]]
    mask = gs.zeros((3,), bool)
    mask[1:] = True  # np.positive has no loop for booleans
    assert mask.to_numpy().tolist() == [False, True, True]
    with pytest.raises(ValueError):
        s[0, 0] = [1, 2]


def test_advanced_keys_as_numpy_does() -> None:
    s, expected = gs.zeros((3, 4)), np.zeros((3, 4))
    for key, value in (
        ([0, 2], 1.0),
        ((slice(None), [1, 3]), np.arange(6.0).reshape(3, 2)),
        (expected < 0, 5.0),
        ([1, 1], [[1.0] * 4, [2.0] * 4]),
    ):
        s[key], expected[key] = value, value
        assert (s.to_numpy() == expected).all()
    s[s > 1] = -1.0
    expected[expected > 1] = -1.0
    assert (s.to_numpy() == expected).all()
    s[gs.storage((expected < 0).T, axes="JI")] = 4.0
    assert (s.to_numpy()[expected < 0] == 4).all()


def test_overlapping_parts_of_one_storage() -> None:
    s = gs.storage(np.arange(6.0))
    s[1:] = s[:-1]
    assert s.to_numpy().tolist() == [0, 0, 1, 2, 3, 4]
    t = gs.storage(np.arange(9.0).reshape(3, 3))
    t[...] = t.reinterpret("JI")
    assert t.to_numpy().tolist() == np.arange(9.0).reshape(3, 3).T.tolist()


def test_devices_do_not_mix(gpu: FakeDevice) -> None:
    cpu, only = gs.zeros((3,)), gs.zeros((3,), device="gpu", managed=None)
    with pytest.raises(TypeError, match="GPU"):
        cpu[...] = FakeArray(np.ones(3))
    with pytest.raises(TypeError, match="GPU"):
        cpu[...] = only
    for value in (np.ones(3), gs.ones((3,))):
        with pytest.raises(TypeError, match="no GPU memory"):
            only[...] = value
    only[...] = FakeArray(np.ones(3))
    only[0] = 5.0
    assert only._dev.hidden.tolist() == [5, 1, 1] and not gpu.log
    cpu[...] = gs.full((3,), 2.0, device="gpu")  # has host memory too
    assert cpu.to_numpy().tolist() == [2, 2, 2]


def software(state: int) -> gs.SoftwareManagedGPUStorage:
    s = gs.zeros((3,), device="gpu")
    s.sync_state.state = state
    s._host[...], s._dev[...] = (1 if state != DEVICE else -1), (1 if state != HOST else -1)
    return s


HOST_VALUES = {
    "scalar": lambda: 2.0,
    "ndarray": lambda: np.full(3, 2.0),
    "CPUStorage": lambda: gs.full((3,), 2.0),
    "list": lambda: [2.0] * 3,
}
DEVICE_VALUES = {
    "cupy": lambda: FakeArray(np.full(3, 2.0)),
    "GPUStorage": lambda: gs.full((3,), 2.0, device="gpu", managed=None),
    "CUDAManaged": lambda: gs.full((3,), 2.0, device="gpu", managed="cuda"),
}


@pytest.mark.parametrize("kind", HOST_VALUES)
@pytest.mark.parametrize("state, log", [(CLEAN, []), (HOST, []), (DEVICE, ["download"])])
def test_a_host_value_is_written_on_the_host(
    gpu: FakeDevice, kind: str, state: int, log: list[str]
) -> None:
    s, value = software(state), HOST_VALUES[kind]()
    s[:2] = value if kind == "scalar" else value[:2]
    assert s.sync_state.state == HOST and s._host.tolist() == [2, 2, 1] and gpu.log == log


@pytest.mark.parametrize("kind", DEVICE_VALUES)
@pytest.mark.parametrize("state, log", [(CLEAN, []), (DEVICE, []), (HOST, ["upload"])])
def test_a_device_value_is_written_on_the_device(
    gpu: FakeDevice, kind: str, state: int, log: list[str]
) -> None:
    s, value = software(state), DEVICE_VALUES[kind]()
    s[:2] = value[:2]
    assert s.sync_state.state == DEVICE and s._dev.hidden.tolist() == [2, 2, 1] and gpu.log == log


@pytest.mark.parametrize("mine, theirs, result, log", [
    (CLEAN, CLEAN, DEVICE, []), (CLEAN, DEVICE, DEVICE, []), (DEVICE, CLEAN, DEVICE, []),
    (DEVICE, DEVICE, DEVICE, []),
    (CLEAN, HOST, HOST, []), (HOST, CLEAN, HOST, []), (HOST, HOST, HOST, []),
    (HOST, DEVICE, DEVICE, ["upload"]), (DEVICE, HOST, DEVICE, ["upload"]),
])  # fmt: skip
def test_a_managed_value(
    gpu: FakeDevice, mine: int, theirs: int, result: int, log: list[str]
) -> None:
    s, value = software(mine), software(theirs)
    s[1:] = value[1:]
    assert s.sync_state.state == result and gpu.log == log
    assert s.to_numpy().tolist() == [1, 1, 1]


def test_writing_does_not_copy_what_is_up_to_date(gpu: FakeDevice) -> None:
    s = gs.zeros((3,), device="gpu")
    for i in range(3):
        s[i] = float(i)
    assert gpu.log == []
    assert s.to_cupy().hidden.tolist() == [0, 1, 2] and gpu.log == ["upload"]


def test_cuda_managed_memory_is_written_from_either_side(gpu: FakeDevice) -> None:
    s = gs.zeros((3,), device="gpu", managed="cuda")
    s[0] = 1.0
    s[1:] = np.full(2, 2.0)
    assert s.to_cupy().hidden.tolist() == [1, 2, 2]
    s[:2] = FakeArray(np.full(2, 3.0))
    assert s.to_numpy().tolist() == [3, 3, 2] and set(gpu.log) == {"synchronize"}


@pytest.mark.parametrize(
    "key", [..., slice(0, 3), [0, 1, 2], np.array([True] * 3)], ids=["all", "slice", "list", "mask"]
)
@pytest.mark.parametrize(
    "values",
    [
        [-5, 300, 1],
        (1 + 2j, 2, 3),
        [1.7, 2, 3],
        [2**70, 1, 2],
        ["a", "b", "c"],
        [None, 1, 2],
        range(299, 302),
        deque([-5, 300, 1]),
        UserList([300, 1, 2]),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", ["u1", "f8", "?"])
def test_lists_are_converted_once_as_numpy_does(key: Any, values: Any, dtype: str) -> None:
    array, storage = np.zeros(3, dtype), gs.zeros(3, dtype, axes="I")
    try:
        array[key] = values
    except (TypeError, ValueError, OverflowError) as error:
        with pytest.raises(type(error)):
            storage[key] = values
        with pytest.raises(type(error)):
            gs.storage(values, dtype=dtype, axes="I")
    else:
        storage[key] = values
        np.testing.assert_array_equal(gs.storage(values, dtype=dtype, axes="I").to_numpy(), array)
    np.testing.assert_array_equal(storage.to_numpy(), array)
