"""Fields as arguments of Fortran procedures: of f2py modules, with explicit shape, and with assumed
shape.
"""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.interop.fortran.cfi import MAX_RANK, Descriptor, described, type_code
from gridbuf.interop.fortran.checks import aligned, checked, copies, gap, leading, refuse
from gridbuf.interop.fortran.kinds import dtype_of, has_type, is_logical
from gridbuf.strides import index_name
from gridbuf.validation import boolean


@dataclass(frozen=True)
class Explicit:
    """The argument for an explicit-shape or assumed-size array: passed as its address, and holding
    its memory.

    Attributes
    ----------
    array
        The memory.
    shape
        The extents that are used.
    leading
        The extents to declare of every index but the last, gaps included.
    lower
        The lower bounds with which the domain begins at 1.
    """

    array: np.ndarray[Any, Any]
    leading: tuple[int, ...]
    lower: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def address(self) -> int:
        """Where the first element lies; valid for as long as this object."""
        return int(self.array.ctypes.data)

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.address)


def to_f2py(field: Any, kind: Any = None, *, writable: bool = True) -> np.ndarray[Any, Any]:
    """The ndarray for an argument of an f2py module, which f2py takes as it is instead of copying
    or refusing it.

    Parameters
    ----------
    field : Field or array
        On the host.
    kind : str or dtype_like, optional
        What Fortran declares: "real(8)", "integer(c_int)", "logical(4)", ...; checked where given.
    writable : bool, optional
        False where the argument is `intent(in)`, which read-only memory may be passed to.

    Returns
    -------
    numpy.ndarray
        Over the same memory.

    Raises
    ------
    ValueError
        Where f2py would copy (`intent(in)`) or refuse (`intent(inout)`): another kind, or an index
        with another stride.

    Examples
    --------
    >>> import gridbuf as gb
    >>> from gridbuf.interop import fortran
    >>> fortran.to_f2py(gb.Field.zeros((4, 5), backend="F"), "real(8)").flags.f_contiguous
    True
    """
    field = checked(field, kind, writable)
    refuse(field, gap(field))
    aligned(field)
    return field.numpy()


def explicit(field: Any, kind: Any = None, *, writable: bool = True) -> Explicit:
    """The argument for an explicit-shape or assumed-size array of a `bind(C)` procedure, called
    through ctypes.

    Parameters
    ----------
    field, kind, writable
        As for `to_f2py`.

    Returns
    -------
    Explicit
        To be passed through ctypes as it is.

    Raises
    ------
    ValueError
        When kind is no Fortran type or not the field's, or the first index has another stride than
        the item size; the message names the copy to pass.

    Examples
    --------
    >>> import gridbuf as gb
    >>> from gridbuf.interop import fortran
    >>> fortran.explicit(gb.Field.zeros((6, 5, 4), dims="IJK", backend="F", padding=8)).leading
    (8, 5)
    """
    field = checked(field, kind, writable)
    extents, wrong = leading(field)
    refuse(field, wrong)
    aligned(field)
    return Explicit(field.numpy(), extents, _lower(field))


def _lower(field: _core.Field) -> tuple[int, ...]:
    """The lower bounds with which the domain begins at 1."""
    return tuple(1 - n for n in field.origin or (0,) * field.ndim)


def descriptor(
    field: Any,
    kind: Any = None,
    *,
    writable: bool = True,
    pointer: bool = False,
    lower: Sequence[int] | None = None,
) -> Descriptor:
    """The CFI_cdesc_t for an assumed-shape array of a `bind(C)` procedure, called through ctypes;
    strides of any kind.

    Parameters
    ----------
    field, kind, writable
        As for `to_f2py`.
    pointer : bool, optional
        True for an argument declared `pointer`, whose lower bounds are the caller's.
    lower : sequence of int, optional
        These lower bounds; by default those with which the domain begins at 1.

    Returns
    -------
    Descriptor
        To be passed through ctypes by reference; it holds the memory.

    Raises
    ------
    ValueError
        When kind is no Fortran type or not the field's, or an index repeats its elements, there are
        more than 15, or lower does not fit.

    Examples
    --------
    >>> import gridbuf as gb
    >>> from gridbuf.interop import fortran
    >>> fortran.descriptor(gb.Field.zeros((6, 5))[::2, ::-1], "real(8)")
    Descriptor(rank=2, type=2051, other, bounds=(0:2, 0:4))
    """
    field = checked(field, kind, writable)
    for i, (n, stride) in enumerate(zip(field.shape, field.strides, strict=True)):
        if field.size and n > 1 and (stride == 0 or stride % field.dtype.itemsize):
            what = (
                "repeats its elements"
                if stride == 0
                else f"is no multiple of the {field.dtype.itemsize} bytes of an element"
            )
            raise ValueError(
                f"field: {index_name(field, i)} has the stride {stride}, which {what};"
                f" {copies(field)}"
            )
    if field.ndim > MAX_RANK:
        raise ValueError(
            f"field: it has {field.ndim} indices, and Fortran's arrays have at most {MAX_RANK}"
        )
    aligned(field)
    if not boolean(pointer, "pointer"):
        if lower is not None:
            raise ValueError(
                "lower: an argument that is no pointer has the bounds of its own declaration; pass"
                " pointer=True"
            )
        return described(field.numpy(), is_logical(kind))
    if lower is not None and len(lower) != field.ndim:
        raise ValueError(f"lower: {len(lower)} bounds for a field of {field.ndim} indices")
    return described(field.numpy(), is_logical(kind), _lower(field) if lower is None else lower)


def receiver(rank: int, kind: Any, attribute: str = "pointer") -> Descriptor:
    """An empty CFI_cdesc_t for an argument that Fortran associates or allocates; `from_descriptor`
    reads it afterwards.

    Parameters
    ----------
    rank : int
        How many indices the argument has.
    kind : str or dtype_like
        What Fortran declares, as for `to_f2py`.
    attribute : {"pointer", "allocatable"}, optional
        And how.

    Returns
    -------
    Descriptor
        To be passed through ctypes by reference.

    Raises
    ------
    ValueError
        When rank, kind or attribute is not one that Fortran has.

    Examples
    --------
    >>> from gridbuf.interop import fortran
    >>> fortran.receiver(2, "real(8)")  # for `real(c_double), pointer, intent(out) :: a(:, :)`
    Descriptor(rank=2, type=2051, pointer, bounds=(none yet))
    """
    if attribute not in ("pointer", "allocatable"):
        raise ValueError(f"attribute: {attribute!r} is neither 'pointer' nor 'allocatable'")
    if not 0 <= rank <= MAX_RANK:
        raise ValueError(f"rank: {rank} is not among 0 to {MAX_RANK}")
    dtype = dtype_of(kind)
    if (why := has_type(dtype)) is not None:
        raise ValueError(f"kind: {why}")
    return Descriptor(rank, type_code(dtype, is_logical(kind)), dtype.itemsize, attribute)
