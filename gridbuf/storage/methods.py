"""What a Storage does that whole files are about, given to the class; `rebuilt` is what a pickle names, so that unpickling loads it."""

from typing import Any

import numpy as np

from gridbuf.storage import array_methods as array_methods
from gridbuf.storage import beside_xarray as beside_xarray
from gridbuf.storage import devices, functions, functions_plain, functions_reduce, operands, reduction, ufuncs
from gridbuf.storage import operators as operators
from gridbuf.storage import showing as showing
from gridbuf.storage.allocation import class_of, new
from gridbuf.storage.base import Storage
from gridbuf.storage.copying import S, copied
from gridbuf.storage.meta import Meta, meta_of
from gridbuf.storage.sources import managed_of


class _OfTheClass:
    """An attribute that the class has and its instances do not.

    NumPy asks the class for `__array_function__`. Other libraries (xarray, dask) ask the object, and take one that has it for an
    array which goes by position; storages go by name, so these get the plain array of `__array__`. Where memory is on both sides
    that array would grow old, and writing to it would tell nobody: an error.
    """

    def __init__(self, function: Any) -> None:
        self._function = function

    def __get__(self, instance: Any, owner: Any) -> Any:
        if instance is not None:
            if instance._has_host and instance._has_device:
                raise TypeError(
                    f"data: a {type(instance).__name__} goes by name and has memory on both sides, which an array by position cannot "
                    "follow; gridbuf.interop.xarray.to_dataarray(s) is a DataArray that does, s.to_numpy() the host's memory, "
                    "s.to_cupy() the device's"
                )
            raise AttributeError("__array_function__ is an attribute of the class")
        return self._function


def array_ufunc(self: Storage, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    if method == "__call__" and ufunc.signature is None:
        return ufuncs.call(ufunc, inputs, kwargs)
    if not all(map(operands.takes, operands.given(inputs, kwargs))):
        return NotImplemented
    if method == "reduce":
        return reduction.reduce(ufunc, *inputs, **kwargs)
    if method == "accumulate" and isinstance(inputs[0], Storage):
        with operands.held(operands.given(inputs, kwargs)):
            return functions_reduce.along(ufunc, inputs[0], *(inputs[1:] or (kwargs.pop("axis", 0),)), **kwargs)
    return functions_plain.call(ufunc, inputs, kwargs, method=None if method == "__call__" else method)


def copy(self: S) -> S:
    """New memory with the same values, class and parameters.

    Returns
    -------
    Storage
        Of the same class, with a SyncState of its own.

    Raises
    ------
    MemoryError
        No memory, or a limit (`gridbuf.memory.set_limit`).

    Examples
    --------
    >>> import gridbuf.storage as gs
    >>> s = gs.ones((2,), axes="K")
    >>> s.copy().to_numpy()
    array([1., 1.])
    """
    return copied(self)


def _deepcopy(self: S, memo: dict[int, Any] | None = None) -> S:
    return copied(self)


def _reduce(self: Storage) -> tuple[Any, ...]:
    """For pickle: the newest values and what to make a storage of them from."""
    meta: Meta = self._meta
    parameters = (meta.axes, meta.layout, meta.halo, meta.aligned_index, meta.alignment)
    values = np.ascontiguousarray(self._values()).reshape(self.shape)
    return rebuilt, (values, parameters, self.device, managed_of(self))


def rebuilt(values: Any, parameters: tuple[Any, ...], device: int | None, managed: str | None) -> Storage:
    """The storage of a pickle; both sides are filled."""
    made = new(class_of(device, managed), values.shape, values.dtype, meta_of(*parameters), device)
    if made._host is None:
        devices.current().upload(values, made._dev)
    else:
        made._host[...] = values
        if made._pair is not None:
            made.host_to_device(force=True)
    return made


for _name, _method in {
    "__array_function__": _OfTheClass(functions.call), "copy": copy, "__copy__": copy, "__deepcopy__": _deepcopy, "__reduce__": _reduce,
}.items():  # fmt: skip
    setattr(Storage, _name, _method)
