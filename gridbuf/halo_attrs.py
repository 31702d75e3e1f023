"""Origin and halo in the attrs of a DataArray, which netCDF keeps: what `to_dataarray` writes and everything that reads it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from gridbuf.names import canonical, index_order

# Numbers in the order of __gt_origin__, which a transposition leaves as they are, flat, as netCDF stores them.
# xarray keeps attrs through slices and reductions; the sizes tell that they are about another array.
ORIGIN, HALO, SHAPE = "gt_origin", "gt_halo", "gt_shape"


def remembered(array: Any, dims: tuple[str, ...] | None) -> tuple[Any, Any]:
    """Origin and halo in index order from the attrs of an object, where they are about this array; else None and None."""
    attrs = getattr(array, "attrs", None)
    if dims is None or not isinstance(attrs, Mapping) or SHAPE not in attrs:
        return None, None
    found = {key: np.atleast_1d(attrs[key]).tolist() for key in (ORIGIN, HALO, SHAPE) if key in attrs}
    order = canonical(dims)
    if found.get(SHAPE) != [array.shape[dims.index(dim)] for dim in order]:
        return None, None
    halo = found.get(HALO)
    pairs = None if halo is None else tuple((halo[2 * order.index(dim)], halo[2 * order.index(dim) + 1]) for dim in dims)
    return index_order(found[ORIGIN], dims) if ORIGIN in found else None, pairs
