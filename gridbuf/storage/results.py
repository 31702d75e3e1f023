"""StorageKind: how gridbuf/named/ reads storages, decides on which side to compute, and makes
storages of what it finds.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.named import functions, kinds, ufuncs
from gridbuf.named.broadcasting import Frame, Named, Names, Operand, is_scalar, lacking
from gridbuf.names import as_numpy, named
from gridbuf.storage import devices
from gridbuf.storage.base import Storage
from gridbuf.storage.buffers import host_plan, writing
from gridbuf.storage.classes import (
    CPUStorage,
    CUDAManagedGPUStorage,
    GPUStorage,
    SoftwareManagedGPUStorage,
)
from gridbuf.storage.meta import LETTERS, Meta, meta_of
from gridbuf.storage.parameters import is_list
from gridbuf.wrapping import check_mask, naming, shaped, values


class StorageKind(kinds.Kind):
    owner, one, plural = Storage, "a storage", "storages"
    word, index, numbers, possible = "axes", "axis", False, "I, J, K"
    whose = "axes"
    remedy = "np.asarray(s) goes by position, np.transpose(s, ...) changes the order of the axes"
    # Generalized ufuncs are called.
    by_position = frozenset(("__call__", "outer", "reduceat", "at"))

    # ---- operands

    def is_operand(self, obj: Any) -> bool:
        """A subclass of ndarray with no protocol of its own is an array; its mask is looked at
        later.
        """
        if isinstance(obj, np.ndarray):
            return type(obj).__array_ufunc__ is np.ndarray.__array_ufunc__
        return isinstance(obj, Storage) or (obj is not None and kinds.is_operand(obj))

    def is_operand_type(self, cls: type) -> bool:
        return issubclass(cls, Storage) or kinds.FIELDS.is_operand_type(cls)

    def names_of(self, obj: Any) -> tuple[str, ...] | None:
        if isinstance(obj, Storage):
            return tuple(obj._meta.axes)
        return None if isinstance(obj, np.ndarray) else named(obj)

    def describe(self, obj: Any) -> Operand | None:
        if obj is None or is_scalar(obj):
            return None
        if isinstance(obj, Storage):
            meta: Meta = obj._meta
            parameters = meta.layout, meta.alignment
            return Operand(tuple(meta.axes), obj.shape, meta.halo, meta.aligned_index, parameters)
        shape = tuple(shaped(obj).shape)
        if not shape:
            return None
        names = named(obj)
        halo = obj.halo if isinstance(obj, _core.Field) else None
        if isinstance(obj, _core.Field) and halo is None and names is not None:
            halo = ((0, 0),) * obj.ndim
        if names is not None and (lacking(names, LETTERS) or len(names) != len(shape)):
            raise ValueError(
                f"operands do not broadcast: {type(obj).__name__} has the dims {names}; storages"
                " have I, J and K only"
            )
        return Operand(names, shape, halo, None if halo is None else tuple(low for low, _ in halo))

    def frame(self, obj: Any) -> Frame:
        meta: Meta = obj._meta
        return Frame(
            obj.shape,
            tuple(meta.axes),
            meta.halo,
            meta.aligned_index,
            (meta.layout, meta.alignment),
        )

    # ---- where to compute

    def lead(self, operands: Sequence[Any], names: Names | None = None) -> Any:
        """The first storage of the highest priority."""
        found = None
        for obj in operands:
            if isinstance(obj, Storage) and (
                found is None or obj.__array_priority__ > found.__array_priority__
            ):
                found = obj
        return found

    def on_device(self, lead: Any, inputs: Sequence[Any], outputs: Sequence[Any] = ()) -> bool:
        return type(lead) is not CPUStorage and on_device(lead, inputs, outputs)

    def on_device_by_position(self, ours: Sequence[Any]) -> bool:
        return any(not storage._has_host for storage in ours)

    def array(self, obj: Any, device: bool, lead: Any, argument: str = "operand") -> Any:
        return fetch(obj, lead, device, argument)

    def arrays(
        self, objects: Sequence[Any], device: bool, lead: Any, argument: str = "operand"
    ) -> list[Any]:
        return [
            obj._host
            if type(obj) is CPUStorage and not device
            else obj
            if obj is None or is_scalar(obj)
            else fetch(obj, lead, device, argument)
            for obj in objects
        ]

    def function(self, device: bool, function: Any) -> Any:
        return devices.current().function(function) if device else function

    def reducer(self, device: bool, ufunc: Any) -> Callable[..., Any]:
        if not device:
            reduce: Callable[..., Any] = ufunc.reduce
            return reduce
        return lambda array, **options: devices.current().reduce(ufunc, array, **options)

    def number(self, value: Any, device: bool) -> Any:
        return devices.current().to_host(value)[()] if device else value

    def has_two_sides(self, cls: type) -> bool:
        return issubclass(cls, SoftwareManagedGPUStorage)

    def held(self, objects: Iterable[Any]) -> AbstractContextManager[Any]:
        states = [
            obj._pair.state for obj in objects if isinstance(obj, Storage) and obj._pair is not None
        ]
        return writing(states) if states else kinds.NOTHING_HELD

    def wrote(self, obj: Any, device: bool) -> None:
        if isinstance(obj, Storage):
            obj._wrote(device)

    # ---- results

    def new(self, lead: Any, frame: Frame, dtype: np.dtype[Any], device: bool) -> tuple[Any, Any]:
        made = type(lead)._new(frame.shape, dtype, _meta(frame), lead.device)
        return made, made._dev if device else made._host

    def plan(self, lead: Any, frame: Frame, dtype: np.dtype[Any]) -> tuple[_core.Plan, Any]:
        meta = _meta(frame)
        return host_plan(frame.shape, dtype, meta), meta

    def view(self, obj: Any, change: Callable[[Any], Any], frame: Frame) -> Any:
        return obj._mapped(change, _meta(frame))

    def like(self, name: str) -> Callable[..., Any]:
        from gridbuf.storage import constructors

        make: Callable[..., Any] = getattr(constructors, name)
        return make

    # ---- rules of broadcasting

    def name_array(self, shape: tuple[int, ...], base: Named | None, out: Named | None) -> Names:
        """The axes of the storages where the array has their shape; three indices are always
        taken.
        """
        candidates = [c for c in (base, out) if c is not None]
        for candidate in candidates:
            if shape == candidate[1]:
                return candidate[0]
        if len(shape) == len(LETTERS):
            for candidate in candidates:
                if len(candidate[0]) == len(LETTERS):
                    return candidate[0]
            return tuple(LETTERS)
        expected = " or ".join(f"{c[1]} for the axes {self.show(c[0])}" for c in candidates)
        raise ValueError(
            f"operands do not broadcast: an array of shape {shape} beside storages must have their"
            f" shape ({expected}) or 3 dimensions"
        )

    def origin(self, points: list[tuple[int, int]], size: int) -> int:
        """The largest aligned index, also of what is broadcast."""
        return max((point for point, _ in points), default=0)

    def parameters(self, several: list[Any]) -> Any:
        """The first storage's layout, and an alignment that suits all."""
        known = [each for each in several if each is not None]
        return (known[0][0], math.lcm(*(each[1] for each in known))) if known else None

    def assumed(self, points: Any) -> Any:
        return points  # an array beside storages is taken for one with their parameters

    def show(self, names: Names) -> str:
        return repr("".join(names))

    def listed(self, names: Names) -> str:
        return repr("".join(names))

    def may_meet(self, several: Sequence[Names]) -> bool:
        return True

    def may_name(self, name: str) -> bool:
        return name in tuple(LETTERS)

    def target(self, dst: Any, beside: tuple[Any, ...]) -> tuple[Names, tuple[int, ...]]:
        if isinstance(dst, Storage):
            return tuple(dst._meta.axes), dst.shape
        storage = next(obj for obj in beside if isinstance(obj, Storage))
        described = self.describe(dst)
        if described is None and not storage.axes:
            return (), ()
        if described is None:
            raise ValueError(
                f"dst: an array without axes cannot take a storage with the axes {storage.axes!r}"
            )
        if described.names is not None:
            return described.names, described.shape
        own = tuple(storage.axes), storage.shape
        return self.name_array(described.shape, own, None), described.shape


STORAGES = StorageKind()


def _meta(frame: Frame) -> Meta:
    if frame.parameters is None or frame.names is None or frame.halo is None:
        raise TypeError(
            "out: a further output without a storage among the inputs has no parameters; give"
            " it too"
        )
    layout, alignment = frame.parameters
    return meta_of("".join(frame.names), layout, frame.halo, frame.origin or (), alignment)


# ---- sides


def on_device(lead: Storage, inputs: Sequence[Any], outputs: Sequence[Any] = ()) -> bool:
    """Whether to compute on the GPU, as the class of the governing storage says."""
    arrays = [obj for obj in inputs if obj is not None and not is_scalar(obj)]
    if isinstance(lead, CUDAManagedGPUStorage):
        wanted = all(_reaches(obj, True) for obj in arrays)
    elif isinstance(lead, SoftwareManagedGPUStorage):
        wanted = any(
            obj._prefers_device() if isinstance(obj, Storage) else devices.is_device_array(obj)
            for obj in arrays
        )
    else:
        return isinstance(lead, GPUStorage)
    # An output on one side only decides, if everything else can be there.
    if not all(_reaches(obj, wanted) for obj in outputs if obj is not None):
        every = [obj for obj in (*arrays, *outputs) if obj is not None]
        wanted ^= all(_reaches(obj, not wanted) for obj in every)
    return wanted


def _reaches(obj: Any, device: bool) -> bool:
    """Whether an array has memory on that side."""
    if isinstance(obj, Storage):
        return obj._has_device if device else obj._has_host
    return devices.is_device_array(obj) == device


def fetch(obj: Any, lead: Any, device: bool, argument: str = "operand") -> Any:
    """The operand's array on that side; TypeError where it may not be brought there."""
    if is_scalar(obj):
        return obj
    if isinstance(obj, Storage):
        if obj._has_device if device else obj._has_host:
            return obj._on_device() if device else obj._on_host()
    elif devices.is_device_array(obj):
        if device:
            return devices.current().asarray(obj)
    elif not device:
        return host_array(obj)
    if (
        device
        and isinstance(lead, SoftwareManagedGPUStorage)
        and argument not in ("out", "dst", "storage")
    ):
        return devices.current().from_host(
            obj._on_host() if isinstance(obj, Storage) else host_array(obj)
        )
    side, other = ("GPU", "host") if device else ("host", "GPU")
    raise TypeError(
        f"{argument}: {type(obj).__name__} has no {side} memory, and the operation runs on the"
        f" {side} because of a {type(lead).__name__}; copy it from the {other} first, for instance"
        " with gridbuf.storage.storage"
    )


def host_array(obj: Any) -> Any:
    """A foreign object's host array: of what has memory to share, else a new one."""
    if isinstance(obj, np.ndarray):
        check_mask(obj)
        return obj
    if isinstance(obj, _core.Field):
        return as_numpy(obj)
    array = values(obj)
    if array.dtype.kind in "OSU" and not isinstance(obj, (list, tuple)):
        raise TypeError(f"operand: expected numbers or an array, got {obj!r}")
    return array


def of_dtype(obj: Any, dtype: np.dtype[Any]) -> Any:
    """A list as an array of the dtype it goes into: NumPy checks Python's numbers when it makes an
    array of them, not later.
    """
    return np.asarray(_core.values(obj), dtype) if is_list(obj) else obj


def values_of(obj: Any, argument: str) -> Any:
    """An argument's values as a host array."""
    with naming(argument):
        return host_array(obj)


# ---- what C asks (pyext/named)


def array_ufunc(ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """`__array_ufunc__` of a storage."""
    return ufuncs.call(STORAGES, ufunc, method, inputs, kwargs)


def array_function(func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`__array_function__` of a storage."""
    return functions.call(STORAGES, func, types, args, kwargs)


def binary(ufunc: Any, a: Any, b: Any) -> Any:
    return ufuncs.binary(STORAGES, ufunc, a, b)


def in_place(ufunc: Any, a: Any, *other: Any) -> Any:
    return ufuncs.in_place(STORAGES, ufunc, a, *other)


def prepared(ufunc: Any, inputs: tuple[Any, ...], out: Any) -> tuple[Any, ...] | None:
    return ufuncs.prepared(STORAGES, ufunc, inputs, out)


def refuse(obj: Any, name: str) -> None:
    """A storage, and no type, was asked for NumPy's protocol: other libraries take the plain array
    of `__array__` then.

    Where memory is on both sides that would grow old, and writing to it would be told to no side:
    an error that they do not pass over.
    """
    if obj._host is None or obj._dev is None:
        raise AttributeError(f"{name!r} is for NumPy, which asks the type of a Storage")
    raise TypeError(
        f"data: a {type(obj).__name__} has a host and a device buffer, and a plain array would show"
        " one of them, outdated; gridbuf.interop.xarray.to_dataarray(s) is a DataArray that stays"
        " up to date, s.to_numpy() is the host's memory, s.to_cupy() the device's"
    )
