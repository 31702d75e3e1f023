"""Names of indices, halo and memory as an object declares them, and the arrays behind it (the
utilities of GT4Py's "Allocation and Array Interfaces").
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from gridbuf import _core

MOST = 32  # indices
LETTERS = ("I", "J", "K")


def is_name(entry: object) -> bool:
    """Whether an entry is "I", "J", "K" or a data dimension: "0", "1", ..."""
    name = name_of(entry)
    return name in LETTERS or (name.isdecimal() and len(name) < 10 and str(int(name)) == name)


def is_dim(entry: object) -> bool:
    """Whether an entry may name an index of a Field: as `is_name`, or an identifier; "IJ" is two
    names.
    """
    name = name_of(entry)
    return is_name(name) or (name.isidentifier() and not set(name) <= set(LETTERS))


def own_name(obj: Any) -> str | None:
    """The name that an axis has of its own: gtscript.I, a Dimension of gt4py.next, an Enum's
    member.
    """
    if not isinstance(obj, str | int | Sequence):
        for attribute in ("__gt_axis_name__", "value"):
            name = getattr(obj, attribute, None)
            if isinstance(name, str):
                return name
    return None


def joined(dims: Iterable[str]) -> str:
    """Dims in texts: gt4py's side by side, others with commas."""
    names = tuple(dims)
    return ("" if all(map(is_name, names)) else ", ").join(names)


def dims_given(field: _core.Field) -> tuple[str, ...] | None:
    """The names that a Field was given, also those that gt4py does not know; None without any."""
    return field.dims if field._dims_given else None


def own_dims(obj: Any) -> tuple[str, ...] | None:
    """As `get_dims`, and of a Field also names that gt4py does not know."""
    return dims_given(obj) if isinstance(obj, _core.Field) else get_dims(obj)


def first_entries(obj: Iterable[Any], n: int) -> tuple[Any, ...]:
    """At most n of what can be iterated over, which may never end."""
    return tuple(islice(obj, n))


def name_of(entry: Any) -> str:
    own = own_name(entry)
    return str(entry) if own is None else own


def read_names(
    given: Any, what: str, *, ordered: bool = True, own_names: bool = False
) -> tuple[str, ...]:
    """Names of indices in any spelling: "IJ", a sequence, one axis, gtscript.Field[...]; a set
    where their order says nothing. `own_names`: identifiers are names too, in a sequence.
    """
    own = own_name(given)
    entries = (own,) if own is not None else given
    axes = None if isinstance(given, str | Sequence) else getattr(given, "axes", None)
    # gtscript.Field[axes, dtype]; its data dimensions count from 0
    if own is None and isinstance(axes, Sequence):
        entries = (*axes, *range(len(getattr(given, "data_dims", ()))))
    if ordered and isinstance(given, set | frozenset):
        raise TypeError(f"{what} is {given!r}, and a set has no order; give a sequence")
    try:
        names = tuple(name_of(entry) for entry in islice(entries, MOST + 1))
    except TypeError as error:
        raise TypeError(f"{what} is {given!r}, which does not name indices") from error
    if len(names) > MOST:
        raise ValueError(f"{what} names more than {MOST} indices")
    allowed = is_dim if own_names and not isinstance(given, str) else is_name
    if not all(map(allowed, names)):
        raise ValueError(
            f"{what} {names} has an unknown name; allowed are 'I', 'J', 'K' (capitals) and '0',"
            " '1', '2', ..."
            + ("; other names stand in a tuple, such as ('cell', 'K')" if own_names else "")
        )
    if len(set(names)) != len(names):
        raise ValueError(f"{what} {names} names an index twice")
    return names


def get_dims(obj: Any, annotation: Iterable[Any] | None = None) -> tuple[str, ...] | None:
    """The names of an object's indices.

    Parameters
    ----------
    obj
        Any object.
    annotation
        The answer for an object without names: names, gt4py's axes, or a gtscript.Field[...].

    Returns
    -------
    tuple of str, or None
        `__gt_dims__`; else `dims` when every entry is a valid name, which older storages and xarray
        have; else `annotation`.

    Raises
    ------
    ValueError, TypeError
        When `__gt_dims__` or the annotation does not name indices: 'I', 'J', 'K' and
        '0', '1', ..., each at most once.

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.get_dims(gb.Field.empty((2, 3), dims="JK"))
    ('J', 'K')
    >>> gb.get_dims([1, 2], annotation="I")
    ('I',)
    """
    dims = getattr(obj, "__gt_dims__", None)
    if dims is None:
        older = getattr(obj, "dims", None)
        is_field = hasattr(type(obj), "__gt_dims__")  # a Field without names of its own
        if (
            not is_field
            and isinstance(older, str | Sequence)
            and len(older) > 0
            and all(is_name(d) for d in older)
        ):
            dims = older
    if dims is not None:
        return read_names(dims, "obj: its __gt_dims__")
    return None if annotation is None else read_names(annotation, "annotation:")


def get_origin(obj: Any) -> tuple[int, ...] | None:
    """The origin that an object carries in `__gt_origin__`.

    Parameters
    ----------
    obj
        Any object.

    Returns
    -------
    tuple of int, or None
        In the order I, J, K, 0, 1, ...; None without one.

    Raises
    ------
    TypeError, ValueError
        When an entry of `__gt_origin__` is no int.

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.get_origin(gb.Field.empty((4, 8), dims="JI", halo=(1, 3)))
    (3, 1)
    """
    origin = getattr(obj, "__gt_origin__", None)
    try:
        return None if origin is None else tuple(int(o) for o in islice(origin, MOST + 1))
    except OverflowError as error:  # infinity
        raise ValueError(f"obj: its __gt_origin__ is {origin!r}, which are not ints") from error


def described_dims(obj: Any) -> tuple[str, ...] | None:
    """The dims that an object says in its `__gt_interface__` alone."""
    entries = entries_of(obj) or {}
    entry = pick(entries, None) or pick(entries, "gpu")
    dims = entry.get("dims") if isinstance(entry, Mapping) else None
    return None if dims is None else read_names(dims, "obj: its __gt_interface__ has dims, which")


def named(obj: Any) -> tuple[str, ...] | None:
    """The names of an object's indices, wherever it says them."""
    dims = own_dims(obj)
    is_field = hasattr(type(obj), "__gt_dims__")  # one without names of its own
    return described_dims(obj) if dims is None and not is_field else dims


def _transposition(obj: Any, dims: Iterable[Any] | None) -> tuple[int, ...] | None:
    """How to permute obj's indices into the order of dims; None for as it is."""
    if dims is None:
        return None
    own, wanted = named(obj), read_names(dims, "dims:", own_names=True)
    if own is None:
        return None
    if sorted(own) != sorted(wanted):
        raise ValueError(f"dims: {wanted} is not a permutation of the object's dims {own}")
    return tuple(own.index(d) for d in wanted)


def as_numpy(obj: Any, dims: Iterable[Any] | None = None) -> np.ndarray[Any, np.dtype[Any]]:
    """An np.ndarray over the object's memory.

    Parameters
    ----------
    obj
        Anything np.asarray takes without copying: a Field, an array, a buffer.
    dims
        The order of the result's indices, where the object names them. Objects without
        names are returned as they are.

    Returns
    -------
    numpy.ndarray
        A view; never a copy.

    Raises
    ------
    ValueError
        When `dims` is not a permutation of the object's own.
    TypeError
        When the object has no host memory.

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.as_numpy(gb.Field.empty((2, 3), dims="JI"), "IJ").shape
    (3, 2)
    """
    from gridbuf._core import host_array

    try:
        array = host_array(obj)
    except (TypeError, ValueError) as error:  # host_array names the argument data
        raise type(error)(f"obj: {str(error).removeprefix('data: ')}") from None
    order = _transposition(obj, dims)
    return array if order is None else array.transpose(order)


def as_cupy(obj: Any, dims: Iterable[Any] | None = None) -> Any:
    """A cupy.ndarray over the object's memory.

    Parameters
    ----------
    obj
        A Field on a GPU, or anything with `__cuda_array_interface__`.
    dims
        The order the indices shall have, where the object names them, as for `as_numpy`.

    Returns
    -------
    cupy.ndarray
        A view; never a copy.

    Raises
    ------
    ImportError
        When cupy is not installed.
    TypeError
        When the object has no device memory (`__cuda_array_interface__`).
    ValueError
        When `dims` is not a permutation of the object's own.

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.as_cupy(gb.Field.empty((2, 3), dims="JI", device="gpu"), "IJ").shape  # doctest: +SKIP
    (3, 2)
    """
    try:
        import cupy as cp
    except ImportError as error:
        raise ImportError(
            "as_cupy needs cupy (pip install cupy-cuda13x), which is not installed"
        ) from error
    if isinstance(obj, cp.ndarray):
        array = obj
    elif hasattr(type(obj), "__cupy_get_ndarray__"):
        array = obj.__cupy_get_ndarray__()
    elif hasattr(obj, "__cuda_array_interface__"):
        array = cp.asarray(obj)
    else:
        raise TypeError(
            f"obj: {type(obj).__name__} has no device memory (no __cuda_array_interface__); use"
            " as_numpy"
        )
    order = _transposition(obj, dims)
    return array if order is None else array.transpose(order)


def canonical(dims: Iterable[str]) -> tuple[str, ...]:
    """Dims in the order I, J, K, 0, 1, ..., other names by the alphabet."""
    return tuple(sorted(dims, key=_place))


def _place(dim: str) -> tuple[int, int, str]:
    if dim in LETTERS:
        return 0, 0, dim
    return (1, int(dim), "") if dim.isdecimal() else (2, 0, dim)


def index_order(origin: Sequence[int], dims: Sequence[str]) -> tuple[int, ...]:
    """An origin in the order I, J, K, 0, 1, ... brought into the order of dims."""
    order = canonical(dims)
    return tuple(origin[order.index(d)] for d in dims)


# ---- __gt_interface__ ----


def entries_of(obj: Any) -> Mapping[Any, Any] | None:
    """The entries of an object in `__gt_interface__`, or under its later name; None if it says
    nothing.
    """
    for name in ("__gt_interface__", "__gt_data_interface__"):
        try:
            entries = getattr(obj, name)
        except AttributeError as error:
            if error.name not in (None, name):  # the property is there, and what it asks for is not
                raise
            continue
        if entries is not None:
            if not isinstance(entries, Mapping):
                raise TypeError(
                    f"{name}: expected a map from device to description, got {entries!r}"
                )
            return entries
    return None


def pick(entries: Mapping[Any, Any], device: tuple[str, int] | str | None) -> Any:
    """The entry for a device, or None."""
    if device is None:
        keys: tuple[Any, ...] = (None, "cpu")
    elif device == "gpu":
        numbered = sorted(
            key for key in entries if isinstance(key, tuple) and key and key[0] == "gpu"
        )
        keys = ("gpu", *numbered)
    else:
        keys = (device, "gpu")
    return next((entries[key] for key in keys if key in entries), None)


# ---- the halo of the Field or storage below an array ----


def shared_halo(array: Any, dims: tuple[str, ...] | None) -> tuple[Any, Any]:
    """Origin and halo in index order; None and None where the array shows other points, or memory
    of its own.
    """
    if dims is None or not hasattr(array, "attrs"):
        return None, None
    data = getattr(array, "data", None)
    owner = _owner(data)
    names = (
        () if owner is None else tuple(owner.dims if isinstance(owner, _core.Field) else owner.axes)
    )
    if not names or set(names) != set(dims):
        return None, None
    order = [names.index(dim) for dim in dims]
    if _extents(data) != [_extents(owner)[i] for i in order] or _start(data) != _start(owner):
        return None, None
    pairs = (getattr(owner, "origin", None), owner.halo)
    origin, halo = (None if each is None else tuple(each[i] for i in order) for each in pairs)
    return origin, halo


def shared_dims(array: Any) -> tuple[str, ...] | None:
    """The dims of the Field or storage whose memory the array shows, found by its strides: for
    arrays with other names. None where the array shows other points.
    """
    data = getattr(array, "data", None)
    owner = _owner(data)
    if owner is None or sorted(_extents(data)) != sorted(_extents(owner)):
        return None
    names = tuple(owner.dims if isinstance(owner, _core.Field) else owner.axes)
    found = list(zip(_extents(owner), names, strict=True))
    return tuple(found.pop([e for e, _ in found].index(extent))[1] for extent in _extents(data))


def _owner(data: Any) -> Any:
    """The Field or storage at the end of a chain of views, or inside of what xarray holds; None
    where there is none.
    """
    base = data if isinstance(data, np.ndarray) else getattr(data, "storage", None)
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, (_core.Field, _core.StorageBase)) else None


def _extents(array: Any) -> list[tuple[int, int]]:
    """Size and stride along each index; a single element has no stride to speak of."""
    return [
        (n, stride if n > 1 else 0) for n, stride in zip(array.shape, array.strides, strict=True)
    ]


def _start(array: Any) -> int:
    """The address of the first element."""
    return int(as_numpy(array).__array_interface__["data"][0])


__all__ = ["as_cupy", "as_numpy", "get_dims", "get_origin"]
