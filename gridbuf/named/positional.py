"""NumPy's functions that know no names: operands as the arrays that they are, where that loses no
names.
"""

from functools import partial
from typing import Any

import numpy as np

from gridbuf.named.arguments import inside, numbered
from gridbuf.named.broadcasting import is_scalar, positions
from gridbuf.named.kinds import Kind
from gridbuf.wrapping import check_masks

# Nothing depends on where an element stands: operands of any names may meet.
WHEREVER: set[Any] = {
    np.shares_memory, np.may_share_memory, np.result_type, np.common_type, np.can_cast,
    np.min_scalar_type, np.iterable, np.savez, np.savez_compressed,
    np.isin, np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d,
}  # fmt: skip
# Each operand has indices of its own.
INDEPENDENT: set[Any] = {
    np.einsum, np.einsum_path, np.outer, np.kron, np.dot, np.tensordot, np.matmul, np.ix_,
    np.interp, np.searchsorted, np.digitize,
    np.linalg.solve, np.linalg.lstsq, np.linalg.multi_dot, np.linalg.tensorsolve,
    np.polyval, np.convolve, np.correlate, np.meshgrid,
}  # fmt: skip
# Functions that write into their first argument.
WRITING: set[Any] = {np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis}


def call(
    kind: Kind,
    func: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    name: str | None = None,
    method: str | None = None,
) -> Any:
    """`func(*args, **kwargs)` by position; ValueError where the names of operands differ."""
    called = func if method is None else getattr(func, method)
    name = name or (func.__name__ if method is None else f"{func.__name__}.{method}")
    objects = list(inside((args, kwargs)))
    check_masks(("data", obj) for obj in objects)
    ours = [obj for obj in objects if kind.owns(obj)]
    several = sorted({names for obj in objects if (names := _names(kind, obj)) is not None})
    apart = func in WHEREVER or (func in INDEPENDENT and kind.may_meet(several))
    if len(several) > 1 and not apart:
        first, second = map(kind.show, several[:2])
        raise ValueError(
            f"{name}: it goes by position, and the {kind.whose} {first} and {second} differ;"
            f" {kind.remedy}"
        )
    if ours and len(several) < 2:
        known = several[0] if several else None
        axis = partial(positions, names=known, ndim=len(known) if known else ours[0].ndim)
        args, kwargs = numbered(func, args, kwargs, axis)
    device = kind.on_device_by_position(ours)
    given: dict[int, tuple[Any, Any]] = {}

    def bare(obj: Any) -> Any:
        if kind.owns(obj):
            array = kind.array(obj, device, obj)[...]
            given[id(array)] = obj, array
            return array
        if isinstance(obj, (list, tuple)) and any(kind.owns(part) for part in inside(obj)):
            parts = [bare(part) for part in obj]
            return type(obj)(*parts) if hasattr(obj, "_fields") else type(obj)(parts)
        if isinstance(obj, dict):
            return {key: bare(value) for key, value in obj.items()}
        return obj

    written = [kwargs.get("out")]
    if (func in WRITING and method is None) or method == "at":
        written.append(args[0] if args else next(iter(kwargs.values())))
    function = kind.function(device, called)
    with kind.held(ours):
        result = function(*map(bare, args), **{key: bare(value) for key, value in kwargs.items()})
        for obj in inside(written):
            kind.wrote(obj, device)
    known_result = given.get(id(result))
    if known_result is not None and known_result[1] is result:
        return known_result[0]
    return result


def _names(kind: Kind, obj: Any) -> tuple[str, ...] | None:
    if isinstance(obj, np.ndarray) or is_scalar(obj) or not hasattr(obj, "shape"):
        return None
    return kind.names_of(obj)
