"""Kinds: how operands of a class are read, and how results of it are made.

`Kind` is what the engine asks. `FieldKind` answers for Fields, `StorageKind`
(gridbuf/storage/results.py) for storages; where both take part the result is a storage.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from gridbuf import _core, wrapping
from gridbuf.like import of_class
from gridbuf.named.broadcasting import (
    SCALARS,
    Frame,
    Named,
    Names,
    Operand,
    adapted,
    into,
    is_scalar,
    lacking,
    positions,
)
from gridbuf.names import LETTERS, canonical, described_dims, dims_given, get_dims, is_dim
from gridbuf.strides import slowest_first
from gridbuf.wrapping import host_array

Field, DeviceField = _core.Field, _core.DeviceField
_NUMPYS = np.ndarray.__array_ufunc__
_PLAIN = (*SCALARS, np.generic, list, tuple)  # numbers and lists, unless their class says otherwise
NOTHING_HELD: AbstractContextManager[Any] = nullcontext()


class Kind:
    """The answers that differ between Fields and storages."""

    owner: type
    one: str
    plural: str
    word: str  # "dims" or "axes"
    index: str  # "index" or "axis"
    possible: str  # names that an index may have
    whose: str  # names that differ, as errors call them
    remedy: str  # advice of functions by position where names differ
    numbers: bool  # whether ufunc.reduce of everything gives a number
    by_position: frozenset[str] = frozenset()  # methods of ufuncs that know no names

    # ---- operands

    def owns(self, obj: Any) -> bool:
        return isinstance(obj, self.owner)

    def is_operand(self, obj: Any) -> bool:
        """Whether operands of this kind compute with an object; arrays of other libraries do so
        themselves.
        """
        raise NotImplementedError

    def is_operand_type(self, cls: type) -> bool:
        """The same, as far as the class tells."""
        raise NotImplementedError

    def names_of(self, obj: Any) -> tuple[str, ...] | None:
        """The names that were given to an object's indices; None where they go by position."""
        raise NotImplementedError

    def describe(self, obj: Any) -> Operand | None:
        """How broadcasting sees an operand. None for numbers and for outputs that are not given."""
        raise NotImplementedError

    def frame(self, obj: Any) -> Frame:
        """The frame of an operand of this kind."""
        raise NotImplementedError

    # ---- where to compute

    def on_device(self, lead: Any, inputs: Sequence[Any], outputs: Sequence[Any] = ()) -> bool:
        """Whether to compute on a GPU. `lead`: `self.lead` of all of them."""
        raise NotImplementedError

    def on_device_by_position(self, ours: Sequence[Any]) -> bool:
        """Whether a function that knows no names computes on a GPU."""
        raise NotImplementedError

    def array(self, obj: Any, device: bool, lead: Any, argument: str = "operand") -> Any:
        """An operand's array on that side; TypeError where it may not be brought there. `lead`: the
        operand that decided for the side.
        """
        raise NotImplementedError

    def function(self, device: bool, function: Any) -> Any:
        """NumPy's function, or the device library's of the same name."""
        raise NotImplementedError

    def reducer(self, device: bool, ufunc: Any) -> Callable[..., Any]:
        """`ufunc.reduce` on that side."""
        raise NotImplementedError

    def number(self, value: Any, device: bool) -> Any:
        """What NumPy gives where no index is left: a number of the host."""
        raise NotImplementedError

    def has_two_sides(self, cls: type) -> bool:
        """Whether operands of a class have memory on two sides, which have to be kept equal."""
        return False

    def held(self, objects: Iterable[Any]) -> AbstractContextManager[Any]:
        """While it is held no other thread moves or marks the memory of these operands."""
        return NOTHING_HELD

    def wrote(self, obj: Any, device: bool) -> None:
        """The array of an output was written on that side."""

    # ---- results

    def lead(self, operands: Sequence[Any], names: Names | None = None) -> Any:
        """The operand that a result with these names takes after."""
        raise NotImplementedError

    def new(self, lead: Any, frame: Frame, dtype: np.dtype[Any], device: bool) -> tuple[Any, Any]:
        """A new result, and its array on that side."""
        raise NotImplementedError

    def plan(self, lead: Any, frame: Frame, dtype: np.dtype[Any]) -> tuple[_core.Plan, Any]:
        """What C makes a new result on the host of: the plan, and a storage's Meta or whether a
        Field has names, its halo and origin.
        """
        raise NotImplementedError

    def view(self, obj: Any, change: Callable[[Any], Any], frame: Frame) -> Any:
        """The memory of an operand changed by `change`, with the indices of the frame."""
        raise NotImplementedError

    def like(self, name: str) -> Callable[..., Any]:
        """The constructor `name`: "zeros_like" or one of its kin."""
        raise NotImplementedError

    # ---- rules of broadcasting: see broadcasting.Rules

    def name_array(self, shape: tuple[int, ...], base: Named | None, out: Named | None) -> Names:
        raise NotImplementedError

    def origin(self, points: list[tuple[int, int]], size: int) -> int:
        raise NotImplementedError

    def parameters(self, several: list[Any]) -> Any:
        return None

    def assumed(self, points: Any) -> Any:
        """The halo or origin of an array that is joined to an operand with these."""
        return None

    def show(self, names: Names) -> str:
        raise NotImplementedError

    def listed(self, names: Names) -> str:
        raise NotImplementedError

    def may_meet(self, several: Sequence[Names]) -> bool:
        """Whether operands of these different names may meet by position where each has indices of
        its own.
        """
        raise NotImplementedError

    def may_name(self, name: str) -> bool:
        """Whether an index may have this name."""
        raise NotImplementedError

    def target(self, dst: Any, beside: tuple[Any, ...]) -> tuple[Names | None, tuple[int, ...]]:
        """Names and shape of what values are copied into; `beside`: the values and a mask."""
        raise NotImplementedError

    # ---- what follows from these

    def arrays(
        self, objects: Sequence[Any], device: bool, lead: Any, argument: str = "operand"
    ) -> list[Any]:
        """The operands' arrays on that side; numbers as they are."""
        return [
            obj if obj is None or is_scalar(obj) else self.array(obj, device, lead, argument)
            for obj in objects
        ]

    def positions(self, axis: Any, obj: Any) -> tuple[int, ...]:
        """The indices of an operand that an `axis` argument means."""
        return positions(axis, self.names_of(obj), obj.ndim)

    def one_position(self, axis: Any, obj: Any, name: str) -> int:
        found = self.positions(axis, obj)
        if len(found) != 1:
            raise ValueError(f"axis: {name} goes along one {self.index}, not {axis!r}")
        return found[0]

    def holding(self, lead: Any, frame: Frame, values: Any, device: bool) -> Any:
        """A new result with these values."""
        made, target = self.new(lead, frame, values.dtype, device)
        target[...] = values
        self.wrote(made, device)
        return made

    def into_out(self, out: Any, target: Any, frame: Frame, argument: str = "out") -> Any:
        """The array of an output with its indices in the order of the frame."""
        names = self.names_of(out)
        if names is None or frame.names is None or names == frame.names:
            return target
        if sorted(names) != sorted(frame.names):
            raise ValueError(
                f"{argument}: its {self.word} are {self.show(names)}, the result has"
                f" {self.show(frame.names)}"
            )
        return adapted(target, into(names, frame.names))


# ---- Fields


class FieldKind(Kind):
    owner, one, plural = Field, "a Field", "Fields"
    word, index, numbers, possible = "dims", "index", True, "I, J, K, 0, 1, ..."
    whose = "Fields' names"
    remedy = "field.transpose(...) brings them into one order, field.numpy() has none"

    def is_operand(self, obj: Any) -> bool:
        return is_operand(obj)

    def is_operand_type(self, cls: type) -> bool:
        return issubclass(cls, (Field, np.ndarray)) or _is_cupys(cls)

    def names_of(self, obj: Any) -> tuple[str, ...] | None:
        return names_of(obj)

    def describe(self, obj: Any) -> Operand | None:
        if obj is None or is_scalar(obj):
            return None
        if isinstance(obj, Field):
            return Operand(names_of(obj), obj.shape, obj.halo, obj.origin)
        array = wrapping.shaped(obj)
        return Operand(names_of(obj), tuple(array.shape)) if array.shape else None

    def frame(self, obj: Any) -> Frame:
        return Frame(obj.shape, names_of(obj), obj.halo, obj.origin, None, obj.dims)

    def on_device(self, lead: Any, inputs: Sequence[Any], outputs: Sequence[Any] = ()) -> bool:
        return any(map(on_gpu, (*inputs, *outputs)))

    def on_device_by_position(self, ours: Sequence[Any]) -> bool:
        return any(map(on_gpu, ours))

    def array(self, obj: Any, device: bool, lead: Any, argument: str = "operand") -> Any:
        return array(obj, device, argument)

    def function(self, device: bool, function: Any) -> Any:
        return function  # cupy answers NumPy's own functions

    def reducer(self, device: bool, ufunc: Any) -> Callable[..., Any]:
        if not device:
            reduce: Callable[..., Any] = ufunc.reduce
            return reduce
        from gridbuf.storage import devices

        return lambda array, **options: devices.current().reduce(ufunc, array, **options)

    def number(self, value: Any, device: bool) -> Any:
        return Field(value).to(device="cpu").numpy()[()] if device else value

    def lead(self, operands: Sequence[Any], names: Names | None = None) -> Any:
        """The first that has all of the names, else the first."""
        fields = [obj for obj in operands if isinstance(obj, Field)]
        for field in fields:
            if names is not None and set(names) == set(names_of(field) or ()):
                return field
        return fields[0] if fields else None

    def new(self, lead: Any, frame: Frame, dtype: np.dtype[Any], device: bool) -> tuple[Any, Any]:
        made = new_field(lead, frame, dtype)
        return made, array(made, device)

    def plan(self, lead: Any, frame: Frame, dtype: np.dtype[Any]) -> tuple[_core.Plan, Any]:
        halo = None if frame.halo is None else tuple(n for pair in frame.halo for n in pair)
        # The halo says which point is aligned, without one the origin.
        aligned: dict[str, Any] = (
            {} if halo or frame.origin is None else {"aligned_index": frame.origin}
        )
        plan = _core.plan(frame.shape, dtype, **_request(lead, frame), **aligned)
        return plan, (frame.names is not None, halo, frame.origin)

    def view(self, obj: Any, change: Callable[[Any], Any], frame: Frame) -> Any:
        changed = change(array(obj, isinstance(obj, DeviceField)))
        made = Field(changed, frame.names, halo=frame.halo, origin=frame.origin)
        return of_class(obj, made)

    def like(self, name: str) -> Callable[..., Any]:
        from gridbuf import arrays

        make: Callable[..., Any] = getattr(arrays, name)
        return make

    def name_array(self, shape: tuple[int, ...], base: Named | None, out: Named | None) -> Names:
        """The operands' names in their order, where the array has as many indices."""
        candidates = [c for c in (base, out) if c is not None]
        for candidate in (
            *(c for c in candidates if c[1] == shape),
            *(c for c in candidates if len(c[0]) == len(shape)),
        ):
            return candidate[0]
        expected = " or ".join(
            f"{len(names)} for the dims {tuple(names)}" for names, _ in candidates
        )
        raise ValueError(
            f"operands do not broadcast: an array of shape {shape} beside Fields with names must"
            f" have as many indices ({expected}); gridbuf.Field(array, dims=...) names its indices"
        )

    def origin(self, points: list[tuple[int, int]], size: int) -> int:
        """The largest of those that have the result's size."""
        return min(max((point for point, own in points if own == size), default=0), size)

    def show(self, names: Names) -> str:
        return str(tuple(names))

    def listed(self, names: Names) -> str:
        return ", ".join(names)

    def may_meet(self, several: Sequence[Names]) -> bool:
        """Other names, but not the same ones in another order."""
        return len({frozenset(names) for names in several}) == len(several)

    def may_name(self, name: str) -> bool:
        return is_dim(name)

    def target(self, dst: Any, beside: tuple[Any, ...]) -> tuple[Names | None, tuple[int, ...]]:
        return names_of(dst), dst.shape


FIELDS = FieldKind()


def _is_cupys(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == "cupy"


def names_of(obj: Any) -> tuple[str, ...] | None:
    """The names that were given to an object's indices; None where none were."""
    if isinstance(obj, np.ndarray):
        return None
    if isinstance(obj, Field):  # C has read its names
        return dims_given(obj)
    dims = get_dims(obj)
    return dims if dims is not None and all(map(is_dim, dims)) else None


def is_operand(obj: Any) -> bool:
    """Whether Fields compute with an object; others, such as storages and xarray's arrays, do so
    themselves.
    """
    if obj is None or isinstance(obj, Field) or type(obj) is np.ndarray:
        return True
    if isinstance(obj, _PLAIN):
        return not hasattr(type(obj), "__array_ufunc__")
    if isinstance(obj, np.ndarray):  # a subclass may have a priority or a protocol of its own
        return type(obj).__array_ufunc__ is _NUMPYS and getattr(obj, "__array_priority__", 0) <= 0
    if on_gpu(obj):
        return True
    if hasattr(type(obj), "__array_ufunc__") or isinstance(obj, (str, bytes)):
        return False
    if type(obj) is wrapping.CAPSULE:  # can be read once only, and Field(capsule) does
        return False
    try:
        host_array(_core.values(obj))
    except TypeError:
        return False
    return True


def answers(obj: Any) -> bool:
    """Whether an object is a number or list whose class answers ufuncs itself: an operator asks it
    so, as ndarray's does.
    """
    return isinstance(obj, _PLAIN) and getattr(type(obj), "__array_ufunc__", None) is not None


def foreign(obj: Any) -> bool:
    """Whether an object is an array of another library that answers ufuncs itself: dask's,
    xarray's.
    """
    ours = isinstance(obj, (Field, _core.StorageBase, np.ndarray, *_PLAIN))
    return not ours and getattr(type(obj), "__array_ufunc__", None) is not None


def on_gpu(obj: Any) -> bool:
    """Whether an object is an array of a GPU; managed memory is read on the host."""
    if isinstance(obj, (Field, np.ndarray)):
        return isinstance(obj, DeviceField)
    return not isinstance(obj, _core.StorageBase) and hasattr(obj, "__cuda_array_interface__")


def array(obj: Any, device: bool, argument: str = "operand") -> Any:
    """An object's array on that side; TypeError where it lies on the other."""
    if device:
        return _device_array(obj, argument)
    if isinstance(obj, Field):
        return obj.numpy()
    if isinstance(obj, np.ndarray) or argument in ("out", "dst"):
        return obj if type(obj) is np.ndarray else host_array(obj)
    with wrapping.naming(argument):
        return (
            wrapping.values(obj)
            if isinstance(obj, (list, tuple))
            else host_array(_core.values(obj))
        )


def _device_array(obj: Any, argument: str) -> Any:
    if isinstance(obj, _core.DeviceField | _core.ManagedField):
        try:
            return obj.cupy()
        except ImportError as error:
            raise ImportError(
                f"{argument}: Fields on a GPU are computed with by cupy, which is not installed"
                " (pip install cupy-cuda13x, or the one for your CUDA); field.to(device='cpu')"
                " is a copy on the host"
            ) from error
    if on_gpu(obj):
        from gridbuf.names import as_cupy

        return as_cupy(obj)
    raise TypeError(
        f"{argument}: {type(obj).__name__} lies on the host, and another operand on a GPU;"
        " gridbuf.Field.from_array(data, dtype=None, device='gpu') copies it there,"
        " field.to(device='cpu') the other one here"
    )


def _request(lead: _core.Field, frame: Frame) -> dict[str, Any]:
    """The keywords of a result's memory, where lead's is and laid out as that."""
    ndim = len(frame.shape)
    names = frame.names or frame.defaults or (lead.dims if lead.ndim == ndim else None)
    spec: dict[str, Any] = {"halo": frame.halo, "dims": names}
    order = _slowest_first(lead, frame)
    spec["layout"] = tuple(order.index(i) for i in range(ndim))
    if lead._own_plan is not None:
        plan = lead._own_plan
        spec["byte_alignment"] = plan.byte_alignment & -plan.byte_alignment
        fastest = plan.layout.index(plan.ndim - 1) if plan.ndim else -1
        if (
            ndim
            and fastest >= 0
            and plan.shape[fastest] < plan.padded_shape[fastest]
            and plan.shape[fastest] == frame.shape[order[-1]]
        ):
            spec["padding"] = plan.padded_shape[fastest]
        spec["memory"] = plan.memory
    if isinstance(lead, DeviceField):
        spec["device"] = lead.device
    return {key: value for key, value in spec.items() if value is not None}


def new_field(lead: _core.Field, frame: Frame, dtype: "np.dtype[Any]") -> _core.Field:
    """A Field of new memory with the class and the attributes of lead."""
    origin: dict[str, Any] = {} if frame.origin is None else {"origin": frame.origin}
    made = Field.empty(frame.shape, dtype, **_request(lead, frame), **origin)
    made._dims_given = frame.names is not None
    return of_class(lead, made)


def _slowest_first(lead: _core.Field, frame: Frame) -> tuple[int, ...]:
    """The indices of a result, the one with the largest stride first, as they lie in `lead`."""
    names, own, ndim = frame.names, names_of(lead), len(frame.shape)
    if names is None and frame.defaults is not None:  # some of lead's own indices
        names, own = frame.defaults, lead.dims
    plan = lead._own_plan  # strides do not tell the order of indices of a single element
    order = slowest_first(lead.strides) if plan is None else list(np.argsort(plan.layout))
    if names is None or own is None:
        missing = list(range(max(ndim - lead.ndim, 0)))
        kept = [i + ndim - lead.ndim for i in order if i + ndim - lead.ndim >= 0]
        return (*missing, *kept)
    if set(names) <= set(own):
        return tuple(names.index(own[i]) for i in order if own[i] in names)
    # No operand knows where all indices belong. Data dimensions are slowest; I, J, K go as they do
    # in lead.
    letters = [own[i] for i in order if own[i] in LETTERS]
    backwards = len(letters) > 1 and letters[-1] == min(letters)
    wanted = canonical(names)
    spatial = [name for name in wanted if name in LETTERS]
    return tuple(
        names.index(n)
        for n in (
            *(n for n in wanted if n not in LETTERS),
            *(spatial[::-1] if backwards else spatial),
        )
    )


# ---- assignment to Fields (pyext/field/names.c asks)


def named(values: Any) -> Any:
    """Values for assignment: a Field where they have names, else as they are."""
    dims = names_of(values) or described_dims(values)
    if dims is None:
        return values
    try:
        return Field(values)
    except TypeError:  # values are made on demand
        return Field(wrapping.values(values), dims=dims)


def key(field: _core.Field, given: Any) -> Any:
    """An advanced key for an array: a mask with names goes where the Field has those names."""
    if isinstance(given, tuple) and len(given) == 1 and names_of(given[0]) is not None:
        (given,) = given
    names = None if isinstance(given, tuple) else names_of(given)
    if names is None:
        if isinstance(given, tuple) and any(names_of(part) is not None for part in given):
            raise IndexError(
                "key: an array with names can be the whole key only, not a part of one;"
                " part.numpy() goes by position"
            )
        return given
    mask, own = array(given, isinstance(field, DeviceField)), names_of(field)
    if own is None:
        return mask
    if mask.dtype != bool:
        raise IndexError(
            f"key: an array with names must be a mask of bools, this one has {mask.dtype}; numpy()"
            " goes by position"
        )
    if len(names) != len(own) or lacking(names, own):
        raise IndexError(f"key: a mask with the dims {names} cannot select from a Field with {own}")
    return adapted(mask, into(names, own))
