"""Foreign descriptions: array interfaces, buffers and CUDA array interfaces. What is sound is
shared, what is not is a clear error.

NumPy believes most of an `__array_interface__`: an address of 0 makes it allocate, strides are not
checked, unknown keys of every kind pass. Here each key is checked, and property tests feed junk to
every way in.
"""

import ctypes
import gc
import mmap
import re
from typing import Any

import numpy as np
import pytest
from dlpack_structs import Hostile, HostileLegacy, exchanging
from hypothesis import example, given, settings
from hypothesis import strategies as st

import gridbuf as gb

CLEAR = (TypeError, ValueError, BufferError)  # an error that says what was wrong with the object
WAYS = (gb.Field, gb.as_numpy, gb.from_dlpack)


def described(interface: Any, name: str = "__array_interface__", **extra: Any) -> Any:
    return type("Described", (), {name: interface} | extra)()


VALUES = np.arange(12.0).reshape(3, 4)


def sound(**changes: Any) -> dict[str, Any]:
    return {
        "shape": (3, 4),
        "typestr": "<f8",
        "data": (VALUES.ctypes.data, False),
        "version": 3,
    } | changes


def label(case: object) -> str:
    """The same in every process: without addresses."""
    return re.sub(r"0x[0-9a-f]+|\d{9,}", "...", str(case))


@pytest.mark.parametrize(
    "changes",
    [{}, {"strides": None}, {"strides": (32, 8)}, {"shape": [3, 4]}, {"mask": None}, {"offset": 0},
    {"offset": None}, {"unknown": 1},
     {"descr": [("", "<f8")]}, {"shape": (np.int64(3), 4)},
     {"data": (np.uintp(VALUES.ctypes.data), 0)}],
    ids=label,
)  # fmt: skip
def test_sound_dicts_are_shared(changes: dict[str, Any]) -> None:
    f = gb.Field(described(sound(**changes)))
    assert (
        f.numpy().ctypes.data == VALUES.ctypes.data
        and (f.numpy() == VALUES).all()
        and not f.readonly
    )


def test_what_numpy_describes_comes_back() -> None:
    for values in (VALUES, VALUES.T, VALUES[::-1, 1:], VALUES[:, :0], VALUES.astype(">i2"),
    np.zeros(3, "M8[25us]"), np.array(3.0),
                   np.zeros(2, [("a", "f8"), ("b", "i4", (2,))]), np.zeros(3, "U5"),
                   np.zeros(3, "V7"), np.ones(3, "?")):  # fmt: skip
        f = gb.Field(described(values.__array_interface__))
        assert f.dtype == values.dtype and f.shape == values.shape and (f.numpy() == values).all()
        assert f.strides == values.strides or not values.size


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"version": 2}, "version"), ({"version": "3"}, "version"),
        ({"version": 1 << 80}, "version"), ({"version": None}, "version"),
        ({"mask": object()}, "mask"), ({"shape": 3}, "shape"), ({"shape": "34"}, "shape"),
        ({"shape": (3, "4")}, "shape"),
        ({"shape": (3, -4)}, "shape"), ({"shape": (1 << 63, 4)}, "shape"),
        ({"shape": (1 << 40, 1 << 40)}, "shape"),
        ({"shape": (1,) * 33}, "shape"), ({"shape": None}, "shape"),
        ({"shape": (0, 1 << 62, 4)}, "shape"),
        ({"strides": (8,)}, "strides"), ({"strides": 8}, "strides"),
        ({"strides": (8, None)}, "strides"), ({"strides": "ab"}, "strides"),
        ({"strides": (1 << 62, 8)}, "leave the address space"),
        ({"strides": (-(1 << 62), 8)}, "leave the address space"),
        ({"typestr": "f8"}, "typestr"), ({"typestr": "<f3"}, "typestr"),
        ({"typestr": "<q8"}, "typestr"), ({"typestr": 5}, "typestr"),
        ({"typestr": "<f8,<f8"}, "typestr"), ({"typestr": "|O8"}, "typestr"),
        ({"typestr": "|V0"}, "typestr"), ({"typestr": ""}, "typestr"),
        ({"typestr": "float64"}, "typestr"), ({"typestr": "<f8\0"}, "typestr"),
        ({"typestr": None}, "typestr"),
        ({"typestr": "|V99999999999999999999"}, "typestr"),
        ({"typestr": "|V8", "descr": [("a", "<f8"), ("b", "<f8")]}, "descr"),
        ({"typestr": "|V8", "descr": [5]}, "descr"),
        ({"data": None}, "data"), ({"data": (0, False)}, "data"), ({"data": ()}, "data"),
        ({"data": (1,)}, "data"),
        ({"data": ("1", False)}, "data"), ({"data": (-1, False)}, "."),
        ({"data": (1 << 64, False)}, "data"), ({"data": 4096}, "data"),
        ({"data": ((1 << 64) - 8, False)}, "leave the address space"), ({"offset": 8}, "offset"),
        ({"data": "text"}, "data"),
        ({"data": bytearray(95)}, "leave the buffer"),
        ({"data": bytearray(96), "offset": 1}, "leave the buffer"),
        ({"data": bytearray(96), "offset": -1}, "offset"),
        ({"data": bytearray(96), "offset": 97}, "offset"),
        ({"data": bytearray(96), "offset": 1 << 70}, "offset"),
        ({"data": bytearray(96), "strides": (-32, 8)}, "leave the buffer"),
        ({"data": memoryview(bytearray(192))[::2]}, "data"),
    ],
    ids=label
)  # fmt: skip
def test_unsound_dicts_are_refused(changes: dict[str, Any], words: str) -> None:
    for wrap in (gb.Field, gb.as_numpy):
        with pytest.raises((ValueError, TypeError), match=words):
            wrap(described(sound(**changes)))


@pytest.mark.parametrize("key", ["shape", "typestr", "data", "version"])
def test_missing_keys(key: str) -> None:
    interface = sound()
    del interface[key]
    with pytest.raises(ValueError, match=key):
        gb.Field(described(interface))


@pytest.mark.parametrize("interface", [None, 5, [], "dict", (3, 4)])
def test_what_is_no_dict(interface: Any) -> None:
    with pytest.raises(TypeError, match="not a dict"):
        gb.Field(described(interface))


def test_an_address_of_zero_is_no_new_memory() -> None:
    empty = gb.Field(described(sound(shape=(0, 4), data=(0, False))))
    assert empty.shape == (0, 4) and empty.numpy().ctypes.data != 0
    with pytest.raises(ValueError, match="data"):
        gb.as_numpy(described(sound(data=(0, False))))


def test_data_may_be_a_buffer_with_an_offset() -> None:
    memory = bytearray(VALUES.tobytes())
    f = gb.Field(described(sound(shape=(2, 4), data=memory, offset=32)))
    f[0, 0] = 50.0
    assert np.frombuffer(memory)[4] == 50.0 and not f.readonly
    with pytest.raises(BufferError):
        memory.append(0)  # held in place
    assert gb.Field(described(sound(data=bytes(96)))).readonly
    assert (
        gb.Field(described(sound(shape=(3,), strides=(-8,), data=memory, offset=16)))[2]
        == VALUES[0, 0]
    )


def test_the_object_is_held() -> None:
    memory = np.arange(12.0).reshape(3, 4)
    f = gb.Field(described(memory.__array_interface__, owner=memory))
    del memory
    gc.collect()
    assert f[2, 3] == 11.0


# ---- buffers ----


def test_buffers_of_many_kinds() -> None:
    for buffer in (bytearray(24), memoryview(bytearray(24)).cast("d"), (ctypes.c_double * 3)(),
    (ctypes.c_int16 * 3 * 2)(), mmap.mmap(-1, 24),
                   memoryview(np.zeros((2, 3)))[::-1], memoryview(np.zeros((0, 3)))):  # fmt: skip
        f, view = gb.Field(buffer), memoryview(buffer)
        assert f.shape == view.shape and f.nbytes == view.nbytes and f.readonly == view.readonly
    with pytest.raises(TypeError, match="has the format 'O'"):
        gb.Field(memoryview(np.array([object()])))


@pytest.mark.parametrize("kind", [ctypes.c_char_p, ctypes.py_object, ctypes.c_void_p])
def test_formats_that_numpy_cannot_read_are_not_copied(kind: Any) -> None:
    with pytest.raises(TypeError, match="data"):
        gb.Field((kind * 3)())


def test_a_released_memoryview() -> None:
    view = memoryview(bytearray(3))
    view.release()
    with pytest.raises((TypeError, ValueError)):
        gb.Field(view)


def test_struct_interfaces() -> None:
    f = gb.Field(described(VALUES.__array_struct__, "__array_struct__", values=VALUES))
    assert np.shares_memory(f, VALUES) and f.strides == VALUES.strides
    for wrong in (5, None, "struct", gb.Field.__dlpack_c_exchange_api__):
        with pytest.raises((TypeError, ValueError)):
            gb.Field(described(wrong, "__array_struct__"))


# ---- junk ----

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 65),
    1 << 65) | st.floats() | st.text(max_size=6) | st.binary(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.lists(inner,
    max_size=4).map(tuple) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
SIZES = st.integers(-2, 6) | st.sampled_from([1 << 31, 1 << 62, 1 << 63, -(1 << 63)])
TYPESTRS = st.from_regex(r"[<>|=][biufcmMSUVOt]\d{1,3}", fullmatch=True) | st.sampled_from(
    ["<f8", "|V16", "<M8[s]"]
)
MEMORY = bytearray(4096)
BASE = ctypes.addressof((ctypes.c_char * len(MEMORY)).from_buffer(MEMORY))
KEYS = {
    "shape": st.lists(SIZES, max_size=4).map(tuple),
    "strides": st.none() | st.lists(st.integers(-64, 64) | SIZES, max_size=4).map(tuple),
    "typestr": TYPESTRS,
    "data": st.tuples(st.sampled_from([0, BASE, BASE + 1024]), st.booleans()) | st.just(MEMORY),
    "version": st.just(3),
    "offset": st.none() | st.integers(-2, 5000),
    "mask": st.none(),
    "descr": st.lists(st.tuples(st.text(max_size=2), TYPESTRS), max_size=3),
}


def inside(array: np.ndarray[Any, Any]) -> bool:
    """Every element lies in MEMORY; what claims more than that must not be read."""
    low, high = (
        np.lib.array_utils.byte_bounds(array)
        if hasattr(np.lib, "array_utils")
        else np.byte_bounds(array)
    )  # type: ignore[attr-defined]
    return bool(low >= BASE and high <= BASE + len(MEMORY))


def try_all(obj: Any) -> None:
    for wrap in WAYS:
        try:
            wrapped = wrap(obj)
        except CLEAR as error:
            assert str(error)
            continue
        array = np.asarray(wrapped)
        if array.size and inside(array):
            # Reads every element, where a copy has room
            (np.array(array) if array.nbytes < 1 << 24 else array.item(0))
        assert array.ndim == wrapped.ndim and array.nbytes >= 0 and repr(wrapped.shape)


@given(
    interface=st.fixed_dictionaries({}, optional={key: value | JUNK for key, value in KEYS.items()})
)
def test_junk_in_array_interfaces(interface: dict[str, Any]) -> None:
    data = interface.get("data")
    if (
        isinstance(data, tuple)
        and len(data) == 2
        and isinstance(data[0], int)
        and data[0] not in (0, BASE, BASE + 1024)
    ):
        interface["data"] = (BASE, data[1])
    try_all(described(interface))


@given(interface=st.fixed_dictionaries({}, optional=KEYS))
def test_nearly_sound_array_interfaces(interface: dict[str, Any]) -> None:
    try_all(described(interface))


@given(
    interface=JUNK,
    name=st.sampled_from(
        [
            "__array_interface__",
            "__array_struct__",
            "__cuda_array_interface__",
            "__dlpack_c_exchange_api__",
        ]
    ),
)
def test_junk_as_the_interface_itself(interface: Any, name: str) -> None:
    try_all(described(interface, name))


@given(
    interface=st.fixed_dictionaries(
        {},
        optional=KEYS
        | {"stream": st.integers(-2, 3) | st.none()}
        | {"version": st.integers(-1, 4)},
    )
)
def test_cuda_array_interfaces_are_never_host_memory(interface: dict[str, Any]) -> None:
    obj = described(interface, "__cuda_array_interface__")
    with pytest.raises(TypeError, match="device memory"):
        gb.as_numpy(obj)
    try:
        field = gb.Field(obj)
    except (TypeError, ValueError, RuntimeError):
        # Junk, or no driver to ask what lies at that address
        return
    assert not isinstance(field, gb.HostField)


@given(obj=JUNK)
def test_junk_itself(obj: Any) -> None:
    for wrap in (gb.Field, gb.from_dlpack):
        with pytest.raises(TypeError):
            wrap(obj)


@given(dims=JUNK, origin=JUNK, halo=JUNK, require=JUNK)
def test_junk_beside_sound_memory(dims: Any, origin: Any, halo: Any, require: Any) -> None:
    for keywords in ({"dims": dims}, {"origin": origin}, {"halo": halo}, {"require": require}):
        try:
            assert gb.Field(VALUES, **keywords).shape == (3, 4)
        except CLEAR as error:
            assert str(error)


@example(dims=None, origin=[float("inf")], names=None)
@given(dims=JUNK, origin=JUNK, names=JUNK)
def test_junk_in_what_an_object_carries(dims: Any, origin: Any, names: Any) -> None:
    for extra in (
        {"__gt_dims__": dims},
        {"__gt_dims__": ("I", "J"), "__gt_origin__": origin},
        {"dims": names},
    ):
        try:
            assert gb.Field(described(VALUES.__array_interface__, **extra)).shape == (3, 4)
        except CLEAR as error:
            assert str(error)


WORDS = st.sampled_from([0, 1, 2, 3, 7, 8, 13, 16, 32, 33, 64, 128, 255])
FIELDS = {
    "ndim": st.integers(-1, 3) | st.integers(-(1 << 31), (1 << 31) - 1), "bits": WORDS,
    "code": WORDS, "lanes": st.sampled_from([0, 1, 2, 65535]),
    "device_type": st.integers(-1, 20), "device_id": st.integers(-1, 1),
    "shape": st.lists(SIZES.map(lambda n: (n + (1 << 63)) % (1 << 64) - (1 << 63)), min_size=33,
    max_size=33).map(tuple) | st.none(),
    "strides": st.lists(st.integers(-3, 3), min_size=33, max_size=33).map(tuple) | st.none(),
    "byte_offset": st.sampled_from([0, 8, 1 << 63, (1 << 64) - 1]),
    "major": st.integers(0, 3), "flags": st.integers(0, 9),
    "data": st.sampled_from([None, BASE + 2048]),
}  # fmt: skip


@settings(max_examples=300)
@example(changes={"device_type": 2})
@example(changes={"device_type": 13})
@given(changes=st.fixed_dictionaries({}, optional=FIELDS))
def test_junk_in_tensors(changes: dict[str, Any]) -> None:
    kind, _ = exchanging()
    for obj in (Hostile(**changes), HostileLegacy(**changes), kind(Hostile(**changes).tensor)):
        for wrap in WAYS:
            try:
                wrapped = wrap(obj)
            except BufferError as error:
                assert str(error)
                continue
            assert (
                wrapped.ndim == changes.get("ndim", 2)
                and repr(wrapped.shape)
                and wrapped.nbytes >= 0
            )
