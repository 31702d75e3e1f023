"""`ufunc.reduce` on storages: over axes given by number or by name."""

from functools import lru_cache
from typing import Any

import numpy as np

from gridbuf.joining import adapted, into, lacking, reduced_dtype
from gridbuf.storage import devices, operands
from gridbuf.storage.allocation import new
from gridbuf.storage.axes import positions
from gridbuf.storage.base import Storage
from gridbuf.storage.broadcasting import BoundedCache
from gridbuf.storage.meta import Meta

_DTYPES: BoundedCache[np.dtype[Any]] = BoundedCache(1024)


def reduce(
    ufunc: Any, source: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False, **options: Any
) -> Any:
    """`ufunc.reduce`; `axis` takes ints, names and tuples of them, None means all."""
    if isinstance(out, tuple):
        (out,) = out
    if not isinstance(source, Storage):
        raise TypeError(f"array: {ufunc.__name__}.reduce into a storage needs a storage to reduce, not {type(source).__name__}")
    shape_of = _kept if axis is None or isinstance(axis, (str, int)) else _kept.__wrapped__
    over, shape, meta = shape_of(source._meta, source.shape, tuple(axis) if isinstance(axis, list) else axis, bool(keepdims))
    lead = operands.governing((source, out))
    device = operands.on_device(lead, (source,), (out,))
    array = operands.fetch(source, lead, device)
    if "where" in options and options["where"] is not True:
        options["where"] = _where(options["where"], source, lead, device)
    result = new(type(source), shape, _dtype(ufunc, array.dtype, dtype), meta, source.device) if out is None else out
    target = operands.fetch(result, lead, device, "out")
    if isinstance(result, Storage):
        if sorted(result.axes) != sorted(meta.axes):
            raise ValueError(f"out: its axes are {result.axes!r}, the result has {meta.axes!r}")
        target = adapted(target, into(result.axes, meta.axes))
    where_to = {"axis": None if axis is None else over, "dtype": dtype, "out": target, "keepdims": keepdims, **options}
    if device:
        devices.current().reduce(ufunc, array, **where_to)
    else:
        ufunc.reduce(array, **where_to)
    if isinstance(result, Storage):
        result._wrote(device)
    return result


def _where(where: Any, source: Storage, lead: Storage, device: bool) -> Any:
    array = operands.fetch(where, lead, device)
    if isinstance(where, Storage):
        if lacking(where.axes, source.axes):
            raise ValueError(f"where: its axes {where.axes!r} are not all among {source.axes!r}")
        array = adapted(array, into(where.axes, source.axes))
    return array


@lru_cache(maxsize=1024, typed=True)  # typed: 1.0 is no axis, and equals 1
def _kept(meta: Meta, shape: tuple[int, ...], axis: Any, keepdims: bool) -> tuple[tuple[int, ...], tuple[int, ...], Meta]:
    """The indices that go, and shape and metadata of what is left."""
    over = tuple(range(len(shape))) if axis is None else positions(axis, meta.axes)
    kept = tuple(i for i in range(len(shape)) if keepdims or i not in over)
    left = meta.selected(
        kept,
        halo=tuple((0, 0) if i in over else meta.halo[i] for i in kept),
        aligned_index=tuple(0 if i in over else meta.aligned_index[i] for i in kept),
    )
    return over, tuple(1 if i in over else shape[i] for i in kept), left


def _dtype(ufunc: Any, own: np.dtype[Any], dtype: Any) -> np.dtype[Any]:
    """The dtype that NumPy gives the reduction of one element."""
    key = ufunc, own, None if dtype is None else np.dtype(dtype)
    found = _DTYPES.get(key)
    if found is None:
        found = _DTYPES[key] = reduced_dtype(ufunc, own, dtype)
    return found
