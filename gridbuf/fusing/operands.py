"""What takes part in a fused expression: memory of plain numbers that the host may read, and
numbers.
"""

from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.names import dims_given

Field, StorageBase = _core.HostField, _core.StorageBase
WEAK = (int, float, complex)  # Python's numbers, which take the dtype of the arrays around them
NUMBERS = (*WEAK, bool)


def is_number(obj: Any) -> bool:
    """Whether an object is a number of Python's or NumPy's own classes."""
    return type(obj) in NUMBERS or (
        isinstance(obj, (np.number, np.bool_)) and type(obj).__module__ == "numpy"
    )


def is_memory(obj: Any) -> bool:
    """Whether an object is an array, a Field or a storage of the host, of no derived class."""
    cls = type(obj)
    return (
        cls is np.ndarray
        or cls is Field
        or (issubclass(cls, StorageBase) and cls.__name__ == "CPUStorage")
    )


def host(obj: Any) -> "np.ndarray[Any, Any]":
    """The memory as an array."""
    if type(obj) is np.ndarray:
        return obj
    array: np.ndarray[Any, Any] = obj.numpy() if type(obj) is Field else obj._host
    return array


def is_plain(dtype: "np.dtype[Any]") -> bool:
    """Whether the elements are numbers of at most 16 bytes in the machine's byte order."""
    return dtype.kind in "biufc" and dtype.char not in "gG" and dtype.isnative


def can_fuse(obj: Any) -> bool:
    return is_plain(obj.dtype) and host(obj).flags.aligned


def names_of(obj: Any) -> tuple[str, ...] | None:
    """The names of the indices; None where none were given."""
    if type(obj) is np.ndarray:
        return None
    if type(obj) is Field:
        return dims_given(obj)
    return tuple(obj.axes)


def axes_of(obj: Any, frame: Any) -> tuple[int, ...]:
    """For each index of a result, which index of the operand goes along; -1: it is broadcast."""
    own, names = names_of(obj), names_of(frame)
    if own is not None and names is not None:
        return tuple(own.index(name) if name in own else -1 for name in names)
    return tuple(max(d - frame.ndim + obj.ndim, -1) for d in range(frame.ndim))


def goes_along(obj: Any, frame: Any) -> bool:
    """Whether `axes_of` can tell: of an array beside storages an index of one element may go."""
    if not obj.ndim:
        return True
    if names_of(obj) is None and names_of(frame) is not None and obj.ndim != frame.ndim:
        return False
    axes = axes_of(obj, frame)
    return all(a < 0 or obj.shape[a] in (1, n) for a, n in zip(axes, frame.shape, strict=True))


def signature(obj: Any) -> Any:
    """The facts of an object's memory that a call depends on."""
    if not is_memory(obj):
        return type(obj)
    kind = (type(obj), obj.dtype, obj.dtype.num, obj.shape, obj.strides)
    return (*kind, *meaning(obj))


def structure(obj: Any) -> Any:
    """The signature without sizes, but for sizes of 1, which broadcast."""
    order = sorted(range(obj.ndim), key=lambda i: -abs(obj.strides[i]))
    ones = tuple(size == 1 for size in obj.shape)
    dense = obj.ndim > 0 and obj.strides[order[-1]] == obj.itemsize
    number = obj.dtype.num  # long and long long are equal dtypes
    return type(obj), obj.dtype, number, tuple(order), ones, dense, *meaning(obj)


def meaning(obj: Any) -> tuple[Any, ...]:
    if type(obj) is Field:
        return names_of(obj), obj.dims, obj.halo, obj.origin
    return () if type(obj) is np.ndarray else (obj._meta,)
