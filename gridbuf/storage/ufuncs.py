"""ufunc calls on storages: broadcasting by axis name, and results with GDP-3's parameters."""

from typing import Any, NamedTuple

import numpy as np

from gridbuf import _core
from gridbuf.common import BoundedCache
from gridbuf.joining import SCALARS, WEAK_SCALARS, Adapt, adapted, is_scalar, result_dtypes
from gridbuf.storage import broadcasting, memory, operands
from gridbuf.storage.allocation import new
from gridbuf.storage.base import Storage
from gridbuf.storage.cpu import CPUStorage
from gridbuf.storage.meta import Meta

_SCALARS = frozenset(SCALARS)


class _Prepared(NamedTuple):
    """What a call comes to, as far as it does not depend on values."""

    adapts: tuple[Adapt, ...] | None  # of the inputs; None where none has to be adapted
    out_adapt: Adapt
    new: (
        tuple[tuple[int, ...], np.dtype[Any], Meta] | None
    )  # shape, dtype and meta of a new result; None with out


_PREPARED: BoundedCache[_Prepared] = BoundedCache(1024)


def call(ufunc: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`ufunc(*inputs, **kwargs)` where an input or an output is a storage."""
    out = kwargs.pop("out", None)
    if out is not None and not isinstance(out, tuple):  # numba hands on what it was given
        out = (out,)
    if ufunc.nout != 1 or not all(
        isinstance(option, (str, type, np.dtype)) for option in kwargs.values()
    ):
        return _general(ufunc, inputs, out, kwargs)
    # What follows is the case that has to be quick: host storages, arrays and scalars.
    arrays: list[Any] = []
    key: list[Any] = [ufunc, *kwargs.items()]
    for obj in inputs:
        cls = type(obj)
        if cls is CPUStorage:
            array = obj._host
            arrays.append(array)
            key += (obj._meta, array.shape, array.dtype)
        elif cls in _SCALARS:
            arrays.append(obj)
            key.append(cls)
        elif cls is np.ndarray or (
            isinstance(obj, np.generic) and not hasattr(cls, "__array_ufunc__")
        ):
            arrays.append(obj)
            key += (obj.shape, obj.dtype)
        else:
            return _general(ufunc, inputs, out, kwargs)
    target = given = None
    if out is not None:
        (given,) = out
        target = given._host if type(given) is CPUStorage else given
        if type(target) is not np.ndarray:
            return _general(ufunc, inputs, out, kwargs)
        key += ("out", None if target is given else given._meta, target.shape)
    known = _PREPARED.get(tuple(key))
    if known is None:
        known = _prepare(ufunc, inputs, arrays, out, kwargs, tuple(key))
    if known.adapts is not None:
        arrays = [
            array if adapt is None else adapted(array, adapt)
            for array, adapt in zip(arrays, known.adapts, strict=True)
        ]
    if known.new is None:
        ufunc(
            *arrays,
            out=target if known.out_adapt is None else adapted(target, known.out_adapt),
            **kwargs,
        )
        return given
    shape, dtype, meta = known.new
    result = memory.empty(shape, dtype, meta)
    ufunc(*arrays, out=result, **kwargs)
    return CPUStorage._of(result, None, meta)


def _prepare(
    ufunc: Any,
    inputs: tuple[Any, ...],
    arrays: list[Any],
    out: tuple[Any] | None,
    options: dict[str, Any],
    key: tuple[Any, ...],
) -> _Prepared:
    outputs = (None,) if out is None else out
    resolution = broadcasting.resolve(
        tuple(map(operands.describe, inputs)), tuple(map(operands.describe, outputs))
    )
    adapts = resolution.adapts if any(resolution.adapts) else None
    new_result = None
    if out is None and resolution.meta is not None:
        new_result = resolution.shape, result_dtypes(ufunc, arrays, options)[0], resolution.meta
    known = _Prepared(adapts, resolution.out_adapts[0], new_result)
    if WEAK_SCALARS or not any(map(is_scalar, arrays)):
        _PREPARED[key] = known
    return known


def prepared(ufunc: Any, inputs: tuple[Any, ...], out: Any) -> tuple[Any, ...] | None:
    """For pyext/storage/ufunc.c, which remembers it: what a call with host storages, arrays and
    numbers comes to.

    The plan and the Meta of the result (without a plan where `out` is given), for each input None
    or, for each index of the result, which index of the input that is, -1 where it has none, and
    whether `out` has to go by its name. None: such calls are not remembered there.
    """
    if (
        not isinstance(ufunc, np.ufunc)
        or ufunc.nout != 1
        or ufunc.nin != len(inputs)
        or ufunc.signature is not None
    ):
        return None
    resolution = broadcasting.resolve(
        tuple(map(operands.describe, inputs)), (operands.describe(out),)
    )
    if resolution.out_adapts[0] is not None or resolution.meta is None:
        return None
    sources = tuple(
        None if adapt is None else _sources(adapt, obj.ndim)
        for adapt, obj in zip(resolution.adapts, inputs, strict=True)
    )
    named = ufunc is np.maximum or ufunc is np.minimum  # NumPy frowns on a third argument of theirs
    if out is not None:
        return None, out._meta, sources, named
    arrays = [
        (
            obj._host
            if isinstance(obj, Storage)
            else np.asarray(obj)
            if isinstance(obj, _core.Field)
            else obj
        )
        for obj in inputs
    ]
    dtype = result_dtypes(ufunc, arrays, {})[0]
    if dtype.kind not in "biufc":
        return None
    return (
        memory.host_plan(resolution.shape, dtype, resolution.meta),
        resolution.meta,
        sources,
        named,
    )


def _sources(adapt: Any, ndim: int) -> tuple[int, ...]:
    order, index = adapt
    left = iter(range(ndim) if order is None else order)
    if index is None:
        return tuple(left)
    found = [(part, -1 if part is None else next(left)) for part in index]
    return tuple(
        at for part, at in found if part is None or isinstance(part, slice)
    )  # a 0 drops an index of one element


def _general(
    ufunc: Any, inputs: tuple[Any, ...], out: tuple[Any, ...] | None, kwargs: dict[str, Any]
) -> Any:
    """Any classes of storages, any other arrays, any options, any number of outputs."""
    if not all(map(operands.takes, operands.given(inputs, {**kwargs, "out": out}))):
        return NotImplemented  # an array of another library has its turn
    outputs = (None,) * ufunc.nout if out is None else out
    if kwargs.get("where", True) is not True:
        inputs = (*inputs, kwargs["where"])
    lead = operands.governing(inputs if any(isinstance(i, Storage) for i in inputs) else outputs)
    if out is not None:
        lead = operands.governing((lead, *outputs))
    with operands.held((*inputs, *outputs)):
        return _computed(ufunc, inputs, outputs, lead, kwargs)


def _computed(
    ufunc: Any,
    inputs: tuple[Any, ...],
    outputs: tuple[Any, ...],
    lead: Storage,
    kwargs: dict[str, Any],
) -> Any:
    """The call on the side where it has to run."""
    device = operands.on_device(lead, inputs, outputs)
    resolution = broadcasting.resolve(
        tuple(map(operands.describe, inputs)), tuple(map(operands.describe, outputs))
    )
    arrays = [operands.fetch(obj, lead, device) for obj in inputs]
    targets = [None if obj is None else operands.fetch(obj, lead, device, "out") for obj in outputs]
    views = [adapted(array, adapt) for array, adapt in zip(arrays, resolution.adapts, strict=True)]
    if len(views) > ufunc.nin:
        kwargs["where"] = views.pop()
    results = list(outputs)
    if any(target is None for target in targets):
        dtypes = result_dtypes(ufunc, views, kwargs)
        for i, target in enumerate(targets):
            if target is None:
                results[i], targets[i] = _new_output(resolution, dtypes[i], lead, device)
    ufunc(
        *views,
        out=tuple(
            adapted(t, adapt) for t, adapt in zip(targets, resolution.out_adapts, strict=True)
        ),
        **kwargs,
    )
    for result in results:
        if isinstance(result, Storage):
            result._wrote(device)
    return results[0] if ufunc.nout == 1 else tuple(results)


def _new_output(
    resolution: broadcasting.Resolution, dtype: np.dtype[Any], lead: Storage, device: bool
) -> Any:
    """A storage for a result, and its array on the side where it is computed."""
    if resolution.meta is None:
        raise TypeError(
            "out: a further output without a storage among the inputs has no parameters; give"
            " it too"
        )
    made = new(type(lead), resolution.shape, dtype, resolution.meta, lead.device)
    return made, made._dev if device else made._host
