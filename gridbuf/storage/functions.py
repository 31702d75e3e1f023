"""NumPy's functions on storages: by axis name where they reduce, join or broadcast, else on the plain arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gridbuf.storage import functions_join, functions_like, functions_plain, functions_reduce, functions_shape, operands
from gridbuf.wrapping import check_mask

HANDLERS: dict[Any, Callable[..., Any]] = {
    **functions_reduce.HANDLERS,
    **functions_join.HANDLERS,
    **functions_shape.HANDLERS,
    **functions_like.HANDLERS,
}


def call(func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What `__array_function__` answers; NotImplemented where an array of another library has to know."""
    if not all(map(operands.takes_type, types)):
        return NotImplemented
    if any(issubclass(cls, np.ma.MaskedArray) for cls in types):
        for obj in functions_plain.inside((args, kwargs)):
            if isinstance(obj, np.ma.MaskedArray):
                check_mask(obj)
    handler = HANDLERS.get(func)
    return functions_plain.call(func, args, kwargs) if handler is None else handler(*args, **kwargs)
