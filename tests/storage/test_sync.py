"""SyncState: which side is newer, and when it is copied."""

from collections.abc import Callable

import numpy as np
import pytest
from fake_device import FakeDevice

import gridbuf as gb
import gridbuf.storage as gs
from gridbuf.gufunc import from_ufunc

S = gs.SyncState


@pytest.fixture
def s(gpu: FakeDevice) -> gs.SoftwareManagedGPUStorage:
    storage = gs.zeros((2, 3), device="gpu")
    storage._host[...], storage._dev[...] = 1.0, 2.0
    return storage


def test_the_state() -> None:
    state = S()
    assert state.state == S.SYNC_CLEAN == 0 and (S.SYNC_HOST_DIRTY, S.SYNC_DEVICE_DIRTY) == (1, 2)
    for value in (1, 2, 0):
        state.state = value
        assert state.state == value
    for value in (3, -1, None, "clean"):
        with pytest.raises(ValueError, match="state"):
            state.state = value


def test_only_software_managed_storages_have_one(gpu: FakeDevice) -> None:
    assert hasattr(gs.zeros((2,), device="gpu"), "sync_state")
    for other in (
        gs.zeros((2,)),
        gs.zeros((2,), device="gpu", managed=None),
        gs.zeros((2,), device="gpu", managed="cuda"),
    ):
        assert not hasattr(other, "sync_state")


def test_views_share_it(s: gs.SoftwareManagedGPUStorage) -> None:
    views = (s[0], s[:, 1:], s.domain, np.transpose(s), s.reinterpret("JK"), gs.as_storage(s))
    for view in views:
        assert view.sync_state is s.sync_state
    s[0][0] = 5.0
    assert all(view.sync_state.state == S.SYNC_HOST_DIRTY for view in views)


@pytest.mark.parametrize(
    "state, host, log",
    [
        (S.SYNC_CLEAN, 1.0, []),
        (S.SYNC_HOST_DIRTY, 1.0, []),
        (S.SYNC_DEVICE_DIRTY, 2.0, ["download"]),
    ],
)
def test_device_to_host(
    s: gs.SoftwareManagedGPUStorage, gpu: FakeDevice, state: int, host: float, log: list[str]
) -> None:
    s.sync_state.state = state
    s.device_to_host()
    assert (s._host == host).all() and gpu.log == log
    assert s.sync_state.state == (S.SYNC_CLEAN if log else state)


@pytest.mark.parametrize(
    "state, device, log",
    [(S.SYNC_CLEAN, 2.0, []), (S.SYNC_HOST_DIRTY, 1.0, ["upload"]), (S.SYNC_DEVICE_DIRTY, 2.0, [])],
)
def test_host_to_device(
    s: gs.SoftwareManagedGPUStorage, gpu: FakeDevice, state: int, device: float, log: list[str]
) -> None:
    s.sync_state.state = state
    s.host_to_device()
    assert (s._dev.hidden == device).all() and gpu.log == log
    assert s.sync_state.state == (S.SYNC_CLEAN if log else state)


@pytest.mark.parametrize("state", [S.SYNC_CLEAN, S.SYNC_HOST_DIRTY, S.SYNC_DEVICE_DIRTY])
def test_force_always_copies(s: gs.SoftwareManagedGPUStorage, gpu: FakeDevice, state: int) -> None:
    s.sync_state.state = state
    s.host_to_device(force=True)
    assert (
        (s._dev.hidden == 1).all() and gpu.log == ["upload"] and s.sync_state.state == S.SYNC_CLEAN
    )
    s._dev[...] = 7.0
    s.sync_state.state = state
    s.device_to_host(force=True)
    assert (s._host == 7).all() and s.sync_state.state == S.SYNC_CLEAN


def test_synchronize_does_what_is_due(s: gs.SoftwareManagedGPUStorage, gpu: FakeDevice) -> None:
    s.synchronize()
    assert gpu.log == []
    s.set_host_modified()
    s.synchronize()
    assert (s._dev.hidden == 1).all() and s.sync_state.state == S.SYNC_CLEAN
    s._dev[...] = 3.0
    s.set_device_modified()
    s.synchronize()
    assert (s._host == 3).all() and gpu.log == ["upload", "download"]


def test_a_synchronised_view_synchronises_the_whole(s: gs.SoftwareManagedGPUStorage) -> None:
    s[...] = 5.0
    s[0, :1].host_to_device()
    assert (s._dev.hidden == 5).all() and s.sync_state.state == S.SYNC_CLEAN


@pytest.mark.parametrize("write", [
    lambda s: gb.copyto(s, np.full((2, 3), 9.0)),
    lambda s: gb.copyto(s, gb.Field.full((3, 2), 9.0, dims="JI")), lambda s: gb.copyto(s, 9.0),
    lambda s: gb.copyto(s, gs.full((2, 3), 9.0, device="gpu")), lambda s: gb.fill(s, 9.0),
    lambda s: np.copyto(s, 9.0), lambda s: s.fill(9.0),
    lambda s: from_ufunc(np.negative)(np.full((2, 3), -9.0), out=s),
    lambda s: np.take(np.full((2, 3), 9.0), [0, 1], axis=0, out=s),
])  # fmt: skip
@pytest.mark.parametrize("state", [S.SYNC_CLEAN, S.SYNC_HOST_DIRTY, S.SYNC_DEVICE_DIRTY])
def test_what_writes_marks_the_side(
    s: gs.SoftwareManagedGPUStorage, write: Callable[[gs.Storage], object], state: int
) -> None:
    s.sync_state.state = state
    write(s)
    assert s.sync_state.state != S.SYNC_CLEAN
    s.synchronize()
    assert (s._host == 9).all() and (s._dev.hidden == 9).all()


def test_marking_a_side_that_would_lose_changes(s: gs.SoftwareManagedGPUStorage) -> None:
    s.set_host_modified()
    s.set_host_modified()
    with pytest.raises(RuntimeError, match="host"):
        s.set_device_modified()
    assert s.sync_state.state == S.SYNC_HOST_DIRTY
    s.set_device_modified(force=True)
    with pytest.raises(RuntimeError, match="device"):
        s.set_host_modified()
    s.set_synchronized()
    assert s.sync_state.state == S.SYNC_CLEAN


HOST_ACCESS: dict[str, Callable[[gs.Storage], object]] = {
    "__array__": lambda s: s.__array__(),
    "np.asarray": np.asarray,
    "__array_interface__": lambda s: s.__array_interface__,
    "to_numpy": lambda s: s.to_numpy(),
    "data": lambda s: s.data,
    "element": lambda s: s[0, 0],
    "dlpack": np.from_dlpack,
}
DEVICE_ACCESS: dict[str, Callable[[gs.Storage], object]] = {
    "__cuda_array_interface__": lambda s: s.__cuda_array_interface__,
    "to_cupy": lambda s: s.to_cupy(),
    "to_ndarray": lambda s: s.to_ndarray(),
    "device_data": lambda s: s.device_data,
}


@pytest.mark.parametrize("access", HOST_ACCESS)
def test_host_access_brings_the_values_first(
    s: gs.SoftwareManagedGPUStorage, gpu: FakeDevice, access: str
) -> None:
    s.set_device_modified()
    HOST_ACCESS[access](s)
    assert gpu.log == ["download"] and (s._host == 2).all() and s.sync_state.state == S.SYNC_CLEAN


@pytest.mark.parametrize("access", DEVICE_ACCESS)
def test_device_access_brings_the_values_first(
    s: gs.SoftwareManagedGPUStorage, gpu: FakeDevice, access: str
) -> None:
    s.set_host_modified()
    DEVICE_ACCESS[access](s)
    assert (
        gpu.log == ["upload"] and (s._dev.hidden == 1).all() and s.sync_state.state == S.SYNC_CLEAN
    )


def test_looking_at_metadata_copies_nothing(
    s: gs.SoftwareManagedGPUStorage, gpu: FakeDevice
) -> None:
    s.set_device_modified()
    for name in ("shape", "strides", "dtype", "nbytes", "size", "axes", "halo", "flags",
    "device_flags", "device", "__gt_interface__",
                 "__gt_dims__", "__gt_origin__", "domain"):  # fmt: skip
        getattr(s, name)
    s[0], np.transpose(s), repr(s)
    assert gpu.log == [] and s.sync_state.state == S.SYNC_DEVICE_DIRTY


@pytest.mark.parametrize("managed", ["cpu", None, "cuda"])
def test_on_other_classes_all_of_it_copies_nothing(gpu: FakeDevice, managed: str | None) -> None:
    s = gs.ones((2,)) if managed == "cpu" else gs.ones((2,), device="gpu", managed=managed)
    for _ in range(2):
        (
            s.device_to_host(),
            s.device_to_host(force=True),
            s.host_to_device(force=True),
            s.host_to_device(),
        )
        (
            s.set_device_modified(),
            s.set_host_modified(),
            s.set_device_modified(force=True),
            s.set_synchronized(),
            s.synchronize(),
        )
    # That waits, and copies nothing
    assert gpu.log == (["synchronize"] * 6 if managed == "cuda" else []) and s._array[0] is not None


def test_the_interface_s_callables(s: gs.SoftwareManagedGPUStorage, gpu: FakeDevice) -> None:
    host, dev = s.__gt_interface__[None], s.__gt_interface__["gpu"]
    assert host["data"][0] == s._host.ctypes.data and dev["data"][0] == s._dev.data
    dev["touch"]()
    assert s.sync_state.state == S.SYNC_DEVICE_DIRTY and gpu.log == []
    host["acquire"]()
    assert s.sync_state.state == S.SYNC_CLEAN and (s._host == 2).all()
    host["touch"]()
    dev["acquire"]()
    assert gpu.log == ["download", "upload"]
