"""A storage beside a DataArray: xarray joins by its own dims, so it is told the storage's axes.

Without this xarray would take a storage for an array without names, and go by position. What has
dims that are no axes of storages is refused there: nobody could say which dim is which axis.
"""

import sys
from functools import cache
from typing import Any

import numpy as np

from gridbuf.names import is_name
from gridbuf.storage.base import Storage


@cache
def _variable_class(xarray: Any) -> Any:
    class StorageVariable(xarray.Variable):  # type: ignore[misc]
        """A Variable whose dims are the axes of a storage."""

        def set_dims(self, dim: Any, shape: Any = None) -> Any:
            foreign = [
                name for name in ([dim] if isinstance(dim, str) else dim) if not is_name(name)
            ]
            if foreign:
                raise ValueError(
                    f"dims: a storage with the axes {''.join(self.dims)!r} does not know the"
                    f" DataArray's dim {foreign[0]!r}; gridbuf.interop.xarray.to_dataarray(s,"
                    f" axes={{{foreign[0]!r}: {self.dims[0]!r}}}) says which is which"
                )
            return super().set_dims(dim, shape)

    return StorageVariable


def _variable(self: Storage) -> Any:
    """What xarray asks an operand for: the memory as a Variable with the axes as dims."""
    xarray = sys.modules.get("xarray")
    if xarray is None:
        raise AttributeError("variable")
    return _variable_class(xarray)(tuple(self.axes), np.asarray(self))


Storage.variable = property(_variable)  # type: ignore[attr-defined]
