"""One entry of a `__gt_interface__`: what it must hold, checked and completed."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.names import MOST, get_dims, is_name, name_of
from gridbuf.strides import packed

CALLABLES = ("acquire", "touch", "release")

Description = dict[str, Any]


def checked(entry: Any, obj: Any) -> Description:
    """A new dict with shape, typestr, data, strides (filled in), dims, acquire, touch and release."""
    if not isinstance(entry, Mapping):
        raise TypeError(f"__gt_interface__: expected a map for each device, got {entry!r}")
    for key in ("shape", "typestr", "data"):
        if key not in entry:
            raise ValueError(f"__gt_interface__: {key!r} is missing; there are {', '.join(map(str, entry))}")
    shape = _ints(entry["shape"], "shape")
    if any(size < 0 for size in shape):
        raise ValueError(f"__gt_interface__: shape {shape} has a negative size")
    dtype = _dtype(entry["typestr"])
    strides = entry.get("strides")
    strides = packed(shape, dtype.itemsize) if strides is None else _ints(strides, "strides")
    if len(strides) != len(shape):
        raise ValueError(f"__gt_interface__: strides {strides} have another length than shape {shape}")
    found = {"shape": shape, "typestr": entry["typestr"], "data": _data(entry["data"], shape), "strides": strides}
    found["dims"] = _dims(entry.get("dims"), obj, len(shape))
    for key in CALLABLES:
        value = entry.get(key)
        if value is not None and not callable(value):
            raise TypeError(f"__gt_interface__: {key!r} is {value!r}, neither callable nor None")
        found[key] = value
    return found


def _ints(values: Any, key: str) -> tuple[int, ...]:
    if not isinstance(values, (tuple, list)) or not all(isinstance(v, (int, np.integer)) for v in values):
        raise TypeError(f"__gt_interface__: {key!r} is {values!r}, expected a tuple of ints")
    return tuple(int(value) for value in values)


def _dtype(typestr: Any) -> np.dtype[Any]:
    if not isinstance(typestr, str):
        raise TypeError(f"__gt_interface__: 'typestr' is {typestr!r}, expected a str such as '<f8'")
    found = _core.read_typestr(typestr)
    if isinstance(found, str):
        raise ValueError(f"__gt_interface__: {found}")
    if found.hasobject:
        raise ValueError(
            f"__gt_interface__: 'typestr' is {typestr!r}: Python objects are no numbers that a stencil could compute with"
        )
    return found


def _data(data: Any, shape: tuple[int, ...]) -> tuple[int, bool]:
    if not isinstance(data, (tuple, list)) or len(data) != 2 or not isinstance(data[0], (int, np.integer)):
        raise TypeError(f"__gt_interface__: 'data' is {data!r}, expected (address, read-only)")
    if data[0] <= 0 and 0 not in shape:
        raise ValueError(f"__gt_interface__: 'data' points at {data[0]}, and shape {shape} has elements")
    return int(data[0]), bool(data[1])


def _dims(dims: Any, obj: Any, ndim: int) -> tuple[str, ...] | None:
    if dims is None:
        dims = get_dims(obj)
    if dims is None:
        return None
    if not isinstance(dims, Iterable):
        raise TypeError(f"__gt_interface__: 'dims' is {dims!r}, expected names such as 'IJK'")
    names = tuple(name_of(name) for name in islice(dims, MOST + 1))
    if len(names) != ndim or len(set(names)) != ndim or not all(map(is_name, names)):
        raise ValueError(f"__gt_interface__: 'dims' {names} must name each of {ndim} indices once, with I, J, K or a number")
    return names
