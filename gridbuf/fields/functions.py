"""NumPy's functions on Fields: by name where they reduce, join or broadcast, else on plain arrays,
where the names allow it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.copies import apart
from gridbuf.fields import operands, reductions
from gridbuf.fields.operands import Field, names_of
from gridbuf.fields.resolving import Resolution, resolve
from gridbuf.fields.results import lead_of, new
from gridbuf.joining import adapted, into, lacking
from gridbuf.numpy_functions import POSITIONAL, averaged, clip, inside, kept, numbered
from gridbuf.wrapping import check_masks


def call(func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What `__array_function__` answers."""
    if not all(issubclass(t, (Field, np.ndarray)) or _is_device_array(t) for t in types):
        return NotImplemented
    handler = HANDLERS.get(func)
    return _on_arrays(func, args, kwargs) if handler is None else handler(*args, **kwargs)


def _is_device_array(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == "cupy"


# --- functions that know nothing of names

_BESIDE = {"out": None, "where": None, "weights": None}  # they do not say what `axis` means

# These do not ask where an element stands.
_WHEREVER = {
    np.shares_memory, np.may_share_memory, np.result_type, np.common_type, np.can_cast, np.savez,
    np.savez_compressed,
    np.isin, np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d,
}  # fmt: skip


def _on_arrays(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Fields as the arrays that they are: by position, which is by name only where all have the
    same names.
    """
    objects = list(inside((args, kwargs)))
    check_masks(("data", obj) for obj in objects)
    fields = [obj for obj in objects if isinstance(obj, Field)]
    named = {names for field in fields if (names := names_of(field)) is not None}
    if len(named) > 1 and func not in _WHEREVER:
        first, second = sorted(map(str, named))[:2]
        raise ValueError(
            f"{func.__name__}: it goes by position, and the Fields' names {first} and {second}"
            " differ; field.transpose(...) brings them into one order, field.numpy() has none"
        )
    lead = next(
        (obj for obj in inside((args, {**kwargs, **_BESIDE})) if isinstance(obj, Field)), None
    )
    if lead is not None and len(named) < 2:
        args, kwargs = numbered(func, args, kwargs, partial(reductions.positions, field=lead))
    device, given = any(map(operands.on_gpu, fields)), {}

    def bare(obj: Any) -> Any:
        if isinstance(obj, Field):
            array = operands.array(obj, device)
            given[id(array)] = obj, array
            return array
        if isinstance(obj, (list, tuple)) and any(isinstance(part, Field) for part in inside(obj)):
            return type(obj)([bare(part) for part in obj])
        return obj

    result = func(*map(bare, args), **{name: bare(value) for name, value in kwargs.items()})
    return (
        given[id(result)][0] if id(result) in given and given[id(result)][1] is result else result
    )


# --- functions that go by name


def _joined(*objects: Any) -> tuple[list[Any], Resolution, bool]:
    """The arrays of operands in their common frame."""
    device = any(map(operands.on_gpu, objects))
    resolution = resolve(tuple(map(operands.describe, objects)), ())
    return (
        [
            adapted(a, adapt)
            for a, adapt in zip(operands.arrays(objects, device), resolution.adapts, strict=True)
        ],
        resolution,
        device,
    )


def _where(condition: Any, *values: Any) -> Any:
    if not values:
        return _on_arrays(np.where, (condition,), {})
    views, resolution, device = _joined(condition, *values)
    chosen = np.where(*views)
    result = new(lead_of((condition, *values), resolution.names), resolution, chosen.dtype)
    operands.array(result, device)[...] = chosen
    return result


def _comparing(func: Any) -> Callable[..., Any]:
    def function(a: Any, b: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            views, _, _ = _joined(a, b)
        except ValueError:
            if func is np.allclose:
                raise
            return False
        return func(*views, *args, **kwargs)

    return function


def _isclose(a: Any, b: Any, *args: Any, **kwargs: Any) -> Any:
    views, resolution, device = _joined(a, b)
    found = np.isclose(*views, *args, **kwargs)
    result = new(lead_of((a, b), resolution.names), resolution, np.dtype(bool))
    operands.array(result, device)[...] = found
    return result


def _copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    if where is True and isinstance(dst, Field):
        _core.copyto(dst, src, casting=casting)
        return
    device, names = operands.on_gpu(dst), names_of(dst)
    parts = []
    for argument, obj in (("src", src), ("where", where)):
        part = operands.arrays((obj,), device, argument)[0]
        own = names_of(obj)
        if own is not None and names is not None:
            if missing := lacking(own, names):
                raise ValueError(
                    f"{argument}: its dims {own} do not fit into {names}, which lack"
                    f" {', '.join(missing)}"
                )
            part = adapted(part, into(own, names))
        parts.append(part)
    target = operands.array(dst, device, "dst")
    np.copyto(target, apart(target, parts[0]), casting=casting, where=parts[1])


def _transpose(a: Any, axes: Any = None) -> Any:
    return a.transpose(axes)


def _like(make: Callable[..., Any]) -> Callable[..., Any]:
    """zeros_like and its kin: a Field again, unless the caller asks for what a Field is not."""

    def function(
        a: Any,
        *args: Any,
        dtype: Any = None,
        order: str = "K",
        subok: bool = True,
        shape: Any = None,
        **options: Any,
    ) -> Any:
        if shape is not None or order != "K" or options or not subok:
            plain = getattr(np, make.__name__)
            return plain(
                a.numpy(), *args, dtype=dtype, order=order, subok=subok, shape=shape, **options
            )
        return make(a, *args) if dtype is None else make(a, *args, dtype=dtype)

    return function


def _reducing(func: Any) -> Callable[..., Any]:
    def function(a: Any, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        names = POSITIONAL.get(func, ("out", "keepdims"))
        kwargs.update(zip(names, args, strict=False))
        if not isinstance(a, Field):
            return _on_arrays(func, (a, axis), kwargs)
        return reductions.by_function(func, a, axis, **kwargs)

    return function


def _accumulating(func: Any, method: Any) -> Callable[..., Any]:
    def function(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        if not isinstance(a, Field) or not a.ndim:
            return _on_arrays(func, (a, axis, dtype, out), {})
        if axis is None and a.ndim != 1:
            raise ValueError(
                f"axis: which index of {names_of(a) or a.ndim} to accumulate along? field.numpy()"
                " is flattened by NumPy"
            )
        return reductions.along(method, a, axis=0 if axis is None else axis, dtype=dtype, out=out)

    return function


def _argument(func: Any) -> Callable[..., Any]:
    """argmax and argmin: the place of an element, counted in index order without an axis."""

    def function(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        if not isinstance(a, Field):
            return _on_arrays(func, (a, axis, out), {"keepdims": keepdims})
        if axis is not None and a.ndim and len(reductions.positions(axis, a)) != 1:
            raise ValueError(f"axis: {func.__name__} goes along one index, not {axis!r}")
        return reductions.by_function(func, a, axis, out, keepdims)

    return function


def _of_order(func: Any) -> Callable[..., Any]:
    """Percentiles and quantiles: several at once have an index more, without a name, so they are a
    plain array.
    """

    def function(
        a: Any, q: Any, axis: Any = None, out: Any = None, *args: Any, **options: Any
    ) -> Any:
        options.update(zip(("overwrite_input", "method", "keepdims"), args, strict=False))
        check_masks((("q", q),))
        if not isinstance(a, Field) or np.ndim(q):
            return _on_arrays(func, (a, q, axis, out), options)
        beside = {
            name: options.pop(name)
            for name in ("keepdims", "weights")
            if options.get(name) is not None
        }
        return reductions.by_function(partial(func, q=q, **options), a, axis, out, **beside)

    return function


def _count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    return reductions.by_function(np.count_nonzero, a, axis, None, keepdims)


def _average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False
) -> Any:
    if not isinstance(a, Field):
        return _on_arrays(
            np.average, (a, axis), {"weights": weights, "returned": returned, "keepdims": keepdims}
        )
    keep = kept(keepdims)
    return averaged(
        lambda f, **options: reductions.over_axes(f, a, axis, None, keep, **options),
        np.average,
        weights,
        returned,
    )


def _handlers() -> dict[Any, Callable[..., Any]]:
    from gridbuf import arrays

    return {
        **{func: _reducing(func) for func in (*POSITIONAL, np.ptp)},
        **{func: _argument(func) for func in (np.argmax, np.argmin, np.nanargmax, np.nanargmin)},
        **{func: _comparing(func) for func in (np.allclose, np.array_equal, np.array_equiv)},
        **{func: _of_order(func) for func in (np.percentile, np.quantile, np.nanpercentile,
        np.nanquantile)},
        np.cumsum: _accumulating(np.cumsum, np.add.accumulate),
        np.cumprod: _accumulating(np.cumprod, np.multiply.accumulate),
        **{func: _accumulating(func, func) for func in (np.nancumsum, np.nancumprod)},
        np.average: _average, np.count_nonzero: _count_nonzero,
        np.where: _where, np.clip: clip, np.isclose: _isclose, np.copyto: _copyto,
        np.transpose: _transpose,
        np.shape: lambda a: a.shape, np.ndim: lambda a: a.ndim,
        np.zeros_like: _like(arrays.zeros_like), np.ones_like: _like(arrays.ones_like),
        np.empty_like: _like(arrays.empty_like), np.full_like: _like(arrays.full_like),
    }  # fmt: skip


HANDLERS = _handlers()
