"""What a device array of another library says of its memory, checked, for the C side to wrap."""

import math
import sys
from typing import Any

import numpy as np

from gridbuf import _core

# owner, address, shape, strides in bytes, dtype, device (-1: not said), read-only, trusted, stream given, stream
Told = tuple[Any, int, tuple[int, ...], tuple[int, ...], "np.dtype[Any]", int, bool, bool, bool, int]


def describe(obj: Any) -> Told | Any:
    """The memory of obj; NotImplemented when the object has no `__cuda_array_interface__` after all."""
    cupy = sys.modules.get("cupy")
    if cupy is not None and isinstance(obj, cupy.ndarray):
        return _of_cupy(obj)
    interface = getattr(obj, "__cuda_array_interface__", None)
    if interface is None:
        return NotImplemented
    return _of_interface(obj, interface)


def block_of(obj: Any) -> Any:
    """The block of ours that a cupy array or a view of one lies in; None for anything else."""
    cupy = sys.modules.get("cupy")
    owner = getattr(obj.data.mem, "_owner", None) if cupy is not None and isinstance(obj, cupy.ndarray) else None
    return owner if type(owner) is _core._DeviceBlock else None


def _of_cupy(array: Any) -> Told:
    """Without cupy's own interface, which copies nothing either but looks at more than is needed."""
    owner = block_of(array)
    ours = owner is not None
    device = int(array.data.device_id)
    address = int(array.data.ptr) if array.size else 0
    from gridbuf.cupy_arrays import stream_of

    stream = stream_of(device)
    return owner if ours else array, address, array.shape, array.strides, array.dtype, device, False, True, stream != 0, stream


def _wrong(obj: Any, key: str, expected: str, found: Any) -> ValueError:
    return ValueError(f"data: __cuda_array_interface__ of {type(obj).__name__}: {key} is {found!r}; expected {expected}")


def _ints(obj: Any, key: str, value: Any) -> tuple[int, ...]:
    if not isinstance(value, (tuple, list)) or not all(isinstance(n, (int, np.integer)) for n in value):
        raise _wrong(obj, key, "a tuple of ints", value)
    return tuple(int(n) for n in value)


def _of_interface(obj: Any, d: Any) -> Told:
    if not isinstance(d, dict):
        raise TypeError(f"data: __cuda_array_interface__ of {type(obj).__name__} is {d!r}, not a dict")
    d = dict(d)  # what is asked for its value may change the original
    if d.get("version") not in (0, 1, 2, 3):
        raise _wrong(obj, "version", "0 to 3", d.get("version"))
    if d.get("mask") is not None:
        raise _wrong(obj, "mask", "None: give the data without mask, or fill it", d["mask"])
    shape = _ints(obj, "shape", d.get("shape"))
    if any(n < 0 for n in shape):
        raise _wrong(obj, "shape", "sizes of 0 or more", shape)
    dtype = _dtype(obj, d)
    strides = d.get("strides")
    if strides is None:
        steps, step = [], dtype.itemsize
        for n in reversed(shape):
            steps.append(step)
            step *= max(n, 1)
        strides = tuple(reversed(steps))
    strides = _ints(obj, "strides", strides)
    if len(strides) != len(shape):
        raise _wrong(obj, "strides", "None, or bytes for each index of shape", strides)
    address, readonly = _address(obj, d, 0 in shape)
    reach = sum((n - 1) * abs(s) for n, s in zip(shape, strides, strict=True)) if 0 not in shape else 0
    if max(reach, math.prod(shape) * dtype.itemsize) + dtype.itemsize >= 1 << 63 or any(
        abs(n) >= 1 << 63 for n in shape + strides
    ):
        raise _wrong(obj, "shape", "less than 2**63 bytes", shape)
    stream = d.get("stream")
    if stream is not None and (isinstance(stream, bool) or not isinstance(stream, int) or not 0 < stream < 1 << 64):
        raise _wrong(obj, "stream", "None, 1, 2 or a stream's handle", stream)
    return obj, address, shape, strides, dtype, -1, readonly, False, stream is not None, stream or 0


def _dtype(obj: Any, d: dict[str, Any]) -> "np.dtype[Any]":
    found = _core.read_typestr(d.get("typestr"), d.get("descr"))
    if isinstance(found, str):
        fields = "a list of fields of plain memory that together have the size in typestr"
        raise _wrong(obj, found, "a str such as '<f8'" if found == "typestr" else fields, d.get(found))
    return found


def _address(obj: Any, d: dict[str, Any], empty: bool) -> tuple[int, bool]:
    data = d.get("data")
    if not isinstance(data, tuple) or len(data) != 2 or not isinstance(data[0], (int, np.integer)) or isinstance(data[0], bool):
        raise _wrong(obj, "data", "(address, read-only)", data)
    address = int(data[0])
    if not 0 <= address < 1 << 64 or (address == 0 and not empty):
        raise _wrong(obj, "data", "an address", data)
    return (0 if empty else address), bool(data[1])
