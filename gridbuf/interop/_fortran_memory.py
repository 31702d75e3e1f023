"""Fields over arrays that Fortran holds: f2py's arrays, addresses with a shape, and descriptors."""

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.interop import _fortran_cfi as cfi
from gridbuf.interop import _fortran_checks as checks
from gridbuf.interop import _fortran_kinds as kinds
from gridbuf.interop._fortran_cfi import Descriptor
from gridbuf.interop._fortran_checks import Domain
from gridbuf.interop._fortran_kinds import dtype


def wrap(
    array: Any, dims: Any = None, kind: Any = None, *, lower_bounds: Sequence[int] | None = None, domain: Domain | None = None,
    contiguous: bool = True, require: Any = None,
) -> _core.Field:  # fmt: skip
    """A Field over an array of Fortran's that Python sees already: a module's variable or a result of f2py.

    Parameters
    ----------
    array
        An ndarray or another buffer, in Fortran's order.
    dims : sequence of str, optional
    kind : str or dtype_like, optional
        What its elements must be.
    lower_bounds : sequence of int, optional
        Of the declaration, which f2py does not tell: (-2, 1) for `a(-2:n+3, m)`. The point with the index 1 becomes
        the origin.
    domain : sequence, optional
        The own points of each index: `n` for 1:n, a pair (first, last), or None for the whole index. What is beyond
        them is the halo.
    contiguous : bool, optional
        False lets sections with gaps pass; the order is checked all the same.
    require : dict, optional
        As for `gridbuf.Field`: what a backend asks for beyond that.

    Notes
    -----
    f2py's arrays over a module's allocatable do not know when it is deallocated, and neither does the Field.

    Examples
    --------
    >>> import gridbuf.interop.fortran as gbf, numpy as np
    >>> theirs = np.zeros((10, 5), order="F")  # real(8) :: a(-2:7, 0:4)
    >>> field = gbf.wrap(theirs, "IK", "real(8)", lower_bounds=(-2, 0), domain=(4, (0, 4)))
    >>> field.halo
    ((3, 3), (0, 0))
    >>> try:
    ...     gbf.wrap(theirs.T, "KI")
    ... except ValueError as error:
    ...     print(error)
    array: K (index 0) has the stride 80, and Fortran needs 8 there: in Fortran the first index is the fastest, here it is \
I (index 1); from fastest to slowest they are IK: declare them in that order and pass field.transpose('IK'), \
or a copy: field.to(backend='F', padding=False)
    """
    plain = checks.readable(array if dims is None else _core.Field(array, dims), "in")
    kinds.check(plain, kind)
    (checks.contiguous if contiguous else checks.fortran_order)(plain)
    return _placed(array, dims, plain, lower_bounds, domain, require)


class _Memory:
    """Memory at an address, and whoever keeps it."""

    def __init__(self, start: int, shape: tuple[int, ...], strides: tuple[int, ...], readonly: bool, owner: Any) -> None:
        # Bytes: __array_interface__ names few dtypes, a view has any.
        self.owner = owner
        self.__array_interface__ = {
            "shape": shape, "typestr": "|V1", "data": (start, readonly), "strides": strides, "version": 3,
        }  # fmt: skip


def from_pointer(
    pointer: Any, shape: Sequence[int], kind: Any, dims: Any = None, *, lower_bounds: Sequence[int] | None = None,
    domain: Domain | None = None, owner: Any = None, readonly: bool = False, require: Any = None,
) -> _core.Field:  # fmt: skip
    """A Field over memory that Fortran gives the address of: `c_loc(a)` and `shape(a)`.

    Parameters
    ----------
    pointer : int or ctypes pointer
        Of the first element of a contiguous array, a `target`.
    shape : sequence of int
        The extents in Fortran's order.
    kind : str or dtype_like
        As for `dtype`.
    dims, lower_bounds, domain, require
        As for `wrap`.
    owner : object, optional
        Kept for as long as the memory is in reach. Let it deallocate when it goes (`weakref.finalize`).
    readonly : bool, optional
        Whether Python must not write.

    Examples
    --------
    >>> import ctypes, gridbuf.interop.fortran as gbf
    >>> memory = (ctypes.c_double * 40)()
    >>> field = gbf.from_pointer(memory, (8, 5), "real(c_double)", "IK", lower_bounds=(-1, 1), domain=(4, 5), owner=memory)
    >>> field.strides, field.halo, field.domain.shape
    ((8, 64), ((2, 2), (0, 0)), (4, 5))
    """
    found = dtype(kind)
    kinds.declared(found)
    extents = tuple(operator.index(n) for n in shape)
    for i, n in enumerate(extents):
        if n < 0:
            raise ValueError(f"shape: index {i} has {n} elements")
    strides, step = [], found.itemsize
    for n in extents:
        strides.append(step)
        step *= max(n, 1)
    array = _view(cfi.pointer_value(pointer, "pointer"), extents, tuple(strides), found, owner, readonly)
    if array is None:
        raise ValueError("pointer: it is NULL: the array is not allocated, or the pointer not associated")
    return _placed(array, dims, None, lower_bounds, domain, require)


def from_descriptor(
    source: Any, dims: Any = None, kind: Any = None, *, lower_bounds: Sequence[int] | None = None, domain: Domain | None = None,
    owner: Any = None, readonly: bool = False, require: Any = None,
) -> _core.Field:  # fmt: skip
    """A Field over the array that a CFI_cdesc_t of gfortran's describes.

    Parameters
    ----------
    source : Descriptor, int or ctypes pointer
        What `unset` made and Fortran set, or where a CFI_cdesc_t lies: the argument of a callback, say. It is read
        during the call and not kept.
    dims, kind, domain, owner, readonly, require
        As for `wrap` and `from_pointer`.
    lower_bounds : sequence of int, optional
        Taken from a pointer's or an allocatable's descriptor unless given, when `domain` is given.

    Examples
    --------
    >>> import gridbuf as gb, gridbuf.interop.fortran as gbf
    >>> ours = gb.Field.zeros((10, 5), dims="IK", halo=(3, 0))
    >>> theirs = gbf.descriptor(ours, attribute="pointer")
    >>> gbf.from_descriptor(theirs, "IK", domain=(4, None)).halo
    ((3, 3), (0, 0))
    """
    cdesc = cfi.read(source)
    found = _described(cdesc, kind)
    rows = cdesc.dim[: cdesc.rank]
    for i, row in enumerate(rows):
        if row.extent < 0:
            why = (
                "of an assumed-size array (*), which Fortran does not know"
                if row.extent == -1 and i == cdesc.rank - 1
                else f"{row.extent}"
            )
            raise ValueError(f"descriptor: index {i} has the extent {why}; pass the address and the shape (from_pointer)")
    shape, strides = tuple(row.extent for row in rows), tuple(row.sm for row in rows)
    held = (owner, source.field) if isinstance(source, Descriptor) else owner
    unset_yet = not cdesc.base_addr and cfi.ATTRIBUTES[cdesc.attribute] != "other"  # allocated arrays of size 0 have an address
    array = None if unset_yet else _view(cdesc.base_addr or 0, shape, strides, found, held, readonly)
    if array is None:
        what = {"pointer": "its pointer is not associated", "allocatable": "its array is not allocated"}
        raise ValueError(f"descriptor: {what.get(cfi.ATTRIBUTES[cdesc.attribute], 'its base address is NULL')}")
    if lower_bounds is None and domain is not None and cfi.ATTRIBUTES[cdesc.attribute] != "other":
        lower_bounds = tuple(row.lower_bound for row in rows)
    return _placed(array, dims, None, lower_bounds, domain, require)


def _described(cdesc: cfi.CfiDesc, kind: Any) -> np.dtype[Any]:
    """The dtype of what a descriptor describes."""
    name, size = cfi.TYPES.get(cdesc.type & 0xFF), cdesc.type >> 8
    if cdesc.type == cfi.STRUCT and kind is not None:
        found = dtype(kind)
    elif name is None:
        raise ValueError(f"descriptor: elements of CFI type {cdesc.type} have no dtype; give kind= for those of a bind(c) type")
    else:
        found = np.dtype(f"S{cdesc.elem_len}") if name == "character" and size == 1 else dtype(f"{name}({size})")
    if found.itemsize != cdesc.elem_len:
        raise ValueError(f"descriptor: its elements have {cdesc.elem_len} bytes, {kind or found} has {found.itemsize}")
    if kind is not None and dtype(kind) != found:
        raise ValueError(f"descriptor: its elements are {name}({size}) ({found}), and kind expects {kind} ({dtype(kind)})")
    return found


def _view(start: int, shape: tuple[int, ...], strides: tuple[int, ...], found: np.dtype[Any], owner: Any, readonly: bool) -> Any:
    """The array at an address; None where that is NULL and there are elements."""
    if math.prod(max(n, 1) for n in shape) * found.itemsize >= 2**63:
        raise ValueError(f"shape: {shape} of {found} is beyond 64 bits")
    if 0 in shape:
        return np.empty(shape, found, order="F")
    if not start:
        return None
    memory = np.asarray(_Memory(start, (*shape, found.itemsize), (*strides, 1), readonly, owner))
    array = memory.view(found)[..., 0]
    if not array.flags.aligned:
        raise ValueError(f"pointer: {start:#x} with the strides {strides} is no place for elements of {found}")
    return array


def _placed(
    array: Any, dims: Any, plain: _core.Field | None, lower: Sequence[int] | None, domain: Domain | None, require: Any
) -> _core.Field:
    """The Field with the origin and halo that the bounds say; origin and halo of the object itself where they say nothing."""
    plain = _core.Field(array, dims) if plain is None else plain
    origin, halo = checks.origin_and_halo(plain, lower, domain)
    return _core.Field(array, dims, origin=origin, halo=halo, require=require)
