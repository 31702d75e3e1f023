"""NumPy's reductions, and what goes along one axis: `axis` takes names, numbers and tuples of
both.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gridbuf.joining import accumulated_dtype, adapted
from gridbuf.numpy_functions import POSITIONAL, WHOLE, averaged, check_out, given, kept
from gridbuf.storage import functions_plain, operands, reduction
from gridbuf.storage.allocation import new
from gridbuf.storage.axes import positions
from gridbuf.storage.base import Storage
from gridbuf.storage.cpu import CPUStorage
from gridbuf.wrapping import check_masks


def _run(function: Any, array: Any, device: bool, **options: Any) -> Any:
    return operands.function_on(device, function)(array, **options)


def reduced(
    function: Any,
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = False,
    by: Any = None,
    **options: Any,
) -> Any:
    """A reduction by NumPy: a number where no axis is given. `by` is the function with its other
    arguments bound.
    """
    options, keep = given(options), kept(keepdims)
    check_masks(options.items())
    call = function if by is None else by
    if not isinstance(a, Storage):  # the output is one, or a mask
        asked = {
            "axis": axis,
            **({} if out is None else {"out": out}),
            **({"keepdims": True} if keep else {}),
            **options,
        }
        return functions_plain.call(call, (a,), asked, name=function.__name__)
    return _over(partial(_run, call), a, axis, out, keep, **options)


def _over(
    run: Callable[..., Any], a: Storage, axis: Any, out: Any, keep: bool, **options: Any
) -> Any:
    """A reduction by `run(array, device, axis=, ...)`: a number where no axis is given."""
    if axis is not None or out is not None or keep:
        return reduction.over_axes(run, a, axis, out, keep, **options)
    device = operands.on_device(a, (a,))
    array = operands.fetch(a, a, device)
    return operands.number(
        run(array, device, axis=None, **reduction.beside(options, a, a, device)), device
    )


def _reducing(function: Any) -> Callable[..., Any]:
    whole = WHOLE[function]

    def handler(a: Any, axis: Any = None, *args: Any, **options: Any) -> Any:
        if not args and not options and type(a) is CPUStorage:
            if axis is None:
                return whole(a._host, None)  # of all elements there is nothing to say by name
            if (type(axis) is str or type(axis) is int) and a._host.ndim:
                return reduction.over_axis(whole, a, axis)
        return reduced(
            function, a, axis, **dict(zip(POSITIONAL[function], args, strict=False)), **options
        )

    return handler


def _one_axis(axis: Any, a: Storage, function: Any) -> int:
    found = positions(axis, a.axes)
    if len(found) != 1:
        raise ValueError(f"axis: {function.__name__} goes along one axis, not {axis!r}")
    return found[0]


def _finding(function: Any) -> Callable[..., Any]:
    """argmax and its kin: the index along one axis, or in the whole counted in index order."""

    def handler(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        if axis is None or not isinstance(a, Storage):
            return reduced(function, a, axis, out, keepdims)
        at = _one_axis(axis, a, function) if a.ndim else axis  # of no axes NumPy judges

        def run(array: Any, device: bool, **options: Any) -> Any:
            return _run(function, array, device, **{**options, "axis": at})

        return reduction.over_axes(run, a, at, out, kept(keepdims))

    return handler


def _of_order(function: Any) -> Callable[..., Any]:
    """Percentiles and quantiles: several at once have an axis more, without a name, so they are a
    plain array.
    """

    def handler(
        a: Any,
        q: Any,
        axis: Any = None,
        out: Any = None,
        *args: Any,
        keepdims: Any = False,
        **options: Any,
    ) -> Any:
        names = ("overwrite_input", "method", "keepdims")
        options = {**dict(zip(names, args, strict=False)), **options}
        keepdims = options.pop("keepdims", keepdims)
        if not isinstance(a, Storage) or np.ndim(q):
            return functions_plain.call(
                function, (a, q), {"axis": axis, "out": out, "keepdims": keepdims, **options}
            )

        def run(array: Any, device: bool, **asked: Any) -> Any:
            return operands.function_on(device, function)(array, q, **asked, **given(options))

        beside = {} if (weights := options.pop("weights", None)) is None else {"weights": weights}
        return _over(run, a, axis, out, kept(keepdims), **beside)

    return handler


def _count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    if not isinstance(a, Storage):
        return functions_plain.call(np.count_nonzero, (a, axis), {"keepdims": keepdims})
    counted = reduced(np.sum, a != 0, axis, None, keepdims, dtype=np.intp)
    return (
        counted if isinstance(counted, Storage) else type(np.count_nonzero(True))(counted)
    )  # NumPy changed which


def _ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    high, low = reduced(np.max, a, axis, None, keepdims), reduced(np.min, a, axis, None, keepdims)
    return np.subtract(high, low) if out is None else np.subtract(high, low, out=out)


def _average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False
) -> Any:
    """Weights go where the storage has axes of the same name."""
    if not isinstance(a, Storage):
        return functions_plain.call(
            np.average, (a, axis, weights, returned), {"keepdims": keepdims}
        )
    keep = kept(keepdims)
    return averaged(
        lambda run, **options: _over(run, a, axis, None, keep, **options),
        partial(_run, np.average),
        weights,
        returned,
    )


def _cumulative(function: Any) -> Callable[..., Any]:
    def handler(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        if (
            not isinstance(a, Storage) or (axis is None and a.ndim != 1) or not a.ndim
        ):  # flattened: no names are left
            return functions_plain.call(function, (a,), {"axis": axis, "dtype": dtype, "out": out})
        return along(function, a, 0 if axis is None else axis, dtype, out)

    return handler


def along(function: Any, a: Storage, axis: Any, dtype: Any = None, out: Any = None) -> Any:
    """A running sum or product: as many elements as before, so halo and aligned index stay."""
    if isinstance(out, tuple):
        (out,) = out
    at = _one_axis(axis, a, function)
    lead = operands.governing((a, out))
    device = operands.on_device(lead, (a,), (out,))
    array = operands.fetch(a, lead, device)
    accumulate = function.accumulate if isinstance(function, np.ufunc) else function
    result = (
        new(type(a), a.shape, accumulated_dtype(accumulate, array.dtype, dtype), a._meta, a.device)
        if out is None
        else out
    )
    check_out(out)
    target = operands.fetch(result, lead, device, "out")
    if isinstance(result, Storage):
        target = adapted(target, operands.of_same_axes(result, a, "out"))
    asked = {"axis": at, "out": target, **({} if dtype is None else {"dtype": dtype})}
    (accumulate if isinstance(function, np.ufunc) else operands.function_on(device, function))(
        array, **asked
    )
    if isinstance(result, Storage):
        result._wrote(device)
    return result


HANDLERS: dict[Any, Callable[..., Any]] = {
    **{function: _reducing(function) for function in POSITIONAL},
    **{
        function: _finding(function)
        for function in (np.argmax, np.argmin, np.nanargmax, np.nanargmin)
    },
    **{
        function: _of_order(function)
        for function in (np.percentile, np.quantile, np.nanpercentile, np.nanquantile)
    },
    **{
        function: _cumulative(function)
        for function in (np.cumsum, np.cumprod, np.nancumsum, np.nancumprod)
    },
    np.count_nonzero: _count_nonzero,
    np.ptp: _ptp,
    np.average: _average,
}
