"""The buffer protocol and the array interface of a Field."""

import ctypes

import numpy as np
import pytest

import gridbuf as gb

SIMPLE, WRITABLE, FORMAT, ND, STRIDES = 0, 0x1, 0x4, 0x8, 0x10 | 0x8
C_CONTIGUOUS, F_CONTIGUOUS, ANY_CONTIGUOUS = 0x20 | STRIDES, 0x40 | STRIDES, 0x80 | STRIDES


class Buffer(ctypes.Structure):
    _fields_ = [
        ("buf", ctypes.c_void_p), ("obj", ctypes.c_void_p), ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int), ("ndim", ctypes.c_int), ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)), ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    ]  # fmt: skip


get, release = ctypes.pythonapi.PyObject_GetBuffer, ctypes.pythonapi.PyBuffer_Release
get.argtypes = [ctypes.py_object, ctypes.POINTER(Buffer), ctypes.c_int]


def request(obj: object, flags: int) -> Buffer | None:
    view = Buffer(obj=1)
    try:
        get(obj, ctypes.byref(view), flags)
    except BufferError:
        assert view.obj is None
        return None
    release(ctypes.byref(view))
    return view


@pytest.mark.parametrize(
    ("layout", "granted"),
    [
        ("C", {SIMPLE, ND, STRIDES, C_CONTIGUOUS, ANY_CONTIGUOUS}),
        ("F", {STRIDES, F_CONTIGUOUS, ANY_CONTIGUOUS}),
        ("padded", {STRIDES}),
    ],
)
def test_which_requests_are_granted(layout: str, granted: set[int]) -> None:
    f = gb.Field.zeros(
        (3, 4), backend="C" if layout == "padded" else layout, padding=layout == "padded"
    )
    for flags in (SIMPLE, ND, STRIDES, C_CONTIGUOUS, F_CONTIGUOUS, ANY_CONTIGUOUS):
        view = request(f, flags)
        assert (view is not None) == (flags in granted), hex(flags)
        if view is not None:
            assert (
                bool(view.shape) == bool(flags & ND)
                and bool(view.strides) == bool(flags & 0x10)
                and view.format is None
            )
    assert request(f, STRIDES | FORMAT).format == b"d"


def test_a_writable_buffer_of_read_only_memory_is_refused() -> None:
    f = gb.Field(np.broadcast_to(np.float64(1), (2, 2)))
    assert request(f, STRIDES | WRITABLE) is None and request(f, STRIDES).readonly == 1


@pytest.mark.parametrize(
    "dtype",
    [
        "?",
        "i1",
        "u2",
        "i4",
        "i8",
        "u8",
        "f2",
        "f4",
        "f8",
        "longdouble",
        "c8",
        "c16",
        ">f8",
        "S3",
        "U2",
        [("a", "f8"), ("b", "i4", (2,))],
        [("a", "f8"), ("b", "i4")],
        [("a", "i1"), ("b", "f8")],
    ],
)
def test_numpy_sees_the_same_through_either(dtype: object) -> None:
    values = np.zeros((3, 4), dtype)
    f = gb.Field.from_array(values, dtype=None, backend="F")
    assert memoryview(f).format == memoryview(values).format
    for seen in (np.asarray(f), np.asarray(memoryview(f))):
        assert seen.dtype == values.dtype and seen.shape == (3, 4) and np.shares_memory(seen, f)
    interface = f.__array_interface__
    assert (
        set(interface) - {"descr"} == {"shape", "typestr", "data", "strides", "version"}
        and interface["version"] == 3
    )
    assert interface["typestr"] == values.dtype.str and interface["strides"] == f.strides
    assert interface["data"] == (f.numpy().ctypes.data, False)

    class Only:
        __array_interface__ = interface

    assert np.asarray(Only()).dtype == values.dtype


def test_dates_have_no_buffer_but_an_array_interface() -> None:
    f = gb.Field.from_array(np.array(["2026-11-21"], "M8[D]"), dtype=None)
    with pytest.raises(BufferError):
        memoryview(f)
    assert np.asarray(f)[0] == np.datetime64("2026-11-21")


def test_c_order_has_no_strides_in_the_interface_and_size_zero_an_address() -> None:
    assert gb.Field.zeros((2, 3)).__array_interface__["strides"] is None
    assert gb.Field.zeros((0, 3)).__array_interface__["data"][0] != 0


@pytest.mark.skipif(int(np.__version__.split(".")[0]) < 2, reason="copy= came with NumPy 2")
def test_array_method_copies_as_numpy_2_asks() -> None:
    f = gb.Field.full((2, 2), 3.0)
    assert np.shares_memory(f.__array__(), f) and np.shares_memory(f.__array__(copy=False), f)
    assert not np.shares_memory(f.__array__(copy=True), f)
    assert f.__array__(np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="copy"):
        f.__array__(np.float32, copy=False)


def test_ufuncs_take_fields() -> None:
    f = gb.Field.full((2, 3), 2.0)
    assert (np.add(f, 1) == 3.0).all() and (np.asarray(f) * 2 == 4.0).all()
