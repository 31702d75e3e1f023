"""From any object to the checked description of its memory on one device."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from gridbuf import _core
from gridbuf.common import debugging
from gridbuf.names import MOST, entries_of, get_dims, is_name, name_of, pick
from gridbuf.strides import extent
from gridbuf.validation import integer

# ---- interfaces of one object that must describe the same memory ----


class _Seen(NamedTuple):
    """The memory as one interface describes it; strides of indices without extent say nothing."""

    data: int
    shape: tuple[int, ...]
    typestr: str
    strides: tuple[int, ...]


def _seen(interface: Any) -> _Seen:
    keys = ("shape", "typestr", "data", "strides")
    shape, data, strides, dtype = _core.described_memory(
        interface, "an interface", *map(interface.get, keys)
    )
    if 0 in shape:
        return _Seen(0, shape, dtype.str, (0,) * len(shape))
    told = tuple(stride if size > 1 else 0 for stride, size in zip(strides, shape, strict=True))
    return _Seen(data[0], shape, dtype.str, told)


def _entry(obj: Any, device: bool) -> Any:
    for name in ("__gt_interface__", "__gt_data_interface__"):
        entries = getattr(obj, name, None)
        if isinstance(entries, Mapping):
            numbered = [key for key in entries if isinstance(key, tuple)]
            # Of several GPUs, the other interfaces cannot say which one they mean.
            keys = ("gpu", *(numbered if len(numbered) == 1 else ())) if device else (None, "cpu")
            return next((entries[key] for key in keys if key in entries), None)
    return None


def _of_host(obj: Any) -> Iterator[tuple[str, Any]]:
    yield "__gt_interface__", _entry(obj, device=False)
    yield "__array_interface__", getattr(obj, "__array_interface__", None)
    # No buffer, or a format that NumPy does not read
    with suppress(TypeError, BufferError, ValueError):
        yield "the buffer protocol", np.asarray(memoryview(obj)).__array_interface__
    on_host = (_core.DL_CPU, _core.DL_CUDA_HOST)
    if (
        hasattr(obj, "__dlpack__")
        and hasattr(obj, "__dlpack_device__")
        and int(obj.__dlpack_device__()[0]) in on_host
    ):
        with suppress(TypeError, BufferError):  # read-only, or a dtype that DLPack does not know
            yield "DLPack", _core.from_dlpack(obj).numpy().__array_interface__


def _of_device(obj: Any) -> Iterator[tuple[str, Any]]:
    yield "__gt_interface__", _entry(obj, device=True)
    yield "__cuda_array_interface__", getattr(obj, "__cuda_array_interface__", None)


def check_agreement(obj: Any) -> None:
    """ValueError naming the two interfaces and what they disagree on."""
    # Its interfaces agree, and reading some of them moves data
    if isinstance(obj, _core.StorageBase):
        return
    for described in (_of_host(obj), _of_device(obj)):
        told = [(name, _seen(interface)) for name, interface in described if interface is not None]
        for name, other in told[1:]:
            first, reference = told[0]
            for key, mine, theirs in zip(_Seen._fields, reference, other, strict=True):
                if mine != theirs:
                    raise ValueError(
                        f"data: the interfaces of {type(obj).__name__} disagree on {key}: {mine} in"
                        f" {first}, {theirs} in {name}"
                    )


def check_extent(name: str, obj: Any, found: Mapping[str, Any]) -> None:
    """ValueError where a `__gt_interface__` describes memory that is not there.

    Known are which addresses the process has, and what else the object says of the memory that
    begins there.
    """
    if isinstance(obj, (np.ndarray, _core.Field, _core.StorageBase)) or 0 in found["shape"]:
        return
    start = found["data"][0]
    first, last = extent(
        start, found["shape"], found["strides"], np.dtype(found["typestr"]).itemsize
    )
    if not _core.is_mapped(first, last - first):
        raise ValueError(
            f"{name}: shape {found['shape']} and strides {found['strides']} reach {last - first}"
            f" bytes from address {first:#x} on, where this process has no memory"
        )
    other = getattr(obj, "__array_interface__", None)
    if other is None:
        return
    seen = _seen(other)
    if 0 in seen.shape:
        return
    begin, end = extent(seen.data, seen.shape, seen.strides, np.dtype(seen.typestr).itemsize)
    if any(begin <= at < end for at in (start, first)) and (first < begin or end < last):
        raise ValueError(
            f"{name}: shape {found['shape']} and strides {found['strides']} in __gt_interface__"
            f" reach {max(last - end, begin - first)} bytes beyond the memory that"
            f" {type(obj).__name__} has by its __array_interface__"
        )


# ---- one entry of a __gt_interface__ ----


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


# ---- any object ----


Device = tuple[str, int] | str | None


def check_device(device: Any) -> Device:
    """None for the host, "gpu" or ("gpu", n)."""
    if device is None or isinstance(device, str):
        found: dict[Any, Device] = {None: None, "cpu": None, "gpu": "gpu"}
        if device in found:
            return found[device]
    elif (
        isinstance(device, tuple)
        and len(device) == 2
        and isinstance(device[0], str)
        and device[0] == "gpu"
    ):
        with suppress(TypeError):
            return "gpu", integer(device[1], "device")
    raise ValueError(f"device: {device!r} is not None, 'cpu', 'gpu' or ('gpu', number)")


def find(obj: Any, device: Device) -> Description | None:
    """`read` for a checked device; None where the object has no buffer there."""
    return looked_up(obj, device)[0]


def looked_up(obj: Any, device: Device) -> tuple[Description | None, bool]:
    """`find`, and whether it is the object's `__gt_interface__` that says so, which is read
    once.
    """
    if device is None and (told := _core.host_description(obj)) is not None:
        return told, type(obj) is not np.ndarray
    if isinstance(obj, _core.StorageBase):  # describes itself rightly
        return pick(obj.__gt_interface__, device), True  # type: ignore[attr-defined]
    if debugging():
        check_agreement(obj)
    entries = entries_of(obj)
    if entries is not None:
        entry = pick(entries, device)
    elif device is None:
        entry = _host_entry(obj)
    else:
        entry = _device_entry(obj)
    return None if entry is None else checked(entry, obj), entries is not None


def changed(before: Description, now: Mapping[str, Any]) -> str:
    """The words of an error about a description that acquire may not change; "" without one."""
    for key in ("shape", "typestr", "dims"):
        if now.get(key) != before[key]:
            return f"its {key} was {before[key]!r} and is {now.get(key)!r}"
    return ""


def read(obj: Any, device: Any = None) -> Description:
    """Read the memory that an object offers on a device, checked; nothing is copied.

    Parameters
    ----------
    obj
        An object with `__gt_interface__` (or `__gt_data_interface__`); without, its array
        interface, buffer or DLPack is read instead.
    device : None, "cpu", "gpu" or ("gpu", n), optional
        None and "cpu" mean main memory; "gpu" any GPU.

    Returns
    -------
    dict
        shape, typestr, data (address, read-only), strides in bytes, dims (tuple or None), and
        acquire, touch, release (callable or None). A new dict each time.

    Raises
    ------
    ValueError
        When there is no buffer on that device, or the description is wrong.
    TypeError
        When the description has entries of the wrong type.

    Examples
    --------
    >>> import numpy as np, gridbuf.interface
    >>> found = gridbuf.interface.read(np.zeros((2, 3)))
    >>> found["shape"], found["strides"], found["dims"]
    ((2, 3), (24, 8), None)
    """
    found = _core.host_description(obj) if device is None else None
    if found is not None:
        return found
    wanted = check_device(device)
    found = find(obj, wanted)
    if found is None:
        raise ValueError(
            f"device: {type(obj).__name__} has no buffer for"
            f" {'the host' if wanted is None else wanted}"
        )
    return found


def _host_entry(obj: Any) -> dict[str, Any] | None:
    try:
        array = _core.host_array(obj)
    except TypeError:
        return None
    interface = array.__array_interface__
    return {key: interface[key] for key in ("shape", "typestr", "data", "strides")}


def _device_entry(obj: Any) -> Any:
    interface = getattr(obj, "__cuda_array_interface__", None)
    if interface is not None:
        return interface
    if isinstance(obj, (np.ndarray, _core.Field)) or not hasattr(obj, "__dlpack_device__"):
        return None
    kind, number = obj.__dlpack_device__()
    if int(kind) not in (_core.DL_CUDA, _core.DL_ROCM, _core.DL_CUDA_MANAGED):
        return None
    from gridbuf.names import as_cupy

    array = as_cupy(obj)
    return {**array.__cuda_array_interface__, "strides": array.strides, "device": number}
