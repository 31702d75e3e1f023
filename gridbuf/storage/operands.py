"""What takes part in an operation beside storages, and on which side it is computed."""

from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.joining import is_scalar, lacking
from gridbuf.names import as_numpy, get_dims
from gridbuf.storage import devices
from gridbuf.storage.axes import LETTERS
from gridbuf.storage.base import Storage
from gridbuf.storage.broadcasting import Operand
from gridbuf.storage.gpu import GPUStorage
from gridbuf.storage.managed import CUDAManagedGPUStorage, SoftwareManagedGPUStorage
from gridbuf.wrapping import shaped, values


def host_array(obj: Any) -> Any:
    """A foreign object's host array: of what has memory to share, else a new one."""
    if isinstance(obj, np.ndarray):
        return obj
    return as_numpy(obj) if isinstance(obj, _core.Field) else values(obj)


def describe(obj: Any) -> Operand:
    """How broadcasting sees an operand or an output."""
    if obj is None or is_scalar(obj):
        return None
    if isinstance(obj, Storage):
        return obj._meta.axes, obj.shape, obj._meta
    array = shaped(obj)
    if len(array.shape) == 0:
        return None
    dims = get_dims(obj)
    if dims is None:
        return None, tuple(array.shape), None
    if lacking(dims, LETTERS) or len(dims) != len(array.shape):
        raise ValueError(f"operands do not broadcast: {type(obj).__name__} has the dims {dims}; storages have I, J and K only")
    return "".join(dims), tuple(array.shape), None


def governing(candidates: tuple[Any, ...]) -> Storage:
    """The storage that decides where to compute: the first one of the highest priority."""
    storages = [obj for obj in candidates if isinstance(obj, Storage)]
    return max(storages, key=lambda storage: storage.__array_priority__)


def on_device(lead: Storage, inputs: tuple[Any, ...], outputs: tuple[Any, ...] = ()) -> bool:
    """Whether to compute on the GPU, as the class of the governing storage says."""
    arrays = [obj for obj in inputs if not is_scalar(obj)]
    if isinstance(lead, CUDAManagedGPUStorage):
        wanted = all(_reaches(obj, True) for obj in arrays)
    elif isinstance(lead, SoftwareManagedGPUStorage):
        wanted = any(obj._prefers_device() if isinstance(obj, Storage) else devices.is_device_array(obj) for obj in arrays)
    else:
        return isinstance(lead, GPUStorage)
    # An output on one side only decides, if everything else can be there.
    if not all(_reaches(obj, wanted) for obj in outputs if obj is not None):
        every = [obj for obj in (*arrays, *outputs) if obj is not None]
        wanted ^= all(_reaches(obj, not wanted) for obj in every)
    return wanted


def _reaches(obj: Any, device: bool) -> bool:
    """Whether an array has memory on that side."""
    if isinstance(obj, Storage):
        return obj._has_device if device else obj._has_host
    return devices.is_device_array(obj) == device


def fetch(obj: Any, lead: Storage, device: bool, argument: str = "operand") -> Any:
    """The operand's array on that side; TypeError where it may not be brought there."""
    if is_scalar(obj):
        return obj
    if isinstance(obj, Storage):
        if obj._has_device if device else obj._has_host:
            return obj._on_device() if device else obj._on_host()
    elif devices.is_device_array(obj):
        if device:
            return devices.current().asarray(obj)
    elif not device:
        return host_array(obj)
    if device and isinstance(lead, SoftwareManagedGPUStorage) and argument == "operand":
        return devices.current().from_host(obj._on_host() if isinstance(obj, Storage) else host_array(obj))
    side, other = ("GPU", "host") if device else ("host", "GPU")
    raise TypeError(
        f"{argument}: {type(obj).__name__} has no {side} memory, and the operation runs on the {side} because of a "
        f"{type(lead).__name__}; copy it from the {other} first, for instance with gridbuf.storage.storage"
    )
