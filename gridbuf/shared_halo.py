"""Origin and halo of a DataArray: those of the Field or storage whose memory it shows.

Memory says it, and not `attrs`: xarray writes attributes into files, and copies them to results
that have another size.
"""

from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.names import as_numpy


def shared_halo(array: Any, dims: tuple[str, ...] | None) -> tuple[Any, Any]:
    """Origin and halo in index order; None and None where the array shows other points, or memory
    of its own.
    """
    if dims is None or not hasattr(array, "attrs"):
        return None, None
    data = getattr(array, "data", None)
    owner = _owner(data)
    names = (
        () if owner is None else tuple(owner.dims if isinstance(owner, _core.Field) else owner.axes)
    )
    if not names or set(names) != set(dims):
        return None, None
    order = [names.index(dim) for dim in dims]
    if _extents(data) != [_extents(owner)[i] for i in order] or _start(data) != _start(owner):
        return None, None
    pairs = (getattr(owner, "origin", None), owner.halo)
    origin, halo = (None if each is None else tuple(each[i] for i in order) for each in pairs)
    return origin, halo


def _owner(data: Any) -> Any:
    """The Field or storage at the end of a chain of views, or inside of what xarray holds; None
    where there is none.
    """
    base = data if isinstance(data, np.ndarray) else getattr(data, "storage", None)
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, (_core.Field, _core.StorageBase)) else None


def _extents(array: Any) -> list[tuple[int, int]]:
    """Size and stride along each index; a single element has no stride to speak of."""
    return [
        (n, stride if n > 1 else 0) for n, stride in zip(array.shape, array.strides, strict=True)
    ]


def _start(array: Any) -> int:
    """The address of the first element."""
    return int(as_numpy(array).__array_interface__["data"][0])
