"""The methods of Field and Plan that are better said in Python; `install` gives them to the C
types, and to Field those of gridbuf/named/ too.
"""

import operator
from functools import wraps
from operator import attrgetter
from typing import Any

import numpy as np

from gridbuf import _core, arrays, showing
from gridbuf.array_methods import ArrayMethods
from gridbuf.docstrings import as_in
from gridbuf.like import (
    CLASS_OF,
    OWN_TYPES,
    base_shape,
    copy_values,
    like_spec,
    names_in,
    of_class,
    prepare,
    renamed,
)
from gridbuf.names import joined
from gridbuf.positional_methods import PositionalMethods
from gridbuf.validation import as_dtype
from gridbuf.wrapping import array_protocol, naming

Field = _core.Field


@as_in(arrays.from_array)
def from_array(
    data: Any = None, device_data: Any = None, *, dtype: Any = None, **spec: Any
) -> _core.Field:
    """A new Field with the values and the dtype of another array.

    As `gridbuf.from_array` with dims, origin and halo, and another default for dtype.

    Parameters
    ----------
    data : array_like
        The values. Their index order is kept; a Field's dims, origin and halo are the defaults.
    dtype : dtype_like, optional
        The data's unless given.
    **spec
        The keywords of `Field.empty`.

    Returns
    -------
    Field
        Over new memory.

    Examples
    --------
    >>> import gridbuf as gb
    >>> f = gb.Field.from_array([[1.0, 2.0], [3.0, 4.0]], dims="KJ", backend="gt:cpu_ifirst")
    >>> f.dims, f.strides
    (('K', 'J'), (16, 8))
    """
    source, spec, dtype = prepare(data, device_data, dtype, spec)
    if isinstance(data, Field) and "halo" not in spec and "origin" not in spec:
        spec = {**spec, "halo": data.halo, "origin": data.origin}
    unnamed = isinstance(data, Field) and not names_in(spec)
    if unnamed:
        spec = {**spec, "dims": data.dims}
    try:
        field = Field.empty(base_shape(source.shape, dtype), dtype, **spec)
    except TypeError as error:
        raise renamed(error, "Field.from_array") from None
    if unnamed:
        field._dims_given = False
    if isinstance(source, Field) and source.dims != field.dims:
        # The index order is kept; other dims are new names for the same indices
        source = Field(source, dims=field.dims)
    copy_values(field, source)
    return field


def to(
    self: _core.Field, dtype: Any = None, *, dims: Any = None, dimensions: Any = None, **spec: Any
) -> _core.Field:
    """A copy of the Field in another layout, dtype or order of indices.

    Parameters
    ----------
    dtype : dtype_like, optional
        The Field's own unless given.
    dims, dimensions : sequence of str, optional
        The order of the indices of the result: a permutation of the Field's dims.
    **spec
        The keywords of `Field.empty`. Without `backend` or `layout` the order of strides,
        the padding and the alignment stay; origin and halo stay unless given. The values stay
        on their GPU, or in pinned or managed memory, unless `device`, `memory` or a preset for
        a machine is given; "C" and "F" are orders only.

    Returns
    -------
    Field
        Of the same class, over new memory.

    Raises
    ------
    TypeError
        When the values do not convert to dtype (same_kind).
    ValueError
        When dims is no permutation of the Field's, or a keyword does not fit.

    Examples
    --------
    >>> import gridbuf as gb
    >>> f = gb.Field.zeros((4, 5, 6), dims="IJK")
    >>> f.to(backend="gt:cpu_ifirst", dims="KJI").strides
    (160, 32, 8)
    """
    if dims is not None and dimensions is not None:
        raise TypeError("dims and dimensions mean the same; give one of them")
    dims = dimensions if dims is None else dims
    source = self if dims is None else self.transpose(dims)
    if dims is not None:
        spec["dims"] = source.dims
    if "halo" not in spec and "origin" not in spec:
        spec |= {"halo": source.halo, "origin": source.origin}
    try:
        field = Field.empty(
            source.shape, source.dtype if dtype is None else dtype, **like_spec(source, spec)
        )
    except TypeError as error:
        raise renamed(error, "Field.to") from None
    field._dims_given = self._dims_given or dims is not None
    copy_values(field, source)
    return of_class(self, field)


@as_in(arrays.copy)
def copy(self: _core.Field) -> _core.Field:
    """A copy with the same layout, dims, origin and halo.

    Returns
    -------
    Field
        Of the same class, over new memory.

    Examples
    --------
    >>> import gridbuf as gb
    >>> f = gb.Field.zeros((4, 5), dims="IJ", backend="F")
    >>> f.copy().strides == f.strides
    True
    """
    made = self._empty_like()
    if made is None:
        return to(self)
    copy_values(made, self)
    return made


def _deepcopy(self: _core.Field, memo: Any) -> _core.Field:
    from copy import deepcopy

    made = copy(self)
    if attributes := getattr(self, "__dict__", None):
        made.__dict__.update(deepcopy(attributes, memo))
    return made


def _reduce(self: _core.Field) -> tuple[Any, ...]:
    """Pickled as values and a request, so that the copy is laid out and aligned as the original."""
    spec = like_spec(
        self, {"halo": self.halo, "origin": self.origin, "aligned_index": self.plan.aligned_index}
    )
    host = to(self, device="cpu") if isinstance(self, _core.DeviceField) else self
    values = np.ascontiguousarray(host.numpy()).reshape(self.shape)
    cls = Field if type(self) in OWN_TYPES else type(self).__dict__.get(CLASS_OF, type(self))
    return _rebuild, (values, spec, cls, self._dims_given), getattr(self, "__dict__", None) or None


def _rebuild(
    values: Any, spec: dict[str, Any], cls: Any = Field, dims_given: bool = True
) -> _core.Field:
    field = Field.empty(values.shape, values.dtype, **spec)
    if not dims_given:
        field._dims_given = False
    copy_values(field, values)
    return field if cls is Field else _around(cls, field)


# ---- a Field as an array and as a number


def _on_host(self: _core.Field) -> _core.Field:
    return self.to(device="cpu") if isinstance(self, _core.DeviceField) else self


def _one(self: _core.Field) -> Any:
    """The array of a Field that is taken for a number; a GPU's only where it has one
    element.
    """
    return (_on_host(self) if self.size == 1 else self).numpy()


def _float(self: _core.Field) -> float:
    """Of a Field without indices; Python itself would read the bytes of the buffer as text."""
    return float(_one(self))


def _int(self: _core.Field) -> int:
    return int(_one(self))


def _complex(self: _core.Field) -> complex:
    return complex(_one(self))


def _index(self: _core.Field) -> int:
    return operator.index(_one(self))


def _values(self: _core.Field) -> Any:
    """The values on the host."""
    return _on_host(self).numpy()


def _format(self: _core.Field, spec: str) -> str:
    if spec and not self.ndim:
        return format(_one(self)[()], spec)
    return object.__format__(self, spec)


def _array(self: _core.Field, dtype: Any = None, *, copy: bool | None = None) -> Any:
    """NumPy's protocol: for dtypes without a buffer format; it refuses the memory of a GPU."""
    return array_protocol(self.numpy(), dtype, copy)


def _contains(self: _core.Field, value: Any) -> bool:
    """Whether an element equals the value."""
    return bool(np.any(np.equal(_on_host(self), value)))


def to_numpy(self: _core.Field) -> Any:
    """An ndarray over the same memory, as `numpy()`: storages have this name, and matplotlib
    calls it.

    Returns
    -------
    numpy.ndarray

    Raises
    ------
    TypeError
        When the memory lies on a GPU.

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.Field.ones(2, dims="K").to_numpy()
    array([1., 1.])
    """
    return self.numpy()


def astype(
    self: _core.Field, dtype: Any, order: Any = "K", casting: Any = "unsafe", copy: bool = True
) -> _core.Field:
    """A Field of another dtype with the same layout, dims, origin and halo.

    Parameters
    ----------
    dtype : dtype_like
        Of the result.
    order : str, optional
        Ignored: the layout stays.
    casting : {'no', 'equiv', 'safe', 'same_kind', 'unsafe'}, optional
        Which conversions are allowed, as for `numpy.ndarray.astype`.
    copy : bool, optional
        False: return this Field where it has that dtype already.

    Returns
    -------
    Field
        Of the same class.

    Raises
    ------
    TypeError
        When the conversion is not allowed.

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.Field.full((2, 2), 1.7, dims="IJ").astype("int32").tolist()
    [[1, 1], [1, 1]]
    """
    wanted = as_dtype(dtype)
    if not copy and wanted == self.dtype:
        return self
    if not np.can_cast(self.dtype, wanted, casting):
        raise TypeError(
            f"dtype: {self.dtype} does not convert to {wanted} with casting={casting!r}"
        )
    made: _core.Field = arrays.empty_like(self, wanted)
    _core.copyto(made, self, casting="unsafe")
    return made


def fill(self: _core.Field, value: Any) -> None:
    """Give every element one value.

    Parameters
    ----------
    value : scalar
        Converted as by assignment.

    Examples
    --------
    >>> import gridbuf as gb
    >>> f = gb.Field.zeros((2, 2), dims="IJ")
    >>> f.fill(3.0)
    >>> f.tolist()
    [[3.0, 3.0], [3.0, 3.0]]
    """
    _core.fill(self, value)


def view(self: _core.Field, kind: Any = None) -> Any:
    """The same memory as another kind of array.

    Parameters
    ----------
    kind : type, optional
        `numpy.ndarray`: as `numpy()`; a class of Fields, or nothing: as a Field with the same names
        and halo.

    Returns
    -------
    numpy.ndarray or Field

    Raises
    ------
    TypeError
        When kind is neither; bytes are read as another dtype by `field.numpy().view(dtype)`.

    Examples
    --------
    >>> import gridbuf as gb, numpy as np
    >>> f = gb.Field.zeros((2, 2), dims="IJ")
    >>> type(f.view(np.ndarray)), f.view().dims
    (<class 'numpy.ndarray'>, ('I', 'J'))
    """
    if kind is np.ndarray:
        return self.numpy()
    if kind is None:
        return self[...]
    if isinstance(kind, type) and issubclass(kind, _core.Field):
        return kind(self)
    raise TypeError(
        f"kind: expected numpy.ndarray or a class of Fields, got {kind!r};"
        f" field.numpy().view({kind!r}) reads bytes anew"
    )


def _flags(self: _core.Field) -> Any:
    """NumPy's (or cupy's) flags of the memory."""
    return self.cupy().flags if isinstance(self, _core.DeviceField) else self.numpy().flags


# --- subclasses

_TYPES = "_gridbuf_types"
_MEMORY: dict[Any, tuple[str, str]] = {
    _core.HostField: ("host", "device='cpu'"), _core.DeviceField: ("device", "device='gpu'"),
    _core.ManagedField: ("managed", "memory='managed'"),
}  # fmt: skip


def type_at(cls: Any, kind: Any) -> Any:
    """The type of cls's objects whose memory lies where that of `kind` does; Field's own are
    HostField and its siblings.

    It has the interfaces of both, and is called like cls, which keeps it. TypeError for a class of
    memory elsewhere.
    """
    if bound := next((memory for memory in _MEMORY if issubclass(cls, memory)), None):
        raise TypeError(
            f"data: it is {_MEMORY[kind][0]} memory, and {cls} is for {_MEMORY[bound][0]} memory;"
            f" gridbuf.Field takes it as it is, and its to({_MEMORY[bound][1]}) copies it"
        )
    known: dict[Any, Any] | None = cls.__dict__.get(_TYPES)
    if known is None:
        known = {}
        setattr(cls, _TYPES, known)
    if kind not in known:
        names = {
            "__module__": cls.__module__,
            "__qualname__": cls.__qualname__,
            "__doc__": cls.__doc__,
        }
        known[kind] = type(cls)(
            cls.__name__, (cls, kind), {**names, "__slots__": (), CLASS_OF: cls}
        )
    return known[kind]


def _around(cls: Any, field: _core.Field) -> Any:
    return cls._around(field)


def _init_subclass(cls: Any, /, **kwargs: Any) -> None:
    """A subclass makes objects of its own: S.empty gives an S."""
    super(Field, cls).__init_subclass__(**kwargs)
    for name in ("empty", "zeros", "ones", "full", "from_array"):
        if CLASS_OF not in cls.__dict__ and getattr(cls, name) is getattr(Field, name):
            setattr(cls, name, classmethod(_maker(getattr(Field, name))))


def _maker(make: Any) -> Any:
    @wraps(make)
    def made(cls: Any, *args: Any, **kwargs: Any) -> Any:
        return _around(cls, make(*args, **kwargs))

    return made


def _gt_domain(self: _core.Field) -> tuple[int, int, int]:
    """The points inside the halo, in gt4py's order I, J, K: `stencil(f, g, domain=f.gt_domain)`.

    gt4py takes from a Field where its domain begins, but not where it ends.
    """
    missing = "".join(axis for axis in "IJK" if axis not in self.dims)
    if missing:
        raise ValueError(
            f"gt_domain: the Field has the indices {joined(self.dims)} and no {missing}; take it"
            " from one that has I, J and K"
        )
    size = dict(zip(self.dims, self.domain.shape, strict=True))
    return size["I"], size["J"], size["K"]


def _gt_interface(self: _core.Field) -> dict[Any, dict[str, Any]]:
    """The buffer as `__gt_interface__` describes it; dims only where they were given."""
    entries: dict[Any, dict[str, Any]] = {}
    if isinstance(self, _core.DeviceField | _core.ManagedField):
        device = self.device if self.device != "cpu" else ("gpu", 0)
        entries[device] = _entry(self, self.__cuda_array_interface__)
    if not isinstance(self, _core.DeviceField):
        entries[None] = _entry(self, self.numpy().__array_interface__)
    return entries


def _entry(self: _core.Field, interface: dict[str, Any]) -> dict[str, Any]:
    entry = {key: interface[key] for key in ("shape", "typestr", "data")} | {
        "strides": self.strides
    }
    if hasattr(self, "__gt_dims__"):
        entry["dims"] = self.__gt_dims__
    return entry


def plan_of(array_or_field: Any, /) -> _core.Plan:
    """The plan read back from memory that exists.

    A Field made by gridbuf answers with the plan it was made from. For other memory
    aligned_index is zeros, byte_alignment the largest power of two up to 4096 that divides
    the address of element 0.

    Parameters
    ----------
    array_or_field
        What `gridbuf.Field` takes.

    Returns
    -------
    Plan

    Raises
    ------
    TypeError
        When it has no memory.

    Examples
    --------
    >>> import gridbuf as gb, numpy as np
    >>> gb.Plan.of(np.zeros((4, 3), order='F')).layout
    (1, 0)
    """
    if isinstance(array_or_field, Field):
        return array_or_field.plan
    with naming("array_or_field"):
        field = Field(array_or_field)
    return field._plan_at(getattr(array_or_field, "aligned_index", None))  # a storage's


_facts = attrgetter(
    "shape", "strides", "dims", "padded_shape", "aligned_index", "byte_alignment", "offset",
    "alloc_nbytes", "device", "memory", "dtype",
)  # fmt: skip
# Dtypes that are equal may differ in their hashes
_figures = attrgetter("shape", "strides", "offset")


def _plan_eq(self: _core.Plan, other: object) -> bool:
    """Equal facts, whatever the requests were."""
    return bool(_facts(self) == _facts(other)) if isinstance(other, _core.Plan) else NotImplemented


def _plan_hash(self: _core.Plan) -> int:
    return hash(_figures(self))


def _plan_repr(self: _core.Plan) -> str:
    return (
        f"Plan({joined(self.dims)} {self.shape} {self.dtype}, strides={self.strides},"
        f" aligned_index={self.aligned_index}, byte_alignment={self.byte_alignment},"
        f" alloc_nbytes={self.alloc_nbytes}, device={self.device!r})"
    )


def _plan_text(self: _core.Plan) -> str:
    from gridbuf import explain

    return explain.text(self)


def _plan_html(self: _core.Plan) -> str:
    from gridbuf import explain

    return explain.html(self)


def install() -> None:
    """Give the C types their Python methods."""
    for mixin in (PositionalMethods, ArrayMethods):
        for name, method in vars(mixin).items():
            if not name.startswith("_"):
                setattr(Field, name, method)
    methods: dict[str, Any] = {
        "__float__": _float, "__int__": _int, "__complex__": _complex, "__index__": _index,
        "__contains__": _contains, "__format__": _format, "__array__": _array,
        "_values": _values,
        "to_numpy": to_numpy, "astype": astype, "fill": fill, "view": view,
        "flags": property(_flags),
        "__array_priority__": 0.0,  # dask asks each chunk, as an ndarray answers
        "to": to, "copy": copy, "__copy__": copy, "__deepcopy__": _deepcopy, "__reduce__": _reduce,
        "_repr_html_": showing.html, "__str__": showing.text, "plot": showing.plot,
        "__gt_interface__": property(_gt_interface), "gt_domain": property(_gt_domain),
        "__gt_data_interface__": property(_gt_interface),
        "__init_subclass__": classmethod(_init_subclass), "__repr__": showing.short,
        "from_array": staticmethod(from_array),
    }  # fmt: skip
    for name, method in methods.items():
        setattr(Field, name, method)
    for name, method in {
        "of": staticmethod(plan_of),
        "__eq__": _plan_eq,
        "__hash__": _plan_hash,
        "__repr__": _plan_repr,
        "__str__": _plan_text,
        "_repr_html_": _plan_html,
    }.items():
        setattr(_core.Plan, name, method)
