"""The structs of dlpack.h, field by field as the standard has them, and producers built by hand
from them.
"""

import ctypes
from typing import Any, ClassVar

import numpy as np

DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
LATEST = (1, 3)
READ_ONLY, COPIED = 1, 2
CAPSULE = b"dlpack_exchange_api"


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("ctx", ctypes.c_void_p),
        ("deleter", DELETER),
        ("flags", ctypes.c_uint64), ("tensor", Tensor),
    ]  # fmt: skip


class Legacy(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("ctx", ctypes.c_void_p), ("deleter", DELETER)]


FROM_OBJECT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
TO_OBJECT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
BORROW = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))
STREAM = ctypes.PYFUNCTYPE(
    ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)
)
FAIL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
ALLOCATE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(Tensor), ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p, FAIL
)


class Table(ctypes.Structure):
    """DLPackExchangeAPI with its header."""

    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("prev_api", ctypes.c_void_p),
        ("allocate", ALLOCATE),
        ("from_object", FROM_OBJECT), ("to_object", TO_OBJECT), ("borrow", BORROW),
        ("stream", STREAM),
    ]  # fmt: skip


api = ctypes.pythonapi
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def capsule(pointer: int, name: bytes) -> Any:
    return api.PyCapsule_New(pointer, name, None)


def table_of(type_: type) -> Table:
    """The exchange API behind a type."""
    return Table.from_address(api.PyCapsule_GetPointer(type_.__dlpack_c_exchange_api__, CAPSULE))  # type: ignore[attr-defined]


class Hostile:
    """A producer whose tensor is built by hand: 2 x 3 float64 unless told otherwise. Counts its
    deleter's calls.
    """

    flavour = b"dltensor_versioned"
    alive: ClassVar[list[Any]] = []  # a deleter may be called for as long as anybody holds a tensor

    def __init__(self, **changes: Any) -> None:
        self.alive.append(self)
        self.memory = np.arange(6.0)
        self.deleted = 0
        self.delete = DELETER(self._deleted)
        tensor = {
            "data": self.memory.ctypes.data, "device_type": 1, "ndim": 2, "code": 2, "bits": 64,
            "lanes": 1,
            "shape": (2, 3), "strides": (3, 1),
        }  # fmt: skip
        whole = {"major": 1, "minor": 0, "flags": 0, "deleter": self.delete}
        for name, value in changes.items():
            (whole if name in whole else tensor)[name] = value
        for name in ("shape", "strides"):
            if isinstance(tensor[name], tuple):
                tensor[name] = (ctypes.c_int64 * max(len(tensor[name]), 1))(*tensor[name])
        self.tensor = Versioned(tensor=Tensor(**tensor), **whole)
        self.legacy = Legacy(tensor=Tensor(**tensor), deleter=whole["deleter"])

    def _deleted(self, pointer: int) -> None:
        self.deleted += 1

    def __dlpack__(self, **keywords: Any) -> Any:
        return capsule(
            ctypes.addressof(self.legacy if self.flavour == b"dltensor" else self.tensor),
            self.flavour,
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class HostileLegacy(Hostile):
    """The same as a legacy capsule."""

    flavour = b"dltensor"


def exchanging(**changes: Any) -> tuple[type, Table]:
    """A new type that offers its `tensor` (a Versioned, or the address of one) through the exchange
    API alone.
    """

    def give(obj: Any, out: Any) -> int:
        made = obj.tensor
        out[0] = made if isinstance(made, int) or made is None else ctypes.addressof(made)
        return 0

    entries: dict[str, Any] = {"major": 1, "minor": 3, "from_object": FROM_OBJECT(give)} | changes
    table = Table(**entries)

    class Exchanging:
        def __init__(self, tensor: Any) -> None:
            self.tensor = tensor

    Exchanging.__dlpack_c_exchange_api__ = capsule(ctypes.addressof(table), CAPSULE)  # type: ignore[attr-defined]
    Exchanging.kept = (table, entries)  # type: ignore[attr-defined]
    return Exchanging, table
