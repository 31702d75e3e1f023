"""Memory of the driver by DLPack: which device, whose stream, who keeps it."""

import ctypes
import gc
from typing import Any

import numpy as np
import pytest
from device_views import interface, settled
from fake_driver import Fake, values_of

import gridbuf as gb


def capsule_name(capsule: Any) -> str:
    get = ctypes.pythonapi.PyCapsule_GetName
    get.restype, get.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return get(capsule).decode()


def tensor(capsule: Any) -> tuple[int, int, int]:
    """Device type, device id and data of a capsule's tensor."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    name = capsule_name(capsule)
    at = get(capsule, name.encode()) + (32 if name == "dltensor_versioned" else 0)
    return (*(ctypes.c_int32 * 2).from_address(at + 8), ctypes.c_uint64.from_address(at).value)


def test_dlpack_devices() -> None:
    device, pinned, managed = (
        settled(**s) for s in ({"device": "gpu"}, {"memory": "pinned"}, {"memory": "managed"})
    )
    on_gpu = settled(memory="managed", device="gpu")
    assert [f.__dlpack_device__() for f in (device, pinned, managed, on_gpu)] == [
        (2, 0),
        (1, 0),
        (1, 0),
        (2, 0),
    ]
    for f in (device, pinned, managed, on_gpu):
        for version, name in (
            (None, "dltensor"),
            ((0, 8), "dltensor"),
            ((1, 3), "dltensor_versioned"),
        ):
            capsule = f.__dlpack__(max_version=version)
            assert capsule_name(capsule) == name and tensor(capsule)[:2] == f.__dlpack_device__()
    allowed = {
        id(device): [(2, 0), (1, 0)],
        id(pinned): [(1, 0), (3, 0)],
        id(managed): [(1, 0), (2, 0), (13, 0)],
    }
    for f in (device, pinned, managed):
        for wanted in ((1, 0), (2, 0), (3, 0), (13, 0), (2, 1), (1, 1), (99, 0)):
            if wanted in allowed[id(f)]:
                assert tensor(f.__dlpack__(dl_device=wanted, max_version=(1, 0)))[:2] == wanted
            else:
                with pytest.raises(BufferError, match="dl_device"):
                    f.__dlpack__(dl_device=wanted, max_version=(1, 0))
        with pytest.raises(TypeError, match="dl_device: expected a pair of ints"):
            f.__dlpack__(dl_device="x")
        with pytest.raises(TypeError, match="copy: expected True, False or None"):
            f.__dlpack__(copy="x")
    for no in (False, np.False_):
        with pytest.raises(BufferError, match="copy"):
            device.__dlpack__(dl_device=(1, 0), copy=no)
    assert tensor(managed.__dlpack__(dl_device=(13, 0)))[2] == interface(managed)["data"][0]
    assert tensor(device.__dlpack__(copy=True, max_version=(1, 0)))[2] not in (
        interface(device)["data"][0],
        0,
    )
    assert tensor(gb.Field.zeros((0, 3), device="gpu").__dlpack__())[2] == 0


def test_dlpack_streams(fake: Fake) -> None:
    f = settled(device="gpu")
    for stream in (0, -2, "x", 1.5, True, 1 << 70):
        with pytest.raises(BufferError, match="stream"):
            f.__dlpack__(stream=stream)
    handle = fake.stream(0)
    for stream, waits in ((None, 0), (1, 0), (2, 0), (-1, 0), (handle, 1)):
        before = fake.count("cuStreamWaitEvent")
        f.__dlpack__(stream=stream)
        # nothing of ours is pending, but others have seen it, and may be at it on this thread's
        # stream, which the default streams are in order with by themselves
        assert fake.count("cuStreamWaitEvent") - before == waits, stream
    fake.hold(True)
    gb.fill(f, 1.0)
    for stream, waits in ((None, 0), (1, 0), (2, 0), (-1, 0), (handle, 1)):
        before = fake.count("cuStreamWaitEvent")
        f.__dlpack__(stream=stream)
        assert (fake.count("cuStreamWaitEvent") > before) == bool(waits), stream
    with gb.cuda.stream(handle):
        gb.fill(f, 2.0)
        before = fake.count("cuStreamWaitEvent")
        f.__dlpack__()
        assert fake.count("cuStreamWaitEvent") > before
    fake.pump()
    for memory in ({"memory": "pinned"}, {"memory": "managed"}):
        with pytest.raises(BufferError, match="stream"):
            settled(**memory).__dlpack__(stream=1)


def test_capsules_keep_the_memory() -> None:
    f = settled(device="gpu")
    capsule = f.__dlpack__(max_version=(1, 0))
    g = gb.from_dlpack(f)
    view = g[1:]
    del f
    gc.collect()
    assert gb.memory.stats(device="gpu")["live_buffers"] == 1 and (values_of(view) == 0).all()
    del capsule, g
    assert gb.memory.stats(device="gpu")["live_buffers"] == 1
    del view
    gc.collect()
    assert gb.memory.stats(device="gpu")["live_buffers"] == 0


def test_our_own_tensors_come_back_as_what_they_are() -> None:
    for spec, kind in (
        ({"device": "gpu"}, gb.DeviceField),
        ({"memory": "pinned"}, gb.HostField),
        ({"memory": "managed"}, gb.ManagedField),
    ):
        f = settled(**spec)
        gb.fill(f, 5)
        wrapped = gb.Field(f)
        assert (
            type(wrapped) is kind
            and wrapped.plan.memory == spec.get("memory")
            and (values_of(wrapped) == 5).all()
        )
        assert (
            gb.memory.buffer_id(wrapped) == gb.memory.buffer_id(f) == gb.memory.buffer_id(f[1:, 2])
        )
    d = gb.from_dlpack(settled(device="gpu"), "KJ", halo=(1, 1))
    assert type(d) is gb.DeviceField and d.dims == ("K", "J") and d.domain.shape == (2, 3)


class Producer:
    """A tensor of another library on a GPU, old or new."""

    def __init__(self, field: gb.Field, old: bool) -> None:
        self.field, self.old, self.streams = field, old, []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.field.__dlpack_device__()

    def __dlpack__(self, stream: Any = None, **more: Any) -> Any:
        if self.old and more:
            raise TypeError("unexpected keyword")
        self.streams.append(stream)
        return self.field.__dlpack__(stream=stream, **more)


@pytest.mark.parametrize("old", [False, True])
def test_producers_are_told_our_stream(old: bool) -> None:
    p = Producer(settled(device="gpu"), old)
    f = gb.Field(p)
    with gb.cuda.stream(2):
        gb.from_dlpack(p)
    assert type(f) is gb.DeviceField and p.streams == [1, 2]
    with pytest.raises(TypeError, match="DLPack device"):
        gb.as_numpy(p)


def test_the_host_sees_managed_memory_after_the_gpu_is_done(fake: Fake) -> None:
    f = settled(memory="managed")
    looks = (
        lambda: f.numpy(),
        lambda: np.asarray(f),
        lambda: memoryview(f),
        lambda: f.__array_interface__,
        lambda: np.from_dlpack(f),
    )
    for i, look in enumerate(looks):
        fake.hold(True)
        gb.fill(f, float(i))
        look()
        assert f.numpy()[3, 4] == i
        fake.hold(False)
    f.numpy()[1, 1] = 42
    assert (
        f[1, 1] == 42 and gb.Field(f.numpy()).plan.memory == "managed" and f[1:].numpy()[0, 1] == 42
    )


class Tensor:
    """A DLPack producer that says what it likes of where its tensor lies."""

    def __init__(self, field: gb.Field, device: tuple[int, int]) -> None:
        self.field, self.device = field, device

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **wishes: Any) -> Any:
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        capsule = self.field.__dlpack__(max_version=(1, 0))
        at = get(capsule, b"dltensor_versioned") + 32
        (ctypes.c_int32 * 2).from_address(at + 8)[:] = self.device
        return capsule


@pytest.mark.skipif("len(gb.cuda.devices()) < 2", reason="needs two GPUs")
def test_managed_memory_belongs_to_the_gpu_that_the_driver_names() -> None:
    for n in range(2):
        f = gb.Field.zeros((4, 5), memory="managed", device=("gpu", n))
        g = gb.Field(Tensor(f, (13, 0)))
        assert type(g) is gb.ManagedField
        gb.fill(g, 3.0)  # on that GPU: the fake driver looks
        assert (f.numpy() == 3).all()
        other = gb.Field.empty((4, 5), device=("gpu", 1 - n))
        gb.copyto(other, g)
        assert (values_of(other) == 3).all()
    with pytest.raises(BufferError, match="not managed memory"):
        gb.Field(Tensor(gb.Field.zeros(3, device="gpu"), (13, 0)))


@pytest.mark.parametrize("number", [2, 64, 65536, 65537, (1 << 31) - 1, -1, -(1 << 31)])
def test_a_gpu_that_is_not_there(number: int) -> None:
    f = gb.Field.zeros(3, device="gpu")
    for take in (gb.Field, gb.from_dlpack):
        with pytest.raises(BufferError, match=r"numbered from 0|count from 0"):
            take(Tensor(f, (2, number)))


def test_the_exchange_api_waits_for_managed_memory_that_the_host_reads(fake: Fake) -> None:
    f = settled(memory="managed")
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = get(type(f).__dlpack_c_exchange_api__, b"dlpack_exchange_api")
    entries = (ctypes.c_void_p * 5).from_address(table + 16)
    export = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))(
        entries[1]
    )
    lend = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(entries[3])
    for value in (1.0, 2.0):
        fake.hold(True)
        gb.fill(f, value)
        if value == 1:
            out = ctypes.c_void_p()
            assert export(f, ctypes.byref(out)) == 0 and out.value
            data = ctypes.c_uint64.from_address(out.value + 32).value
            deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(
                ctypes.c_void_p.from_address(out.value + 16).value
            )
        else:
            room = ctypes.create_string_buffer(64)
            assert lend(f, ctypes.addressof(room)) == 0
            data = ctypes.c_uint64.from_buffer(room).value
        assert (np.ctypeslib.as_array((ctypes.c_double * 20).from_address(data)) == value).all()
        fake.hold(False)
    deleter(out.value)


@pytest.mark.skipif("len(gb.cuda.devices()) < 2", reason="needs two GPUs")
def test_an_order_is_no_machine() -> None:
    f = gb.Field.from_array(
        np.arange(20.0).reshape(4, 5), device=("gpu", 1), dims="KJ", halo=(1, 1)
    )
    g = f.to(backend="F")
    assert (
        type(g) is gb.DeviceField
        and g.device == ("gpu", 1)
        and g.strides == (8, 32)
        and g.halo == f.halo
    )
    assert g.to(backend="C").strides == (40, 8) and np.array_equal(values_of(g), values_of(f))
    assert f.to(backend="F", device="cpu").device == "cpu" == f.to(backend="gt:cpu_ifirst").device
    assert gb.Field.zeros(3, memory="managed").to(backend="F").plan.memory == "managed"
    assert gb.zeros_like(f, backend="F").device == ("gpu", 1)
    assert gb.Field.zeros(3).to(backend="F").device == "cpu"
