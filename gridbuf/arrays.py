"""Arrays made from other arrays: `from_array` and the `*_like` functions."""

import warnings
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from gridbuf import _core
from gridbuf._wrap import check_mask, values
from gridbuf.names import get_dims


def _source(data: Any, device_data: Any) -> Any:
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
    """Whether data is an array in the memory of a GPU; storages, which may be in two places, are asked by themselves."""
    if not hasattr(type(data), "__cuda_array_interface__") or hasattr(type(data), "sync_state"):
        return False
    return isinstance(data if isinstance(data, _core.Field) else _core.Field(data), _core.DeviceField)


def _base_shape(shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[int, ...]:
    """The shape without the indices that a sub-shape dtype brings."""
    if not dtype.shape:
        return shape
    if shape[-dtype.ndim :] != dtype.shape:
        raise ValueError(f"data: shape {shape} does not end in {dtype.shape}, the sub-shape of dtype {dtype}")
    return shape[: -dtype.ndim]


def _copy_values(target: Any, source: Any) -> None:
    own = source.dtype
    wanted = target.dtype
    if not np.can_cast(own, wanted, "same_kind"):
        raise TypeError(
            f"data: {own} does not convert to dtype {wanted} (same_kind); give dtype=None to keep the data's, or convert first"
        )
    _core.copyto(target, source)


def from_array(data: Any = None, device_data: Any = None, *, dtype: Any = np.float64, **spec: Any) -> NDArray[Any]:
    """A new array with the values of another, laid out as asked.

    Parameters
    ----------
    data : array_like
        The values. Their index order is kept; an object's own dims are the default
        `dimensions`.
    device_data : array_like, optional
        Another source, used when `data` is None. In second place a dtype is also
        understood, as in gt4py.
    dtype : dtype_like, optional
        float64 unless given, also for integers, as gt4py's allocation functions have it; None keeps the data's.
    **spec
        The keywords of `gridbuf.empty`.

    Returns
    -------
    numpy.ndarray
        Always a copy.

    Raises
    ------
    TypeError
        When the values do not convert to dtype (same_kind).
    ValueError
        When a keyword does not fit the data's shape.

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.from_array([[1, 2], [3, 4]], backend="gt:cpu_ifirst").strides
    (8, 16)
    """
    if isinstance(device_data, (str, type, np.dtype)):
        dtype, device_data = device_data, None
    source, spec, dtype = _prepare(data, device_data, dtype, spec)
    array = _core.empty(_base_shape(source.shape, dtype), dtype, **spec)
    _copy_values(array, source)
    return array


def _prepare(data: Any, device_data: Any, dtype: Any, spec: dict[str, Any]) -> tuple[Any, dict[str, Any], np.dtype[Any]]:
    if "sync_state" in spec:
        spec = {key: value for key, value in spec.items() if key != "sync_state"}
        warnings.warn("sync_state has no meaning for arrays and is ignored", DeprecationWarning, stacklevel=3)
    source = _source(data, device_data)
    resolved = source.dtype if dtype is None else np.dtype(dtype)
    if resolved.shape == () and "dimensions" not in spec and "dims" not in spec:
        own = get_dims(data)
        if own is not None and len(own) == len(source.shape):
            spec = {**spec, "dimensions": own}
    return source, spec, resolved


_ORDERS = ("C", "F")  # presets that name an order and no machine: the values stay where they are


def like_spec(data: Any, spec: dict[str, Any]) -> dict[str, Any]:
    """spec completed so that the result has data's order of strides, padding and alignment."""
    spec = dict(spec)
    if "dimensions" not in spec and "dims" not in spec:
        dims = get_dims(data)
        if dims is not None:
            spec["dimensions"] = dims
    if "backend" in spec and spec["backend"] not in _ORDERS:
        return spec
    plan = _core.plan_of(data)
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
        if data._own_plan is not None and stays:  # a preset may ask for more than a power of two, and asks again by itself
            spec.setdefault("byte_alignment", plan.byte_alignment & -plan.byte_alignment)
    return spec


def of_class(lead: _core.Field, field: _core.Field) -> _core.Field:
    """A result in the class of the Field that it comes from, with what somebody has set on that."""
    cls = type(lead)
    if cls in (_core.HostField, _core.DeviceField, _core.ManagedField):
        return field
    made = getattr(cls, "_gridbuf_class", cls)._around(field)
    getattr(made, "__dict__", {}).update(getattr(lead, "__dict__", {}))
    return made


def _like(
    make: Callable[..., Any],
    field_make: Callable[..., Any],
    data: Any,
    args: tuple[Any, ...],
    dtype: Any,
    spec: dict[str, Any],
) -> Any:
    if not isinstance(data, _core.Field):
        source = values(data) if not hasattr(data, "shape") or not hasattr(data, "dtype") else data
        return make(tuple(source.shape), *args, source.dtype if dtype is None else dtype, **like_spec(source, spec))
    spec = like_spec(data, spec)
    if not hasattr(data, "__gt_dims__") and spec.get("dimensions") is None:
        spec.pop("dimensions", None)
    if "halo" not in spec and "origin" not in spec:
        spec |= {"halo": data.halo, "origin": data.origin}
    return of_class(data, field_make(data.shape, *args, data.dtype if dtype is None else dtype, **spec))


F = TypeVar("F", bound=_core.Field)
T = TypeVar("T", bound=np.generic)


class _Like(Protocol):
    """What type checkers know: a Field comes of a Field, an array of the same dtype of an array."""

    @overload
    def __call__(self, data: F, dtype: Any = None, **spec: Any) -> F: ...
    @overload
    def __call__(self, data: NDArray[T], dtype: None = None, **spec: Any) -> NDArray[T]: ...
    @overload
    def __call__(self, data: Any, dtype: type[T] | np.dtype[T], **spec: Any) -> NDArray[T]: ...
    @overload
    def __call__(self, data: Any, dtype: Any = None, **spec: Any) -> NDArray[Any]: ...


def _typed(function: Callable[..., Any]) -> _Like:
    return function


@_typed
def empty_like(data: Any, dtype: Any = None, **spec: Any) -> Any:
    """New memory with the shape and dtype of data; its values are undefined.

    Parameters
    ----------
    data
        An array, or a Field: then the result is a Field with the same dims, origin and halo.
    dtype : dtype_like, optional
        The data's unless given.
    **spec
        The keywords of `gridbuf.empty`. Without `backend` or `layout` the result has the
        data's order of strides, padding and alignment.

    Returns
    -------
    numpy.ndarray or Field
        With memory of its own.

    Raises
    ------
    TypeError, ValueError
        When a keyword does not fit the data's shape or dtype; the message names it.
    MemoryError
        No memory, or a limit (`gridbuf.memory.set_limit`).

    Examples
    --------
    >>> import gridbuf as gb
    >>> a = gb.empty((4, 5, 6), backend="gt:cpu_ifirst")
    >>> gb.empty_like(a).strides == a.strides
    True
    """
    made = None if spec else _core.like(data, dtype, False)
    return _like(_core.empty, _core.Field.empty, data, (), dtype, spec) if made is None else made


@_typed
def zeros_like(data: Any, dtype: Any = None, **spec: Any) -> Any:
    """Zeros in new memory with the shape and dtype of data.

    Parameters
    ----------
    data
        An array, or a Field: then the result is a Field with the same dims, origin and halo.
    dtype : dtype_like, optional
        The data's unless given.
    **spec
        The keywords of `gridbuf.empty`. Without `backend` or `layout` the result has the
        data's order of strides, padding and alignment.

    Returns
    -------
    numpy.ndarray or Field
        With memory of its own.

    Raises
    ------
    TypeError, ValueError
        When a keyword does not fit the data's shape or dtype; the message names it.
    MemoryError
        No memory, or a limit (`gridbuf.memory.set_limit`).

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.zeros_like([1, 2])
    array([0, 0])
    """
    made = None if spec else _core.like(data, dtype, True)
    return _like(_core.zeros, _core.Field.zeros, data, (), dtype, spec) if made is None else made


@_typed
def ones_like(data: Any, dtype: Any = None, **spec: Any) -> Any:
    """Ones in new memory with the shape and dtype of data.

    Parameters
    ----------
    data
        An array, or a Field: then the result is a Field with the same dims, origin and halo.
    dtype : dtype_like, optional
        The data's unless given.
    **spec
        The keywords of `gridbuf.empty`. Without `backend` or `layout` the result has the
        data's order of strides, padding and alignment.

    Returns
    -------
    numpy.ndarray or Field
        With memory of its own.

    Raises
    ------
    TypeError, ValueError
        When a keyword does not fit the data's shape or dtype; the message names it.
    MemoryError
        No memory, or a limit (`gridbuf.memory.set_limit`).

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.ones_like([[1.5, 2.5]], dtype='int32').dtype
    dtype('int32')
    """
    made = None if spec else _core.like(data, dtype, False, 1)
    return _like(_core.ones, _core.Field.ones, data, (), dtype, spec) if made is None else made


def full_like(data: Any, fill_value: Any, dtype: Any = None, **spec: Any) -> Any:
    """One value in new memory with the shape and dtype of data.

    Parameters
    ----------
    data
        An array, or a Field: then the result is a Field with the same dims, origin and halo.
    fill_value : scalar
        What every element is; converted as by assignment.
    dtype : dtype_like, optional
        The data's unless given.
    **spec
        The keywords of `gridbuf.empty`. Without `backend` or `layout` the result has the
        data's order of strides, padding and alignment.

    Returns
    -------
    numpy.ndarray or Field
        With memory of its own.

    Raises
    ------
    TypeError, ValueError
        When a keyword does not fit the data's shape or dtype; the message names it.
    MemoryError
        No memory, or a limit (`gridbuf.memory.set_limit`).

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.full_like(gb.Field.empty((2,), dims="K"), 7.0).tolist()
    [7.0, 7.0]
    """
    made = None if spec else _core.like(data, dtype, False, fill_value)
    return _like(_core.full, _core.Field.full, data, (fill_value,), dtype, spec) if made is None else made
