"""cupy's arrays over gridbuf's memory. Building one needs no GPU, so that this runs on the fake
driver as well.
"""

import gc

import numpy as np
import pytest
from fake_driver import MODE, values_of

import gridbuf as gb

cupy = pytest.importorskip("cupy")


def test_the_plain_functions_give_exactly_cupy_arrays() -> None:
    for spec in (
        {},
        {"backend": "gt:gpu", "halo": (1, 2, 0)},
        {"backend": "F"},
        {"padding": 32},
        {"memory": "managed"},
    ):
        plan = gb.plan((5, 6, 7), np.float32, device="gpu", **spec)
        for make, expected in ((gb.zeros, 0), (gb.ones, 1)):
            a = make((5, 6, 7), np.float32, device="gpu", **spec)
            assert type(a) is cupy.ndarray and a.strides == plan.strides and a.dtype == np.float32
            assert a.data.ptr % plan.byte_alignment == plan.offset and a.device.id == 0
            assert (values_of(a) == expected).all()
            assert gb.Plan.of(a).device == ("gpu", 0) and gb.Plan.of(a).memory == spec.get("memory")
    assert (values_of(gb.full((3, 4), 2.5, device="gpu")) == 2.5).all()
    assert type(gb.empty((3, 4), backend="gt:gpu")) is cupy.ndarray
    b = gb.from_array([[1, 2], [3, 4]], device="gpu")
    assert type(b) is cupy.ndarray and values_of(b).tolist() == [[1, 2], [3, 4]]
    c = gb.from_array(b, dtype="f4")
    assert type(c) is np.ndarray and c.tolist() == [[1, 2], [3, 4]]
    assert type(gb.from_array(b, device="gpu", backend="F")) is cupy.ndarray
    like = gb.zeros_like(gb.empty((4, 5), device="gpu", backend="F"))
    assert type(like) is cupy.ndarray and like.strides == (8, 32)


def test_cupy_arrays_keep_the_memory() -> None:
    a = gb.zeros((10, 10), device="gpu")
    view = a[2:5]
    number = gb.memory.buffer_id(gb.Field(view))
    assert number is not None and number == gb.memory.buffer_id(view) == gb.memory.buffer_id(a)
    del a
    gc.collect()
    assert (
        gb.memory.stats(device="gpu")["live_buffers"] == 1
        and gb.memory.buffer_id(gb.Field(view)) == number
    )
    f = gb.Field(view)
    del view
    gc.collect()
    assert (values_of(f) == 0).all()
    del f
    gc.collect()
    assert gb.memory.stats(device="gpu")["live_buffers"] == 0


def test_a_field_s_cupy_array_is_made_once() -> None:
    f = gb.Field.from_array(np.arange(20.0).reshape(4, 5), device="gpu")
    a = f.cupy()
    assert (
        type(a) is cupy.ndarray and f.cupy() is a is f.__cupy_get_ndarray__() and gb.as_cupy(f) is a
    )
    assert a.data.ptr == f.__cuda_array_interface__["data"][0] and a.shape == (4, 5)
    reversed_rows = f[::-1, 1:]
    assert (
        reversed_rows.cupy().strides == (-40, 8)
        and reversed_rows.cupy().data.ptr == a.data.ptr + 3 * 40 + 8
    )
    assert gb.as_cupy(gb.Field(a, "JI"), "IJ").shape == (5, 4) and gb.as_cupy(a) is a
    number = gb.memory.buffer_id(f)
    del f
    gc.collect()
    assert gb.memory.buffer_id(gb.Field(a)) == number
    for host in (np.zeros(3), gb.Field.zeros(3), gb.zeros(3, memory="pinned")):
        with pytest.raises(TypeError, match="device memory"):
            gb.as_cupy(host)


def test_fields_over_cupy_arrays() -> None:
    a = gb.from_array(np.arange(60.0).reshape(3, 4, 5), device="gpu", backend="gt:gpu")
    f = gb.Field(a, "IJK", halo=(1, 1, 0))
    assert (
        type(f) is gb.DeviceField
        and f.strides == a.strides
        and f.domain.shape == (1, 2, 5)
        and f.device == ("gpu", 0)
    )
    assert f[1, 2, 3] == 33 and np.array_equal(
        values_of(a[:, ::2]), np.arange(60.0).reshape(3, 4, 5)[:, ::2]
    )
    target = np.zeros((3, 4, 5))
    gb.copyto(target, a)
    assert target[2, 3, 4] == 59
    gb.copyto(a, target + 1)
    gb.fill(a[0], 9)
    assert f[1, 0, 0] == 21 and f[0, 3, 3] == 9
    assert gb.empty_like(f).strides == f.strides
    assert gb.Field(gb.empty((0, 3), device="gpu")).shape == (0, 3)


def test_memory_of_cupy_s_own_is_trusted() -> None:
    class Owner:
        pass

    g = gb.Field.from_array([1.0, 2, 3], device="gpu")
    memory = cupy.cuda.UnownedMemory(g.__cuda_array_interface__["data"][0], 24, Owner(), 0)
    a = cupy.ndarray((3,), np.float64, cupy.cuda.MemoryPointer(memory, 0))
    f = gb.Field(a)
    assert f[2] == 3 and gb.memory.buffer_id(f) is None and f.cupy().data.ptr == a.data.ptr


@pytest.mark.skipif(MODE != "gpu", reason="cupy computes on a GPU only")
def test_cupy_computes_on_our_arrays() -> None:
    a = gb.from_array(
        np.arange(60.0).reshape(3, 4, 5), device="gpu", backend="gt:gpu", halo=(1, 1, 0)
    )
    b = a * 2 + 1
    with pytest.raises(TypeError, match="host"):
        gb.as_numpy(a)
    assert np.array_equal(cupy.asnumpy(b), np.arange(60.0).reshape(3, 4, 5) * 2 + 1)
    f = gb.Field(a)
    assert float(cupy.sum(cupy.asarray(f))) == 1770.0 and float(f[1:].cupy().sum()) == float(
        a[1:].sum()
    )
    assert cupy.from_dlpack(f).data.ptr == a.data.ptr
    assert np.array_equal(values_of(f[[0, 2]]), np.arange(60.0).reshape(3, 4, 5)[[0, 2]])
    with cupy.cuda.Stream(non_blocking=True) as stream:
        a += 1
        with gb.cuda.stream(stream):
            assert gb.Field(a).to(device="cpu")[2, 3, 4] == 60
