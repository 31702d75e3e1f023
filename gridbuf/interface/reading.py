"""From any object to the description of its memory on one device."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.common import debugging
from gridbuf.interface.agreement import check_agreement
from gridbuf.interface.description import Description, checked
from gridbuf.names import entries_of, pick
from gridbuf.validation import integer

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
    if isinstance(obj, _core.StorageBase):  # what it says is as it must be
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
    """What an acquire may not change, and has changed: "" or the words of an error."""
    for key in ("shape", "typestr", "dims"):
        if now.get(key) != before[key]:
            return f"its {key} was {before[key]!r} and is {now.get(key)!r}"
    return ""


def read(obj: Any, device: Any = None) -> Description:
    """What an object offers on a device, checked; nothing is copied.

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
