"""How memory of the driver is shown to others: CUDA's array interface, DLPack, NumPy's protocols."""

import ctypes
import gc
from typing import Any

import numpy as np
import pytest
from fake_driver import Fake, values_of

import gridbuf as gb


def interface(obj: Any) -> dict[str, Any]:
    found: dict[str, Any] = obj.__cuda_array_interface__
    return found


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


def settled(**spec: Any) -> gb.Field:
    """A Field on which nothing is pending."""
    f = gb.Field.zeros((4, 5), **spec)
    gb.cuda.synchronize()
    return f


def test_the_keys_of_the_interface() -> None:
    f = settled(device="gpu", backend="F")
    d = interface(f)
    assert set(d) == {"shape", "typestr", "data", "strides", "version"}
    assert (
        d["shape"] == (4, 5) and d["typestr"] == "<f8" and d["version"] == 3 and d["strides"] == (8, 32) and d["data"][1] is False
    )
    assert interface(settled(device="gpu"))["strides"] is None
    assert interface(f[1:, 2])["data"][0] == d["data"][0] + 8 + 2 * 32
    named = gb.Field.zeros(3, [("a", "f4"), ("b", "i4")], device="gpu")
    assert interface(named)["descr"] == [("a", "<f4"), ("b", "<i4")]


def test_the_stream_is_there_only_while_our_own_work_is_pending(fake: Fake) -> None:
    f = settled(device="gpu")
    fake.hold(True)
    gb.fill(f, 1.0)
    assert interface(f)["stream"] == interface(f[1:])["stream"] == 1
    fake.pump()
    assert "stream" not in interface(f)
    with gb.cuda.stream(2):
        gb.fill(f, 2.0)
    assert interface(f)["stream"] == 2
    fake.pump()
    g = gb.Field.empty((4, 5), device="gpu")
    gb.copyto(g, f)
    assert interface(g)["stream"] == interface(f)["stream"] == 1
    fake.pump()
    fake.hold(False)
    assert "stream" not in interface(g) and values_of(g)[0, 0] == 2.0


def test_numpy_is_refused_with_a_remedy() -> None:
    f = settled(device="gpu")
    for look in (np.asarray, gb.as_numpy, lambda x: x.numpy(), lambda x: x.__array__(), gb.HostField):
        with pytest.raises(TypeError, match=r"to\(device='cpu'\)"):
            look(f)
    with pytest.raises(TypeError, match="bytes-like"):
        memoryview(f)
    assert not hasattr(f, "__array_interface__") and not hasattr(f, "__array_struct__")
    with pytest.raises((TypeError, BufferError, RuntimeError)):
        np.from_dlpack(f)
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
        assert (np.from_dlpack(f, device="cpu") == 0).all()
    assert "('gpu', 0)" in repr(f) and len(f) == 4


def test_a_host_array_where_a_device_array_is_needed() -> None:
    for obj in (np.zeros(3), gb.Field.zeros(3), gb.zeros(3, memory="pinned")):
        with pytest.raises(TypeError, match="device='gpu'"):
            gb.DeviceField(obj)
    with pytest.raises(ValueError, match="device: expected"):
        gb.Field(np.zeros(3), require={"device": "gpu"})
    host = np.zeros(3)

    class Lies:
        @property
        def __cuda_array_interface__(self) -> dict[str, Any]:
            return {**host.__array_interface__, "version": 3}

    with pytest.raises(ValueError, match="not memory that CUDA knows"):
        gb.Field(Lies())


def test_only_what_was_asked_for_is_there() -> None:
    host, pinned, device = gb.Field.zeros(3), gb.Field.zeros(3, memory="pinned"), gb.Field.zeros(3, device="gpu")
    assert not hasattr(host, "__cuda_array_interface__") and not hasattr(pinned, "__cuda_array_interface__")
    assert not hasattr(host, "cupy") and hasattr(device, "__cupy_get_ndarray__")
    for name in ("ndarray", "descriptor", "name", "data_ptr"):
        assert not hasattr(device, name)


def test_dlpack_devices() -> None:
    device, pinned, managed = (settled(**s) for s in ({"device": "gpu"}, {"memory": "pinned"}, {"memory": "managed"}))
    on_gpu = settled(memory="managed", device="gpu")
    assert [f.__dlpack_device__() for f in (device, pinned, managed, on_gpu)] == [(2, 0), (1, 0), (1, 0), (2, 0)]
    for f in (device, pinned, managed, on_gpu):
        for version, name in ((None, "dltensor"), ((0, 8), "dltensor"), ((1, 3), "dltensor_versioned")):
            capsule = f.__dlpack__(max_version=version)
            assert capsule_name(capsule) == name and tensor(capsule)[:2] == f.__dlpack_device__()
    allowed = {id(device): [(2, 0), (1, 0)], id(pinned): [(1, 0), (3, 0)], id(managed): [(1, 0), (2, 0), (13, 0)]}
    for f in (device, pinned, managed):
        for wanted in ((1, 0), (2, 0), (3, 0), (13, 0), (2, 1), (1, 1), (99, 0)):
            if wanted in allowed[id(f)]:
                assert tensor(f.__dlpack__(dl_device=wanted, max_version=(1, 0)))[:2] == wanted
            else:
                with pytest.raises(BufferError, match="dl_device"):
                    f.__dlpack__(dl_device=wanted, max_version=(1, 0))
    with pytest.raises(BufferError, match="copy"):
        device.__dlpack__(dl_device=(1, 0), copy=False)
    assert tensor(managed.__dlpack__(dl_device=(13, 0)))[2] == interface(managed)["data"][0]
    assert tensor(device.__dlpack__(copy=True, max_version=(1, 0)))[2] not in (interface(device)["data"][0], 0)
    assert tensor(gb.Field.zeros((0, 3), device="gpu").__dlpack__())[2] == 0


def test_dlpack_streams(fake: Fake) -> None:
    f = settled(device="gpu")
    for stream in (0, -2, "x", 1.5, True, 1 << 70):
        with pytest.raises(BufferError, match="stream"):
            f.__dlpack__(stream=stream)
    for stream in (None, 1, 2, -1):
        before = fake.count("cuStreamWaitEvent")
        f.__dlpack__(stream=stream)
        # nothing of ours is pending; a thread on another stream than ours waits for ours
        assert fake.count("cuStreamWaitEvent") - before == (1 if stream == 2 else 0)
    fake.hold(True)
    gb.fill(f, 1.0)
    for stream, waits in ((None, 0), (1, 0), (-1, 0), (2, 1)):
        before = fake.count("cuStreamWaitEvent")
        f.__dlpack__(stream=stream)
        assert (fake.count("cuStreamWaitEvent") > before) == bool(waits), stream
    with gb.cuda.stream(2):
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
        assert type(wrapped) is kind and wrapped.plan.memory == spec.get("memory") and (values_of(wrapped) == 5).all()
        assert gb.memory.buffer_id(wrapped) == gb.memory.buffer_id(f) == gb.memory.buffer_id(f[1:, 2])
    d = gb.from_dlpack(settled(device="gpu"), "KJ", halo=(1, 1))
    assert type(d) is gb.DeviceField and d.dims == ("K", "J") and d.domain.shape == (2, 3)


class Described:
    """An object of another library with nothing but the interface."""

    def __init__(self, field: gb.Field, **changes: Any) -> None:
        self.keep = field
        self.__dict__["d"] = interface(field) | changes

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.d


def test_interfaces_of_others() -> None:
    f = gb.Field.from_array(np.arange(20.0).reshape(4, 5), device="gpu", backend="F")
    g = gb.Field(Described(f), "KJ", halo=(1, 1))
    assert type(g) is gb.DeviceField and g.device == ("gpu", 0) and g.dims == ("K", "J") and g.strides == f.strides
    assert np.array_equal(values_of(g), np.arange(20.0).reshape(4, 5))
    assert gb.Plan.of(Described(f)).device == ("gpu", 0) and gb.memory.buffer_id(g) is None
    read_only = gb.Field(Described(f, data=(interface(f)["data"][0], True)))
    assert read_only.readonly
    with pytest.raises(ValueError, match="read-only"):
        gb.fill(read_only, 1)
    assert type(gb.Field(Described(settled(memory="managed")))) is gb.ManagedField
    with pytest.raises(TypeError, match="device memory"):
        gb.as_numpy(Described(f))
    a = np.zeros((4, 5))
    gb.copyto(a, Described(f))
    assert a[3, 4] == 19
    gb.copyto(Described(f), a + 1)
    assert f[3, 4] == 20
    for wrong in (
        {"version": 4}, {"shape": (-1,)}, {"shape": 3}, {"strides": (8,)}, {"strides": (1 << 63, 8)}, {"data": 5}, {"data": (0, False)},
        {"data": (1 << 64, False)}, {"typestr": "f8x"}, {"typestr": None}, {"typestr": "|O8"}, {"mask": a}, {"stream": 0},
        {"stream": "x"}, {"shape": (1 << 40, 1 << 40)},
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError)):
            gb.Field(Described(f, **wrong))


def test_a_stream_in_an_interface_is_waited_for(fake: Fake) -> None:
    f = settled(device="gpu")
    before = fake.count("cuStreamWaitEvent")
    gb.Field(Described(f))
    gb.Field(Described(f, stream=1))
    assert fake.count("cuStreamWaitEvent") == before
    gb.Field(Described(f, stream=2))
    assert fake.count("cuStreamWaitEvent") == before + 1


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
    assert f[1, 1] == 42 and gb.Field(f.numpy()).plan.memory == "managed" and f[1:].numpy()[0, 1] == 42


def test_gt_interface_of_every_kind() -> None:
    device, managed = gb.Field.zeros((2, 3), dims="KJ", device="gpu"), gb.Field.zeros((2, 3), memory="managed")
    ((key, entry),) = device.__gt_interface__.items()
    assert key == ("gpu", 0) and entry["dims"] == ("K", "J") and entry["data"] == interface(device)["data"]
    assert set(managed.__gt_interface__) == {None, ("gpu", 0)}


def test_views_remember_what_they_are() -> None:
    f = gb.Field.from_array(np.arange(60.0).reshape(3, 4, 5), device="gpu", dims="KJI", halo=(0, 1, 2))
    v = f[:, ::-1, 1:]
    assert (
        type(v) is gb.DeviceField
        and v.halo == ((0, 0), (1, 1), (1, 2))
        and v.device == ("gpu", 0)
        and v.plan.device == ("gpu", 0)
    )
    assert np.array_equal(values_of(f.domain), np.arange(60.0).reshape(3, 4, 5)[:, 1:-1, 2:-2])
    assert values_of(f.transpose("IJK")).shape == (5, 4, 3) and f.transpose("IJK")[4, 3, 2] == 59
    assert bool(gb.Field.ones((1,), device="gpu")) and not bool(gb.Field.zeros((1, 1), device="gpu"))
    with pytest.raises((TypeError, ValueError)):
        bool(f)
    with pytest.raises(IndexError):
        f[5]
    with pytest.raises(TypeError, match="None"):
        f[None]
    assert [x.shape for x in f] == [(4, 5)] * 3
