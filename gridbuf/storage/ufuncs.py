"""ufunc calls on storages: broadcasting by axis name, and results with GDP-3's parameters."""

from typing import Any

import numpy as np

from gridbuf.storage import _memory, broadcasting, operands
from gridbuf.storage.allocation import new
from gridbuf.storage.base import Storage
from gridbuf.storage.broadcasting import RESOLVED, Bounded, adapted
from gridbuf.storage.cpu import CPUStorage

_SCALARS = frozenset(operands.SCALARS)
_WEAK_SCALARS = int(np.__version__.split(".")[0]) >= 2  # NumPy 1 looks at a scalar's value
_DTYPES = Bounded(4096)


def call(ufunc: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`ufunc(*inputs, **kwargs)` where an input or an output is a storage."""
    out = kwargs.pop("out", None)
    outputs = (None,) * ufunc.nout if out is None else out
    if "where" in kwargs and kwargs["where"] is not True:
        inputs = (*inputs, kwargs["where"])
    # What follows is the case that has to be quick: host storages, arrays and scalars.
    arrays: list[Any] = []
    key: list[Any] = []
    kinds: list[Any] = [ufunc]
    for obj in inputs:
        cls = type(obj)
        if cls is CPUStorage:
            array = obj._host
            arrays.append(array)
            key += (obj._meta, array.shape)
            kinds.append(array.dtype)
        elif cls in _SCALARS:
            arrays.append(obj)
            key.append(None)
            kinds.append(cls)
        elif cls is np.ndarray:
            arrays.append(obj)
            key.append(obj.shape)
            kinds.append(obj.dtype)
        else:
            return _general(ufunc, inputs, outputs, kwargs)
    key.append("out")
    targets = []
    for obj in outputs:
        cls = type(obj)
        if obj is None:
            key.append(None)
        elif cls is CPUStorage:
            array = obj._host
            targets.append(array)
            key += (obj._meta, array.shape)
            continue
        elif cls is np.ndarray:
            key.append(obj.shape)
        else:
            return _general(ufunc, inputs, outputs, kwargs)
        targets.append(obj)
    resolution = _resolved(tuple(key), inputs, outputs)
    return _run(ufunc, arrays, kinds, targets, resolution, outputs, kwargs, None, False)


def _resolved(key: tuple[Any, ...], inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> broadcasting.Resolution:
    found: broadcasting.Resolution | None = RESOLVED.get(key)
    if found is None:
        described = tuple(map(operands.describe, inputs)), tuple(map(operands.describe, outputs))
        found = RESOLVED[key] = broadcasting.resolve(*described)
    return found


def _general(ufunc: Any, inputs: tuple[Any, ...], outputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Any classes of storages, any other arrays."""
    lead = operands.governing(inputs if any(isinstance(i, Storage) for i in inputs) else outputs)
    lead = max((lead, operands.governing((lead, *outputs))), key=lambda storage: storage.__array_priority__)
    device = operands.on_device(lead, inputs, outputs)
    described = tuple(map(operands.describe, inputs)), tuple(map(operands.describe, outputs))
    arrays = [operands.fetch(obj, lead, device) for obj in inputs]
    kinds = [ufunc, *(type(a) if type(a) in _SCALARS else a.dtype for a in arrays)]
    targets = [None if obj is None else operands.fetch(obj, lead, device, "out") for obj in outputs]
    return _run(ufunc, arrays, kinds, targets, broadcasting.resolve(*described), outputs, kwargs, lead, device)


def _run(
    ufunc: Any,
    arrays: list[Any],
    kinds: list[Any],
    targets: list[Any],
    resolution: broadcasting.Resolution,
    outputs: tuple[Any, ...],
    kwargs: dict[str, Any],
    lead: Storage | None,
    device: bool,
) -> Any:
    """Compute on arrays that are all on one side; `lead` is None for host storages."""
    views = [a if s is None else adapted(a, s) for a, s in zip(arrays, resolution.adapts, strict=True)]
    if len(views) > ufunc.nin:
        kwargs["where"] = views.pop()
    results = list(outputs)
    if any(target is None for target in targets):
        dtypes = _dtypes(ufunc, views, kinds, kwargs)
        for i, target in enumerate(targets):
            if target is None:
                results[i], targets[i] = _new_output(resolution, dtypes[i], lead, device)
    out = tuple(t if s is None else adapted(t, s) for t, s in zip(targets, resolution.out_adapts, strict=True))
    ufunc(*views, out=out, **kwargs)
    if lead is not None:
        for result in results:
            if isinstance(result, Storage):
                result._wrote(device)
    return results[0] if ufunc.nout == 1 else tuple(results)


def _new_output(resolution: broadcasting.Resolution, dtype: np.dtype[Any], lead: Storage | None, device: bool) -> Any:
    """A storage for a result, and its array on the side where it is computed."""
    meta = resolution.meta
    if meta is None:
        raise TypeError("out: a further output without a storage among the inputs has no parameters; give it too")
    if lead is None:
        array = _memory.empty(resolution.shape, dtype, meta)
        return CPUStorage._of(array, None, meta), array
    made = new(type(lead), resolution.shape, dtype, meta, lead.device)
    return made, made._dev if device else made._host


def _dtypes(ufunc: Any, views: list[Any], kinds: list[Any], kwargs: dict[str, Any]) -> tuple[np.dtype[Any], ...]:
    """The dtypes of the results: those that NumPy gives for no elements at all."""
    options = {name: value for name, value in kwargs.items() if name != "where"}
    kinds = kinds[: 1 + ufunc.nin]
    keep = not options and (_WEAK_SCALARS or not any(type(view) in _SCALARS or view.ndim == 0 for view in views))
    key = tuple(kinds)
    found: tuple[np.dtype[Any], ...] | None = _DTYPES.get(key) if keep else None
    if found is None:
        samples = [_sample(view, kind) for view, kind in zip(views, kinds[1:], strict=True)]
        made = ufunc(*samples, **options)
        found = tuple(result.dtype for result in (made if ufunc.nout > 1 else (made,)))
        if keep:
            _DTYPES[key] = found
    return found


def _sample(view: Any, kind: Any) -> Any:
    if kind in _SCALARS:
        return view
    if view.ndim == 0 and not _WEAK_SCALARS:
        return np.zeros((), kind) if not isinstance(view, (np.ndarray, np.generic)) else view
    return np.empty(0, kind)
