"""Reading `__gt_interface__` into one checked description."""

from typing import Any

import numpy as np
import pytest
from fake_device import FakeDevice

import gridbuf as gb
import gridbuf.storage as gs
from gridbuf.interface import read

KEYS = {"shape", "typestr", "data", "strides", "dims", "acquire", "touch", "release"}


class Offers:
    """Says of itself what it is told to."""

    def __init__(self, entries: Any, name: str = "__gt_interface__", **attributes: Any) -> None:
        setattr(self, name, entries)
        self.__dict__.update(attributes)


def entry(array: np.ndarray, **more: Any) -> dict[str, Any]:
    interface = array.__array_interface__
    return {key: interface[key] for key in ("shape", "typestr", "data", "strides")} | more


def test_all_keys_are_there_and_filled_in() -> None:
    a = np.zeros((2, 3), np.float32)
    found = read(
        Offers({None: {"shape": (2, 3), "typestr": "<f4", "data": (a.ctypes.data, False)}})
    )
    assert set(found) == KEYS
    assert (
        found["shape"] == (2, 3)
        and found["strides"] == (12, 4)
        and found["data"] == (a.ctypes.data, False)
    )
    assert found["dims"] is found["acquire"] is found["touch"] is found["release"] is None


def test_strides_may_be_missing_or_none_and_are_in_bytes() -> None:
    f = np.zeros((3, 4), order="F")
    assert read(Offers({None: entry(f)}))["strides"] == (8, 24)
    assert read(Offers({None: entry(f, strides=None)}))["strides"] == (32, 8)
    assert read(Offers({None: entry(np.zeros((0, 4)), strides=None)}))["strides"] == (32, 8)


def test_it_is_a_new_dict_each_time() -> None:
    own = entry(np.zeros(3), dims=["I"])
    offering = Offers({None: own})
    first = read(offering)
    first["shape"] = ()
    assert (
        read(offering)["shape"] == (3,)
        and own["dims"] == ["I"]
        and read(offering)["dims"] == ("I",)
    )


@pytest.mark.parametrize("key", [None, "cpu"])
@pytest.mark.parametrize("device", [None, "cpu"])
def test_host_keys(key: str | None, device: str | None) -> None:
    a = np.zeros(3)
    assert read(Offers({key: entry(a)}), device)["data"][0] == a.ctypes.data


def test_device_keys() -> None:
    a, b = np.zeros(3), np.ones(3)
    general = Offers({"gpu": entry(a)})
    numbered = Offers({("gpu", 1): entry(b)})
    both = Offers({"gpu": entry(a), ("gpu", 1): entry(b)})
    assert (
        read(general, "gpu")["data"]
        == read(general, ("gpu", 1))["data"]
        == read(both, "gpu")["data"]
    )
    assert (
        read(numbered, "gpu")["data"]
        == read(both, ("gpu", 1))["data"]
        == read(numbered, ("gpu", 1))["data"]
    )
    for obj, device in ((general, None), (numbered, None), (numbered, ("gpu", 0))):
        with pytest.raises(ValueError, match="device: Offers has no buffer for"):
            read(obj, device)


@pytest.mark.parametrize("device", ["tpu", 0, ("gpu",), ("gpu", "0"), ("cpu", 0)])
def test_devices_that_do_not_exist(device: object) -> None:
    with pytest.raises(ValueError, match="device: "):
        read(np.zeros(3), device)


def test_the_later_name_is_read_too() -> None:
    a, b = np.zeros(3), np.ones(3)
    assert read(Offers({None: entry(a)}, "__gt_data_interface__"))["data"][0] == a.ctypes.data
    both = Offers({None: entry(a)}, __gt_data_interface__={None: entry(b)})
    assert read(both)["data"][0] == a.ctypes.data


def test_where_dims_are_missing_the_object_says_them() -> None:
    a = np.zeros((2, 3))
    assert read(Offers({None: entry(a)}, __gt_dims__=("K", "J")))["dims"] == ("K", "J")
    assert read(Offers({None: entry(a)}, dims=("J", "I")))["dims"] == ("J", "I")
    assert read(Offers({None: entry(a)}, dims=("lat", "lon")))["dims"] is None
    assert read(Offers({None: entry(a, dims=("I", "0"))}, __gt_dims__=("K", "J")))["dims"] == (
        "I",
        "0",
    )


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"shape": "23"}, TypeError, "shape is '23'; expected a tuple of ints"),
        ({"shape": (-1,)}, ValueError, "shape: entry 0 is -1; sizes are 0 or more"),
        ({"shape": (1 << 40, 1 << 40)}, ValueError, "shape: .* is larger than any memory"),
        ({"strides": (1 << 62,)}, ValueError, "strides: .* leave the address space"),
        ({"typestr": np.float64}, TypeError, "typestr is"),
        ({"typestr": "<q9"}, ValueError, 'typestr: "<q9" has kind'),
        ({"data": 12345}, TypeError, "data is 12345"),
        ({"data": (0, False)}, ValueError, "the address is 0"),
        ({"strides": (8, 8)}, ValueError, "they must be as many"),
        ({"strides": (8.0,)}, TypeError, "strides: expected"),
        ({"dims": ("I", "J")}, ValueError, "each of 1 indices"),
        ({"dims": ("X",)}, ValueError, "I, J, K"),
        ({"acquire": 3}, TypeError, "'acquire' is 3"),
        ({"touch": "now"}, TypeError, "'touch' is 'now'"),
    ],
)
def test_wrong_descriptions(change: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        read(Offers({None: {**entry(np.zeros(3)), **change}}))


@pytest.mark.parametrize("key", ["shape", "typestr", "data"])
def test_missing_entries(key: str) -> None:
    own = entry(np.zeros(3))
    del own[key]
    with pytest.raises(ValueError, match=f"'{key}' is missing"):
        read(Offers({None: own}))


def test_not_maps() -> None:
    with pytest.raises(TypeError, match="expected a map from device"):
        read(Offers([1]))
    with pytest.raises(TypeError, match="expected a map for each device"):
        read(Offers({None: lambda: {}}))


def test_without_the_property_array_interfaces_buffers_and_dlpack_are_read() -> None:
    a = np.arange(6.0).reshape(2, 3)

    class ByInterface:
        __array_interface__ = a.__array_interface__

    class ByDLPack:
        def __dlpack__(self, **kwargs: Any) -> Any:
            return a.__dlpack__(**kwargs)

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    for obj in (a, ByInterface(), memoryview(a), ByDLPack()):
        found = read(obj)
        assert (
            found["data"][0] == a.ctypes.data
            and found["strides"] == (24, 8)
            and found["dims"] is None
        )
    for obj in (object(), "text", 1.5):
        with pytest.raises(ValueError, match="has no buffer for the host"):
            read(obj)


def test_a_cuda_array_interface_is_the_gpu_s_buffer(gpu: FakeDevice) -> None:
    device = gpu.from_host(np.zeros((2, 3)))
    assert read(device, "gpu")["shape"] == (2, 3)
    with pytest.raises(ValueError, match="no buffer for the host"):
        read(device)
    with pytest.raises(ValueError, match="no buffer for gpu"):
        read(np.zeros(3), "gpu")


def test_a_field_has_the_property() -> None:
    f = gb.Field.zeros((4, 3), dims="JI", halo=(1, 0))
    assert set(f.__gt_interface__) == {None}
    found = read(f)
    assert (
        found["dims"] == ("J", "I")
        and found["data"][0] == f.numpy().ctypes.data
        and found["strides"] == f.strides
    )
    assert read(gb.Field(np.zeros(3)))["dims"] is None


@pytest.mark.parametrize("kind", ["cpu", "gpu", "gt4py", "cuda"])
def test_storages_emit_none_and_gpu_and_reading_copies_nothing(gpu: FakeDevice, kind: str) -> None:
    spec: dict[str, Any] = (
        {"device": "gpu", "managed": None if kind == "gpu" else kind} if kind != "cpu" else {}
    )
    s = gs.zeros((4, 3), axes="KI", **spec)
    if kind == "gt4py":
        s.set_host_modified()
    gpu.log.clear()
    assert set(s.__gt_interface__) == {"cpu": {None}, "gpu": {"gpu"}}.get(kind, {None, "gpu"})
    for device in s.__gt_interface__:
        found = read(s, device)
        assert (
            found["dims"] == ("K", "I")
            and found["strides"] == s.strides
            and callable(found["acquire"])
        )
    assert gpu.log == []
    if kind == "gt4py":
        read(s, "gpu")["acquire"]()
        assert gpu.log == ["upload"]
        read(s, "gpu")["touch"]()
        assert s.sync_state.state == gs.SyncState.SYNC_DEVICE_DIRTY
        read(s)["acquire"]()
        read(s)["touch"]()
        assert (
            gpu.log == ["upload", "download"] and s.sync_state.state == gs.SyncState.SYNC_HOST_DIRTY
        )


def test_the_utilities_are_here_too() -> None:
    import gridbuf.interface as gi

    assert (gi.as_numpy, gi.as_cupy, gi.get_dims, gi.get_origin) == (
        gb.as_numpy,
        gb.as_cupy,
        gb.get_dims,
        gb.get_origin,
    )
    s = gs.storage(np.arange(6.0).reshape(2, 3), axes="KI", halo=((1, 0), (0, 2)))
    assert gi.get_dims(s) == ("K", "I") and gi.get_origin(s) == (0, 1)
    assert gi.as_numpy(s, "IK").shape == (3, 2) and np.shares_memory(
        gi.as_numpy(s, "IK"), s.to_numpy()
    )
