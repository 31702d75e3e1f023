"""The demands of `Field(data, require={...})`: whether memory is laid out as a call asks for it."""

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from gridbuf import _core
from gridbuf.names import joined
from gridbuf.validation import suggestion

KEYS = (
    "dtype",
    "device",
    "memory",
    "backend",
    "layout",
    "padding",
    "byte_alignment",
    "aligned_index",
)


def check_require(field: _core.Field, require: Mapping[str, Any]) -> bool:
    """True when the Field meets every requirement; ValueError names the first that it misses.

    Parameters
    ----------
    field
        A Field over the memory in question.
    require
        Any of `dtype`, `device`, `memory`, `backend`, `layout`, `padding`, `byte_alignment` and
        `aligned_index`, which mean what they mean for `gridbuf.empty`. They are checked in this
        order. A backend asks for the order of its strides, for unit stride where it is smallest,
        and for its own alignment; strides may be larger than a plan's, as those of a slice are.

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
    """  # noqa: E501
    if not isinstance(require, Mapping):
        raise TypeError(f"require: expected a dict with some of {', '.join(KEYS)}, got {require!r}")
    unknown = [key for key in require if key not in KEYS]
    if unknown:
        raise ValueError(
            f"require: {unknown[0]!r} is no requirement; there are"
            f" {', '.join(KEYS)}{suggestion(str(unknown[0]), KEYS)}"
        )
    wanted = {key: value for key, value in require.items() if value is not None}
    if "dtype" in wanted and np.dtype(wanted["dtype"]) != field.dtype:
        plan = _core.plan(field.shape, wanted["dtype"], **_spec(field, wanted))
        _miss(
            field, wanted, plan, f"dtype: expected {np.dtype(wanted['dtype'])}, found {field.dtype}"
        )
    unmet = _core.unmet(field, field.shape, field.dtype, **_spec(field, wanted))
    if unmet is not None:
        _miss(field, wanted, unmet[1], _words(field, wanted, *unmet))
    return True


def _spec(field: _core.Field, wanted: dict[str, Any]) -> Any:
    """The request to plan. Where a boundary is asked for, the element on it is the first within the
    halo unless another is named.
    """
    spec = {key: value for key, value in wanted.items() if key != "dtype"} | {
        "dimensions": field.dims
    }
    if "byte_alignment" in wanted or "backend" in wanted:
        spec.setdefault("aligned_index", _aligned_index(field))
    return spec


def _aligned_index(field: _core.Field) -> tuple[int, ...]:
    return (
        tuple(low for low, _ in field.halo)
        if field.halo is not None
        else field.origin or (0,) * field.ndim
    )


def _words(
    field: _core.Field,
    wanted: dict[str, Any],
    what: str,
    plan: _core.Plan,
    boundary: int,
    after: int,
) -> str:
    """The missed requirement, under the name of the requirement that asks for it: the narrowest one
    given, else the backend.
    """
    key = {
        "order": "layout",
        "rows": "padding",
        "packed": "padding",
        "boundary": "byte_alignment",
    }.get(what, what)
    if key not in wanted:
        key = "backend" if "backend" in wanted else "aligned_index"
    source = f"{key}: {wanted[key]!r}"
    if what in ("device", "memory"):
        source = what if key == what else f"{source}: {what}"
        return f"{source}: expected {getattr(plan, what)!r}, found {getattr(field.plan, what)!r}"
    if what == "boundary":
        source = source if key == "backend" else key
        return (
            f"{source}: element {plan.aligned_index} must lie on a boundary of {boundary} bytes,"
            f" and it lies {after} bytes after one"
        )
    words = {
        "order": "orders the strides otherwise",
        "rows": f"puts rows on multiples of {boundary} bytes",
        "packed": "leaves no room between rows",
    }
    return f"{source} {words[what]}"


def _miss(field: _core.Field, wanted: dict[str, Any], plan: _core.Plan, what: str) -> NoReturn:
    raise ValueError(
        f"require: {what}. Strides: expected {plan.strides} for dims {joined(field.dims)}, found"
        f" {field.strides}. A proper copy: {_call(field, wanted)}"
    )


def _call(field: _core.Field, wanted: dict[str, Any]) -> str:
    """The call that makes a copy which meets the requirements, as Python text over the name
    `data`.
    """
    dtype = np.dtype(wanted.get("dtype", field.dtype))
    # dtypes of ml_dtypes have kind V
    name = dtype.descr if dtype.names else dtype.str if dtype.kind != "V" else dtype.name
    data = "data"
    if not np.can_cast(field.dtype, dtype, "same_kind"):
        data = f"gridbuf.as_numpy(data).astype({name!r})"
    spec: dict[str, Any] = {"dtype": name} | ({"dims": field.dims} if field._dims_given else {})
    spec |= {
        key: getattr(field, key) for key in ("halo", "origin") if getattr(field, key) is not None
    }
    spec |= {key: wanted[key] for key in KEYS if key in wanted and key != "dtype"}
    return (
        f"gridbuf.Field.from_array({data},"
        f" {', '.join(f'{key}={value!r}' for key, value in spec.items())})"
    )
