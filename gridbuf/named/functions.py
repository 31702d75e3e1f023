"""NumPy's functions by name: `__array_function__` of Fields and of storages.

`HANDLERS` has what reduces, joins, broadcasts or keeps the indices; every other function goes by
position (positional.py).
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from gridbuf import _core
from gridbuf.copies import apart
from gridbuf.named import positional, reductions
from gridbuf.named.arguments import check_out, clip, inside
from gridbuf.named.broadcasting import (
    Adapt,
    Frame,
    Operand,
    adapted,
    concatenated,
    domain,
    fitted,
    into,
    lacking,
    resolve,
)
from gridbuf.named.kinds import FIELDS, DeviceField, Kind
from gridbuf.wrapping import check_masks, naming, values


def of_fields(func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`__array_function__` of a Field."""
    return call(FIELDS, func, types, args, kwargs)


def call(kind: Kind, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result, or NotImplemented where an array of another library has to answer."""
    if not all(map(kind.is_operand_type, types)):
        return _by_another(kind, func, types, args, kwargs)
    if any(issubclass(cls, np.ma.MaskedArray) for cls in types):
        check_masks(("data", obj) for obj in inside((args, kwargs)))
    if any(map(kind.has_two_sides, types)):
        with kind.held(inside((args, kwargs))):
            return _answered(kind, func, args, kwargs)
    return _answered(kind, func, args, kwargs)


def _by_another(
    kind: Kind, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A call with another library's array: beside Fields its class answers, first for Fields as
    they are, then for their plain arrays. Storages leave the call alone.
    """
    others = {cls for cls in types if not kind.is_operand_type(cls)}
    if kind is not FIELDS or any(
        issubclass(cls, (_core.StorageBase, DeviceField)) or getattr(cls, "_knows_names", False)
        for cls in types
    ):
        return NotImplemented
    for obj in inside((args, kwargs)):
        if type(obj) in others:
            found = type(obj).__array_function__(obj, func, types, args, kwargs)
            if found is not NotImplemented:
                return found
    return positional.call(kind, func, args, kwargs)


def _answered(kind: Kind, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    handler = HANDLERS.get(func)
    if handler is None:
        return positional.call(kind, func, args, kwargs)
    return handler(kind, *args, **kwargs)


# ---- operands in one frame


class _Joined:
    """Operands in their common frame, on the side where the operation runs."""

    def __init__(self, kind: Kind, objects: Sequence[Any]) -> None:
        objects = tuple(values(obj) if isinstance(obj, (list, tuple)) else obj for obj in objects)
        self.kind, self.device = kind, kind.on_device(kind.lead(objects), objects)
        resolution = resolve(kind, tuple(map(kind.describe, objects)), ())
        self.frame = resolution.frame
        self.lead = kind.lead(objects, self.frame.names)
        self.views = [
            adapted(array, adapt)
            for array, adapt in zip(
                kind.arrays(objects, self.device, self.lead), resolution.adapts, strict=True
            )
        ]

    def call(self, function: Any, *args: Any, **options: Any) -> Any:
        return self.kind.function(self.device, function)(*args, **options)

    def holding(self, found: Any) -> Any:
        return self.kind.holding(self.lead, self.frame, found, self.device)


def _where(kind: Kind, condition: Any, *chosen: Any) -> Any:
    if not chosen:
        return positional.call(kind, np.where, (condition,), {})
    joined = _Joined(kind, (condition, *chosen))
    return joined.holding(joined.call(np.where, *joined.views))


def _select(kind: Kind, condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    joined, count = _Joined(kind, (*condlist, *choicelist, default)), len(condlist)
    *views, default = joined.views
    return joined.holding(joined.call(np.select, views[:count], views[count:], default))


def _clip(kind: Kind, *args: Any, **options: Any) -> Any:
    return clip(*args, **options)


def _isclose(kind: Kind, a: Any, b: Any, *args: Any, **options: Any) -> Any:
    joined = _Joined(kind, (a, b))
    return joined.holding(joined.call(np.isclose, *joined.views, *args, **options))


def _allclose(kind: Kind, a: Any, b: Any, *args: Any, **options: Any) -> bool:
    joined = _Joined(kind, (a, b))
    return bool(joined.call(np.allclose, *joined.views, *args, **options))


def _array_equal(kind: Kind, a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Whether names, in any order, sizes and values are the same."""
    a1, a2 = (
        _values_of(obj, "array") if isinstance(obj, (list, tuple)) else obj for obj in (a1, a2)
    )
    named = [
        dict(zip(own.names, own.shape, strict=True))
        for own in (kind.describe(a1), kind.describe(a2))
        if own is not None and own.names is not None
    ]
    if (named[0] != named[1]) if len(named) == 2 else (np.shape(a1) != np.shape(a2)):
        return False
    try:
        joined = _Joined(kind, (a1, a2))
    except ValueError:  # shapes do not broadcast
        return False
    options = {"equal_nan": True} if equal_nan else {}
    return bool(joined.call(np.array_equal, *joined.views, **options))


def _array_equiv(kind: Kind, a1: Any, a2: Any) -> bool:
    try:
        joined = _Joined(kind, (a1, a2))
    except ValueError:  # shapes do not broadcast
        return False
    return bool(joined.call(np.array_equiv, *joined.views))


def _broadcast_arrays(kind: Kind, *args: Any, subok: bool = False) -> Any:
    """Plain arrays in the common frame."""
    joined = _Joined(kind, args)
    return joined.call(np.broadcast_arrays, *joined.views)


# ---- one after the other


class _Row(NamedTuple):
    """Parts one after the other."""

    adapts: tuple[Adapt, ...]  # of the parts, into the order of the first one's indices
    frame: Frame  # of the result
    at: int  # the index along which


@lru_cache(maxsize=256)
def _row(
    kind: Kind, function: str, parts: tuple[tuple[Operand, bool], ...], axis: int | str
) -> _Row:
    """The frame of parts, of which each is of the kind or not. `axis`: a number is of the first
    one's indices.
    """
    first = next((p for p, ours in parts if ours and p.names), None) or next(
        p for p, ours in parts if ours
    )
    named = next((p.names for p, _ in parts if p.names), None)  # a DataArray's, beside no names
    labels = first.names or named or tuple(map(str, range(len(first.shape))))
    frames, adapts = [], []
    for own, _ in parts:
        if own.names is None and len(own.shape) != len(labels):
            raise ValueError(
                f"arrays: {function} joins what has the {kind.word} {kind.show(labels)}, got an"
                f" array of shape {own.shape}"
            )
        if own.names is not None and sorted(own.names) != sorted(labels):
            raise ValueError(
                f"arrays: {function} joins {kind.plural} of the same {kind.word}, got"
                f" {kind.show(labels)} and {kind.show(own.names)}"
            )
        # Without names a part has the first one's order of indices.
        order = labels if own.names is None else own.names
        if own.halo is None and own.parameters is None:
            own = own._replace(halo=kind.assumed(first.halo), origin=kind.assumed(first.origin))
        frame = Frame(own.shape, order, own.halo, own.origin, own.parameters)
        frame = frame.picked(tuple(order.index(name) for name in labels))
        frames.append(frame._replace(names=first.names))
        adapts.append(into(order, labels))
    if function == "stack":
        frame, at = _stacked(kind, frames, str(axis))
    else:
        at = labels.index(axis) if isinstance(axis, str) else axis
        frame = concatenated(kind, frames, at)
    return _Row(tuple(adapts), frame, at)


def _one_after_the_other(
    function: Any,
    kind: Kind,
    arrays: Any,
    axis: Any = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: Any = "same_kind",
) -> Any:
    """np.concatenate, and np.stack: by name where the new index has one."""
    arrays = tuple(arrays)
    by_name = axis is not None if function is np.concatenate else isinstance(axis, str)
    ours = next((part for part in arrays if kind.owns(part)), None)
    if not by_name or ours is None:
        options = {"casting": casting, **({} if dtype is None else {"dtype": dtype})}
        return positional.call(kind, function, (arrays,), {"axis": axis, "out": out, **options})
    parts = [_values_of(part, "arrays") if type(part) in (list, tuple) else part for part in arrays]
    name = function.__name__
    if function is np.concatenate:
        axis = kind.one_position(axis, ours, name)
        axis = axis if (names := kind.names_of(ours)) is None else names[axis]
    nothing = Operand(None, ())
    described = tuple((kind.describe(part) or nothing, kind.owns(part)) for part in parts)
    row = _row(kind, name, described, axis)
    check_out(out)
    lead = kind.lead((*parts, out))
    device = kind.on_device(lead, parts, (out,))
    views = [
        adapted(array, adapt)
        for array, adapt in zip(kind.arrays(parts, device, lead), row.adapts, strict=True)
    ]
    if out is None:
        dtype = dtype or np.result_type(*(view.dtype for view in views))
        made, target = kind.new(lead, row.frame, np.dtype(dtype), device)
    else:
        made = out
        target = kind.into_out(out, kind.array(out, device, lead, "out"), row.frame)
    kind.function(device, function)(views, axis=row.at, out=target, casting=casting)
    kind.wrote(made, device)
    return made


def _values_of(obj: Any, argument: str) -> Any:
    with naming(argument):
        return values(obj)


def _stacked(kind: Kind, frames: Sequence[Frame], axis: str) -> tuple[Frame, int]:
    first = frames[0]
    if first.names is None or not kind.may_name(axis) or axis in first.names:
        have = kind.show(first.names or ())
        raise ValueError(
            f"axis: {axis!r} is not the name of a new {kind.index}; the {kind.plural} have {have},"
            f" and {kind.possible} are possible"
        )
    halo, origin = domain(kind, [(f, first.names) for f in frames], first.names, first.shape)
    whole = first._replace(
        halo=halo, origin=origin, parameters=kind.parameters([f.parameters for f in frames])
    )
    return whole.with_index(axis, len(frames))


def _copyto(kind: Kind, dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    if where is True and isinstance(dst, _core.Field):
        _core.copyto(dst, src, casting=casting)
        return
    check_out(dst, "dst")
    lead = kind.lead((dst, src, where))
    device = kind.on_device(lead, (src, where) if kind.owns(dst) else (src,), (dst,))
    names, shape = kind.target(dst, (src, where))
    views = []
    for argument, obj in (("src", src), ("where", where)):
        (view,) = kind.arrays((obj,), device, lead, argument)
        own = kind.describe(obj)
        if own is not None and names is not None:
            if own.names is not None:
                if missing := lacking(own.names, names):
                    raise ValueError(
                        f"{argument}: its {kind.word} {kind.show(own.names)} do not fit into"
                        f" {kind.show(names)}, which lack {kind.listed(missing)}"
                    )
                view = adapted(view, into(own.names, names))
            elif kind is not FIELDS:
                letters = kind.name_array(own.shape, None, (names, shape))
                view = adapted(view, fitted(letters, own.shape, names))
        views.append(view)
    with kind.held((dst,)):
        target = kind.array(dst, device, lead, "dst")
        source = views[0] if device else apart(target, views[0])
        kind.function(device, np.copyto)(target, source, casting=casting, where=views[1])
        kind.wrote(dst, device)


def _copy(kind: Kind, a: Any, order: Any = "K", subok: bool = False) -> Any:
    return a.copy()


def _astype(kind: Kind, x: Any, dtype: Any, /, **options: Any) -> Any:
    return x.astype(dtype, **options)


def _like(function: Any) -> Callable[..., Any]:
    """np.zeros_like and its kin: of the same kind, unless the caller asks for what has no names."""
    count = int(function is np.full_like)

    def handler(
        kind: Kind,
        a: Any,
        *args: Any,
        dtype: Any = None,
        order: str = "K",
        subok: bool = True,
        shape: Any = None,
        **options: Any,
    ) -> Any:
        if count and "fill_value" in options:
            args = (options.pop("fill_value"), *args)
        if len(args) > count:
            dtype = args[count]
        args = args[:count]
        if shape is not None or order != "K" or options or not subok or not kind.owns(a):
            asked = {"dtype": dtype, "order": order, "subok": subok, "shape": shape, **options}
            return positional.call(kind, function, (a, *args), asked)
        return kind.like(function.__name__)(a, *args, dtype=dtype)

    return handler


# ---- order, number and places of indices: views


def _transpose(kind: Kind, a: Any, axes: Any = None) -> Any:
    return a.transpose(axes)


def _moveaxis(kind: Kind, a: Any, source: Any, destination: Any) -> Any:
    """np.moveaxis: names in `destination` stand for the present places of those indices."""
    wanted, to = kind.positions(source, a), kind.positions(destination, a)
    if len(wanted) != len(to):
        raise ValueError(
            f"destination: {len(to)} places for the {len(wanted)} {kind.word} of source"
        )
    order = [i for i in range(a.ndim) if i not in wanted]
    for at, index in sorted(zip(to, wanted, strict=True)):
        order.insert(at, index)
    return a.transpose(tuple(order))


def _swapaxes(kind: Kind, a: Any, axis1: Any, axis2: Any) -> Any:
    first = kind.one_position(axis1, a, "swapaxes")
    second = kind.one_position(axis2, a, "swapaxes")
    order = list(range(a.ndim))
    order[first], order[second] = second, first
    return a.transpose(tuple(order))


def _squeeze(kind: Kind, a: Any, axis: Any = None) -> Any:
    over = (
        tuple(i for i, n in enumerate(a.shape) if n == 1)
        if axis is None
        else kind.positions(axis, a)
    )
    if larger := [i for i in over if a.shape[i] != 1]:
        names = kind.names_of(a)
        which = larger[0] if names is None else names[larger[0]]
        raise ValueError(
            f"axis: {which!r} has the size {a.shape[larger[0]]}; only {kind.word} of size 1 can go"
        )
    return a[(*(0 if i in over else slice(None) for i in range(a.ndim)), ...)]


def _expand_dims(kind: Kind, a: Any, axis: Any) -> Any:
    """np.expand_dims: a view where the new index has a name, a plain array where it has a
    number.
    """
    if not isinstance(axis, str) or not kind.owns(a):
        return positional.call(kind, np.expand_dims, (a, axis), {})
    frame, at = _stacked(kind, [kind.frame(a)], axis)
    cuts = (*(slice(None),) * at, None, ...)
    return kind.view(a, lambda array: array[cuts], frame)


def _flip(kind: Kind, m: Any, axis: Any = None) -> Any:
    over = tuple(range(m.ndim)) if axis is None else kind.positions(axis, m)
    return m[(*(slice(None, None, -1) if i in over else slice(None) for i in range(m.ndim)), ...)]


def _real(kind: Kind, val: Any) -> Any:
    return kind.view(val, lambda array: array.real, kind.frame(val))


def _imag(kind: Kind, val: Any) -> Any:
    if val.dtype.kind != "c":
        return kind.like("zeros_like")(val)
    return kind.view(val, lambda array: array.imag, kind.frame(val))


# ---- the same indices, other values


def _holding(
    kind: Kind,
    function: Any,
    a: Any,
    args: tuple[Any, ...] = (),
    options: dict[str, Any] | None = None,
    out: Any = None,
    frame: Callable[[Any], Frame] | None = None,
) -> Any:
    """The result of `function(array, *args)`, with the indices of `a`, or those that `frame`
    says for the values.
    """
    lead = kind.lead((a, out))
    with kind.held((a, out)):
        device = kind.on_device(lead, (a,), (out,))
        array = kind.array(a, device, lead)
        found = kind.function(device, function)(array, *args, **(options or {}))
        whole = kind.frame(a) if frame is None else frame(found)
        if out is None:
            return kind.holding(lead, whole, found, device)
        target = kind.into_out(out, kind.array(out, device, lead, "out"), whole)
        target[...] = found
        kind.wrote(out, device)
        return out


def _elementwise(function: Any) -> Callable[..., Any]:
    rounds = function in (np.round, np.around)

    def handler(kind: Kind, a: Any, *args: Any, out: Any = None, **options: Any) -> Any:
        if rounds and len(args) == 2:
            *args, out = args  # type: ignore[assignment]
        if not kind.owns(a) or not (out is None or kind.owns(out)):
            asked = options if out is None else {**options, "out": out}
            return positional.call(kind, function, (a, *args), asked)
        return _holding(kind, function, a, tuple(args), options, out)

    return handler


def _roll(kind: Kind, a: Any, shift: Any, axis: Any = None) -> Any:
    """np.roll: along given indices the points of the domain go round, and the halo stays;
    without an index the whole, halo included, goes round in index order.
    """
    if axis is None:
        return _holding(kind, np.roll, a, (shift,))
    over = kind.positions(axis, a)
    halo = kind.frame(a).halo or ((0, 0),) * a.ndim
    inner = tuple(
        slice(low, size - high) if i in over else slice(None)
        for i, ((low, high), size) in enumerate(zip(halo, a.shape, strict=True))
    )
    made = a.copy()
    made[inner] = _holding(kind, np.roll, a[inner], (shift,), {"axis": over})
    return made


# ---- other sizes along one index


def _diff(
    kind: Kind,
    a: Any,
    n: Any = 1,
    axis: Any = -1,
    prepend: Any = np._NoValue,
    append: Any = np._NoValue,
) -> Any:
    """np.diff: the lower halo stays, the upper one is n points smaller."""
    if not kind.owns(a) or prepend is not np._NoValue or append is not np._NoValue or not a.ndim:
        asked = {
            name: value
            for name, value in (("prepend", prepend), ("append", append))
            if value is not np._NoValue
        }
        return positional.call(kind, np.diff, (a, n), {"axis": axis, **asked})
    at = kind.one_position(axis, a, "diff")
    whole = kind.frame(a)

    def frame(found: Any) -> Frame:
        size = found.shape[at]
        low, high = (0, 0) if whole.halo is None else whole.halo[at]
        origin = 0 if whole.origin is None else whole.origin[at]
        left = min(low, size)
        pair = left, min(max(high - n, 0), size - left)
        return whole.changed(at, size, pair, origin)

    return _holding(kind, np.diff, a, (n,), {"axis": at}, frame=frame)


def _gradient(kind: Kind, f: Any, *spacing: Any, axis: Any = None, edge_order: Any = 1) -> Any:
    """np.gradient: a result for each index, in the order of `axis`."""
    if not kind.owns(f):
        asked = {"axis": axis, "edge_order": edge_order}
        return positional.call(kind, np.gradient, (f, *spacing), asked)
    over = tuple(range(f.ndim)) if axis is None else kind.positions(axis, f)
    device = kind.on_device(f, (f,))
    array, lead = kind.array(f, device, f), kind.lead((f,))
    plain = [
        kind.array(each, device, lead, "spacing") if kind.owns(each) else each for each in spacing
    ]
    found = kind.function(device, np.gradient)(array, *plain, axis=over, edge_order=edge_order)
    several = found if isinstance(found, (tuple, list)) else (found,)
    made = [kind.holding(lead, kind.frame(f), each, device) for each in several]
    return made[0] if len(over) == 1 else type(found)(made)


def _repeat(kind: Kind, a: Any, repeats: Any, axis: Any = None) -> Any:
    """np.repeat: points of the halo stay points of the halo, each as often as repeated."""
    if axis is None or not kind.owns(a):
        return positional.call(kind, np.repeat, (a, repeats), {"axis": axis})
    at = kind.one_position(axis, a, "repeat")
    whole, counts = kind.frame(a), values(repeats)
    size = whole.shape[at]

    def points(first: int, last: int) -> int:
        each = counts.reshape(-1)
        return int(each[0]) * (last - first) if each.size == 1 else int(each[first:last].sum())

    def frame(found: Any) -> Frame:
        low, high = (0, 0) if whole.halo is None else whole.halo[at]
        origin = 0 if whole.origin is None else points(0, min(whole.origin[at], size))
        pair = points(0, low), points(size - high, size)
        return whole.changed(at, found.shape[at], pair, origin)

    return _holding(kind, np.repeat, a, (counts,), {"axis": at}, frame=frame)


def _take(
    kind: Kind, a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise"
) -> Any:
    """np.take: a list along an index leaves it no halo; several rows of indices have no names."""
    picked = values(indices) if isinstance(indices, (list, tuple)) else indices
    if axis is None or out is not None or not kind.owns(a) or np.ndim(picked) > 1:
        asked = {"axis": axis, "mode": mode, **({} if out is None else {"out": out})}
        return positional.call(kind, np.take, (a, indices), asked)
    at = kind.one_position(axis, a, "take")
    whole = kind.frame(a)
    if kind.owns(picked):
        picked = kind.array(picked, kind.on_device(a, (a,)), a, "indices")
    if not np.ndim(picked) and a.ndim == 1:
        return positional.call(kind, np.take, (a, picked), {"axis": at, "mode": mode})

    def frame(found: Any) -> Frame:
        if found.ndim < len(whole.shape):
            return whole.without((at,), False)
        return whole.changed(at, found.shape[at])

    picked = np.asarray(picked, np.intp) if isinstance(indices, (list, tuple)) else picked
    return _holding(kind, np.take, a, (picked,), {"axis": at, "mode": mode}, frame=frame)


def _size(kind: Kind, a: Any, axis: Any = None) -> int:
    return a.size if axis is None else prod(a.shape[i] for i in kind.positions(axis, a))


_ELEMENTWISE = (
    np.round, np.around, np.nan_to_num, np.angle, np.real_if_close, np.i0, np.sinc, np.isreal,
    np.iscomplex, np.isneginf, np.isposinf, np.fix,
)  # fmt: skip

HANDLERS: dict[Any, Callable[..., Any]] = {
    **reductions.HANDLERS,
    np.where: _where, np.select: _select, np.clip: _clip, np.isclose: _isclose,
    np.allclose: _allclose, np.array_equal: _array_equal, np.array_equiv: _array_equiv,
    np.broadcast_arrays: _broadcast_arrays, np.copyto: _copyto, np.copy: _copy,
    **{function: partial(_one_after_the_other, function) for function in (np.concatenate,
    np.stack)},
    **{function: _like(function) for function in (np.empty_like, np.zeros_like, np.ones_like,
    np.full_like)},
    np.transpose: _transpose, np.moveaxis: _moveaxis, np.swapaxes: _swapaxes,
    np.squeeze: _squeeze, np.expand_dims: _expand_dims, np.flip: _flip,
    np.flipud: lambda kind, m: _flip(kind, m, 0), np.fliplr: lambda kind, m: _flip(kind, m, 1),
    np.real: _real, np.imag: _imag,
    **{function: _elementwise(function) for function in _ELEMENTWISE},
    np.roll: _roll, np.diff: _diff, np.gradient: _gradient, np.repeat: _repeat, np.take: _take,
    np.shape: lambda kind, a: a.shape, np.ndim: lambda kind, a: a.ndim, np.size: _size,
}  # fmt: skip
if hasattr(np, "astype"):  # NumPy 2.1
    HANDLERS[np.astype] = _astype
