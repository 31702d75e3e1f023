"""Warnings about layouts: a wrong one is slow, never an error."""

import warnings
from typing import Any

from gridbuf import _core


class LayoutWarning(UserWarning):
    """A field's strides are not what the backend reads fastest."""


def slow_layout(array: Any, dims: tuple[str, ...], backend: str) -> str:
    """The order in which the backend wants the strides, the largest first; "" where the array's are so."""
    if backend not in _core.backends():
        return ""
    layout = _core.plan((2,) * len(dims), backend=backend, dimensions=dims).layout
    order = sorted(range(len(dims)), key=layout.__getitem__)
    strides = [abs(array.strides[i]) for i in order if array.shape[i] > 1]
    return "" if strides == sorted(strides, reverse=True) else "".join(dims[i] for i in order)


def warn_of_layout(name: str, array: Any, dims: tuple[str, ...], backend: str, stacklevel: int) -> None:
    """LayoutWarning with the remedy when the array's strides are not in the backend's order."""
    best = slow_layout(array, dims, backend)
    if not best:
        return
    warnings.warn(
        f"{name}: strides {array.strides} for {''.join(dims)} are slow on {backend!r}, which wants {best} from the "
        f"largest to the smallest; allocate with gridbuf.empty(..., backend={backend!r}) or copy once with "
        f"gridbuf.from_array(..., backend={backend!r})",
        LayoutWarning,
        stacklevel=stacklevel,
    )
