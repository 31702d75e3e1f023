"""Reductions over indices given by name or by number, what goes along one index, and the other
methods of ufuncs.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gridbuf import wrapping
from gridbuf.named import positional
from gridbuf.named.arguments import (
    POSITIONAL,
    averaged,
    check_out,
    read_keepdims,
    without_no_values,
)
from gridbuf.named.broadcasting import accumulated_dtype, adapted, into, is_scalar, lacking
from gridbuf.named.kinds import Kind

Reduction = Callable[..., Any]  # of an array, with axis, out, keepdims and what else NumPy has


def over_axes(
    kind: Kind,
    reducer: Callable[[bool], Reduction],
    source: Any,
    axis: Any,
    out: Any = None,
    keepdims: Any = False,
    numbers: bool = True,
    **options: Any,
) -> Any:
    """A reduction by `reducer(device)`. Without an axis it is a number, if `numbers` are wanted.

    A new result is NumPy's own, moved into memory of the kind: with an `out` NumPy sums float16
    otherwise, and what dtype it gives depends on more than dtypes.
    """
    keepdims = read_keepdims(keepdims)
    check_out(out)
    if isinstance(out, tuple):
        (out,) = out
    everything = axis is None or (source.ndim == 0 and type(axis) is int and axis in (0, -1))
    over = tuple(range(source.ndim)) if everything else kind.positions(axis, source)
    frame = kind.frame(source).without(over, keepdims)
    wrapping.check_masks(options.items())
    beside = [options[name] for name in _BESIDE if options.get(name, True) is not True]
    lead = kind.lead((source, out))
    with kind.held((source, out, *beside)):
        device = kind.on_device(lead, (source,), (out,))
        array = kind.array(source, device, lead)
        for name in _BESIDE:
            if options.get(name, True) is not True:
                options[name] = _beside(kind, name, options[name], source, lead, device, over)
        # NumPy judges an axis of what has no indices.
        options["axis"] = axis if everything else over[0] if len(over) == 1 else over
        function = reducer(device)
        if out is not None:
            target = kind.into_out(out, kind.array(out, device, lead, "out"), frame)
            function(array, out=target, keepdims=keepdims, **options)
            kind.wrote(out, device)
            return out
        if not device:  # not every function of cupy's has it
            options["keepdims"] = keepdims
        found = function(array, **options)
        if numbers and axis is None and not frame.shape:
            return kind.number(found, device)
        if not device:
            found = np.asarray(found)
        return kind.holding(lead, frame, found.reshape(frame.shape), device)


_BESIDE = ("where", "mean", "weights")


def _beside(
    kind: Kind,
    argument: str,
    obj: Any,
    source: Any,
    lead: Any,
    device: bool,
    over: tuple[int, ...],
) -> Any:
    """The array of a mask, a mean or weights, its indices where the source has those of the same
    name.

    Weights are one for each element, or as they are along the one index that is reduced: NumPy adds
    those up otherwise.
    """
    if is_scalar(obj):
        return obj
    with wrapping.naming(argument):
        array = kind.array(obj, device, lead, argument)
        described = kind.describe(obj)
    names, own = None if described is None else described.names, kind.names_of(source)
    if names is None or own is None:
        return array
    if lacking(names, own):
        raise ValueError(
            f"{argument}: its {kind.word} {kind.show(names)} are not all among {kind.show(own)}"
        )
    view = adapted(array, into(names, own))
    if argument != "weights":
        return view
    with wrapping.naming(argument):
        whole = np.broadcast_to(view, source.shape)
    return array if len(names) == 1 and over == (own.index(names[0]),) else whole


# ---- NumPy's functions


def reduced(
    kind: Kind,
    function: Any,
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = False,
    by: Any = None,
    **options: Any,
) -> Any:
    """np.mean, np.std and similar functions. `by` is the function with its other arguments
    bound.
    """
    options = without_no_values(options)
    wrapping.check_masks(options.items())
    called = function if by is None else by
    if not kind.owns(a):  # the output is one, or a mask
        options |= {} if out is None else {"out": out}
        options |= {"keepdims": True} if read_keepdims(keepdims) else {}
        name = function.__name__
        return positional.call(kind, called, (a,), {"axis": axis, **options}, name=name)
    return over_axes(kind, partial(_on_side, kind, called), a, axis, out, keepdims, **options)


def _on_side(kind: Kind, function: Any, device: bool) -> Reduction:
    found: Reduction = kind.function(device, function)
    return found


def _reducing(function: Any) -> Callable[..., Any]:
    names = POSITIONAL.get(function, ("out", "keepdims"))

    def handler(kind: Kind, a: Any, axis: Any = None, *args: Any, **options: Any) -> Any:
        return reduced(kind, function, a, axis, **dict(zip(names, args, strict=False)), **options)

    return handler


def _finding(function: Any) -> Callable[..., Any]:
    """argmax and similar functions: the place along one index, or in the whole counted in index
    order.
    """

    def handler(
        kind: Kind, a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False
    ) -> Any:
        if axis is not None and kind.owns(a) and a.ndim:
            axis = kind.one_position(axis, a, function.__name__)
        return reduced(kind, function, a, axis, out, keepdims)

    return handler


def _of_order(function: Any) -> Callable[..., Any]:
    """Percentiles and quantiles: several at once have an index more, without a name, so they are a
    plain array.
    """

    def handler(
        kind: Kind, a: Any, q: Any, axis: Any = None, out: Any = None, *args: Any, **options: Any
    ) -> Any:
        options.update(zip(("overwrite_input", "method", "keepdims"), args, strict=False))
        wrapping.check_masks((("q", q),))
        if not kind.owns(a) or np.ndim(q):
            asked = {"axis": axis, "out": out, **options}
            return positional.call(kind, function, (a, q), asked)
        keepdims = options.pop("keepdims", False)
        weights = options.pop("weights", None)
        beside = {} if weights is None else {"weights": weights}

        def reducer(device: bool) -> Reduction:
            called = kind.function(device, function)
            return lambda array, **asked: called(array, q, **asked, **without_no_values(options))

        return over_axes(kind, reducer, a, axis, out, keepdims, **beside)

    return handler


def _count_nonzero(kind: Kind, a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    if not kind.owns(a):
        return positional.call(kind, np.count_nonzero, (a, axis), {"keepdims": keepdims})
    return over_axes(kind, partial(_on_side, kind, np.count_nonzero), a, axis, None, keepdims)


def _ptp(kind: Kind, a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    high = reduced(kind, np.max, a, axis, None, keepdims)
    low = reduced(kind, np.min, a, axis, None, keepdims)
    return np.subtract(high, low) if out is None else np.subtract(high, low, out=out)


def _average(
    kind: Kind,
    a: Any,
    axis: Any = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: Any = False,
) -> Any:
    """Weights go where the operand has indices of the same name."""
    if not kind.owns(a):
        asked = {"weights": weights, "returned": returned, "keepdims": keepdims}
        return positional.call(kind, np.average, (a, axis), asked)

    def reduce(function: Callable[..., Any], **options: Any) -> Any:
        def reducer(device: bool) -> Reduction:
            return partial(function, kind.function(device, np.average))

        return over_axes(kind, reducer, a, axis, None, keepdims, **options)

    return averaged(reduce, weights, returned)


# ---- along one index


def along(
    kind: Kind,
    function: Any,
    a: Any,
    axis: Any,
    dtype: Any = None,
    out: Any = None,
    extra: tuple[Any, ...] = (),
    size: int | None = None,
) -> Any:
    """A running sum or product, or `ufunc.reduceat` with its indices as `extra`: halo and origin
    stay, but along an index of another `size`.
    """
    if isinstance(out, tuple):
        (out,) = out
    check_out(out)
    at = kind.one_position(axis, a, function.__name__)
    lead = kind.lead((a, out))
    with kind.held((a, out)):
        device = kind.on_device(lead, (a,), (out,))
        called = kind.function(device, function)
        array = kind.array(a, device, lead)
        frame = kind.frame(a)
        if size is not None:
            frame = frame.changed(at, size)
        result = out
        if out is None:
            first = (np.zeros(1, int),) if extra else ()
            found = accumulated_dtype(function, array.dtype, dtype, *first)
            result, target = kind.new(lead, frame, found, device)
        else:
            target = kind.into_out(out, kind.array(out, device, lead, "out"), frame)
        asked = {} if dtype is None else {"dtype": dtype}
        called(array, *extra, axis=at, out=target, **asked)
        kind.wrote(result, device)
    return result


def _cumulative(function: Any) -> Callable[..., Any]:
    def handler(kind: Kind, a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        if not kind.owns(a) or (axis is None and a.ndim != 1) or not a.ndim:
            # Flattened: no names are left.
            asked = {"axis": axis, "dtype": dtype, "out": out}
            return positional.call(kind, function, (a,), asked)
        return along(kind, function, a, 0 if axis is None else axis, dtype, out)

    return handler


# ---- the methods of ufuncs


def _reduce(
    kind: Kind,
    ufunc: Any,
    source: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    **options: Any,
) -> Any:
    asked = {} if dtype is None else {"dtype": dtype}
    if not kind.owns(source):  # the output is one, or the mask
        asked |= {"axis": axis, "out": out, "keepdims": keepdims, **options}
        return positional.call(kind, ufunc, (source,), asked, method="reduce")

    def reducer(device: bool) -> Reduction:
        return partial(kind.reducer(device, ufunc), **asked)

    return over_axes(kind, reducer, source, axis, out, keepdims, kind.numbers, **options)


def _accumulate(
    kind: Kind, ufunc: Any, source: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    if not kind.owns(source):
        asked = {"axis": axis, "dtype": dtype, "out": out}
        return positional.call(kind, ufunc, (source,), asked, method="accumulate")
    return along(kind, ufunc.accumulate, source, axis, dtype, out)


def _reduceat(
    kind: Kind,
    ufunc: Any,
    source: Any,
    indices: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
) -> Any:
    if not kind.owns(source):
        asked = {"axis": axis, "dtype": dtype, "out": out}
        return positional.call(kind, ufunc, (source, indices), asked, method="reduceat")
    where = wrapping.values(indices)
    where = where if where.size else where.astype(np.intp)  # an empty list is one of floats
    return along(kind, ufunc.reduceat, source, axis, dtype, out, (where,), where.size)


def _at(kind: Kind, ufunc: Any, target: Any, indices: Any, *values: Any, **kwargs: Any) -> None:
    """`ufunc.at`: elements that the key selects have no names."""
    keys = indices if isinstance(indices, tuple) else (indices,)
    named = [obj for obj in (*keys, *values) if kind.names_of(obj) is not None]
    device = kind.on_device(target, (target,))
    if named or device:
        raise TypeError(
            f"{ufunc.__name__}.at: what the indices select has no names, and"
            f" {'an operand has' if named else 'the Field is on a GPU'}; field.numpy() goes by"
            " position on the host"
        )
    arrays = kind.arrays(values, device, target)
    ufunc.at(kind.array(target, device, target), indices, *arrays, **kwargs)


METHODS: dict[str, Callable[..., Any]] = {
    "reduce": _reduce,
    "accumulate": _accumulate,
    "reduceat": _reduceat,
    "at": _at,
}

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
}  # fmt: skip
