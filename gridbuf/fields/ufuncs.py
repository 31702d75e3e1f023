"""ufuncs on Fields, in general: what C does not do by itself (pyext/field_number.c)."""

from typing import Any

from gridbuf import _core
from gridbuf.fields import operands
from gridbuf.fields.operands import Field, names_of
from gridbuf.fields.resolving import resolve
from gridbuf.fields.results import lead_of, new
from gridbuf.joining import adapted, lacking, result_dtypes
from gridbuf.like import of_class


def call(ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """What `__array_ufunc__` answers: a Field, or NotImplemented where another operand has to
    know.
    """
    out = kwargs.get("out")
    out = (
        () if out is None else out if isinstance(out, tuple) else (out,)
    )  # numba hands on what it was given
    every = (*inputs, *out, *((kwargs["where"],) if "where" in kwargs else ()))
    if any(map(operands.answers, every)) if method == "at" else not all(map(operands.takes, every)):
        operands.refuse_names(ufunc, every)
        return operands.by_another(ufunc, method, inputs, kwargs)
    if method == "outer":
        return outer(ufunc, *inputs, **kwargs)
    if method != "__call__":
        from gridbuf.fields import reductions

        return reductions.METHODS[method](ufunc, *inputs, **kwargs)
    kwargs.pop("out", None)
    if ufunc.signature is not None:
        return _generalized(ufunc, inputs, out, kwargs)
    return _elementwise(ufunc, inputs, out, kwargs)


def _elementwise(
    ufunc: Any, inputs: tuple[Any, ...], out: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    outputs = out or (None,) * ufunc.nout
    if kwargs.get("where", True) is not True:
        inputs = (*inputs, kwargs["where"])
    device = any(map(operands.on_gpu, (*inputs, *outputs)))
    resolution = resolve(
        tuple(map(operands.describe, inputs)), tuple(map(operands.describe, outputs))
    )
    views = [
        adapted(a, adapt)
        for a, adapt in zip(operands.arrays(inputs, device), resolution.adapts, strict=True)
    ]
    targets = operands.arrays(outputs, device, "out")
    if len(views) > ufunc.nin:
        kwargs["where"] = views.pop()
    results = list(outputs)
    if any(target is None for target in targets):
        lead = lead_of((*inputs, *outputs), resolution.names)
        dtypes = result_dtypes(ufunc, views, kwargs)
        for i, target in enumerate(targets):
            if target is None:
                results[i] = new(lead, resolution, dtypes[i])
                targets[i] = operands.array(results[i], device)
    into = tuple(adapted(t, adapt) for t, adapt in zip(targets, resolution.out_adapts, strict=True))
    if kwargs or len(into) > 1 or not _core.elementwise(ufunc, tuple(views), into[0]):
        ufunc(*views, out=into, **kwargs)
    return results[0] if ufunc.nout == 1 else tuple(results)


def _generalized(
    ufunc: Any, inputs: tuple[Any, ...], out: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Core dimensions go by position, so names would be guessed at; Fields without names are
    arrays.
    """
    fields = [obj for obj in (*inputs, *out) if isinstance(obj, Field)]
    if any(names_of(obj) is not None for obj in (*inputs, *out)):
        raise TypeError(
            f"{ufunc.__name__}: its core dimensions have no names, and a Field's indices have;"
            f" field.numpy() goes by position, gridbuf.gufunc.from_ufunc(numpy.{ufunc.__name__})"
            " takes stacks by name"
        )
    device = any(map(operands.on_gpu, fields))
    if out:
        kwargs["out"] = tuple(operands.arrays(out, device, "out"))
    results = ufunc(*operands.arrays(inputs, device), **kwargs)
    if out:
        return out[0] if ufunc.nout == 1 else out
    wrapped = [
        of_class(fields[0], Field(r)) if getattr(r, "ndim", 0) else r
        for r in (results if ufunc.nout > 1 else (results,))
    ]
    return wrapped[0] if ufunc.nout == 1 else tuple(wrapped)


def outer(ufunc: Any, a: Any, b: Any, **kwargs: Any) -> Any:
    """Names that differ already make an outer product of an ordinary call."""
    names = names_of(a), names_of(b)
    if names[0] is None or names[1] is None or len(lacking(names[1], names[0])) < len(names[1]):
        raise TypeError(
            f"{ufunc.__name__}.outer: by name it needs two Fields without a name in common, not"
            f" {names[0]} and {names[1]}; field.numpy() goes by position"
        )
    frame = (*names[0], *names[1])
    joined: _core.Field = call(ufunc, "__call__", a, b, **kwargs)
    return joined if "out" in kwargs else joined.transpose(frame)
