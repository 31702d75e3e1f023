"""Warnings about layouts: a wrong one is slow, never an error."""

import warnings
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from gridbuf import _core
from gridbuf.strides import falling


class LayoutWarning(UserWarning):
    """A field's strides are not what the backend reads fastest."""


def slow_layout(
    shape: tuple[int, ...], strides: tuple[int, ...], dims: tuple[str, ...], backend: str
) -> str:
    """The order in which the backend wants the strides, the largest first; "" where the array's are
    so.
    """
    return _slow_layout(shape, strides, dims, backend, _core.registrations())


@lru_cache(maxsize=1024)
def _slow_layout(
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dims: tuple[str, ...],
    backend: str,
    registrations: int,
) -> str:
    if backend not in _core.backends():
        return ""
    layout = _core.plan((2,) * len(dims), backend=backend, dimensions=dims).layout
    order = sorted(range(len(dims)), key=layout.__getitem__)
    return "" if falling(shape, strides, order) else "".join(dims[i] for i in order)


def warn_of_layouts(
    fields: Iterable[tuple[str, Any, tuple[str, ...]]], backend: str, stacklevel: int
) -> None:
    """One LayoutWarning with the remedy for those fields (name, array, dims) whose strides are not
    in the backend's order.
    """
    slow = [
        (name, array, dims, best)
        for name, array, dims in fields
        if (best := slow_layout(array.shape, array.strides, dims, backend))
    ]
    if not slow:
        return
    kinds = {(array.strides, dims, best) for _, array, dims, best in slow}
    told = "; ".join(
        f"{', '.join(name for name, array, own, _ in slow if (array.strides, own) == (strides, dims))}:"
        f" strides {strides} for {''.join(dims)} are slow on {backend!r}, which wants {best} from"
        " the largest to the smallest"
        for strides, dims, best in sorted(kinds)
    )
    warnings.warn(
        f"{told}; allocate with gridbuf.empty(..., backend={backend!r}) or copy once with"
        f" gridbuf.from_array(..., backend={backend!r})",
        LayoutWarning,
        stacklevel=stacklevel,
    )
