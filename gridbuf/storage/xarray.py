"""Storages beside xarray: as operands of its operators, and what a DataArray holds of a storage
with memory on both sides.
"""

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from gridbuf import _core
from gridbuf.names import is_name

# ---- operators: xarray joins by its own dims, so it is told the storage's axes
#
# Without this xarray would take a storage for an array without names, and go by position. What has
# dims that are no axes of storages is refused: nothing says which dim is which axis.


@cache
def _variable_class() -> Any:
    import xarray

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


def variable(storage: Any) -> Any:
    """The memory as a Variable with the axes as dims."""
    return _variable_class()(tuple(storage.axes), np.asarray(storage))


# ---- what a DataArray holds: an array by position, up to date whenever it is looked at


class Held(NDArrayOperatorsMixin):
    """xarray goes by position and a storage by name, so the storage itself would give other
    numbers; a plain array would grow old.

    What is written through it is marked on the host's side. What is computed from it is a plain
    array of its own.
    """

    __slots__ = ("storage",)

    def __init__(self, storage: Any) -> None:
        self.storage = storage

    shape = property(lambda self: self.storage.shape)
    dtype = property(lambda self: self.storage.dtype)
    ndim = property(lambda self: self.storage.ndim)
    size = property(lambda self: self.storage.size)
    nbytes = property(lambda self: self.storage.nbytes)
    strides = property(lambda self: self.storage.strides)
    __gt_interface__ = property(lambda self: self.storage.__gt_interface__)

    def __repr__(self) -> str:
        return f"Held({self.storage!r})"

    def __len__(self) -> int:
        return len(self.storage)

    def _now(self) -> NDArray[Any]:
        """The newest values. They are read-only: the other side would not be told of a write."""
        view: NDArray[Any] = self.storage.to_numpy()
        view.flags.writeable = False
        return view

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        if copy is None:
            return np.asarray(self._now(), dtype)
        return np.array(self._now(), dtype, copy=copy)

    def _writing(self, write: Callable[[NDArray[Any]], Any]) -> None:
        with self.storage._writing():
            write(self.storage._on_host())
            self.storage._wrote(False)

    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, out: Any = (), **options: Any
    ) -> Any:
        if not out:
            return getattr(ufunc, method)(*map(_bare, inputs), **_bare(options))
        targets = tuple(None if one is None else np.array(_bare(one)) for one in out)
        results = getattr(ufunc, method)(*map(_bare, inputs), out=targets, **_bare(options))
        results = results if isinstance(results, tuple) else (results,)
        out = tuple(
            values if one is None else one for one, values in zip(out, results, strict=True)
        )
        for one, values in zip(out, results, strict=True):
            one[...] = values
        return out[0] if len(out) == 1 else out

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func is np.transpose:
            return self.transpose(*args[1:], **kwargs)
        found = func(*_bare(args), **_bare(kwargs))
        shares = isinstance(found, np.ndarray) and np.may_share_memory(found, self._now())
        return found.copy() if shares else found

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        if all(isinstance(part, (int, np.integer, slice)) or part is Ellipsis for part in parts):
            found = self.storage[key]
            return Held(found) if isinstance(found, _core.StorageBase) else found
        return self._now()[_bare(key)].copy()

    def __setitem__(self, key: Any, value: Any) -> None:
        key, value = _bare(key), _bare(value)
        self._writing(lambda array: array.__setitem__(key, value))

    def transpose(self, axes: Any = None) -> "Held":
        return Held(self.storage.transpose(axes))

    def __getattr__(self, name: str) -> Any:
        """Other attributes of an array: those of the present values."""
        if name.startswith("_") or name == "storage":
            raise AttributeError(name)
        return getattr(self._now(), name)

    def __copy__(self) -> "Held":
        return Held(self.storage)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> "Held":
        return Held(copy.copy(self.storage))

    def __reduce__(self) -> tuple[Any, ...]:
        return Held, (self.storage,)


def _bare(obj: Any) -> Any:
    """An argument with plain arrays in place of what is held."""
    if isinstance(obj, Held):
        return obj._now()
    if type(obj) in (list, tuple):
        return type(obj)(map(_bare, obj))
    return {name: _bare(value) for name, value in obj.items()} if type(obj) is dict else obj
