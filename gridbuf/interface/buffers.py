"""Arrays over described memory, on the host and on a device."""

from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.interface.description import Description
from gridbuf.storage import devices
from gridbuf.wrapping import Described


def array_over(obj: Any, description: Description, on_device: bool, described: bool) -> Any:
    """An array over the described memory of obj; it keeps obj alive. `described`: by its
    `__gt_interface__`.
    """
    interface = {key: description[key] for key in ("shape", "typestr", "data", "strides")} | {
        "version": 3
    }
    if on_device:
        return devices.current().asarray(Described("__cuda_array_interface__", interface, obj))
    if isinstance(obj, _core.Field) or not described:
        return _core.host_array(obj)  # knows dtypes that a typestr cannot say
    if 0 in description["shape"]:
        return np.empty(description["shape"], description["typestr"])
    return _core.host_array(Described("__array_interface__", interface, obj))


def copied(array: Any, on_device: bool, wanted_device: bool, dtype: np.dtype[Any]) -> Any:
    """A copy on the wanted device with the wanted dtype."""
    host = devices.current().to_host(array) if on_device else array
    host = host.astype(dtype)
    return devices.current().from_host(host) if wanted_device else host


def copy_back(copy: Any, array: Any, on_device: bool, wanted_device: bool) -> None:
    """The values of a copy into the memory that it stood for."""
    host = devices.current().to_host(copy) if wanted_device else copy
    if on_device:
        devices.current().upload(host.astype(array.dtype), array)
    else:
        np.copyto(array, host, casting="unsafe")
