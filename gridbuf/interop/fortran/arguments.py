"""Fields as arguments of Fortran procedures: of f2py modules, with explicit shape, and with assumed
shape.
"""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.interop.fortran.types import (
    MAX_RANK,
    Descriptor,
    described,
    dtype_of,
    has_type,
    is_logical,
    type_code,
)
from gridbuf.strides import index_name, packed
from gridbuf.validation import boolean
from gridbuf.wrapping import as_field

# ---- whether memory is what a declaration says: its kind, its order, its gaps ----


def checked(field: Any, kind: Any, writable: bool, argument: str = "field") -> _core.Field:
    """A Field whose elements Fortran has a type for, the declared one if a kind is given, and may
    write to.
    """
    writable, field = boolean(writable, "writable"), as_field(field, argument)
    if (why := has_type(field.dtype)) is not None:
        raise ValueError(f"{argument}: {why}")
    wanted = None if kind is None else dtype_of(kind)
    if wanted is not None and wanted != field.dtype:
        raise ValueError(
            f"{argument}: its dtype is {field.dtype.name}, and {kind!r} is {wanted.name}; "
            f"declare {_declared(field.dtype)}, or pass a copy: field.to(dtype={wanted.name!r})"
        )
    if writable and field.readonly:
        raise ValueError(
            f"{argument}: it is read-only; pass writable=False where the argument is intent(in),"
            " else a copy: field.copy()"
        )
    return field


def _declared(dtype: np.dtype[Any]) -> str:
    name = {"i": "integer", "f": "real", "c": "complex", "b": "logical"}[dtype.kind]
    return f"{name}({type_code(dtype) >> 8})"


def gap(field: _core.Field) -> str | None:
    """Which index is not where Fortran order without gaps has it."""
    wanted = packed(field.shape, field.dtype.itemsize, range(field.ndim)[::-1])
    for i, (n, stride, step) in enumerate(zip(field.shape, field.strides, wanted, strict=True)):
        if field.size and n > 1 and stride != step:
            return (
                f"{index_name(field, i)} has the stride {stride} where Fortran order without gaps"
                f" has {step}"
            )
    return None


def leading(field: _core.Field) -> tuple[tuple[int, ...], str | None]:
    """The extents to declare of every index but the last; or which index cannot be declared so."""
    shape, strides, before = field.shape, field.strides, field.dtype.itemsize
    if not field.size:
        return shape[:-1], None
    if shape and shape[0] > 1 and strides[0] != before:
        return (
            (),
            (
                f"{index_name(field, 0)} has the stride {strides[0]} where Fortran's first index"
                f" has {before}"
            ),
        )
    found = []
    for i in range(1, len(shape)):
        # The stride of a single element says nothing: the next index that has more decides.
        stride = next(
            (strides[j] for j in range(i, len(shape)) if shape[j] > 1), before * shape[i - 1]
        )
        if stride % before or stride // before < shape[i - 1]:
            j = next(j for j in range(i, len(shape)) if shape[j] > 1)
            why = f"a multiple of {before}, and at least {before * shape[i - 1]}"
            return (), f"{index_name(field, j)} has the stride {stride} where Fortran has {why}"
        found.append(stride // before)
        before = stride
    return tuple(found), None


def aligned(field: _core.Field) -> None:
    """Compiled code takes elements to lie on multiples of their size."""
    if field.size and not field.numpy().flags.aligned:
        raise ValueError(
            f"field: it begins at {field.numpy().ctypes.data:#x}, which is no place for"
            f" {field.dtype}; {copies(field)}"
        )


def copies(field: _core.Field) -> str:
    """The remedy for strides: the call that makes a proper copy, and ways without one, as far as
    there are any.
    """
    ways = ["pass a copy: field.to(backend='F')"]
    turned = field.transpose(field.dims[::-1])
    if field.ndim > 1 and gap(turned) is None:
        ways.append(f"turn the indices round: field.transpose({field.dims[::-1]!r})")
    if any(n > 1 and stride < 0 for n, stride in zip(field.shape, field.strides, strict=True)):
        ways.append(
            "turn it forwards:"
            f" field[{', '.join('::-1' if stride < 0 else ':' for stride in field.strides)}]"
        )
    elif gap(field) is not None and leading(field)[1] is None:
        ways.append("declare the gaps as leading extents: explicit(field)")
    return ", or ".join(ways)


def refuse(field: _core.Field, wrong: str | None, argument: str = "field") -> None:
    if wrong is not None:
        raise ValueError(f"{argument}: {wrong}; {copies(field)}")


# ---- arguments ----


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
        How it is associated or allocated.

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
