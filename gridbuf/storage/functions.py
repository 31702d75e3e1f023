"""NumPy's functions on storages: by axis name where they reduce, join or broadcast, else on the
plain arrays.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np

from gridbuf.numpy_functions import inside
from gridbuf.storage import (
    functions_join,
    functions_like,
    functions_plain,
    functions_reduce,
    functions_shape,
    operands,
)
from gridbuf.storage.managed import SoftwareManagedGPUStorage
from gridbuf.wrapping import check_masks

HANDLERS: dict[Any, Callable[..., Any]] = {
    **functions_reduce.HANDLERS,
    **functions_join.HANDLERS,
    **functions_shape.HANDLERS,
    **functions_like.HANDLERS,
}


@lru_cache(maxsize=256)
def _judged(types: tuple[type, ...]) -> tuple[bool, bool, bool]:
    """Whether these may be operands of ours, whether one may hide values, and whether one has
    memory on two sides.
    """
    return (
        all(map(operands.takes_type, types)),
        any(issubclass(cls, np.ma.MaskedArray) for cls in types),
        any(issubclass(cls, SoftwareManagedGPUStorage) for cls in types),
    )


def call(self: Any, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`__array_function__`: NotImplemented where an array of another library has to know."""
    taken, masked, two_sides = _judged(types if type(types) is tuple else tuple(types))
    if not taken:
        return NotImplemented
    if masked:
        check_masks(("data", obj) for obj in inside((args, kwargs)))
    handler = HANDLERS.get(func)
    if handler is None:
        handler, args, kwargs = functions_plain.call, (func, args, kwargs), {}
    if not two_sides:
        return handler(*args, **kwargs)
    with operands.held(inside((args, kwargs))):
        return handler(*args, **kwargs)


def refuse(obj: Any, name: str) -> NoReturn:
    """A storage, and no type, was asked for NumPy's protocol: other libraries take the plain array
    of `__array__` then.

    Where memory is on both sides that would grow old, and writing to it would tell nobody: an error
    that they do not pass over.
    """
    if obj._host is None or obj._dev is None:
        raise AttributeError(f"{name!r} is for NumPy, which asks the type of a Storage")
    raise TypeError(
        f"data: a {type(obj).__name__} goes by name and has memory on both sides, which an array by"
        " position cannot follow; gridbuf.interop.xarray.to_dataarray(s) is a DataArray that does,"
        " s.to_numpy() the host's memory, s.to_cupy() the device's"
    )
