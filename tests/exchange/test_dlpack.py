"""A Field as DLPack producer and consumer: every keyword, every trap."""

import gc
import re
from typing import Any

import numpy as np
import pytest
from dlpack_structs import COPIED, LATEST, READ_ONLY, Hostile, Versioned, api

import gridbuf as gb
import gridbuf.storage as gs

NUMPY_SPEAKS_VERSIONED = tuple(map(int, np.__version__.split(".")[:2])) >= (2, 1)


def look(field: gb.Field, **keywords: object) -> tuple[object, Versioned]:
    capsule = field.__dlpack__(max_version=LATEST, **keywords)
    return capsule, Versioned.from_address(api.PyCapsule_GetPointer(capsule, b"dltensor_versioned"))


def test_what_a_versioned_capsule_says() -> None:
    f = gb.Field.zeros((3, 4, 5), np.float32, dims="IJK", backend="gt:cpu_ifirst", halo=(1, 1, 0))
    _, m = look(f[1:, ::-1])
    t = m.tensor
    assert (m.major, m.flags, t.device_type, t.device_id, t.byte_offset) == (1, 0, 1, 0, 0)
    assert (t.code, t.bits, t.lanes, t.ndim) == (2, 32, 1, 3)
    assert t.shape[:3] == [2, 4, 5] and t.strides[:3] == [s // 4 for s in f[1:, ::-1].strides]
    assert t.data == f[1:, ::-1].numpy().ctypes.data


@pytest.mark.parametrize(
    ("max_version", "name"),
    [
        (None, "dltensor"),
        ((0, 8), "dltensor"),
        ((1, 0), "dltensor_versioned"),
        ((1, 3), "dltensor_versioned"),
        ((2, 0), "dltensor_versioned"),
    ],
)
def test_which_flavour(max_version: object, name: str) -> None:
    assert f'"{name}"' in repr(gb.Field.zeros(3).__dlpack__(max_version=max_version))
    if max_version is None:
        assert '"dltensor"' in repr(gb.Field.zeros(3).__dlpack__())


def test_refusals_are_buffer_errors() -> None:
    f = gb.Field.zeros((2, 3))
    for keywords in (
        {"stream": 0},
        {"stream": 1},
        {"stream": -1},
        {"dl_device": (2, 0)},
        {"dl_device": (1, 1)},
        {"dl_device": (3, 0)},
        {"dl_device": (99, 0)},
    ):
        with pytest.raises(BufferError, match=r"stream|dl_device"):
            f.__dlpack__(**keywords)
    with pytest.raises(BufferError, match="stream"):
        f.__dlpack__(1)  # older consumers pass the stream so
    assert f.__dlpack__(None) is not None
    for dtype in (">f8", "M8[ns]", "S3", [("a", "f8")], "longdouble"):
        with pytest.raises(BufferError, match="no type"):
            gb.Field.zeros(3, dtype).__dlpack__()
    inner = np.zeros(3, [("a", "f8"), ("b", "i4")])["a"]
    with pytest.raises(BufferError, match="multiple of its item size"):
        gb.Field(inner).__dlpack__()


@pytest.mark.parametrize(
    "obj", [gb.Field.zeros((2, 3)), gs.zeros((2, 3))], ids=["Field", "storage"]
)
def test_arguments_of_another_kind(obj: Any) -> None:
    for copy in ("x", 1, 0.0, [], object()):
        for call in (
            obj.__dlpack__,
            lambda copy: obj.__array__(copy=copy),
            lambda copy: gb.from_dlpack(obj, copy=copy),
        ):
            with pytest.raises(
                TypeError, match=f"copy: expected True, False or None, got {re.escape(repr(copy))}"
            ):
                call(copy=copy)
    assert obj.__dlpack__(copy=np.False_) is not None and not np.shares_memory(
        obj.__array__(copy=np.True_), obj
    )
    for name, junk in (
        ("dl_device", (5, "x", (1,), [1, 0], (1, 0.0))),
        ("max_version", (1, "x", (1,), [1, 0], (1.0, 0))),
    ):
        for value in junk:
            with pytest.raises(TypeError, match=f"{name}: expected a pair of ints"):
                obj.__dlpack__(**{name: value})
    for stream in ("x", 0.0, True, ()):
        with pytest.raises(BufferError, match="stream: host memory has none"):
            obj.__dlpack__(stream=stream)


def test_a_read_only_field_stays_read_only() -> None:
    values = np.arange(4.0)
    values.flags.writeable = False
    f = gb.Field(values)
    for view in (f, f[1:], gb.Field(f), gb.Field(f.numpy()), gb.from_dlpack(f), f.domain):
        assert view.readonly and not np.asarray(view).flags.writeable
        assert not NUMPY_SPEAKS_VERSIONED or not np.from_dlpack(view).flags.writeable
        assert view.__array_interface__["data"][1] is True and memoryview(view).readonly
        with pytest.raises(BufferError, match="read-only"):
            view.__dlpack__()
    assert look(f)[1].flags == READ_ONLY
    if NUMPY_SPEAKS_VERSIONED:
        copied = np.from_dlpack(f, copy=True)
        assert copied.flags.writeable or np.__version__.startswith("2.1."), (
            "NumPy 2.1 shows every tensor read-only"
        )
        assert not np.shares_memory(copied, f)
    assert not gb.from_dlpack(f, copy=True).readonly


def test_a_copy_says_that_it_is_one() -> None:
    f = gb.Field.full((2, 3), 4.0, dims="IJ", backend="gt:cpu_ifirst")
    _capsule, m = look(f, copy=True)
    assert m.flags == COPIED and m.tensor.data != f.numpy().ctypes.data
    assert (
        look(f, copy=False)[1].tensor.data
        == look(f, copy=None)[1].tensor.data
        == f.numpy().ctypes.data
    )
    assert look(f[::2], copy=True)[1].tensor.data != f.numpy().ctypes.data


def test_size_zero_and_zero_dimensions() -> None:
    _, m = look(gb.Field.zeros((0, 3)))
    assert m.tensor.data is None and m.tensor.shape[:2] == [0, 3] and bool(m.tensor.strides)
    _, m = look(gb.Field.full((), 5.0))
    assert m.tensor.ndim == 0 and np.from_dlpack(gb.Field.full((), 5.0)) == 5.0
    assert gb.from_dlpack(np.zeros((2, 0))).shape == (2, 0)


@pytest.mark.parametrize(
    "dtype", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
)
def test_round_trips(dtype: str) -> None:
    values = (np.arange(12).reshape(3, 4) % 2).astype(dtype)
    f = gb.Field.from_array(values, dtype=None, backend="F")
    for back in (np.from_dlpack(f), gb.from_dlpack(f).numpy(), gb.from_dlpack(values).numpy()):
        assert back.dtype == values.dtype and (back == values).all()
    assert np.shares_memory(gb.from_dlpack(f), f)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_ml_dtypes(name: str) -> None:
    dtype = np.dtype(getattr(pytest.importorskip("ml_dtypes"), name))
    f = gb.Field.full((2, 3), 1.5, dtype)
    assert gb.from_dlpack(f).dtype == dtype and float(gb.from_dlpack(f)[1, 2]) == 1.5
    assert not hasattr(f, "__array_interface__") and np.asarray(f).dtype == dtype
    with pytest.raises(BufferError):
        memoryview(f)


def test_a_capsule_is_consumed_once() -> None:
    f = gb.Field.zeros(3)
    capsule = f.__dlpack__(max_version=LATEST)

    class Once:
        def __dlpack__(self, **keywords: object) -> object:
            return capsule

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    assert gb.from_dlpack(Once()).shape == (3,)
    with pytest.raises(BufferError, match="not a fresh"):
        gb.from_dlpack(Once())


def test_a_sound_tensor_is_taken_and_deleted_once() -> None:
    sound = Hostile()
    f = gb.from_dlpack(sound, "IJ")
    assert f[1, 2] == 5.0 and sound.deleted == 0
    view = f[1:]
    del f
    assert sound.deleted == 0
    del view
    gc.collect()
    assert sound.deleted == 1


@pytest.mark.parametrize(
    "changes",
    [{"major": 2}, {"major": 0}, {"ndim": -1}, {"ndim": 33}, {"ndim": 1 << 30}, {"shape": (2, -3)},
    {"shape": None}, {"data": None},
     {"bits": 63}, {"bits": 0}, {"lanes": 2}, {"lanes": 0}, {"code": 77},
     {"shape": (1 << 62, 1 << 62)}, {"strides": (1 << 62, 1)},
     {"byte_offset": (1 << 64) - 8}, {"device_type": 2}, {"device_type": 99}, {"flags": 1 << 40}],
    ids=str,
)  # fmt: skip
def test_hostile_tensors_are_buffer_errors(changes: dict[str, object]) -> None:
    hostile = Hostile(**changes)
    with pytest.raises(BufferError, match="DLPack"):
        gb.from_dlpack(hostile)
    assert hostile.deleted == 0, "what was not taken over is not ours to delete"


def test_other_consumers() -> None:
    jnp = pytest.importorskip("jax.numpy")
    f = gb.Field.full((4, 6), 2.5, np.float32, dims="IJ", backend="gt:cpu_ifirst")
    assert float(jnp.from_dlpack(f).sum()) == 60.0
