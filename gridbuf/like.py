"""What a new array or Field takes over from the one it is made from: values, request, names, class.
The faces are arrays.py and field.py.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.names import get_dims, own_dims
from gridbuf.validation import as_dtype
from gridbuf.wrapping import check_mask, values


def _values_of(data: Any, device_data: Any) -> Any:
    """The values to copy; device_data stands in for data."""
    if data is None:
        data = device_data
    if data is None:
        raise TypeError("data: from_array needs data or device_data")
    if isinstance(data, _core.Field):
        return data
    if on_device(data):
        return _core.Field(data)
    if isinstance(data, np.ma.MaskedArray):
        check_mask(data)
    return values(data)


def on_device(data: Any) -> bool:
    """Whether data is an array in the memory of a GPU; storages, which may be in two places, are
    asked by themselves.
    """
    if not hasattr(type(data), "__cuda_array_interface__") or hasattr(type(data), "sync_state"):
        return False
    return isinstance(
        data if isinstance(data, _core.Field) else _core.Field(data), _core.DeviceField
    )


def base_shape(shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[int, ...]:
    """The shape without the indices that a sub-shape dtype brings."""
    if not dtype.shape:
        return shape
    if shape[-dtype.ndim :] != dtype.shape:
        raise ValueError(
            f"data: shape {shape} does not end in {dtype.shape}, the sub-shape of dtype {dtype}"
        )
    return shape[: -dtype.ndim]


def copy_values(target: Any, source: Any) -> None:
    """copyto as constructors do it: only to a dtype of the same kind."""
    own = source.dtype
    wanted = target.dtype
    if not np.can_cast(own, wanted, "same_kind"):
        raise TypeError(
            f"data: {own} does not convert to dtype {wanted} (same_kind); give dtype=None to keep"
            " the data's, or convert first"
        )
    _core.copyto(target, source)


def prepare(
    data: Any, device_data: Any, dtype: Any, spec: dict[str, Any]
) -> tuple[Any, dict[str, Any], np.dtype[Any]]:
    """The array that `from_array` copies, the keywords completed with the data's own names, and
    the dtype of the result.
    """
    if isinstance(device_data, (str, type, np.dtype)):
        dtype, device_data = device_data, None
    if "sync_state" in spec:
        spec = {key: value for key, value in spec.items() if key != "sync_state"}
        warnings.warn(
            "sync_state has no meaning for arrays and is ignored", DeprecationWarning, stacklevel=3
        )
    source = _values_of(data, device_data)
    resolved = source.dtype if dtype is None else as_dtype(dtype)
    if resolved.shape == () and "dimensions" not in spec and "dims" not in spec:
        own = own_dims(data)
        if own is not None and len(own) == len(source.shape):
            spec = {**spec, "dimensions": own}
    return source, spec, resolved


def renamed(error: TypeError, name: str) -> TypeError:
    """An error about a keyword, told by the function that was called instead of the one that this
    calls.
    """
    _, words, rest = str(error).partition("() got an unexpected keyword argument")
    return TypeError(name + words + rest) if words else error


_ORDERS = ("C", "F")  # presets that name an order and no machine: the values stay where they are


def names_in(spec: dict[str, Any]) -> bool:
    """Whether a request says what its indices are called."""
    return spec.get("dimensions") is not None or spec.get("dims") is not None


def like_spec(data: Any, spec: dict[str, Any]) -> dict[str, Any]:
    """spec completed so that the result has data's order of strides, padding and alignment."""
    spec = dict(spec)
    if not names_in(spec):
        dims = data.dims if isinstance(data, _core.Field) else get_dims(data)
        if dims is not None:
            spec["dimensions"] = dims
    if "backend" in spec and spec["backend"] not in _ORDERS:
        return spec
    plan = _core.Plan.of(data)
    stays = spec.get("device") is None and spec.get("memory") is None
    if stays and (plan.device != "cpu" or plan.memory is not None):
        spec |= {"device": plan.device, "memory": plan.memory}
    if "layout" in spec or "backend" in spec:
        return spec
    spec["layout"] = plan.layout
    if "padding" not in spec and plan.ndim:
        fastest = plan.layout.index(plan.ndim - 1)
        padded, plain = plan.padded_shape[fastest], plan.shape[fastest]
        spec["padding"] = padded if padded > plain else False
    if isinstance(data, _core.Field):
        if "aligned_index" not in spec and "halo" not in spec:
            spec["aligned_index"] = plan.aligned_index
        # The keyword takes powers of two; a preset with another boundary adds it by itself
        if data._own_plan is not None and stays:
            spec.setdefault("byte_alignment", plan.byte_alignment & -plan.byte_alignment)
    return spec


OWN_TYPES = (_core.HostField, _core.DeviceField, _core.ManagedField)  # of what is of no subclass
CLASS_OF = "_gridbuf_class"  # of a type that field.type_at has made: the subclass


def of_class(lead: _core.Field, field: _core.Field) -> _core.Field:
    """A result in the class of the Field that it comes from, with the attributes that were set on
    that.
    """
    cls = lead.__class__
    if cls in OWN_TYPES:
        return field
    made = getattr(cls, CLASS_OF, cls)._around(field)
    getattr(made, "__dict__", {}).update(getattr(lead, "__dict__", {}))
    return made


def like(
    make: Callable[..., Any],
    field_make: Callable[..., Any],
    data: Any,
    args: tuple[Any, ...],
    dtype: Any,
    spec: dict[str, Any],
) -> Any:
    """New memory after the model of `data`, in the general case; without keywords C does it
    (`_core.like`).
    """
    if getattr(type(data), "_knows_names", False):  # Blocks
        return data._mapped(
            lambda part, *its: like(make, field_make, part, its, dtype, spec),
            f"{make.__name__}_like",
            **dict(zip(("fill_value",), args, strict=False)),
        )
    if not isinstance(data, _core.Field):
        source = values(data) if not hasattr(data, "shape") or not hasattr(data, "dtype") else data
        try:
            return make(
                tuple(source.shape),
                *args,
                source.dtype if dtype is None else dtype,
                **like_spec(source, spec),
            )
        except TypeError as error:
            raise renamed(error, f"{make.__name__}_like") from None
    named = data._dims_given or names_in(spec)
    spec = like_spec(data, spec)
    if "halo" not in spec and "origin" not in spec:
        spec |= {"halo": data.halo, "origin": data.origin}
    try:
        made = field_make(data.shape, *args, data.dtype if dtype is None else dtype, **spec)
    except TypeError as error:
        raise renamed(error, f"{make.__name__}_like") from None
    made._dims_given = named
    return of_class(data, made)
