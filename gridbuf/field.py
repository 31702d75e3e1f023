"""The methods of Field and Plan that are better said in Python; `install` gives them to the C types."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.arrays import _base_shape, _copy_values, _prepare, like_spec

Field = _core.Field


def from_array(data: Any = None, device_data: Any = None, *, dtype: Any = np.float64, **spec: Any) -> _core.Field:
    """A new Field with the values of another array: `gridbuf.from_array` with dims, origin and halo.

    Examples
    --------
    >>> import gridbuf as gb
    >>> f = gb.Field.from_array([[1.0, 2.0], [3.0, 4.0]], dims="KJ", backend="gt:cpu_ifirst")
    >>> f.dims, f.strides
    (('K', 'J'), (16, 8))
    """
    if isinstance(device_data, (str, type, np.dtype)):
        dtype, device_data = device_data, None
    source, spec, dtype = _prepare(data, device_data, dtype, spec)
    if isinstance(data, Field) and "halo" not in spec and "origin" not in spec:
        spec = {**spec, "halo": data.halo, "origin": data.origin}
    field = Field.empty(_base_shape(source.shape, dtype), dtype, **spec)
    _copy_values(field, source)
    return field


def to(self: _core.Field, *, dtype: Any = None, dims: str | Sequence[Any] | None = None, **spec: Any) -> _core.Field:
    """A copy of the Field in another layout, dtype or order of indices.

    Parameters
    ----------
    dtype : dtype_like, optional
        The Field's own unless given.
    dims : sequence of str, optional
        The order of the indices of the result: a permutation of the Field's dims.
    **spec
        The keywords of `Field.empty`. Without `backend` or `layout` the order of strides,
        the padding and the alignment stay; origin and halo stay unless given. The values stay
        on their GPU, or in pinned or managed memory, unless `device`, `memory` or a preset for
        a machine is given; "C" and "F" are orders only.

    Examples
    --------
    >>> import gridbuf as gb
    >>> f = gb.Field.zeros((4, 5, 6), dims="IJK")
    >>> f.to(backend="gt:cpu_ifirst", dims="KJI").strides
    (160, 32, 8)
    """
    source = self if dims is None else self.transpose(dims)
    if dims is not None:
        spec["dims"] = source.dims
    if "halo" not in spec and "origin" not in spec:
        spec |= {"halo": source.halo, "origin": source.origin}
    field = Field.empty(source.shape, source.dtype if dtype is None else dtype, **like_spec(source, spec))
    _copy_values(field, source)
    return field


def copy(self: _core.Field) -> _core.Field:
    """A Field of its own memory with the same values, layout, dims, origin and halo."""
    twin = self._twin()
    if twin is None:
        return to(self)
    _copy_values(twin, self)
    return twin


def _deepcopy(self: _core.Field, memo: Any) -> _core.Field:
    return copy(self)


def _reduce(self: _core.Field) -> tuple[Any, ...]:
    """Pickled as values and a request, so that the copy is laid out and aligned as the original."""
    spec = like_spec(self, {"halo": self.halo, "origin": self.origin, "aligned_index": self.plan.aligned_index})
    host = to(self, device="cpu") if isinstance(self, _core.DeviceField) else self
    return _rebuild, (np.ascontiguousarray(host.numpy()).reshape(self.shape), spec)


def _rebuild(values: Any, spec: dict[str, Any]) -> _core.Field:
    field = Field.empty(values.shape, values.dtype, **spec)
    _copy_values(field, values)
    return field


def _gt_interface(self: _core.Field) -> dict[Any, dict[str, Any]]:
    """The buffer as `__gt_interface__` describes it (seed 002); dims only where they were given."""
    entries: dict[Any, dict[str, Any]] = {}
    if isinstance(self, _core.DeviceField | _core.ManagedField):
        device = self.device if self.device != "cpu" else ("gpu", 0)
        entries[device] = _entry(self, self.__cuda_array_interface__)
    if not isinstance(self, _core.DeviceField):
        entries[None] = _entry(self, self.numpy().__array_interface__)
    return entries


def _entry(self: _core.Field, interface: dict[str, Any]) -> dict[str, Any]:
    entry = {key: interface[key] for key in ("shape", "typestr", "data")} | {"strides": self.strides}
    if hasattr(self, "__gt_dims__"):
        entry["dims"] = self.__gt_dims__
    return entry


def _value(self: _core.Field) -> np.ndarray[Any, Any]:
    """For a number: one element on a GPU is fetched, as its truth value is."""
    fetch = isinstance(self, _core.DeviceField) and self.size == 1
    return (to(self, device="cpu") if fetch else self).numpy()


def _float(self: _core.Field) -> float:
    """Of a Field without indices; Python itself would read the bytes of the buffer as text."""
    return float(_value(self))


def _int(self: _core.Field) -> int:
    return int(_value(self))


def _complex(self: _core.Field) -> complex:
    return complex(_value(self))


def _index(self: _core.Field) -> int:
    return operator.index(_value(self))


def _html(self: _core.Field) -> str:
    """The layout, drawn for a notebook."""
    from gridbuf import explain

    return explain.html(self.plan, halo=self.halo, title="Field " + "".join(self.dims))


def _plan_text(self: _core.Plan) -> str:
    from gridbuf import explain

    return explain.text(self)


def _plan_html(self: _core.Plan) -> str:
    from gridbuf import explain

    return explain.html(self)


def install() -> None:
    """Give the C types their Python methods."""
    methods: dict[str, Any] = {
        "to": to, "copy": copy, "__copy__": copy, "__deepcopy__": _deepcopy, "__reduce__": _reduce, "_repr_html_": _html,
        "__float__": _float, "__int__": _int, "__complex__": _complex, "__index__": _index,
        "__gt_interface__": property(_gt_interface),
    }  # fmt: skip
    for name, method in {"from_array": staticmethod(from_array), **methods}.items():
        setattr(Field, name, method)
    for name, method in {"__str__": _plan_text, "_repr_html_": _plan_html}.items():
        setattr(_core.Plan, name, method)
