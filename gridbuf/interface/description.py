"""One entry of a `__gt_interface__`: what it must hold, checked and completed."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from gridbuf import _core
from gridbuf.names import MOST, get_dims, is_name, name_of

CALLABLES = ("acquire", "touch", "release")

Description = dict[str, Any]


def checked(entry: Any, obj: Any) -> Description:
    """A new dict with shape, typestr, data, strides (filled in), dims, acquire, touch and
    release.
    """
    if not isinstance(entry, Mapping):
        raise TypeError(f"__gt_interface__: expected a map for each device, got {entry!r}")
    for key in ("shape", "typestr", "data"):
        if key not in entry:
            raise ValueError(
                f"__gt_interface__: {key!r} is missing; there are {', '.join(map(str, entry))}"
            )
    typestr, data = entry["typestr"], entry["data"]
    shape, data, strides, _ = _core.described_memory(
        obj,
        "__gt_interface__",
        entry["shape"],
        typestr,
        tuple(data) if isinstance(data, list) else data,
        entry.get("strides"),
    )
    found = {"shape": shape, "typestr": typestr, "data": data, "strides": strides}
    found["dims"] = _dims(entry.get("dims"), obj, len(shape))
    for key in CALLABLES:
        value = entry.get(key)
        if value is not None and not callable(value):
            raise TypeError(f"__gt_interface__: {key!r} is {value!r}, neither callable nor None")
        found[key] = value
    return found


def _dims(dims: Any, obj: Any, ndim: int) -> tuple[str, ...] | None:
    if dims is None:
        dims = get_dims(obj)
    if dims is None:
        return None
    if not isinstance(dims, Iterable):
        raise TypeError(f"__gt_interface__: 'dims' is {dims!r}, expected names such as 'IJK'")
    names = tuple(name_of(name) for name in islice(dims, MOST + 1))
    if len(names) != ndim or len(set(names)) != ndim or not all(map(is_name, names)):
        raise ValueError(
            f"__gt_interface__: 'dims' {names} must name each of {ndim} indices once, with I, J, K"
            " or a number"
        )
    return names
