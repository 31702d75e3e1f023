"""What a Storage does that whole files are about, given to the class; `rebuilt` is what a pickle
names, so that unpickling loads it.
"""

from typing import Any

import numpy as np

from gridbuf.storage import array_methods as array_methods
from gridbuf.storage import beside_xarray as beside_xarray
from gridbuf.storage import devices, functions_plain, functions_reduce, operands, reduction, ufuncs
from gridbuf.storage import operators as operators
from gridbuf.storage import showing as showing
from gridbuf.storage.allocation import class_of, new
from gridbuf.storage.base import Storage
from gridbuf.storage.copying import S, copied
from gridbuf.storage.cpu import CPUStorage
from gridbuf.storage.meta import Meta, meta_of
from gridbuf.storage.sources import managed_of

_AXIS = frozenset(("axis",))


def array_ufunc(ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    if method == "__call__" and ufunc.signature is None:
        return ufuncs.call(ufunc, inputs, kwargs)
    if method == "reduce" and type(inputs[0]) is CPUStorage and kwargs.keys() <= _AXIS:
        return reduction.reduce(ufunc, *inputs, **kwargs)
    if not all(map(operands.takes, operands.given(inputs, kwargs))):
        return NotImplemented
    if method == "reduce":
        return reduction.reduce(ufunc, *inputs, **kwargs)
    if method == "accumulate" and isinstance(inputs[0], Storage):
        with operands.held(operands.given(inputs, kwargs)):
            return functions_reduce.along(
                ufunc, inputs[0], *(inputs[1:] or (kwargs.pop("axis", 0),)), **kwargs
            )
    return functions_plain.call(
        ufunc, inputs, kwargs, method=None if method == "__call__" else method
    )


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


def rebuilt(
    values: Any, parameters: tuple[Any, ...], device: int | None, managed: str | None
) -> Storage:
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
    "copy": copy,
    "__copy__": copy,
    "__deepcopy__": _deepcopy,
    "__reduce__": _reduce,
}.items():
    setattr(Storage, _name, _method)
