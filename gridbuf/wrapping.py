"""Wrapping memory, as far as C leaves it to Python: objects with `__array__` only, ml_dtypes,
names, the check of disagreeing interfaces, and the dtype that a `descr` describes.
"""

import sys
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import prod
from operator import index
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.common import debugging
from gridbuf.cuda import stream_of
from gridbuf.names import (
    described_dims,
    entries_of,
    get_dims,
    get_origin,
    index_order,
    pick,
    shared_halo,
)
from gridbuf.validation import as_dtype, boolean_or_none

host_array = _core.host_array
_VOID, _OF_USERS = np.dtype("V1").num, 256  # NumPy's numbers of kinds of dtypes


def values(obj: Any) -> np.ndarray[Any, np.dtype[Any]]:
    """np.asarray for values to copy: an array interface is checked before NumPy believes it."""
    return np.asarray(_core.values(obj))


def array_protocol(
    array: np.ndarray[Any, np.dtype[Any]], dtype: Any, copy: Any
) -> np.ndarray[Any, np.dtype[Any]]:
    """The answer of __array__(dtype, copy=copy) for memory that `array` shows."""
    copy, wanted = boolean_or_none(copy, "copy"), array.dtype if dtype is None else as_dtype(dtype)
    if wanted == array.dtype and not copy:
        return array
    if copy is not None and not copy:
        raise ValueError(f"copy: {array.dtype} as {wanted} needs a copy, and copy=False was given")
    return array.astype(wanted)


CAPSULE = type(vars(_core.Field)["__dlpack_c_exchange_api__"])


def shaped(obj: Any) -> Any:
    """An operand that is asked for its shape first and for its values later, so that it must be
    there twice.
    """
    if type(obj) is CAPSULE:
        raise TypeError(
            "operand: a DLPack capsule is read once only; gridbuf.Field(capsule) takes its memory"
        )
    return obj if hasattr(obj, "shape") else values(obj)


@contextmanager
def naming(argument: str) -> Iterator[None]:
    """Errors name the argument; wrapping calls it data, NumPy does not name it."""
    try:
        yield
    except (TypeError, ValueError, BufferError, OverflowError) as error:
        # Subclasses take other arguments than a text
        if type(error) in (TypeError, ValueError, BufferError, OverflowError):
            error.args = (f"{argument}: {str(error).removeprefix('data: ')}",)
        raise


def as_field(obj: Any, argument: str = "field") -> _core.Field:
    """The Field itself, or one over the memory of any other buffer; nothing is copied."""
    if isinstance(obj, _core.Field):
        return obj
    with naming(argument):
        return _core.Field(obj)


def from_array_method(obj: Any) -> np.ndarray[Any, np.dtype[Any]]:
    """xarray and others: __array__ may copy, so the memory is looked at twice."""
    first, second = np.asarray(obj), np.asarray(obj)
    if first.dtype.hasobject or (first.size and not np.shares_memory(first, second)):
        raise TypeError(
            f"data: {type(obj).__name__} hands out a new copy each time it is read;"
            " gridbuf.from_array or Field.from_array makes one on purpose; where dask computes it,"
            " array.load() first"
        )
    return first


class Described:
    """Memory as the attribute `name` describes it, and the object that keeps it; release is called
    when nothing refers to it any more.
    """

    def __init__(
        self, name: str, interface: dict[str, Any], keep: Any, release: Any = None
    ) -> None:
        setattr(self, name, interface)
        self.keep = keep
        if release is not None:
            weakref.finalize(self, release)


def described(obj: Any, with_device: bool) -> Any:
    """An object over the memory that obj describes only as a stencil asks for it
    (`__gt_interface__`, `__gt_data_interface__`).

    One that wants to be told of each write (`touch`) gives read-only memory: writes cannot be
    reported to it.
    """
    from gridbuf.interface.reading import check_extent, checked

    entries = entries_of(obj) or {}
    entry, name = pick(entries, None), "__array_interface__"
    if entry is None and with_device:
        entry, name = pick(entries, "gpu"), "__cuda_array_interface__"
    if entry is None:
        there = ", ".join(map(repr, entries)) or "none"
        raise TypeError(
            f"data: {type(obj).__name__} describes no memory on the host; its __gt_interface__ has"
            f" the devices: {there}"
        )
    found = checked(entry, obj)
    if found["acquire"] is not None:
        found["acquire"]()
        found = _after_acquire(obj, found, "gpu" if name == "__cuda_array_interface__" else None)
    if name == "__array_interface__":
        check_extent("data", obj, found)
    interface = {key: found[key] for key in ("shape", "typestr", "strides")} | {"version": 3}
    interface["data"] = (found["data"][0], found["data"][1] or found["touch"] is not None)
    return type("Described", (Described,), {name: None})(name, interface, obj, found["release"])


def _after_acquire(obj: Any, before: dict[str, Any], device: str | None) -> dict[str, Any]:
    """acquire may move memory: what the object says now, which must be the same but for the
    address; else it is released.
    """
    from gridbuf.interface.reading import changed, find

    try:
        now = find(obj, device)
        if now is None or changed(before, now):
            raise ValueError(
                f"data: {type(obj).__name__} has changed during its acquire:"
                f" {changed(before, now or {})}"
            )
    except BaseException:
        if before["release"] is not None:
            before["release"]()
        raise
    return {**now, "touch": before["touch"], "release": before["release"]}


def cupy_block(obj: Any) -> Any:
    """The block of ours that a cupy array or a view of one lies in; None for anything else."""
    cupy = sys.modules.get("cupy")
    owner = (
        getattr(obj.data.mem, "_owner", None)
        if cupy is not None and isinstance(obj, cupy.ndarray)
        else None
    )
    return owner if type(owner) is _core._DeviceBlock else None


def cupy_memory(array: Any) -> tuple[Any, ...] | None:
    """A cupy array's owner, address, shape, strides, dtype, device and current stream (0: the
    default one); None for anything else.

    Not by cupy's own interface, which copies nothing either but looks at more than is needed.
    """
    cupy = sys.modules.get("cupy")
    if cupy is None or not isinstance(array, cupy.ndarray):
        return None
    block, device = cupy_block(array), int(array.data.device_id)
    owner = array if block is None else block
    address = int(array.data.ptr) if array.size else 0
    return owner, address, array.shape, array.strides, array.dtype, device, stream_of(device)


def check_mask(obj: np.ndarray[Any, np.dtype[Any]]) -> None:
    """A masked array without masked elements is as good as any other: netCDF4 reads such ones."""
    if isinstance(obj, np.ma.MaskedArray) and (
        masked := int(np.count_nonzero(np.ma.getmaskarray(obj)))
    ):
        raise ValueError(
            f"data: {masked} of its {obj.size} elements are masked, and a Field would show the"
            " values below the mask: data.filled(value) is a copy without it, data.data is the"
            " memory as it is"
        )


def check_masks(given: Iterable[tuple[str, Any]]) -> None:
    """No masked elements where NumPy's functions and reductions take values: most look below the
    mask, or make it NaN.
    """
    for argument, obj in given:
        if isinstance(obj, np.ma.MaskedArray):
            with naming(argument):
                check_mask(obj)


def exports(dtype: np.dtype[Any]) -> tuple[str | None, str | None, list[Any] | None, bool]:
    """How NumPy exports a dtype: its buffer format, its typestr, `descr` of a structured one, and
    whether no field of that has fields.

    No format is no error; neither are overlapping fields, which have no descr. ml_dtypes' types
    have no typestr: '<V2' says nothing.
    """
    # Two items: a structured dtype is native where the second is aligned as well
    sample = np.empty(2, dtype)
    format = None
    try:
        buffer = sample.data
        # Padding without a name ("5x", which is what V5 becomes) comes back as a structure without
        # fields.
        if dtype.num != _VOID or np.asarray(buffer).dtype == sample.dtype:
            format = buffer.format
    except RecursionError:
        raise
    except (TypeError, ValueError, BufferError, OverflowError, RuntimeError, NotImplementedError):
        pass
    if dtype.num >= _OF_USERS:
        return format, None, None, False
    try:
        fields = None if dtype.names is None else dtype.descr
    except (TypeError, ValueError, BufferError, OverflowError):
        fields = None
    return (
        format,
        dtype.str,
        fields,
        fields is not None and all(isinstance(entry[1], str) for entry in fields),
    )


def extended_dtype(name: str | None, code: int, bits: int) -> np.dtype[Any]:
    """ml_dtypes' dtype of that name, which is what DLPack's type code and bits mean; BufferError
    when there is none.
    """
    try:
        import ml_dtypes
    except ImportError:
        name = None
    if name is None or not hasattr(ml_dtypes, name):
        raise BufferError(
            f"DLPack: no dtype for type code {code} with {bits} bits; bfloat16 and float8 need the"
            " package ml_dtypes"
        )
    found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return found


def _carried_halo(obj: Any, dims: tuple[str, ...] | None) -> tuple[Any, Any]:
    """Origin and halo in index order, of a storage, of a DataArray over the memory of one, or of a
    Field in a function that is traced.
    """
    if isinstance(obj, _core.Field):
        return None, obj.halo
    if isinstance(obj, _core.StorageBase):
        halo: Any = getattr(obj, "halo", ())
        return None, halo if any(map(any, halo)) else None
    return shared_halo(obj, dims)


def carried(obj: Any, wrapped: Any) -> tuple[Any, Any, Any]:
    """The dims, the origin and the halo (index order) that obj carries, for the Field over its
    memory; None where it does not say.
    """
    dims, origin = get_dims(obj), get_origin(obj)
    if dims is None:
        dims = described_dims(obj)
    if dims is not None and len(dims) != wrapped.ndim:
        raise ValueError(
            f"data: its dims {dims} name {len(dims)} indices, its memory has {wrapped.ndim}"
        )
    if origin is not None and dims is not None:
        if len(origin) != len(dims):
            raise ValueError(
                f"data: its origin {origin} has {len(origin)} entries, its dims {dims} name"
                f" {len(dims)}"
            )
        try:
            origin = index_order(origin, dims)
        except ValueError:
            raise ValueError(
                f"data: its dims {dims} are not names of indices: I, J, K and numbers"
            ) from None
    if debugging():
        from gridbuf.interface.reading import check_agreement

        check_agreement(obj)
    shared_origin, halo = _carried_halo(obj, dims)
    return dims, shared_origin if origin is None else origin, halo


# ---- the descr of an array interface ----


# nested lists of fields: real ones are flatter, and a hostile one must not use up the stack
_DEEPEST = 16
_LARGEST = 2**63 - 1  # bytes


class _Unsound(Exception):
    """Plain data that describes no memory; the text says why."""


def structured(fields: Any, size: int) -> np.dtype[Any] | str | None:
    """The dtype of items of so many bytes with these fields; why there is none; or None: they say
    no more than the typestr.

    Parameters
    ----------
    fields
        The `descr`, whatever it is. NumPy writes one for plain types too: one entry without a name,
        which says nothing.
    size
        Bytes of an item, as the typestr has them.

    Returns
    -------
    numpy.dtype or str or None
        A text may be empty, where there is nothing more to say than that it is no list of fields.

    Examples
    --------
    >>> structured([("a", "<f8"), ("b", "<i4", (2,))], 16)
    dtype([('a', '<f8'), ('b', '<i4', (2,))])
    >>> structured([("a", "<f8")], 16)
    'the fields take 8 bytes; typestr says 16'
    >>> structured([("", "|V8")], 8)
    """
    if not isinstance(fields, list) or not fields:
        return None
    first = fields[0]
    if (
        len(fields) == 1
        and isinstance(first, tuple)
        and first
        and isinstance(first[0], str)
        and _text(first[0]) == ""
    ):
        return None
    try:
        own, taken = _fields(fields, 0)
    except _Unsound as error:
        return str(error)
    if taken != size:
        return f"the fields take {taken} bytes; typestr says {size}"
    dtype = np.dtype(own)
    return dtype if dtype.itemsize == size and not dtype.hasobject else ""


def _fields(fields: list[Any], depth: int) -> tuple[list[Any], int]:
    """The list once more, and the bytes of its fields."""
    if depth == _DEEPEST:
        raise _Unsound(f"more than {_DEEPEST} structured types in one another")
    own, taken = [], 0
    for field in tuple(fields):
        if not isinstance(field, tuple) or len(field) not in (2, 3):
            raise _Unsound
        name, kind, size = _name(field[0]), *_type(field[1], depth)
        shape = _shape(field[2]) if len(field) == 3 else ()
        taken += size * prod(shape)
        # Sizes of 0 count as 1, as in shapes of arrays
        if max(prod(max(n, 1) for n in (size, *shape)), taken) > _LARGEST:
            raise _Unsound("the fields are larger than any memory (2^63 bytes)")
        own.append((name, kind, shape) if len(field) == 3 else (name, kind))
    return own, taken


def _text(obj: Any) -> str:
    if not isinstance(obj, str):
        raise _Unsound
    return str.__str__(obj)


def _name(obj: Any) -> str | tuple[str, str]:
    """A name, or (title, name)."""
    return (
        (_text(obj[0]), _text(obj[1])) if isinstance(obj, tuple) and len(obj) == 2 else _text(obj)
    )


def _type(obj: Any, depth: int) -> tuple[Any, int]:
    """A typestr, or the fields of a type in a type; and the bytes of one."""
    if isinstance(obj, list):
        return _fields(obj, depth + 1)
    size = _core.typestr_bytes(_text(obj))
    if isinstance(size, str):
        raise _Unsound(size)
    return _text(obj), size


def _shape(sizes: Any) -> tuple[int, ...]:
    if not isinstance(sizes, (tuple, list)):
        raise _Unsound
    shape = tuple(map(index, sizes))
    if negative := [n for n in shape if n < 0]:
        raise _Unsound(f"shape has a negative entry, {negative[0]}")
    return shape
