"""NumPy's functions of one storage that change no values or one element at a time: order of axes,
size-1 axes, flips, rolls, rounding.
"""

from collections.abc import Callable
from math import prod
from typing import Any, cast

import numpy as np

from gridbuf.joining import adapted
from gridbuf.storage import functions_plain, operands, results
from gridbuf.storage.allocation import new
from gridbuf.storage.axes import LETTERS, check_axes, positions
from gridbuf.storage.base import Storage


def transpose(a: Storage, axes: Any = None) -> Storage:
    """A view with the axes in another order: names, numbers, or None for the reverse."""
    if axes is None:
        order = tuple(reversed(range(a.ndim)))
    elif isinstance(axes, str):
        if sorted(check_axes(axes)) != sorted(a.axes):
            raise ValueError(f"axes: {axes!r} is not a permutation of {a.axes!r}")
        order = tuple(a.axes.index(name) for name in axes)
    else:
        order = positions(
            (axes,) if isinstance(axes, (int, set, frozenset)) else tuple(axes), a.axes
        )
        if len(order) != a.ndim:
            raise ValueError(f"axes: {axes!r} is not a permutation of the {a.ndim} axes {a.axes!r}")
    return a._mapped(lambda array: array.transpose(order), a._meta.selected(order))


def _moveaxis(a: Storage, source: Any, destination: Any) -> Storage:
    """Names in `destination` stand for where those axes are now."""
    wanted, to = positions(source, a.axes), positions(destination, a.axes)
    if len(wanted) != len(to):
        raise ValueError(f"destination: {len(to)} places for the {len(wanted)} axes of source")
    order = [i for i in range(a.ndim) if i not in wanted]
    for at, index in sorted(zip(to, wanted, strict=True)):
        order.insert(at, index)
    return transpose(a, order)


def swapaxes(a: Storage, axis1: Any, axis2: Any) -> Storage:
    (first,), (second,) = positions(axis1, a.axes), positions(axis2, a.axes)
    order = list(range(a.ndim))
    order[first], order[second] = second, first
    return transpose(a, order)


def _squeeze(a: Storage, axis: Any = None) -> Storage:
    over = (
        tuple(i for i, n in enumerate(a.shape) if n == 1)
        if axis is None
        else positions(axis, a.axes)
    )
    larger = [a.axes[i] for i in over if a.shape[i] != 1]
    if larger:
        raise ValueError(
            f"axis: {larger[0]!r} has the size {a.shape[a.axes.index(larger[0])]}; only axes of"
            " size 1 can go"
        )
    kept = tuple(i for i in range(a.ndim) if i not in over)
    cuts = tuple(0 if i in over else slice(None) for i in range(a.ndim))
    return a._mapped(lambda array: array[(*cuts, ...)], a._meta.selected(kept))


def _expand_dims(a: Any, axis: Any) -> Any:
    """A view where the new axis has a name, a plain array where it has a number."""
    if not isinstance(axis, str):
        return functions_plain.call(np.expand_dims, (a, axis), {})
    if axis not in tuple(LETTERS) or axis in a.axes:
        raise ValueError(
            f"axis: {axis!r} is not the name of a new axis; the storage has {a.axes!r}, and I, J, K"
            " are possible"
        )
    _, meta = results.with_axis(a._meta, a.shape, axis, 1)
    at = meta.axes.index(axis)
    cuts = (*(slice(None),) * at, None, ...)
    return a._mapped(lambda array: array[cuts], meta)


def _flip(m: Storage, axis: Any = None) -> Any:
    over = tuple(range(m.ndim)) if axis is None else positions(axis, m.axes)
    return m[tuple(slice(None, None, -1) if i in over else slice(None) for i in range(m.ndim))]


def _roll(a: Storage, shift: Any, axis: Any = None) -> Storage:
    """The halo stays where it is: values move through it."""
    return _holding(np.roll, a, (shift,), {} if axis is None else {"axis": positions(axis, a.axes)})


def _elementwise(function: Any) -> Callable[..., Any]:
    def handler(a: Any, *args: Any, out: Any = None, **options: Any) -> Any:
        if function in _ROUND and len(args) == 2:
            *args, out = args  # type: ignore[assignment]
        if not isinstance(a, Storage) or not (out is None or isinstance(out, Storage)):
            return functions_plain.call(function, (a, *args), {**options, "out": out})
        return _holding(function, a, tuple(args), options, out)

    return handler


def _holding(
    function: Any, a: Storage, args: tuple[Any, ...], options: dict[str, Any], out: Any = None
) -> Storage:
    """A storage like `a` with the values of `function(array, ...)`."""
    lead = operands.governing((a, out))
    device = operands.on_device(lead, (a,), (out,))
    values = operands.function_on(device, function)(
        operands.fetch(a, lead, device), *args, **options
    )
    made: Storage = new(type(a), a.shape, values.dtype, a._meta, a.device) if out is None else out
    target = operands.fetch(made, lead, device, "out")
    if out is not None:
        target = adapted(target, operands.of_same_axes(made, a, "out"))
    target[...] = values
    made._wrote(device)
    return made


def _real(val: Storage) -> Storage:
    return val._mapped(lambda array: array.real, val._meta)


def _imag(val: Storage) -> Any:
    return (
        val._mapped(lambda array: array.imag, val._meta)
        if val.dtype.kind == "c"
        else np.zeros_like(val)
    )


def _copy(a: Storage, order: Any = "K", subok: bool = False) -> Storage:
    return a.copy()


def astype(
    x: Storage,
    dtype: Any,
    /,
    order: Any = "K",
    casting: Any = "unsafe",
    subok: bool = True,
    copy: bool = True,
    **device: Any,
) -> Storage:
    """Another dtype, the same parameters; `copy=False` gives the storage itself where nothing is to
    convert.
    """
    wanted: np.dtype[Any] = np.dtype(dtype)
    if not np.can_cast(x.dtype, wanted, casting):
        raise TypeError(f"dtype: {x.dtype} does not become {wanted} with casting={casting!r}")
    if not copy and wanted == x.dtype:
        return x
    made: Any = np.empty_like(x, dtype=wanted)
    source: Any = x
    np.copyto(made, source, casting="unsafe")
    return cast(Storage, made)


def _size(a: Storage, axis: Any = None) -> int:
    return a.size if axis is None else prod(a.shape[i] for i in positions(axis, a.axes))


_ROUND = {np.round, np.around}
_ELEMENTWISE = (
    np.round, np.around, np.nan_to_num, np.angle, np.real_if_close, np.i0, np.sinc, np.isreal,
    np.iscomplex,
    np.isneginf, np.isposinf, np.fix,
)  # fmt: skip

HANDLERS: dict[Any, Callable[..., Any]] = {
    **{function: _elementwise(function) for function in _ELEMENTWISE},
    np.transpose: transpose, np.moveaxis: _moveaxis, np.swapaxes: swapaxes, np.squeeze: _squeeze,
    np.expand_dims: _expand_dims,
    np.flip: _flip, np.flipud: lambda m: _flip(m, 0), np.fliplr: lambda m: _flip(m, 1),
    np.roll: _roll,
    np.real: _real, np.imag: _imag, np.copy: _copy,
    np.shape: lambda a: a.shape, np.ndim: lambda a: a.ndim, np.size: _size,
}  # fmt: skip
if hasattr(np, "astype"):  # NumPy 2.1
    HANDLERS[np.astype] = astype
