"""What takes part in an operation beside Fields, and what each says of its indices."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from gridbuf import _core, wrapping
from gridbuf.joining import SCALARS, Pair, adapted, into, is_scalar, lacking
from gridbuf.names import described_dims, get_dims, is_name
from gridbuf.wrapping import host_array

Field, DeviceField = _core.Field, _core.DeviceField
_NUMPYS = np.ndarray.__array_ufunc__
_PLAIN = (*SCALARS, np.generic, list, tuple)  # numbers and lists, unless their class says otherwise


class Operand(NamedTuple):
    """An operand as joining sees it; names is None for what goes by position."""

    names: tuple[str, ...] | None
    shape: tuple[int, ...]
    halo: tuple[Pair, ...] | None
    origin: tuple[int, ...] | None


def describe(obj: Any) -> Operand | None:
    """None for numbers, and for outputs that are not given."""
    if obj is None or is_scalar(obj):
        return None
    if isinstance(obj, Field):
        return Operand(names_of(obj), obj.shape, obj.halo, obj.origin)
    array = wrapping.shaped(obj)
    return Operand(names_of(obj), tuple(array.shape), None, None) if array.shape else None


def names_of(obj: Any) -> tuple[str, ...] | None:
    """The names that were given to an object's indices; None where nobody gave any."""
    if isinstance(obj, np.ndarray):
        return None
    if type(obj) is _core.HostField:  # C has read its names
        return getattr(obj, "__gt_dims__", None)
    dims = get_dims(obj)
    return dims if dims is not None and all(map(is_name, dims)) else None


def takes(obj: Any) -> bool:
    """Whether Fields compute with an object; others, such as storages and xarray's arrays, do so
    themselves.
    """
    if obj is None or isinstance(obj, Field) or type(obj) is np.ndarray:
        return True
    if isinstance(obj, _PLAIN):
        return not hasattr(type(obj), "__array_ufunc__")
    if isinstance(
        obj, np.ndarray
    ):  # a subclass with a mind of its own has a priority or its own protocol
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


def on_gpu(obj: Any) -> bool:
    """Whether an object is an array of a GPU; managed memory is read on the host."""
    if isinstance(obj, (Field, np.ndarray)):
        return isinstance(obj, DeviceField)
    return not isinstance(obj, _core.StorageBase) and hasattr(obj, "__cuda_array_interface__")


def refuse_names(ufunc: Any, operands: Iterable[Any]) -> None:
    """Another library's array goes by position: that is right only where the names are the same.
    Storages know names.
    """
    operands = tuple(operands)
    if any(isinstance(obj, _core.StorageBase) for obj in operands):
        return
    named = {names_of(obj) for obj in operands} - {None}
    if len(named) > 1:
        first, second = sorted(map(str, named))[:2]
        raise ValueError(
            f"{ufunc.__name__}: the operands' names {first} and {second} differ, and one of them"
            " goes by position; gridbuf.Field(array) takes its memory with its names,"
            " field.transpose(...) changes their order"
        )


def foreign(obj: Any) -> bool:
    """Whether an object is an array of another library that answers ufuncs itself: dask's,
    xarray's.
    """
    ours = isinstance(obj, (Field, _core.StorageBase, np.ndarray, *_PLAIN))
    return not ours and getattr(type(obj), "__array_ufunc__", None) is not None


def by_another(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call with another library's array: its class answers, first for Fields as they are, then
    for their plain arrays.

    dask leaves a call to any class with `__array_ufunc__`, xarray refuses the classes that it does
    not know: both take an ndarray.
    """
    others = [obj for obj in inputs if foreign(obj)]
    if (
        not others
        or kwargs.keys() & {"out", "where"}
        or any(isinstance(obj, (DeviceField, _core.StorageBase)) for obj in inputs)
    ):
        return NotImplemented
    for obj in others:
        found = type(obj).__array_ufunc__(obj, ufunc, method, *inputs, **kwargs)
        if found is not NotImplemented:
            return found
    return getattr(ufunc, method)(
        *(obj.numpy() if isinstance(obj, Field) else obj for obj in inputs), **kwargs
    )


def arrays(objects: Iterable[Any], device: bool, argument: str = "operand") -> list[Any]:
    """The operands' arrays on that side; TypeError where one is on the other."""
    return [
        obj if obj is None or is_scalar(obj) else array(obj, device, argument) for obj in objects
    ]


def array(obj: Any, device: bool, argument: str = "operand") -> Any:
    """An object's array on that side."""
    if device:
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


def named(values: Any) -> Any:
    """Values for assignment: a Field where they have names, else as they are."""
    dims = get_dims(values) or described_dims(values)
    if dims is None or not all(map(is_name, dims)):
        return values
    try:
        return Field(values)
    except TypeError:  # it makes its values when it is asked for them
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
