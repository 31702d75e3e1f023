"""Reductions of storages over axes given by number or by name: `ufunc.reduce`, and what NumPy's functions reduce."""

from collections.abc import Callable
from types import NoneType
from typing import Any

import numpy as np

from gridbuf.joining import adapted, into, lacking, reduced_dtype
from gridbuf.storage import devices, functions_plain, memory, operands, results
from gridbuf.storage.allocation import new
from gridbuf.storage.base import Storage
from gridbuf.storage.broadcasting import BoundedCache
from gridbuf.storage.cpu import CPUStorage
from gridbuf.wrapping import check_masks

_DTYPES: BoundedCache[np.dtype[Any]] = BoundedCache(1024)


def reduce(
    ufunc: Any, source: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False, **options: Any
) -> Any:
    """`ufunc.reduce`; `axis` takes ints, names and tuples of them, None means all."""
    check_masks(options.items())
    if not isinstance(source, Storage):  # the output is one, or the mask
        given = {"axis": axis, "dtype": dtype, "out": out, "keepdims": keepdims, **options}
        return functions_plain.call(ufunc, (source,), given, method="reduce")

    def run(array: Any, device: bool, **given: Any) -> None:
        if device:
            devices.current().reduce(ufunc, array, dtype=dtype, **given)
        else:
            ufunc.reduce(array, dtype=dtype, **given)

    return over_axes(run, lambda array: _dtype(ufunc, array.dtype, dtype), source, axis, out, keepdims, **options)


def over_axes(
    run: Callable[..., Any],
    dtype_of: Callable[[Any], np.dtype[Any]],
    source: Storage,
    axis: Any,
    out: Any = None,
    keepdims: bool = False,
    **options: Any,
) -> Any:
    """A reduction into a storage by `run(array, device, axis=, out=, keepdims=, ...)`."""
    if isinstance(out, tuple):
        (out,) = out
    shape_of = results.reduced if axis is None or isinstance(axis, (str, int)) else results.reduced.__wrapped__
    over, shape, meta = shape_of(source._meta, source.shape, tuple(axis) if isinstance(axis, list) else axis, bool(keepdims))
    if (
        type(source) is CPUStorage
        and type(out) in (CPUStorage, NoneType)
        and options.get("where", True) is True
        and "mean" not in options
    ):
        array = source._host
        result = CPUStorage._of(memory.empty(shape, dtype_of(array), meta), None, meta) if out is None else out
        target = adapted(result._host, operands.of_same_axes(result, meta, "out"))
        run(array, False, axis=None if axis is None else over, out=target, keepdims=keepdims, **options)
        return result
    lead = operands.governing((source, out))
    device = operands.on_device(lead, (source,), (out,))
    with operands.held((source, out, options.get("where"), options.get("mean"))):
        array = operands.fetch(source, lead, device)
        options = beside(options, source, lead, device)
        result = new(type(source), shape, dtype_of(array), meta, source.device) if out is None else out
        target = operands.fetch(result, lead, device, "out")
        if isinstance(result, Storage):
            target = adapted(target, operands.of_same_axes(result, meta, "out"))
        run(array, device, axis=None if axis is None else over, out=target, keepdims=keepdims, **options)
        if isinstance(result, Storage):
            result._wrote(device)
    return result


def beside(options: dict[str, Any], source: Storage, lead: Storage, device: bool) -> dict[str, Any]:
    """The options, a mask and a mean on that side with their axes where the source has those of the same name."""
    placed = {}
    for argument in ("where", "mean"):
        obj = options.get(argument, True)
        if obj is True:
            continue
        array, described = operands.fetch(obj, lead, device), operands.describe(obj)
        axes = None if described is None else described[0]
        if axes is not None:
            if lacking(axes, source.axes):
                raise ValueError(f"{argument}: its axes {axes!r} are not all among {source.axes!r}")
            array = adapted(array, into(axes, source.axes))
        placed[argument] = array
    return {**options, **placed}


def _dtype(ufunc: Any, own: np.dtype[Any], dtype: Any) -> np.dtype[Any]:
    """The dtype that NumPy gives the reduction of one element."""
    key = ufunc, own, None if dtype is None else np.dtype(dtype)
    found = _DTYPES.get(key)
    if found is None:
        found = _DTYPES[key] = reduced_dtype(ufunc, own, dtype)
    return found
