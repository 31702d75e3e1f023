"""The NumPy functions that storages support: all, any, max, min, transpose."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gridbuf.storage import reduction
from gridbuf.storage.axes import check_axes, positions
from gridbuf.storage.base import Storage


def _reducing(ufunc: Any) -> Callable[..., Any]:
    def function(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **options: Any) -> Any:
        keep = keepdims is not np._NoValue and bool(keepdims)
        options = {name: value for name, value in options.items() if value is not np._NoValue}
        result = reduction.reduce(ufunc, a, axis=axis, out=out, keepdims=keep, **options)
        whole = axis is None and out is None and not keep
        return result._scalar() if whole else result

    return function


def _transpose(a: Storage, axes: Any = None) -> Storage:
    """A view with the axes in another order: names, numbers, or None for the reverse."""
    if axes is None:
        order = tuple(reversed(range(a.ndim)))
    elif isinstance(axes, str):
        if sorted(check_axes(axes)) != sorted(a.axes):
            raise ValueError(f"axes: {axes!r} is not a permutation of {a.axes!r}")
        order = tuple(a.axes.index(name) for name in axes)
    else:
        order = positions(tuple(axes), a.axes)
        if len(order) != a.ndim:
            raise ValueError(f"axes: {axes!r} is not a permutation of the {a.ndim} axes {a.axes!r}")
    return a._mapped(lambda array: array.transpose(order), a._meta.selected(order))


HANDLERS: dict[Any, Callable[..., Any]] = {
    np.all: _reducing(np.logical_and),
    np.any: _reducing(np.logical_or),
    np.max: _reducing(np.maximum),
    np.amax: _reducing(np.maximum),
    np.min: _reducing(np.minimum),
    np.amin: _reducing(np.minimum),
    np.transpose: _transpose,
}
