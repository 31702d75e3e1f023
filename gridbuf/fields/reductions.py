"""Reductions of Fields, over indices given by name or by number, and the other methods of
ufuncs.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gridbuf import _core, joining, wrapping
from gridbuf.fields import operands
from gridbuf.fields.operands import Field, names_of
from gridbuf.fields.resolving import Resolution
from gridbuf.fields.results import new
from gridbuf.joining import accumulated_dtype, adapted, into, is_scalar, lacking
from gridbuf.numpy_functions import check_out, given, kept


def positions(axis: Any, field: _core.Field) -> tuple[int, ...]:
    """The indices that an `axis` argument means."""
    return joining.positions(axis, names_of(field), field.ndim)


def _left(field: _core.Field, over: tuple[int, ...], keepdims: bool) -> Resolution:
    """What is left of a Field: the indices that stay keep their halo and their origin."""
    kept = [i for i in range(field.ndim) if keepdims or i not in over]
    names, halo, origin = names_of(field), field.halo, field.origin
    return Resolution(
        (), (), tuple(1 if i in over else field.shape[i] for i in kept),
        None if names is None else tuple(names[i] for i in kept),
        None if halo is None else tuple((0, 0) if i in over else halo[i] for i in kept),
        None if origin is None else tuple(0 if i in over else origin[i] for i in kept),
        tuple(field.dims[i] for i in kept),
    )  # fmt: skip


Reduction = Callable[..., Any]  # of an array, with axis, out, keepdims and what else NumPy has


def over_axes(
    function: Reduction, field: _core.Field, axis: Any, out: Any, keepdims: bool, **options: Any
) -> Any:
    """A reduction by NumPy into a Field, or a number where no index is left.

    A new result is NumPy's own, moved into a Field: with an `out` NumPy sums float16 otherwise, and
    what dtype it gives depends on more than dtypes.
    """
    device, keepdims = operands.on_gpu(field), kept(keepdims)
    check_out(out)
    if isinstance(out, tuple):
        (out,) = out
    over = (
        tuple(range(field.ndim)) if axis is None or field.ndim == 0 else positions(axis, field)
    )  # of no indices NumPy judges
    left = _left(field, over, keepdims)
    source = operands.array(field, device)
    wrapping.check_masks(options.items())
    for name in ("where", "mean", "weights"):
        if options.get(name, True) is not True:
            options[name] = _beside(name, options[name], field, device)
    axes = axis if axis is None or field.ndim == 0 else over[0] if len(over) == 1 else over
    if out is not None:
        function(source, axis=axes, out=_target(out, left, device), keepdims=keepdims, **options)
        return out
    if not device:  # not every function of cupy's has it
        options["keepdims"] = keepdims
    found = function(source, axis=axes, **options)
    if not left.shape and not device:
        return found
    result = new(field, left, found.dtype)
    operands.array(result, device)[...] = found.reshape(left.shape)
    return result if left.shape else result.to(device="cpu").numpy()[()]


def _target(result: Any, left: Resolution, device: bool) -> Any:
    """The array of a result, its indices in the order in which the reduction leaves them."""
    target, names = operands.array(result, device, "out"), names_of(result)
    if names is None or left.names is None:
        return target
    if sorted(names) != sorted(left.names):
        raise ValueError(f"out: its dims are {names}, the result has {left.names}")
    return adapted(target, into(names, left.names))


def _beside(argument: str, obj: Any, field: _core.Field, device: bool) -> Any:
    """A mask's, a mean's or weights' array, its indices where the Field has those of the same
    name.
    """
    if is_scalar(obj):
        return obj
    array, names, own = operands.array(obj, device, argument), names_of(obj), names_of(field)
    if names is None or own is None:
        return array
    if lacking(names, own):
        raise ValueError(f"{argument}: its dims {names} are not all among {own}")
    array = adapted(array, into(names, own))
    with wrapping.naming(argument):
        return np.broadcast_to(array, field.shape) if argument == "weights" else array


def reduce(
    ufunc: Any,
    source: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    **options: Any,
) -> Any:
    """`ufunc.reduce`."""
    if not isinstance(source, Field):  # the output is one, or the mask
        device, target = operands.on_gpu(source), out[0] if isinstance(out, tuple) else out
        into_array, options["where"] = (
            operands.arrays((obj,), device, name)[0]
            for name, obj in (("out", target), ("where", options.get("where", True)))
        )
        found = ufunc.reduce(source, axis, dtype, into_array, keepdims, **options)
        return found if target is None else target
    asked = {} if dtype is None else {"dtype": dtype}
    function: Reduction = (
        partial(_on_gpu, ufunc, **asked)
        if operands.on_gpu(source)
        else partial(ufunc.reduce, **asked)
    )
    return over_axes(function, source, axis, out, keepdims, **options)


def _on_gpu(ufunc: Any, array: Any, **options: Any) -> Any:
    from gridbuf.storage import devices

    return devices.current().reduce(ufunc, array, **options)


def by_function(
    function: Callable[..., Any],
    field: _core.Field,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = False,
    **options: Any,
) -> Any:
    """np.mean, np.std and their like."""
    keep, options = kept(keepdims), given(options)
    if function in UFUNC_OF:
        return reduce(
            UFUNC_OF[function], field, axis, options.pop("dtype", None), out, keep, **options
        )
    return over_axes(function, field, axis, out, keep, **options)


UFUNC_OF: dict[Any, Any] = {
    np.sum: np.add, np.prod: np.multiply, np.max: np.maximum, np.amax: np.maximum,
    np.min: np.minimum, np.amin: np.minimum,
    np.any: np.logical_or, np.all: np.logical_and,
}  # fmt: skip


def accumulate(ufunc: Any, source: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    """`ufunc.accumulate`: as many elements as before, so halo and origin stay."""
    return along(ufunc.accumulate, source, (), axis, dtype, out)


def reduceat(
    ufunc: Any, source: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    """`ufunc.reduceat`: the index along which it goes has no halo any more."""
    where = wrapping.values(indices)
    where = where if where.size else where.astype(np.intp)  # an empty list is one of floats
    return along(ufunc.reduceat, source, (where,), axis, dtype, out, where.size)


def along(
    method: Any,
    source: Any,
    extra: tuple[Any, ...] = (),
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    size: int | None = None,
) -> Any:
    """What goes along one index by a method of NumPy; `size` is what is left of it, None for
    all.
    """
    if isinstance(out, tuple):
        (out,) = out
    if not isinstance(source, Field):
        found = method(
            source, *extra, axis, dtype, operands.arrays((out,), operands.on_gpu(source), "out")[0]
        )
        return found if out is None else out
    if operands.on_gpu(source):
        raise TypeError(
            f"{getattr(method, '__self__', np).__name__}.{method.__name__}: not on the GPU;"
            " field.to(device='cpu') is a copy on the host"
        )
    at = positions(axis, source)
    if len(at) != 1:
        raise ValueError(f"axis: one index is accumulated along, not {axis!r}")
    whole = _left(source, (), True)
    if size is not None:
        pairs = whole.halo and tuple((0, 0) if i == at[0] else p for i, p in enumerate(whole.halo))
        firsts = whole.origin and tuple(0 if i == at[0] else o for i, o in enumerate(whole.origin))
        shape = tuple(size if i == at[0] else n for i, n in enumerate(whole.shape))
        whole = whole._replace(halo=pairs, origin=firsts, shape=shape)
    array = source.numpy()
    made = out
    if out is None:
        made = new(
            source,
            whole,
            accumulated_dtype(method, array.dtype, dtype, *((np.zeros(1, int),) if extra else ())),
        )
    method(array, *extra, at[0], dtype, _target(made, whole, False))
    return made


def at(ufunc: Any, field: Any, indices: Any, *values: Any, **kwargs: Any) -> None:
    """`ufunc.at`: what its key selects has no names."""
    named = [
        obj
        for obj in (*(indices if isinstance(indices, tuple) else (indices,)), *values)
        if names_of(obj) is not None
    ]
    if named or (operands.on_gpu(field)):
        raise TypeError(
            f"{ufunc.__name__}.at: what the indices select has no names, and"
            f" {'an operand has' if named else 'the Field is on a GPU'}; field.numpy() goes by"
            " position on the host"
        )
    ufunc.at(operands.array(field, False), indices, *operands.arrays(values, False), **kwargs)


METHODS: dict[str, Callable[..., Any]] = {
    "reduce": reduce,
    "accumulate": accumulate,
    "reduceat": reduceat,
    "at": at,
}
