"""What the plain functions and Field's constructors give: exact types, layout, alignment,
values.
"""

import gc
import sys
from typing import Any

import numpy as np
import pytest
from fake_driver import Fake, values_of

import gridbuf as gb

PLACES = [
    {"device": "gpu"},
    {"device": ("gpu", 0)},
    {"memory": "pinned"},
    {"memory": "managed"},
    {"memory": "managed", "device": "gpu"},
]
SPECS: list[dict[str, Any]] = [
    {}, {"backend": "gt:gpu"}, {"backend": "gt:gpu", "halo": (1, 2, 0)},
    {"backend": "gt:cpu_ifirst", "aligned_index": (1, 1, 0)},
    {"backend": "F"}, {"layout": (1, 2, 0), "padding": True},
    {"padding": 7, "byte_alignment": 4096}, {"backend": "dace:gpu"},
]  # fmt: skip


@pytest.mark.parametrize("place", PLACES, ids=str)
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_any_layout_anywhere(place: dict[str, Any], spec: dict[str, Any]) -> None:
    f = gb.Field.empty(
        (5, 6, 7),
        np.float32,
        **({"device": "cpu"} | spec | place if "memory" in place else spec | place),
    )
    plan = f.plan
    assert f.shape == (5, 6, 7) and f.strides == plan.strides and f.dtype == np.float32
    kind = (
        gb.DeviceField
        if place.get("device") and "memory" not in place
        else gb.HostField
        if place.get("memory") == "pinned"
        else gb.ManagedField
    )
    assert type(f) is kind
    assert plan.memory == place.get("memory")
    assert f.device == plan.device == (("gpu", 0) if "device" in place else "cpu")
    address = (
        f.__cuda_array_interface__["data"][0]
        if kind is not gb.HostField
        else f.__array_interface__["data"][0]
    )
    assert address % plan.byte_alignment == plan.offset
    first = sum(i * s for i, s in zip(plan.aligned_index, plan.strides, strict=True))
    assert (address + first) % plan.byte_alignment == 0
    assert plan.byte_alignment >= (
        256 if "device" in place and "byte_alignment" not in spec else 64
    )
    values = np.random.default_rng(0).random((5, 6, 7)).astype(np.float32)
    gb.copyto(f, values)
    assert np.array_equal(values_of(f), values)


@pytest.mark.parametrize(
    "place",
    [{"memory": "pinned"}, {"memory": "managed"}, {"memory": "pinned", "backend": "gt:gpu"}],
    ids=str,
)
def test_host_side_memory_is_an_exact_ndarray(place: dict[str, Any]) -> None:
    for make, expected in ((gb.zeros, 0), (gb.ones, 1)):
        a = make(
            (3, 4), np.int16, **({"device": "cpu"} | place if "backend" not in place else place)
        )
        assert type(a) is np.ndarray and (a == expected).all() and a.flags.writeable
        assert (
            gb.Plan.of(a).memory == place["memory"]
            and gb.memory.buffer_id(a) == gb.memory.buffer_id(a[1:]) is not None
        )
    a = gb.full((3, 4), 2.5, memory="pinned")
    b = gb.from_array(a, memory="managed", device="cpu")
    assert (a == 2.5).all() and type(b) is np.ndarray and (b == 2.5).all()
    assert (gb.empty_like(a).shape, gb.Plan.of(gb.empty_like(a)).memory) == ((3, 4), "pinned")
    assert gb.Plan.of(gb.zeros_like(a, device="cpu")).memory is None


def test_pinned_memory_outlives_the_array_that_brought_it() -> None:
    a = gb.zeros((100, 100), memory="pinned")
    view = gb.Field(a)[1:].numpy()[::2]
    capsule_view = np.from_dlpack(gb.Field(a))
    del a
    gc.collect()
    assert gb.memory.stats(memory="pinned")["live_buffers"] == 1
    view[:] = 3
    assert capsule_view[1, 5] == 3
    del view
    assert gb.memory.stats(memory="pinned")["live_buffers"] == 1
    del capsule_view


@pytest.mark.parametrize(
    "dtype", ["?", "i1", "u2", "i4", "f8", "c16", "f2", "S5", "M8[s]", "i4,f8,i1"]
)
def test_fills_of_every_size(dtype: str) -> None:
    value: Any = {
        "S5": b"abc",
        "M8[s]": np.datetime64("2020-01-01", "s"),
        "i4,f8,i1": (1, 2.5, 3),
    }.get(dtype, 1)
    full = np.full((4, 5, 6), np.array(value, dtype), dtype)
    for spec in ({}, {"backend": "gt:gpu"}, {"padding": 16, "layout": (2, 0, 1)}):
        if dtype != "i4,f8,i1":
            assert (
                values_of(gb.Field.full((4, 5, 6), value, dtype, device="gpu", **spec)) == full
            ).all()
        f = gb.Field.zeros((4, 5, 6), dtype, device="gpu", **spec)
        assert (values_of(f) == np.zeros((4, 5, 6), dtype)).all()
        part = f[1:3, ::-2, 1:]
        part[...] = np.array(value, dtype) if dtype == "i4,f8,i1" else value
        expected = np.zeros((4, 5, 6), dtype)
        expected[1:3, ::-2, 1:] = full[0, 0, 0]
        assert (values_of(f) == expected).all()
    assert (values_of(gb.Field.ones((3, 3), "i4", device="gpu")) == 1).all()


def test_fills_are_numpy_s() -> None:
    f = gb.Field.empty((3, 4), device="gpu")
    gb.fill(f, 7)
    assert (values_of(f) == 7).all()
    f[...] = np.arange(4)
    assert (values_of(f) == np.arange(4)).all()
    f[1] = [5, 6, 7, 8]
    f[2, 3] = 9
    assert f[1, 2] == 7 and f[2, 3] == 9 and isinstance(f[1, 2], np.float64)
    with pytest.raises(ValueError, match="could not convert"):
        f[...] = "word"
    with pytest.raises(ValueError, match="broadcast"):
        f[...] = np.zeros(5)
    assert (values_of(gb.Field.full((2, 3), [1, 2, 3], device="gpu")) == [1, 2, 3]).all()


@pytest.mark.parametrize("shape", [(0,), (3, 0, 5), ()])
def test_nothing_and_single_elements(shape: tuple[int, ...]) -> None:
    for place in PLACES:
        f = gb.Field.zeros(shape, **place)
        assert f.shape == shape and values_of(f).shape == shape
        gb.copyto(f, np.ones(shape))
        gb.copyto(f, f.copy())
        if f.size:
            assert f[()] == 1
        elif not isinstance(f, gb.HostField):
            assert f.__cuda_array_interface__["data"] == (0, False)


def test_more_than_there_is(fake: Fake) -> None:
    for place in PLACES:
        with pytest.raises(MemoryError, match="asked for"):
            gb.Field.empty((1 << 44,), **place)
        with pytest.raises(ValueError, match="larger than any memory"):
            gb.Field.empty((1 << 62, 8), **place)
    with pytest.raises(RuntimeError, match="no GPU 7"):
        gb.Field.empty(3, device=("gpu", 7))
    gb.Field.zeros(3, device="gpu")


def test_cupy_missing_names_the_way_out() -> None:
    try:
        import cupy  # noqa: F401
    except ImportError:
        for make in (gb.empty, gb.zeros, gb.ones):
            with pytest.raises(ImportError, match=r"Field.empty.*needs no cupy"):
                make((2, 3), device="gpu")
        with pytest.raises(ImportError, match="cupy"):
            gb.Field.zeros(3, device="gpu").cupy()
        assert "cupy" not in sys.modules
    else:
        pytest.skip("cupy is here")


def test_likes_stay_where_the_data_is() -> None:
    f = gb.Field.ones((4, 5), np.float32, dims="KJ", halo=(1, 2), device="gpu", backend="gt:gpu")
    for g in (
        gb.zeros_like(f),
        gb.empty_like(f),
        f.copy(),
        f.to(),
        f.to(dtype="f8"),
        gb.full_like(f, 3),
    ):
        assert (
            type(g) is gb.DeviceField
            and g.dims == f.dims
            and g.halo == f.halo
            and g.plan.layout == f.plan.layout
        )
    assert g[1, 1] == 3 and f.copy()[2, 2] == 1 and f.to(dtype="f8")[2, 2] == 1.0
    h = f.to(device="cpu")
    assert (
        type(h) is gb.HostField
        and h.dims == f.dims
        and h.halo == f.halo
        and (h.numpy() == 1).all()
        and h.plan.memory is None
    )
    for spec in (
        {"memory": "pinned"},
        {"memory": "managed"},
        {"backend": "gt:cpu_ifirst"},
        {"device": "cpu", "dims": "JK"},
    ):
        assert np.asarray(f.to(**spec)).sum() == 20
    assert (values_of(h.to(device="gpu")) == 1).all() and h.to(backend="gt:gpu").device == (
        "gpu",
        0,
    )
    assert values_of(h.to(device="gpu", dims="JK")).shape == (5, 4)
    import copy
    import pickle

    for g in (copy.deepcopy(f), pickle.loads(pickle.dumps(f))):
        assert (
            type(g) is gb.DeviceField
            and g.halo == f.halo
            and g[1, 1] == 1
            and g.strides == f.strides
        )
