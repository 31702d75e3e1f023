"""The functions of NumPy that know nothing of names: storages as the arrays that they are, where
that loses no names.
"""

from functools import partial
from typing import Any

import numpy as np

from gridbuf.names import get_dims
from gridbuf.numpy_functions import inside, numbered
from gridbuf.storage import operands
from gridbuf.storage.axes import positions
from gridbuf.storage.base import Storage
from gridbuf.wrapping import check_masks

# Each operand has indices of its own, or nobody asks where an element stands: storages of different
# axes may meet.
_INDEPENDENT: set[Any] = {
    np.einsum, np.einsum_path, np.outer, np.kron, np.dot, np.tensordot, np.matmul, np.ix_,
    np.interp, np.searchsorted, np.digitize,
    np.shares_memory, np.may_share_memory, np.result_type, np.common_type, np.can_cast,
    np.min_scalar_type,
    np.isin, np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d, np.savez, np.savez_compressed,
    np.iterable,
    np.linalg.solve, np.linalg.lstsq, np.linalg.multi_dot, np.linalg.tensorsolve,
    np.polyval, np.convolve, np.correlate, np.meshgrid,
}  # fmt: skip
# These write into their first argument.
_WRITING = {np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis}
_REMEDY = "np.asarray(s) goes by position, np.transpose(s, ...) changes the order of the axes"


def _axes_of(obj: Any) -> str | None:
    if isinstance(obj, Storage):
        return obj.axes
    if isinstance(obj, np.ndarray) or not hasattr(obj, "shape"):
        return None
    dims = get_dims(obj)
    return None if dims is None else "".join(dims)


def call(
    func: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    name: str | None = None,
    method: str | None = None,
) -> Any:
    """`func(*args, **kwargs)` by position; ValueError where the names of several storages
    differ.
    """
    called = func if method is None else getattr(func, method)
    name = name or (func.__name__ if method is None else f"{func.__name__}.{method}")
    objects = list(inside((args, kwargs)))
    check_masks(("data", obj) for obj in objects)
    storages = [obj for obj in objects if isinstance(obj, Storage)]
    orders = {axes for obj in objects if (axes := _axes_of(obj)) is not None}
    if len(orders) > 1 and func not in _INDEPENDENT:
        first, second = sorted(orders)[:2]
        raise ValueError(
            f"{name}: it goes by position, and the axes {first!r} and {second!r} differ; {_REMEDY}"
        )
    if len(orders) == 1:
        args, kwargs = numbered(func, args, kwargs, partial(positions, axes=orders.pop()))
    device = any(not storage._has_host for storage in storages)
    given: dict[int, tuple[Storage, Any]] = {}

    def bare(obj: Any) -> Any:
        if isinstance(obj, Storage):
            array = operands.fetch(obj, obj, device)[...]
            given[id(array)] = obj, array
            return array
        if isinstance(obj, (list, tuple)) and any(
            isinstance(part, Storage) for part in inside(obj)
        ):
            parts = [bare(part) for part in obj]
            return type(obj)(*parts) if hasattr(obj, "_fields") else type(obj)(parts)
        if isinstance(obj, dict):
            return {key: bare(value) for key, value in obj.items()}
        return obj

    written = [kwargs.get("out")]
    if func in _WRITING and method is None:
        written.append(args[0] if args else next(iter(kwargs.values())))
    function = operands.function_on(device, called) if device else called
    with operands.held(storages):
        result = function(*map(bare, args), **{key: bare(value) for key, value in kwargs.items()})
        if method == "at":
            written.append(args[0])
        for obj in inside(written):
            if isinstance(obj, Storage):
                obj._wrote(device)
    known = given.get(id(result))
    return known[0] if known is not None and known[1] is result else result
