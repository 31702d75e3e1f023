"""How memory of the driver is shown to others and read: CUDA's array interface, GT4Py's, and
NumPy's protocols.
"""

import operator
import types
from typing import Any

import numpy as np
import pytest
from device_views import interface, settled
from fake_driver import Fake, values_of

import gridbuf as gb


def test_the_keys_of_the_interface() -> None:
    f = settled(device="gpu", backend="F")
    d = interface(f)
    assert set(d) == {"shape", "typestr", "data", "strides", "version"}
    assert (
        d["shape"] == (4, 5)
        and d["typestr"] == "<f8"
        and d["version"] == 3
        and d["strides"] == (8, 32)
        and d["data"][1] is False
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
    for look in (
        np.asarray,
        gb.as_numpy,
        lambda x: x.numpy(),
        lambda x: x.__array__(),
        gb.HostField,
    ):
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
    host = gb.Field.zeros(3)
    pinned = gb.Field.zeros(3, memory="pinned")
    device = gb.Field.zeros(3, device="gpu")
    assert not hasattr(host, "__cuda_array_interface__") and not hasattr(
        pinned, "__cuda_array_interface__"
    )
    assert not hasattr(host, "cupy") and hasattr(device, "__cupy_get_ndarray__")
    for name in ("ndarray", "descriptor", "name", "data_ptr"):
        assert not hasattr(device, name)


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
    assert (
        type(g) is gb.DeviceField
        and g.device == ("gpu", 0)
        and g.dims == ("K", "J")
        and g.strides == f.strides
    )
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
        {"version": 4}, {"shape": (-1,)}, {"shape": 3}, {"strides": (8,)},
        {"strides": (1 << 63, 8)}, {"data": 5}, {"data": (0, False)},
        {"data": (1 << 64, False)}, {"typestr": "f8x"}, {"typestr": None}, {"typestr": "|O8"},
        {"mask": a}, {"stream": 0},
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
    gb.Field(Described(f, stream=2))  # in order with the legacy one by itself
    assert fake.count("cuStreamWaitEvent") == before
    gb.Field(Described(f, stream=fake.stream(0)))
    assert fake.count("cuStreamWaitEvent") == before + 1


def test_gt_interface_of_every_kind() -> None:
    device = gb.Field.zeros((2, 3), dims="KJ", device="gpu")
    managed = gb.Field.zeros((2, 3), memory="managed")
    ((key, entry),) = device.__gt_interface__.items()
    assert (
        key == ("gpu", 0)
        and entry["dims"] == ("K", "J")
        and entry["data"] == interface(device)["data"]
    )
    assert set(managed.__gt_interface__) == {None, ("gpu", 0)}


def test_views_remember_what_they_are() -> None:
    f = gb.Field.from_array(
        np.arange(60.0).reshape(3, 4, 5), device="gpu", dims="KJI", halo=(0, 1, 2)
    )
    v = f[:, ::-1, 1:]
    assert (
        type(v) is gb.DeviceField
        and v.halo == ((0, 0), (1, 1), (1, 2))
        and v.device == ("gpu", 0)
        and v.plan.device == ("gpu", 0)
    )
    assert np.array_equal(values_of(f.domain), np.arange(60.0).reshape(3, 4, 5)[:, 1:-1, 2:-2])
    assert values_of(f.transpose("IJK")).shape == (5, 4, 3) and f.transpose("IJK")[4, 3, 2] == 59
    assert bool(gb.Field.ones((1,), device="gpu")) and not bool(
        gb.Field.zeros((1, 1), device="gpu")
    )
    with pytest.raises((TypeError, ValueError)):
        bool(f)
    for number, value in ((float, 2.0), (int, 2), (complex, 2 + 0j), (operator.index, 2)):
        one = gb.Field.full((), 2, "i8" if number in (int, operator.index) else "f8", device="gpu")
        assert number(one) == value == number(one.to(device="cpu"))
        with pytest.raises(TypeError, match="device='cpu'"):
            number(f)
    with pytest.raises(IndexError):
        f[5]
    with pytest.raises(TypeError, match="None"):
        f[None]
    assert [x.shape for x in f] == [(4, 5)] * 3


class Meta(type):
    """A type whose attributes fail when they are asked for."""

    def __getattr__(cls, name: str) -> Any:
        if name == "__cuda_array_interface__":
            raise KeyError("from the metaclass")
        raise AttributeError(name)


class Strange(metaclass=Meta):
    pass


class StrangeItself:
    def __getattr__(self, name: str) -> Any:
        if name == "__cuda_array_interface__":
            raise KeyError("from the object")
        raise AttributeError(name)


def test_the_interface_is_found_wherever_it_is() -> None:
    f = gb.Field.from_array(np.arange(20.0).reshape(4, 5), device="gpu")
    instance = types.SimpleNamespace(__cuda_array_interface__=interface(f))

    class MadeUp:
        def __getattr__(self, name: str) -> Any:
            if name == "__cuda_array_interface__":
                return interface(f)
            raise AttributeError(name)

    for obj in (instance, MadeUp()):
        g = gb.Field(obj)
        assert type(g) is gb.DeviceField and interface(g)["data"] == interface(f)["data"]
        a = np.zeros((4, 5))
        gb.copyto(a, obj)
        assert a[3, 4] == 19
        gb.fill(obj, 1)
        gb.copyto(obj, a)
        assert f[3, 4] == 19


@pytest.mark.parametrize("obj", [Strange(), StrangeItself()], ids=["metaclass", "object"])
def test_what_an_attribute_raises_is_not_lost(obj: Any) -> None:
    f = gb.Field.zeros(3, device="gpu")
    for act in (lambda: gb.Field(obj), lambda: gb.copyto(f, obj),
    lambda: gb.copyto(np.zeros(3), obj), lambda: gb.copy_async(f, obj),
                lambda: gb.fill(obj, 1), lambda: gb.copyto(obj, f)):  # fmt: skip
        with pytest.raises(KeyError, match="from the"):
            act()


@pytest.mark.parametrize("dtype",
["V5", "V1", [("a", "f4"), ("b", "V3")], [("a", "V5")],
{"names": ["x", "y"], "formats": ["i4", "i2"], "offsets": [0, 1]},
{"names": ["x"], "formats": ["i2"], "offsets": [3], "itemsize": 8},
                                   [("a", "i1"), ("b", "f8")], "S3", "c16"], ids=str)  # fmt: skip
def test_numpy_sees_the_dtype_that_the_field_has(dtype: Any) -> None:
    for spec in ({}, {"memory": "pinned"}, {"memory": "managed"}):
        f = gb.Field.zeros((3, 2), dtype, **spec)
        a = np.asarray(f)
        assert (
            a.dtype == f.dtype == np.dtype(dtype)
            and np.shares_memory(a, f.numpy())
            and a.shape == (3, 2)
        )
