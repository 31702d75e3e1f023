"""From any object to an ndarray over its memory, without a copy."""

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridbuf import _core
from gridbuf.names import get_dims, get_origin, index_order


def host_array(obj: Any) -> NDArray[Any]:
    """An ndarray over obj's host memory; TypeError when it has none, never a copy."""
    if type(obj) is np.ndarray:
        return obj
    if isinstance(obj, _core.Field):
        return obj.numpy()
    if _offers_array(obj):
        array = np.asarray(obj)
        if array.dtype != object:
            return array
    if hasattr(obj, "__dlpack__"):
        return _from_dlpack(obj)
    if hasattr(obj, "__cuda_array_interface__"):
        raise TypeError(f"data: {type(obj).__name__} is device memory, and a host array is needed; copy it to the host first")
    if hasattr(obj, "__array__") and not isinstance(obj, np.generic):
        return _from_array_method(obj)
    raise TypeError(
        f"data: {type(obj).__name__} has no memory to share (no buffer, array interface or DLPack); "
        "gridbuf.from_array or Field.from_array makes a copy"
    )


def _offers_array(obj: Any) -> bool:
    if isinstance(obj, (str, bytes, list, tuple, int, float, complex, np.generic)):
        return False  # NumPy would copy these
    if hasattr(obj, "__array_interface__") or hasattr(obj, "__array_struct__"):
        return True
    try:
        memoryview(obj).release()
    except (TypeError, BufferError, ValueError):
        return False
    return True


def _from_array_method(obj: Any) -> NDArray[Any]:
    """xarray and others: __array__ may copy, so the memory is looked at twice."""
    first, second = np.asarray(obj), np.asarray(obj)
    if first.dtype == object or (first.size and not np.shares_memory(first, second)):
        raise TypeError(
            f"data: {type(obj).__name__} hands out a new copy each time it is read; "
            "gridbuf.from_array or Field.from_array makes one on purpose"
        )
    return first


def _from_dlpack(obj: Any, *, copy: bool | None = None) -> NDArray[Any]:
    """An ndarray over a DLPack producer's host memory."""
    device = obj.__dlpack_device__() if hasattr(obj, "__dlpack_device__") else (1, 0)
    if int(device[0]) not in (1, 3, 11, 13):
        raise TypeError(f"data: {type(obj).__name__} lies on DLPack device {tuple(device)}, and a host array is needed")
    try:
        capsule = obj.__dlpack__(max_version=(1, 3), **({} if copy is None else {"copy": copy}))
    except TypeError:
        if copy:  # a producer older than copy=: share, then copy here
            return _core.import_capsule(obj.__dlpack__()).copy()
        capsule = obj.__dlpack__()
    return _core.import_capsule(capsule)


_EXTENDED = {
    (4, 16): "bfloat16", (7, 8): "float8_e3m4", (8, 8): "float8_e4m3", (9, 8): "float8_e4m3b11fnuz", (10, 8): "float8_e4m3fn",
    (11, 8): "float8_e4m3fnuz", (12, 8): "float8_e5m2", (13, 8): "float8_e5m2fnuz", (14, 8): "float8_e8m0fnu",
}  # fmt: skip


def extended_dtype(code: int, bits: int) -> np.dtype[Any]:
    """ml_dtypes' dtype for a DLPack type code; BufferError when there is none."""
    name = _EXTENDED.get((code, bits))
    try:
        import ml_dtypes
    except ImportError:
        name = None
    if name is None or not hasattr(ml_dtypes, name):
        raise BufferError(
            f"DLPack: no dtype for type code {code} with {bits} bits; bfloat16 and float8 need the package ml_dtypes"
        )
    found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return found


def adopt(obj: Any) -> tuple[NDArray[Any], Any, Any, Any]:
    """For Field(obj): the memory, and the dims, origin (index order) and halo that obj carries."""
    array, dims, origin = host_array(obj), get_dims(obj), get_origin(obj)
    if dims is not None and len(dims) != array.ndim:
        raise ValueError(f"data: its dims {dims} name {len(dims)} indices, its memory has {array.ndim}")
    if origin is not None and dims is not None:
        origin = index_order(origin, dims)
    if os.environ.get("GRIDBUF_DEBUG") == "1":
        _check_agreement(obj, array)
    return array, dims, origin, None


def _check_agreement(obj: Any, array: NDArray[Any]) -> None:
    """Several interfaces on one object must describe the same memory."""
    try:
        described = obj.__array_interface__
    except AttributeError:
        return
    expected = array.__array_interface__
    for key in ("shape", "typestr", "data", "strides"):
        mine, theirs = expected[key], described.get(key)
        if key == "strides":
            mine = array.strides
            theirs = np.empty(described["shape"], array.dtype).strides if theirs is None else theirs
        if key == "data":
            mine, theirs = mine[0], None if theirs is None else theirs[0]
        if mine != theirs:
            name = type(obj).__name__
            raise ValueError(
                f"data: the interfaces of {name} disagree on {key}: {theirs} in __array_interface__, {mine} elsewhere"
            )
