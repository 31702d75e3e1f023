"""Which side a ufunc computes on, and the states of what comes out."""

from collections.abc import Callable

import numpy as np
import pytest
from fake_device import FakeArray, FakeDevice

import gridbuf.storage as gs

CLEAN = gs.SyncState.SYNC_CLEAN
HOST = gs.SyncState.SYNC_HOST_DIRTY
DEVICE = gs.SyncState.SYNC_DEVICE_DIRTY


def software(state: int = CLEAN) -> gs.SoftwareManagedGPUStorage:
    s = gs.ones((3,), device="gpu")
    s.sync_state.state = state
    if state == HOST:
        s._dev[...] = -1.0
    if state == DEVICE:
        s._host[...] = -1.0
    return s


MAKE: dict[str, Callable[[], object]] = {
    "cpu": lambda: gs.ones((3,)),
    "gpu": lambda: gs.ones((3,), device="gpu", managed=None),
    "cuda": lambda: gs.ones((3,), device="gpu", managed="cuda"),
    "clean": software,
    "host": lambda: software(HOST),
    "device": lambda: software(DEVICE),
    "numpy": lambda: np.ones(3),
    "cupy": lambda: FakeArray(np.ones(3)),
    "scalar": lambda: 1.0,
}
SOFTWARE, CUDA = gs.SoftwareManagedGPUStorage, gs.CUDAManagedGPUStorage


@pytest.mark.parametrize("first, second, cls, state", [
    ("clean", "clean", SOFTWARE, DEVICE), ("clean", "device", SOFTWARE, DEVICE),
    ("clean", "scalar", SOFTWARE, DEVICE),
    ("host", "host", SOFTWARE, HOST), ("host", "scalar", SOFTWARE, HOST),
    ("host", "numpy", SOFTWARE, HOST),
    ("host", "cpu", SOFTWARE, HOST), ("host", "clean", SOFTWARE, DEVICE),
    ("host", "device", SOFTWARE, DEVICE),
    ("clean", "numpy", SOFTWARE, DEVICE), ("clean", "cpu", SOFTWARE, DEVICE),
    ("host", "cupy", SOFTWARE, DEVICE),
    ("host", "gpu", SOFTWARE, DEVICE), ("host", "cuda", SOFTWARE, DEVICE),
    ("device", "gpu", SOFTWARE, DEVICE),
])  # fmt: skip
@pytest.mark.parametrize("swap", [False, True])
def test_software_managed(
    gpu: FakeDevice, first: str, second: str, cls: type, state: int, swap: bool
) -> None:
    if swap and second in ("cuda", "cupy"):
        # the first of two managed classes decides; and cupy, asked first, answers with an array of
        # its own
        return
    a, b = MAKE[first](), MAKE[second]()
    result = np.add(b, a) if swap else np.add(a, b)
    assert type(result) is cls and result.sync_state.state == state
    assert result.to_numpy().tolist() == [2, 2, 2] and result.to_cupy().hidden.tolist() == [2, 2, 2]


def test_nothing_is_copied_that_is_where_it_is_needed(gpu: FakeDevice) -> None:
    np.add(software(DEVICE), software(CLEAN))
    np.add(software(HOST), np.ones(3))
    assert gpu.log == []
    np.add(software(HOST), software(CLEAN))
    assert gpu.log == ["upload"]


@pytest.mark.parametrize("first, second, side", [
    ("cuda", "cuda", "gpu"), ("cuda", "cupy", "gpu"), ("cuda", "gpu", "gpu"),
    ("cuda", "scalar", "gpu"), ("cuda", "clean", "gpu"),
    ("cuda", "host", "gpu"), ("cuda", "numpy", "host"), ("cuda", "cpu", "host"),
])  # fmt: skip
def test_cuda_managed(
    gpu: FakeDevice, monkeypatch: pytest.MonkeyPatch, first: str, second: str, side: str
) -> None:
    a, b = MAKE[first](), MAKE[second]()
    on_device = []
    original = FakeArray.__array_ufunc__
    monkeypatch.setattr(
        FakeArray,
        "__array_ufunc__",
        lambda *args, **kw: on_device.append(1) or original(*args, **kw),
    )
    result = np.add(a, b)
    assert type(result) is CUDA and result.to_numpy().tolist() == [2, 2, 2]
    assert bool(on_device) == (side == "gpu")


def test_the_first_managed_class_decides(gpu: FakeDevice) -> None:
    assert type(np.add(MAKE["cuda"](), MAKE["clean"]())) is CUDA
    assert type(np.add(MAKE["clean"](), MAKE["cuda"]())) is SOFTWARE


def test_gpu_only(gpu: FakeDevice) -> None:
    for first, second in (("gpu", "gpu"), ("gpu", "cupy"), ("gpu", "scalar"), ("scalar", "gpu")):
        result = np.add(MAKE[first](), MAKE[second]())
        assert type(result) is gs.GPUStorage and result._dev.hidden.tolist() == [2, 2, 2]
    assert gpu.log == []


@pytest.mark.parametrize(
    "first, second",
    [("cpu", "cupy"), ("cpu", "gpu"), ("gpu", "cpu"), ("gpu", "numpy"), ("numpy", "gpu")],
)
def test_what_cannot_meet(gpu: FakeDevice, first: str, second: str) -> None:
    with pytest.raises(TypeError, match="memory"):
        np.add(MAKE[first](), MAKE[second]())


def test_zero_dimensional_arrays_are_scalars(gpu: FakeDevice) -> None:
    result = np.add(MAKE["gpu"](), np.array(2.0))
    assert result._dev.hidden.tolist() == [3, 3, 3]


@pytest.mark.parametrize("managed", [None, "gt4py", "cuda"])
def test_the_result_is_of_the_same_class(gpu: FakeDevice, managed: str | None) -> None:
    s = gs.ones((2, 3), device="gpu", managed=managed, halo=(0, 1), layout="KJI")
    for result in (
        s + 1,
        -s,
        s > 0,
        np.add.reduce(s, axis="J"),
        s[0],
        s.domain,
        s.copy(),
        np.transpose(s),
    ):
        assert type(result) is type(s) and result.device == 0
    assert (s + 1).layout == "KJI" and (s + 1).halo == s.halo


@pytest.mark.parametrize("out_state", [CLEAN, HOST, DEVICE])
@pytest.mark.parametrize("operand, state", [("clean", DEVICE), ("host", HOST)])
def test_out_is_brought_to_the_side_and_then_dirty_there(
    gpu: FakeDevice, out_state: int, operand: str, state: int
) -> None:
    out = software(out_state)
    assert np.multiply(MAKE[operand](), 5.0, out=out) is out
    assert out.sync_state.state == state and out.to_numpy().tolist() == [5, 5, 5]


def test_parts_of_out_that_are_not_written_are_kept(gpu: FakeDevice) -> None:
    out = software(HOST)
    out._host[2] = 9.0
    np.multiply(software(CLEAN)[:2], 5.0, out=out[:2])
    assert out.to_numpy().tolist() == [5, 5, 9] and out.to_cupy().hidden.tolist() == [5, 5, 9]


def test_in_place(gpu: FakeDevice) -> None:
    for start, state in ((CLEAN, DEVICE), (DEVICE, DEVICE), (HOST, HOST)):
        s = before = software(start)
        s += 1.0
        assert s is before and s.sync_state.state == state and s.to_numpy().tolist() == [2, 2, 2]


def test_outputs_on_one_side_only(gpu: FakeDevice) -> None:
    cpu, plain, only = gs.empty((3,)), np.empty(3), gs.empty((3,), device="gpu", managed=None)
    assert np.negative(software(CLEAN), out=cpu) is cpu and cpu.to_numpy().tolist() == [-1] * 3
    assert np.negative(software(DEVICE), out=plain) is plain and plain.tolist() == [-1] * 3
    assert np.negative(software(HOST), out=only) is only and only._dev.hidden.tolist() == [-1] * 3
    with pytest.raises(TypeError, match="out"):
        np.negative(gs.ones((3,)), out=only)
    with pytest.raises(TypeError, match="out"):
        np.negative(gs.ones((3,), device="gpu", managed=None), out=plain)
    with pytest.raises(TypeError, match="out"):
        np.add(software(CLEAN), FakeArray(np.ones(3)), out=plain)


def test_a_host_array_into_a_managed_storage(gpu: FakeDevice) -> None:
    out = software(CLEAN)
    np.add(np.ones(3), gs.ones((3,)), out=out)
    assert out.sync_state.state == HOST and out.to_cupy().hidden.tolist() == [2, 2, 2]


def test_by_name_on_the_device(gpu: FakeDevice) -> None:
    ij = gs.storage(np.arange(6.0).reshape(2, 3), device="gpu", managed=None)
    k = gs.storage(np.arange(4.0), axes="K", device="gpu", managed=None, alignment=4)
    found = ij + k
    assert (
        found.axes == "IJK"
        and (found._dev.hidden == np.arange(6.0).reshape(2, 3, 1) + np.arange(4.0)).all()
    )
    assert found.alignment == 4 and found.__cuda_array_interface__["data"][0] % 32 == 0


@pytest.mark.parametrize("managed", [None, "gt4py", "cuda"])
def test_a_storage_s_device_makes_another_there(gpu: FakeDevice, managed: str | None) -> None:
    s = gs.zeros((3,), axes="K", device="gpu", managed=managed)
    for made in (
        gs.zeros((3,), axes="K", device=s.device, managed=managed),
        gs.storage(s, device=s.device),
    ):
        assert type(made) is type(s) and made.device == s.device == 0
    assert gs.zeros((3,), axes="K", device=gs.zeros((3,), axes="K").device).device is None
