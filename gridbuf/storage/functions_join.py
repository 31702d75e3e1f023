"""NumPy's functions of several operands: where, clip, comparisons, concatenate, stack, copyto, by
axis name.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gridbuf import _core
from gridbuf.joining import Adapt, adapted, into, is_scalar, lacking
from gridbuf.numpy_functions import check_out, clip
from gridbuf.storage import broadcasting, functions_plain, memory, operands, results
from gridbuf.storage.allocation import new
from gridbuf.storage.axes import LETTERS, positions
from gridbuf.storage.base import Storage
from gridbuf.storage.broadcasting import Operand
from gridbuf.storage.cpu import CPUStorage
from gridbuf.storage.meta import Meta


class _Joined:
    """Operands in their common frame, on the side where the operation runs."""

    def __init__(self, objects: tuple[Any, ...]) -> None:
        self.lead = operands.governing(objects)
        self.device = operands.on_device(self.lead, objects)
        self.resolution = broadcasting.resolve(tuple(map(operands.describe, objects)), (None,))
        arrays = (operands.fetch(obj, self.lead, self.device) for obj in objects)
        self.views = [
            adapted(array, adapt)
            for array, adapt in zip(arrays, self.resolution.adapts, strict=True)
        ]

    def on_side(self, function: Any) -> Any:
        return operands.function_on(self.device, function)

    def storage(self, dtype: Any) -> tuple[Storage, Any]:
        """A new storage in the frame, and its array."""
        assert self.resolution.meta is not None
        made = new(
            type(self.lead),
            self.resolution.shape,
            np.dtype(dtype),
            self.resolution.meta,
            self.lead.device,
        )
        return made, made._dev if self.device else made._host

    def holding(self, values: Any) -> Storage:
        made, target = self.storage(values.dtype)
        target[...] = values
        made._wrote(self.device)
        return made


def _where(condition: Any, *values: Any) -> Any:
    if not values:
        return functions_plain.call(np.where, (condition,), {})
    joined = _Joined((condition, *values))
    chosen, x, y = joined.views
    made, target = joined.storage(np.result_type(*(v if is_scalar(v) else v.dtype for v in (x, y))))
    target[...] = y
    joined.on_side(np.copyto)(
        target,
        x,
        where=(
            bool(chosen) if is_scalar(chosen) else chosen if chosen.dtype == bool else chosen != 0
        ),
    )
    made._wrote(joined.device)
    return made


def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    joined, count = _Joined((*condlist, *choicelist, default)), len(condlist)
    *views, default = joined.views
    return joined.holding(joined.on_side(np.select)(views[:count], views[count:], default))


def _isclose(a: Any, b: Any, *args: Any, **kwargs: Any) -> Any:
    joined = _Joined((a, b))
    return joined.holding(joined.on_side(np.isclose)(*joined.views, *args, **kwargs))


def _allclose(a: Any, b: Any, *args: Any, **kwargs: Any) -> bool:
    joined = _Joined((a, b))
    return bool(joined.on_side(np.allclose)(*joined.views, *args, **kwargs))


def _array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """The same axes, whatever their order, sizes and values."""
    objects = tuple(
        operands.values_of(obj, "array") if isinstance(obj, (list, tuple)) else obj
        for obj in (a1, a2)
    )
    described = map(operands.describe, objects)
    named = [
        dict(zip(d.axes, d.shape, strict=True))
        for d in described
        if d is not None and d.axes is not None
    ]
    if len(named) == 2:
        if named[0] != named[1]:
            return False
    elif np.shape(objects[0]) != np.shape(objects[1]):
        return False
    joined = _Joined(objects)
    return bool(
        joined.on_side(np.array_equal)(*joined.views, **({"equal_nan": True} if equal_nan else {}))
    )


def _array_equiv(a1: Any, a2: Any) -> bool:
    try:
        joined = _Joined((a1, a2))
    except ValueError:  # they do not broadcast
        return False
    return bool(joined.on_side(np.array_equiv)(*joined.views))


def _broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    """Plain arrays in the common frame."""
    joined = _Joined(args)
    return joined.on_side(np.broadcast_arrays)(*joined.views)


# --- one after the other


class _Laid(NamedTuple):
    """How parts lie one after the other: it depends on what broadcasting sees of them alone."""

    adapts: tuple[Adapt, ...]
    shape: tuple[int, ...]
    meta: Meta
    at: int  # the index along which


def _meta_of_part(part: Operand, order: str, first: Meta) -> Meta:
    """A storage's own; the first storage's otherwise, with the halo of what has one."""
    if part.meta is not None:
        return part.meta
    if part.halo is not None:
        return first.replaced(
            axes=order, halo=part.halo, aligned_index=tuple(low for low, _ in part.halo)
        )
    return first.selected(tuple(first.axes.index(name) for name in order))


@lru_cache(maxsize=256, typed=True)
def _laid(function: str, parts: tuple[Operand | None, ...], axis: Any) -> _Laid:
    first = next(own.meta for own in parts if own is not None and own.meta is not None)
    axes = first.axes
    adapts: list[Adapt] = []
    known = []
    for own in parts:
        if own is None or (own.axes is None and len(own.shape) != len(axes)):
            shape = () if own is None else own.shape
            raise ValueError(
                f"arrays: {function} joins what has the axes {axes!r}, got an array of shape"
                f" {shape}"
            )
        if own.axes is not None and sorted(own.axes) != sorted(axes):
            raise ValueError(
                f"arrays: {function} joins storages of the same axes, got {axes!r} and {own.axes!r}"
            )
        # Without names a part has the first storage's order of indices.
        order = axes if own.axes is None else own.axes
        adapts.append(into(order, axes))
        sizes = tuple(own.shape[order.index(name)] for name in axes)
        known.append(
            (
                sizes,
                _meta_of_part(own, order, first).selected(
                    tuple(order.index(name) for name in axes)
                ),
            )
        )
    if function == "stack":
        if axis not in tuple(LETTERS) or axis in axes:
            raise ValueError(
                f"axis: {axis!r} is not the name of a new axis; the storages have {axes!r}, and I,"
                " J, K are possible"
            )
        sizes, whole = results.with_axis(
            results.joined(known, axes, known[0][0]), known[0][0], axis, len(parts)
        )
        return _Laid(tuple(adapts), sizes, whole, whole.axes.index(axis))
    at = positions(axis, axes)
    if len(at) != 1:
        raise ValueError(f"axis: concatenate goes along one axis, not {axis!r}")
    sizes, whole = results.concatenated(known, axes[at[0]])
    return _Laid(tuple(adapts), sizes, whole, at[0])


def _one_after_the_other(
    function: Any, arrays: Any, axis: Any, out: Any, dtype: Any, casting: Any, by_name: bool
) -> Any:
    options = (
        {"casting": casting}
        if out is None and dtype is None
        else {"dtype": dtype, "casting": casting}
    )
    arrays = tuple(arrays)
    if not by_name or not any(isinstance(part, Storage) for part in arrays):
        return functions_plain.call(function, (arrays,), {"axis": axis, "out": out, **options})
    parts = [
        operands.values_of(part, "arrays") if isinstance(part, (list, tuple)) else part
        for part in arrays
    ]
    described = tuple(map(operands.describe, parts))
    laid = (_laid if isinstance(axis, (str, int)) else _laid.__wrapped__)(
        function.__name__, described, axis
    )
    return _joined_into(
        function, parts, list(laid.adapts), (laid.shape, laid.meta), laid.at, out, options
    )


def _concatenate(
    arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    return _one_after_the_other(
        np.concatenate, arrays, axis, out, dtype, casting, by_name=axis is not None
    )


def _stack(
    arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    """By name where the new axis has one."""
    return _one_after_the_other(
        np.stack, arrays, axis, out, dtype, casting, by_name=isinstance(axis, str)
    )


def _joined_into(
    function: Any,
    parts: list[Any],
    adapts: list[Adapt],
    result: tuple[Any, Any],
    at: int,
    out: Any,
    options: Any,
) -> Any:
    if out is None and all(type(part) is CPUStorage for part in parts):
        views = [adapted(part._host, adapt) for part, adapt in zip(parts, adapts, strict=True)]
        dtype = np.dtype(options.get("dtype") or np.result_type(*(view.dtype for view in views)))
        target = memory.empty(result[0], dtype, result[1])
        function(views, axis=at, out=target, casting=options["casting"])
        return CPUStorage._of(target, None, result[1])
    lead = operands.governing((*parts, out))
    device = operands.on_device(lead, tuple(parts), (out,))
    views = [
        adapted(operands.fetch(part, lead, device), adapt)
        for part, adapt in zip(parts, adapts, strict=True)
    ]
    dtype = options.get("dtype") or np.result_type(*(view.dtype for view in views))
    made = (
        new(type(lead), result[0], np.dtype(dtype), result[1], lead.device) if out is None else out
    )
    check_out(out)
    target = operands.fetch(made, lead, device, "out")
    if isinstance(made, Storage):
        target = adapted(target, operands.of_same_axes(made, result[1], "out"))
    given = {name: value for name, value in options.items() if name != "dtype"}
    operands.function_on(device, function)(views, axis=at, out=target, **given)
    if isinstance(made, Storage):
        made._wrote(device)
    return made


# --- copies


def _copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    if isinstance(dst, _core.Field) and where is True:
        _core.copyto(dst, src, casting=casting)
        return
    lead = operands.governing((dst, src, where))
    device = operands.on_device(lead, (src, where) if isinstance(dst, Storage) else (src,), (dst,))
    axes, shape = (
        (dst.axes, dst.shape) if isinstance(dst, Storage) else _axes_beside(dst, src, where)
    )
    views = []
    for argument, obj in (("src", src), ("where", where)):
        view = operands.fetch(obj, lead, device)
        own = operands.describe(obj)
        if own is not None:
            letters = (
                own.axes
                if own.axes is not None
                else broadcasting.name_array(own.shape, None, (axes, shape))
            )
            if own.axes is not None and (missing := "".join(lacking(letters, axes))):
                raise ValueError(
                    f"{argument}: its axes {letters!r} do not fit into {axes!r}, which lack"
                    f" {missing!r}"
                )
            named = own.axes is not None
            view = adapted(
                view,
                into(letters, axes) if named else broadcasting.fitted(letters, own.shape, axes),
            )
        views.append(view)
    with operands.held((dst,)):
        target = operands.fetch(dst, lead, device, "dst")
        operands.function_on(device, np.copyto)(target, views[0], casting=casting, where=views[1])
        if isinstance(dst, Storage):
            dst._wrote(device)


def _axes_beside(dst: Any, src: Any, where: Any) -> tuple[str, tuple[int, ...]]:
    """The axes that a target without names has beside storages."""
    named = next(obj for obj in (src, where) if isinstance(obj, Storage))
    described = operands.describe(dst)
    if described is None and not named.axes:
        return "", ()
    if described is None:
        raise ValueError(
            f"dst: an array without axes cannot take a storage with the axes {named.axes!r}"
        )
    if described.axes is not None:
        return described.axes, described.shape
    return (
        broadcasting.name_array(described.shape, (named.axes, named.shape), None),
        described.shape,
    )


HANDLERS: dict[Any, Callable[..., Any]] = {
    np.where: _where, np.select: _select, np.clip: clip, np.isclose: _isclose,
    np.allclose: _allclose,
    np.array_equal: _array_equal, np.array_equiv: _array_equiv,
    np.broadcast_arrays: _broadcast_arrays,
    np.concatenate: _concatenate, np.stack: _stack, np.copyto: _copyto,
}  # fmt: skip
