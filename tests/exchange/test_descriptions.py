"""What objects say of their memory: Python objects over foreign bytes by no door, one reader of
typestrs, and errors of other kinds pass through.
"""

import contextlib
import ctypes
import gc
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gridbuf as gb
import gridbuf.interface
import gridbuf.storage as gs
from gridbuf import _core, gufunc

BYTES = bytearray(b"A" * 4096)
ADDRESS = ctypes.addressof((ctypes.c_char * len(BYTES)).from_buffer(BYTES))
NATIVE = np.dtype("i8").str[0]


def described(door: str, value: Any) -> Any:
    return type("Described", (), {door: value})()


def interface(typestr: str, descr: Any = None, size: int = 8) -> dict[str, Any]:
    said = {"version": 3, "shape": (1,), "typestr": typestr, "data": (ADDRESS, False)}
    return said if descr is None else said | {"descr": descr}


# ---- objects over foreign bytes ----


class Struct(ctypes.Structure):
    """PyArrayInterface."""

    _fields_ = [
        ("two", ctypes.c_int), ("nd", ctypes.c_int), ("typekind", ctypes.c_char),
        ("itemsize", ctypes.c_int), ("flags", ctypes.c_int),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)), ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("data", ctypes.c_void_p), ("descr", ctypes.py_object),
    ]  # fmt: skip


NOT_SWAPPED, WRITEABLE, ALIGNED, HAS_DESCR = 0x200, 0x400, 0x100, 0x800


def struct(
    kind: str,
    itemsize: int,
    descr: Any = None,
    shape: tuple[int, ...] = (1,),
    flags: int = NOT_SWAPPED | WRITEABLE | ALIGNED,
) -> Any:
    n = len(shape)
    lists = (ctypes.c_ssize_t * (n + 1))(*shape), (ctypes.c_ssize_t * (n + 1))(*[itemsize] * n)
    flags |= HAS_DESCR if descr is not None else 0
    s = Struct(2, n, kind.encode(), itemsize, flags, lists[0], lists[1], ADDRESS, descr)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    obj = described("__array_struct__", new(ctypes.addressof(s), None, None))
    obj.kept = s, lists
    return obj


class Pointers(ctypes.Structure):
    _fields_ = [("a", ctypes.py_object), ("b", ctypes.c_double)]


def buffers(kind: Any) -> Any:
    size = ctypes.sizeof(kind)
    memory = (ctypes.c_char * (2 * size)).from_buffer(BYTES, 64)
    return (kind * 2).from_buffer(memory)


def changing(first: Any, then: Any) -> Any:
    """An object whose interface is another one each time it is read."""
    told = [first]
    return type(
        "Changing", (), {"__array_interface__": property(lambda self: told.pop() if told else then)}
    )()


OBJECTS: dict[str, Callable[[], Any]] = {
    "typestr": lambda: described("__array_interface__", interface("|O")),
    "typestr with a size": lambda: described("__array_interface__", interface("|O8")),
    "descr": lambda: described("__array_interface__", interface("|V8", [("a", "|O")])),
    "descr of several": lambda: described(
        "__array_interface__", interface("|V16", [("a", "<f8"), ("b", "|O8")])
    ),
    "descr in a descr": lambda: described(
        "__array_interface__", interface("|V8", [("a", [("b", "|O8")])])
    ),
    "descr of a name": lambda: described("__array_interface__", interface("|V16", [("a", "f8,O")])),
    "descr of a type": lambda: described("__array_interface__", interface("|V8", [("a", object)])),
    "descr with a title": lambda: described(
        "__array_interface__", interface("|V8", [(("t", "a"), "O")])
    ),
    "a string of fields": lambda: described("__array_interface__", interface("f8,O")),
    "struct": lambda: struct("O", 8),
    "struct with a descr": lambda: struct("V", 8, [("a", "|O")]),
    "struct with a nested descr": lambda: struct("V", 8, [("a", [("b", "O")])]),
    "a buffer of objects": lambda: buffers(ctypes.py_object),
    "a buffer with a field of objects": lambda: buffers(Pointers),
    "a memoryview": lambda: memoryview(buffers(ctypes.py_object)),
    "an interface that changes": lambda: changing(
        interface("|V8"), interface("|V8", [("a", "|O")])
    ),
    "__gt_interface__": lambda: described("__gt_interface__", {None: interface("|O")}),
}
DOORS: dict[str, Callable[[Any], Any]] = {
    "as_numpy": gb.as_numpy,
    "Field": gb.Field,
    "from_array": lambda x: gb.from_array(x, dtype=None),
    "from_array of floats": gb.from_array,
    "Field.from_array": gb.Field.from_array,
    "host_array": _core.host_array,
    "empty_like": gb.empty_like,
    "copyto of objects": lambda x: gb.copyto(np.empty(1, object), x),
    "copyto of fields of objects": lambda x: gb.copyto(np.empty(1, [("a", object)]), x),
    "copyto": lambda x: gb.copyto(np.empty(1), x),
    "fill of objects": lambda x: gb.fill(np.empty(1, object), x),
    "fill": lambda x: gb.fill(np.empty(1), x),
    "full": lambda x: gb.full((1,), x),
    "Field.full": lambda x: gb.Field.full((1,), x),
    "assignment": lambda x: gb.Field.zeros((1,)).__setitem__(slice(None), x),
    "storage": gs.storage,
    "as_storage": gs.as_storage,
    "storage assignment": lambda x: gs.zeros((1,)).__setitem__(slice(None), x),
    "storage operand": lambda x: gs.zeros((1,)) + x,
    "gufunc": lambda x: (
        gufunc.add(x, 1.0) if hasattr(gufunc, "add") else gufunc.from_ufunc(np.add)(x, 1.0)
    ),
    "interface.read": gridbuf.interface.read,
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("said", OBJECTS)
def test_no_objects_over_foreign_bytes(said: str, door: str) -> None:
    obj = OBJECTS[said]()
    with contextlib.suppress(TypeError, ValueError, BufferError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = DOORS[door](obj)
        # What came in has no objects, whatever was said
        if door != "interface.read" and made is not None:
            assert not np.asarray(made).dtype.hasobject or "empty" in door
    gc.collect()  # nobody's references


def test_objects_of_ones_own_still_go_everywhere() -> None:
    own = np.array([1, "a", None], object)
    assert gb.as_numpy(own) is own
    target = np.empty(3, object)
    gb.copyto(target, own)
    assert target.tolist() == [1, "a", None]
    gb.copyto(target, [3, "b", None])
    gb.fill(target[:1], {"x": 1})
    assert target.tolist() == [{"x": 1}, "b", None]


# ---- typestrs ----

GOOD = [
    "|b1",
    "|i1",
    "|u1",
    "<i2",
    ">f4",
    "<f8",
    "<c16",
    "|S3",
    "<U2",
    "|V7",
    "<M8[ns]",
    "<m8[25s]",
    ">M8[D]",
    "<M8",
]
BAD = ["", "<", "<f", "f8", "=f8", "|f8", "<f8 ", "<f08", "<f3", "<q8", "<O8", "|O", "|t8",
"float64", "<f8,<f8", "<f8\0", "<V0", "|S0", "<i-8", "<b2", "<M8[s/0]",
       "<M8[s/2]", "<M8[0s]", "<M8[]", "<M8[s", "<M8s", "<M8[2147483648s]", "<M8[99999999999s]",
       "<M8[x]", "<f8[s]", "<M8[s]]", "<M4[s]", "|V99999999999999999999", "(2,)<f8"]  # fmt: skip


def by_cuda(said: dict[str, Any]) -> None:
    """What is sound is looked for by the driver next, which is not there or does not know the
    memory.
    """
    try:
        gb.Field(described("__cuda_array_interface__", said))
    except (RuntimeError, ValueError) as error:
        if not re.search("CUDA driver|memory that CUDA knows", str(error)):
            raise


def doors(typestr: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The same typestr at each door that has one."""
    said = interface(typestr)
    yield "__array_interface__", lambda: gb.Field(described("__array_interface__", said))
    yield "__cuda_array_interface__", lambda: by_cuda(said)
    yield (
        "__gt_interface__",
        lambda: gridbuf.interface.read(described("__gt_interface__", {None: said})),
    )
    yield (
        "descr",
        lambda: gb.Field(described("__array_interface__", interface("|V8", [("a", typestr)]))),
    )
    yield "struct's descr", lambda: gb.Field(struct("V", 8, [("a", typestr)]))


@pytest.mark.parametrize("typestr", GOOD)
def test_typestrs_that_describe_memory(typestr: str) -> None:
    for door, read in doors(typestr):
        if door not in ("descr", "struct's descr"):
            read()
    assert gb.Field(described("__array_interface__", interface(typestr))).dtype == np.dtype(typestr)
    size = np.dtype(typestr).itemsize
    field = gb.Field(described("__array_interface__", interface(f"|V{size}", [("a", typestr)])))
    assert field.dtype == np.dtype([("a", typestr)])


@pytest.mark.parametrize("typestr", BAD)
def test_typestrs_that_do_not(typestr: str) -> None:
    for door, read in doors(typestr):
        with pytest.raises(ValueError, match=r"typestr|descr"):
            read()
            pytest.fail(door)


def test_descr_lists() -> None:
    nested = [("a", "<f8"), (("Title", "b"), "<i4", (2,)), ("c", [("d", "|S4"), ("e", "|V4")])]
    dtype: np.dtype[Any] = np.dtype(nested)
    assert (
        gb.Field(described("__array_interface__", interface(f"|V{dtype.itemsize}", nested))).dtype
        == dtype
    )
    assert gb.Field(struct("V", dtype.itemsize, nested)).dtype == dtype
    deep: Any = "<f8"
    for _ in range(20):
        deep = [("a", deep)]
    for fields in (
        deep,
        [("a",)],
        [("a", "<f8", (-1,))],
        [("a", "<f8", 3)],
        [(5, "<f8")],
        [["a", "<f8"]],
        [("a", "<f8", (1 << 70,))],
    ):
        with pytest.raises(ValueError, match="descr"):
            gb.Field(described("__array_interface__", interface("|V8", fields)))


@pytest.mark.parametrize("dtype", ["i1", "f8", ">f4", "c16", "S5", "U3", "M8[s]", "?", "V6"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 4)])
def test_structs_that_numpy_makes(dtype: str, shape: tuple[int, ...]) -> None:
    array = np.zeros(shape, dtype)
    obj = described("__array_struct__", array.__array_struct__)
    field = gb.Field(obj)
    assert (field.shape, field.dtype.itemsize, field.dtype.byteorder) == (
        shape,
        array.dtype.itemsize,
        array.dtype.byteorder,
    )
    assert field.size == 0 or np.shares_memory(field.numpy(), array)
    locked = array.view()
    locked.flags.writeable = False
    assert gb.Field(described("__array_struct__", locked.__array_struct__)).readonly


def test_structs_that_are_wrong() -> None:
    for wrong in (
        struct("f", -8),
        struct("f", 0),
        struct("f", 3),
        struct("U", 6),
        struct("\n", 8),
        struct("f", 8, shape=(0, 1 << 62, 2)),
    ):
        with pytest.raises(ValueError, match="__array_struct__"):
            gb.Field(wrong)


# ---- errors that are about something else ----

OTHERS = [KeyboardInterrupt, MemoryError, RuntimeError, ZeroDivisionError, SystemExit]


def raising(error: type[BaseException]) -> Any:
    """An object each of whose protocols raises."""

    def protocol(self: Any, *args: Any, **keywords: Any) -> Any:
        raise error("mine")

    names = ("__index__", "__float__", "__bool__", "__buffer__", "__dlpack__", "__eq__")
    return type("Raising", (), {name: protocol for name in names} | {"__hash__": lambda self: 1})()


def key_error(error: type[BaseException]) -> dict[Any, Any]:
    """A dict with a key that raises when it is compared with one of the interface's."""

    class Key(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            raise error("mine")

        __hash__ = str.__hash__

    keys = ("version", "shape", "typestr", "data")
    return {Key(key): 3 for key in keys}


PLACES: dict[str, Callable[[type[BaseException]], Any]] = {
    "address": lambda e: gb.Field(
        described("__array_interface__", interface("<f8") | {"data": (raising(e), False)})
    ),
    "read-only": lambda e: gb.Field(
        described("__array_interface__", interface("<f8") | {"data": (ADDRESS, raising(e))})
    ),
    "shape": lambda e: gb.Field(
        described("__array_interface__", interface("<f8") | {"shape": (raising(e),)})
    ),
    "offset": lambda e: gb.Field(
        described("__array_interface__", interface("<f8") | {"data": BYTES, "offset": raising(e)})
    ),
    "descr": lambda e: gb.Field(
        described("__array_interface__", interface("|V8", [("a", "<f8", (raising(e),))]))
    ),
    "a key": lambda e: gb.Field(described("__array_interface__", key_error(e))),
    "device": lambda e: gb.from_dlpack(
        type("P", (), {"__dlpack_device__": lambda s: (raising(e), 0), "__dlpack__": None})()
    ),
    "capsule": lambda e: gb.from_dlpack(raising(e)),
    "value": lambda e: gb.fill(np.zeros(3), raising(e)),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("error", OTHERS)
def test_other_errors_pass_through(place: str, error: type[BaseException]) -> None:
    with pytest.raises(error, match="mine"):
        PLACES[place](error)


@pytest.mark.skipif("sys.version_info < (3, 12)")
@pytest.mark.parametrize("error", OTHERS)
def test_other_errors_of_buffers_pass_through(error: type[BaseException]) -> None:
    class Buffer:
        def __buffer__(self, flags: int) -> memoryview:
            raise error("mine")

    for call in (
        gb.Field,
        gb.as_numpy,
        lambda b: gb.Field(described("__array_interface__", interface("<f8") | {"data": b})),
        lambda b: gb.copyto(np.zeros(3), b),
    ):
        with pytest.raises(error, match="mine"):
            call(Buffer())


@pytest.mark.parametrize("error", OTHERS)
def test_other_errors_of_a_metaclass_pass_through(error: type[BaseException]) -> None:
    class Meta(type):
        def __getattr__(cls, name: str) -> Any:
            if name == "__cuda_array_interface__":
                raise error("mine")
            raise AttributeError(name)

    obj = Meta("Described", (), {})()
    for call in (
        gb.Field,
        lambda o: gb.copyto(np.zeros(3), o),
        lambda o: gb.copyto(o, np.zeros(3)),
        lambda o: gb.fill(o, 1.0),
    ):
        with pytest.raises(error, match="mine"):
            call(obj)


@pytest.mark.parametrize("error", [TypeError, ValueError, OverflowError, BufferError])
def test_errors_about_the_description_say_which_key(error: type[Exception]) -> None:
    with pytest.raises(ValueError, match="data is"):
        PLACES["address"](error)
    with pytest.raises(ValueError, match="descr is"):
        PLACES["descr"](error)
    with pytest.raises(BufferError, match="__dlpack_device__"):
        PLACES["device"](error)
