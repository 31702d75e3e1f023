"""Reductions of storages over axes given by number or by name: `ufunc.reduce`, and what NumPy's
functions reduce.
"""

from collections.abc import Callable
from types import NoneType
from typing import Any

import numpy as np

from gridbuf.joining import adapted, into, lacking
from gridbuf.numpy_functions import check_out, kept
from gridbuf.storage import devices, functions_plain, memory, operands, results
from gridbuf.storage.allocation import new
from gridbuf.storage.base import Storage
from gridbuf.storage.cpu import CPUStorage
from gridbuf.wrapping import check_masks, naming


def reduce(
    ufunc: Any,
    source: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    **options: Any,
) -> Any:
    """`ufunc.reduce`; `axis` takes ints, names and tuples of them, None means all."""
    plain = dtype is None and out is None and keepdims is False and not options
    if (
        plain
        and type(source) is CPUStorage
        and (type(axis) is str or type(axis) is int)
        and source._host.ndim
    ):
        return over_axis(ufunc.reduce, source, axis)
    check_masks(options.items())
    if not isinstance(source, Storage):  # the output is one, or the mask
        given = {"axis": axis, "dtype": dtype, "out": out, "keepdims": keepdims, **options}
        return functions_plain.call(ufunc, (source,), given, method="reduce")

    def run(array: Any, device: bool, **given: Any) -> Any:
        return (
            devices.current().reduce(ufunc, array, dtype=dtype, **given)
            if device
            else ufunc.reduce(array, dtype=dtype, **given)
        )

    return over_axes(run, source, axis, out, keepdims, **options)


def over_axis(of_numpy: Callable[..., Any], source: CPUStorage, axis: Any) -> CPUStorage:
    """A reduction by `of_numpy(array, axis)` with nothing but an axis, of a host storage that has
    one.
    """
    over, shape, meta = results.reduced(source._meta, source._host.shape, axis, False)
    found = of_numpy(source._host, over[0] if len(over) == 1 else over)
    target = memory.empty(shape, found.dtype, meta)
    target[...] = found
    return CPUStorage._of(target, None, meta)


def over_axes(
    run: Callable[..., Any],
    source: Storage,
    axis: Any,
    out: Any = None,
    keepdims: bool = False,
    **options: Any,
) -> Any:
    """A reduction into a storage by `run(array, device, axis=, keepdims=, ...)`, and `out=` where
    one was given.

    A new result is NumPy's own, moved into a storage: with an `out` NumPy sums float16 otherwise,
    and what dtype it gives depends on more than dtypes.
    """
    keepdims = kept(keepdims)
    check_out(out)
    if isinstance(out, tuple):
        (out,) = out
    shape_of = (
        results.reduced
        if axis is None or isinstance(axis, (str, int))
        else results.reduced.__wrapped__
    )
    over, shape, meta = shape_of(
        source._meta, source.shape, tuple(axis) if isinstance(axis, list) else axis, keepdims
    )
    axes = axis if axis is None or not source.ndim else over[0] if len(over) == 1 else over
    if (
        type(source) is CPUStorage
        and type(out) in (CPUStorage, NoneType)
        and options.get("where", True) is True
        and options.keys().isdisjoint(("mean", "weights"))
    ):
        options |= {"axis": axes, "keepdims": keepdims}
        if out is not None:
            run(
                source._host,
                False,
                out=adapted(out._host, operands.of_same_axes(out, meta, "out")),
                **options,
            )
            return out
        found = run(source._host, False, **options)
        target = memory.empty(shape, found.dtype, meta)
        target[...] = found
        return CPUStorage._of(target, None, meta)
    lead = operands.governing((source, out))
    device = operands.on_device(lead, (source,), (out,))
    with operands.held((source, out, *map(options.get, _BESIDE))):
        array = operands.fetch(source, lead, device)
        options = {
            **beside(options, source, lead, device, over),
            "axis": axes,
            "keepdims": keepdims,
        }
        result = out
        if out is None:
            found = run(array, device, **options)
            result = new(type(source), shape, found.dtype, meta, source.device)
            (result._dev if device else result._host)[...] = found
        else:
            target = operands.fetch(out, lead, device, "out")
            if isinstance(out, Storage):
                target = adapted(target, operands.of_same_axes(out, meta, "out"))
            run(array, device, out=target, **options)
        if isinstance(result, Storage):
            result._wrote(device)
    return result


_BESIDE = ("where", "mean", "weights")


def beside(
    options: dict[str, Any],
    source: Storage,
    lead: Storage,
    device: bool,
    over: tuple[int, ...] = (),
) -> dict[str, Any]:
    """The options, a mask, a mean and weights on that side with their axes where the source has
    those of the same name.

    Weights are one for each element, or as they are along the one axis that is reduced: NumPy adds
    those up otherwise.
    """
    placed = {}
    for argument in _BESIDE:
        obj = options.get(argument, True)
        if obj is True:
            continue
        with naming(argument):
            array, described = operands.fetch(obj, lead, device), operands.describe(obj)
        axes = None if described is None else described.axes
        if axes is not None:
            if lacking(axes, source.axes):
                raise ValueError(f"{argument}: its axes {axes!r} are not all among {source.axes!r}")
            if argument != "weights":
                array = adapted(array, into(axes, source.axes))
            elif len(axes) != 1 or over != (source.axes.index(axes),):
                with naming(argument):
                    array = np.broadcast_to(adapted(array, into(axes, source.axes)), source.shape)
        placed[argument] = array
    return {**options, **placed}
