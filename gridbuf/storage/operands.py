"""What takes part in an operation beside storages, and on which side it is computed."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.fields.operands import takes as fields_take
from gridbuf.joining import Adapt, into, is_scalar, lacking
from gridbuf.names import as_numpy, named
from gridbuf.storage import devices
from gridbuf.storage.axes import LETTERS
from gridbuf.storage.base import Storage
from gridbuf.storage.broadcasting import Operand
from gridbuf.storage.gpu import GPUStorage
from gridbuf.storage.managed import CUDAManagedGPUStorage, SoftwareManagedGPUStorage
from gridbuf.storage.sync import writing
from gridbuf.wrapping import check_mask, naming, shaped, values


def host_array(obj: Any) -> Any:
    """A foreign object's host array: of what has memory to share, else a new one."""
    if isinstance(obj, np.ndarray):
        check_mask(obj)
        return obj
    return as_numpy(obj) if isinstance(obj, _core.Field) else values(obj)


def takes(obj: Any) -> bool:
    """Whether storages compute with an object; arrays of other libraries (xarray, pandas, dask) do
    so themselves.
    """
    if isinstance(
        obj, (Storage, np.ndarray)
    ):  # a subclass with nothing of its own to say is an array; masks are looked at later
        return (
            not isinstance(obj, np.ndarray)
            or type(obj).__array_ufunc__ is np.ndarray.__array_ufunc__
        )
    return obj is not None and fields_take(obj)


def given(inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Everything that a ufunc's call was given to compute with."""
    out = kwargs.get("out")
    outputs = out if isinstance(out, tuple) else (out,)
    return [*inputs, *(obj for obj in (*outputs, kwargs.get("where")) if obj is not None)]


def takes_type(cls: type) -> bool:
    """The same, as far as the class tells."""
    return (
        issubclass(cls, (Storage, _core.Field, np.ndarray))
        or cls.__module__.partition(".")[0] == "cupy"
    )


def of_dtype(obj: Any, dtype: np.dtype[Any]) -> Any:
    """A list as an array of the dtype it goes into: NumPy checks Python's numbers when it makes an
    array of them, not later.
    """
    is_list = isinstance(obj, (list, tuple)) or (isinstance(obj, Sequence) and named(obj) is None)
    return np.asarray(_core.values(obj), dtype) if is_list else obj


def values_of(obj: Any, argument: str) -> Any:
    """An argument's values as a host array."""
    with naming(argument):
        return host_array(obj)


def function_on(device: bool, function: Any) -> Any:
    """NumPy's function, or the device library's of the same name."""
    return devices.current().function(function) if device else function


def number(value: Any, device: bool) -> Any:
    """What NumPy gives where no axis is left: a number of the host."""
    return devices.current().to_host(value)[()] if device else value


def of_same_axes(storage: Storage, model: Any, argument: str) -> Adapt:
    """How a storage of the same axes and sizes goes into the order of the model's (a storage's or a
    Meta's).
    """
    if storage.axes == model.axes:
        return None
    if sorted(storage.axes) != sorted(model.axes):
        raise ValueError(
            f"{argument}: its axes are {storage.axes!r}, the result has {model.axes!r}"
        )
    return into(storage.axes, model.axes)


def describe(obj: Any) -> Operand | None:
    """How broadcasting sees an operand or an output."""
    if obj is None or is_scalar(obj):
        return None
    if isinstance(obj, Storage):
        return Operand(obj._meta.axes, obj.shape, obj._meta)
    array = shaped(obj)
    if len(array.shape) == 0:
        return None
    dims = named(obj)
    halo = obj.halo if isinstance(obj, _core.Field) else None
    if dims is None:
        return Operand(None, tuple(array.shape), None, halo)
    if isinstance(obj, _core.Field) and halo is None:
        halo = ((0, 0),) * obj.ndim
    if lacking(dims, LETTERS) or len(dims) != len(array.shape):
        raise ValueError(
            f"operands do not broadcast: {type(obj).__name__} has the dims {dims}; storages have I,"
            " J and K only"
        )
    return Operand("".join(dims), tuple(array.shape), None, halo)


def governing(candidates: tuple[Any, ...]) -> Storage:
    """The storage that decides where to compute: the first one of the highest priority."""
    storages = [obj for obj in candidates if isinstance(obj, Storage)]
    return max(storages, key=lambda storage: storage.__array_priority__)


def held(objects: Iterable[Any]) -> AbstractContextManager[Any]:
    """While it is held no other thread brings one side of these storages up to date, writes it or
    marks it.
    """
    return writing(
        obj._pair.state for obj in objects if isinstance(obj, Storage) and obj._pair is not None
    )


def on_device(lead: Storage, inputs: tuple[Any, ...], outputs: tuple[Any, ...] = ()) -> bool:
    """Whether to compute on the GPU, as the class of the governing storage says."""
    arrays = [obj for obj in inputs if not is_scalar(obj)]
    if isinstance(lead, CUDAManagedGPUStorage):
        wanted = all(_reaches(obj, True) for obj in arrays)
    elif isinstance(lead, SoftwareManagedGPUStorage):
        wanted = any(
            obj._prefers_device() if isinstance(obj, Storage) else devices.is_device_array(obj)
            for obj in arrays
        )
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
        return devices.current().from_host(
            obj._on_host() if isinstance(obj, Storage) else host_array(obj)
        )
    side, other = ("GPU", "host") if device else ("host", "GPU")
    raise TypeError(
        f"{argument}: {type(obj).__name__} has no {side} memory, and the operation runs on the"
        f" {side} because of a {type(lead).__name__}; copy it from the {other} first, for instance"
        " with gridbuf.storage.storage"
    )
