"""What memory must satisfy to be wrapped: `Field(data, require={...})`.

A Field shares the memory or the caller learns the first requirement that is missed and how to make a copy that
meets them all. Nothing is copied here.
"""

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from gridbuf import _core

KEYS = ("dtype", "device", "memory", "backend", "layout", "padding", "byte_alignment", "aligned_index")


def check(field: _core.Field, require: Mapping[str, Any]) -> bool:
    """True when the Field meets every requirement; ValueError names the first that it misses.

    Parameters
    ----------
    field
        A Field over the memory in question.
    require
        Any of `dtype`, `device`, `memory`, `backend`, `layout`, `padding`, `byte_alignment` and `aligned_index`, which
        mean what they mean for `gridbuf.empty`. They are checked in this order. A backend asks for the order of its
        strides, for unit stride where it is smallest, and for its own alignment; strides may be larger than a plan's,
        as those of a slice are.

    Examples
    --------
    >>> import gridbuf as gb, numpy as np
    >>> data = np.zeros((4, 5, 6))
    >>> try:
    ...     gb.Field(data, "IJK", require={"backend": "gt:cpu_ifirst"})
    ... except ValueError as error:
    ...     print(error)
    require: backend: 'gt:cpu_ifirst' orders the strides otherwise. Strides: expected (8, 32, 160) for dims IJK, \
found (240, 48, 8). A proper copy: gridbuf.Field.from_array(data, dtype='<f8', dims=('I', 'J', 'K'), backend='gt:cpu_ifirst')
    """
    if not isinstance(require, Mapping):
        raise TypeError(f"require: expected a dict with some of {', '.join(KEYS)}, got {require!r}")
    unknown = [key for key in require if key not in KEYS]
    if unknown:
        raise ValueError(f"require: {unknown[0]!r} is no requirement; there are {', '.join(KEYS)}")
    wanted = {key: value for key, value in require.items() if value is not None}
    _check_dtype(field, wanted)
    plan = _plan(field, wanted)  # also reads the values: what is no backend or boundary is refused here
    _check_place(field, wanted, plan)
    _check_order(field, wanted, plan)
    _check_rows(field, wanted, plan)
    _check_alignment(field, wanted, plan)
    return True


def _check_dtype(field: _core.Field, wanted: dict[str, Any]) -> None:
    if "dtype" in wanted and np.dtype(wanted["dtype"]) != field.dtype:
        _miss(field, wanted, f"dtype: expected {np.dtype(wanted['dtype'])}, found {field.dtype}")


def _plan(field: _core.Field, wanted: dict[str, Any], **changes: Any) -> _core.Plan:
    """The plan of a new array that meets the requirements."""
    spec = {key: value for key, value in wanted.items() if key != "dtype"} | changes
    spec.setdefault("aligned_index", _aligned_index(field, wanted))
    return _core.plan(field.shape, wanted.get("dtype", field.dtype), dimensions=field.dims, **spec)


def _aligned_index(field: _core.Field, wanted: dict[str, Any]) -> tuple[int, ...]:
    if "aligned_index" in wanted:
        return tuple(wanted["aligned_index"])
    return tuple(low for low, _ in field.halo) if field.halo is not None else field.origin or (0,) * field.ndim


def _check_place(field: _core.Field, wanted: dict[str, Any], plan: _core.Plan) -> None:
    for key in ("device", "memory"):
        expected, found = getattr(plan, key), getattr(field.plan, key)
        if expected != found and ("backend" in wanted or key in wanted):
            source = key if key in wanted else f"backend: {wanted['backend']!r}: {key}"
            _miss(field, wanted, f"{source}: expected {expected!r}, found {found!r}")


def _check_order(field: _core.Field, wanted: dict[str, Any], plan: _core.Plan) -> None:
    """Strides fall in the order of the layout, down to the item size; an index of one element has no say."""
    if ("backend" not in wanted and "layout" not in wanted) or field.size == 0:
        return
    ranked = sorted((i for i in range(field.ndim) if field.shape[i] > 1), key=lambda i: plan.layout[i])
    strides = [field.strides[i] for i in ranked]
    spans = [field.shape[i] * field.strides[i] for i in ranked]
    ordered = all(outer >= inner for outer, inner in zip(strides, spans[1:], strict=False))
    if ranked and not (ordered and strides[-1] == field.dtype.itemsize):
        _miss(field, wanted, f"{_source(wanted, 'layout')} orders the strides otherwise")


def _check_rows(field: _core.Field, wanted: dict[str, Any], plan: _core.Plan) -> None:
    """Every row starts on the boundary that a backend or `padding` asks for."""
    padding = wanted.get("padding")
    boundary = 1
    if padding is not None and padding is not False and padding != 0:
        boundary = plan.byte_alignment if padding is True else int(padding) * field.dtype.itemsize
    elif "backend" in wanted and padding is None:
        boundary = _own_boundary(field, wanted)
    long = [i for i in range(field.ndim) if field.shape[i] > 1]
    rows = [i for i in long if plan.layout[i] != max(plan.layout[j] for j in long)]
    if field.size and any(field.strides[i] % boundary for i in rows):
        source = f"padding: {padding!r}" if padding is not None else _source(wanted, "backend")
        _miss(field, wanted, f"{source} puts rows on multiples of {boundary} bytes")
    unpadded = padding is False or padding == 0
    if padding is not None and unpadded and any(field.strides[i] != plan.strides[i] for i in long):
        _miss(field, wanted, f"padding: {padding!r} leaves no room between rows")


def _own_boundary(field: _core.Field, wanted: dict[str, Any]) -> int:
    """The boundary of the backend itself, in bytes."""
    return _plan(field, wanted, byte_alignment=1).byte_alignment


def _check_alignment(field: _core.Field, wanted: dict[str, Any], plan: _core.Plan) -> None:
    if "byte_alignment" in wanted:
        boundary, source = plan.byte_alignment, "byte_alignment"
    elif "backend" in wanted:
        boundary, source = _own_boundary(field, wanted), _source(wanted, "backend")
    elif "aligned_index" in wanted:
        boundary, source = plan.byte_alignment, "aligned_index"
    else:
        return
    index = _aligned_index(field, wanted)
    address = field.numpy().ctypes.data + sum(i * s for i, s in zip(index, field.strides, strict=True))
    if field.size and address % boundary:
        after = f"it lies {address % boundary} bytes after one"
        _miss(field, wanted, f"{source}: element {index} must lie on a boundary of {boundary} bytes, and {after}")


def _source(wanted: dict[str, Any], key: str) -> str:
    key = key if key in wanted else "backend"
    return f"{key}: {wanted[key]!r}"


def _miss(field: _core.Field, wanted: dict[str, Any], what: str) -> NoReturn:
    expected = _plan(field, wanted).strides
    raise ValueError(
        f"require: {what}. Strides: expected {expected} for dims {''.join(field.dims)}, found {field.strides}. "
        f"A proper copy: {_call(field, wanted)}"
    )


def _call(field: _core.Field, wanted: dict[str, Any]) -> str:
    """The call that makes a copy which meets the requirements, as Python text over the name `data`."""
    dtype = np.dtype(wanted.get("dtype", field.dtype))
    name = dtype.descr if dtype.names else dtype.str if dtype.kind != "V" else dtype.name  # ml_dtypes' have kind V
    data = "data"
    if not np.can_cast(field.dtype, dtype, "same_kind"):
        data = f"gridbuf.as_numpy(data).astype({name!r})"
    spec: dict[str, Any] = {"dtype": name} | ({"dims": field.dims} if hasattr(field, "__gt_dims__") else {})
    spec |= {key: getattr(field, key) for key in ("halo", "origin") if getattr(field, key) is not None}
    spec |= {key: wanted[key] for key in KEYS if key in wanted and key != "dtype"}
    return f"gridbuf.Field.from_array({data}, {', '.join(f'{key}={value!r}' for key, value in spec.items())})"
