"""xarray: DataArrays over Fields, and Fields over DataArrays."""

from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.consumers.consumer import Cell, Consumer


class Xarray(Consumer):
    """Dims, origin and halo pass with the memory."""

    package, modules = "xarray", ("xarray",)
    takes = "gridbuf.interop.xarray.to_dataarray(field)"
    gives = "gridbuf.interop.xarray.from_dataarray(array)"

    def take(self, field: _core.Field) -> Any:
        from gridbuf.interop.xarray import to_dataarray

        return to_dataarray(field)

    def make(self, cell: Cell) -> Any:
        import xarray

        array = super().make(cell)
        return xarray.DataArray(array, dims=list("IJK"[: array.ndim]))

    def give(self, theirs: Any) -> _core.Field:
        from gridbuf.interop.xarray import from_dataarray

        return from_dataarray(theirs)

    def array(self, theirs: Any) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = theirs.data
        return found


consumer = Xarray
