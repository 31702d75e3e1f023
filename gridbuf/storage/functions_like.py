"""np.zeros_like and its kin: a storage again, unless the caller asks for what a storage is not."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gridbuf.storage import constructors, functions_plain
from gridbuf.storage.base import Storage


def _like(function: Any, make: Callable[..., Any]) -> Callable[..., Any]:
    def handler(
        a: Any,
        *args: Any,
        dtype: Any = None,
        order: str = "K",
        subok: bool = True,
        shape: Any = None,
        **options: Any,
    ) -> Any:
        if shape is not None or order != "K" or not subok or not isinstance(a, Storage):
            given = {"dtype": dtype, "order": order, "subok": subok, "shape": shape, **options}
            return functions_plain.call(function, (a, *args), given)
        count = int(function is np.full_like)
        if len(args) > count:
            dtype = args[count]
        return make(a, *args[:count], dtype=dtype)

    if function is np.full_like:  # the one with a second argument of its own
        return lambda a, fill_value, *args, **options: handler(a, fill_value, *args, **options)
    return handler


HANDLERS: dict[Any, Callable[..., Any]] = {
    np.empty_like: _like(np.empty_like, constructors.empty_like),
    np.zeros_like: _like(np.zeros_like, constructors.zeros_like),
    np.ones_like: _like(np.ones_like, constructors.ones_like),
    np.full_like: _like(np.full_like, constructors.full_like),
}
