"""Fortran: Fields as arguments of Fortran programs, and Fields over arrays that Fortran holds; nothing is copied.

Memory goes to Fortran in one of three ways, and each asks something else of its layout:

===================  ==================================  =======================================================
call                 what Fortran declares               the memory
===================  ==================================  =======================================================
`f2py(field)`        any argument, wrapped by f2py       first index fastest, no gaps, exactly the kind
`explicit(field)`    `a(lda, ny, *)`, a pointer          first index fastest; room between rows is declared
`descriptor(field)`  `a(:, :, :)` in a `bind(c)`         any strides in whole elements, in any order, backwards
                     procedure (gfortran)
===================  ==================================  =======================================================

and comes back as a Field with `wrap` (an array of f2py), `from_pointer` (`c_loc` and a shape) and `from_descriptor`.
Lower bounds of a declaration become the origin, and with the bounds of the own points the halo. What does not fit is a
ValueError that names the index, says why and what to do.

Examples
--------
>>> import gridbuf as gb, gridbuf.interop.fortran as gbf
>>> field = gb.Field.zeros((10, 8, 5), dims="IJK", backend="F", padding=8)
>>> gbf.explicit(field).extents
(16, 8, 5)
>>> try:
...     gbf.f2py(field)
... except ValueError as error:
...     print(error)
array: J (index 1) has the stride 128, and without gaps it is 80: there are 16 elements of room for 10 of I (index 0); \
declare that extent (explicit), pass it to an assumed-shape argument (descriptor), or a copy: field.to(backend='F', padding=False)
"""

import ctypes
import operator
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from gridbuf import _core
from gridbuf.interop import _fortran_cfi as cfi
from gridbuf.interop import _fortran_checks as checks
from gridbuf.interop import _fortran_kinds as kinds
from gridbuf.interop._common import address
from gridbuf.interop._fortran_cfi import Attribute, Descriptor
from gridbuf.interop._fortran_kinds import dtype
from gridbuf.interop._fortran_memory import from_descriptor, from_pointer, wrap

# ---- to Fortran ----


def f2py(array: Any, kind: Any = None, *, intent: str = "inout") -> NDArray[Any]:
    """The array that a procedure wrapped by f2py works on in place.

    f2py copies what does not fit an `intent(in)` or `intent(in,out)` argument without a word, and of read-only memory it
    says "not fortran contiguous"; what this returns it takes as it is.

    Parameters
    ----------
    array
        A Field, an array or what `gridbuf.Field` takes.
    kind : str or dtype_like, optional
        What Fortran declares, as for `dtype`. f2py compares exactly; give it to have an error that says so.
    intent : {"inout", "in", "out"}, optional
        "in" lets read-only memory pass.

    Examples
    --------
    >>> import gridbuf as gb, gridbuf.interop.fortran as gbf
    >>> field = gb.Field.zeros((4, 3), dims="IJ", backend="F", padding=False)
    >>> gbf.f2py(field, "real(8)").flags.f_contiguous
    True
    >>> try:
    ...     gbf.f2py(field, "real(4)")
    ... except ValueError as error:
    ...     print(error)
    array: its elements are real(c_double) (float64), and Fortran expects real(4) (float32); a copy: field.to(dtype='<f4')
    """
    field = checks.readable(array, intent)
    kinds.check(field, kind)
    checks.contiguous(field)
    return field.numpy()


class Explicit:
    """The pointer for an explicit-shape or assumed-size argument, and the extents to declare it with.

    ctypes takes it as it is, wherever an address is passed. It keeps the Field.

    Attributes
    ----------
    address : int
        Of the first element.
    extents : tuple of int
        As Fortran must declare the array; at least the shape, larger by what is between rows. The first is known
        as the leading dimension, `lda`.
    field : Field
    """

    __slots__ = ("_as_parameter_", "address", "extents", "field")

    def __init__(self, field: _core.Field, extents: tuple[int, ...]) -> None:
        self.field, self.extents, self.address = field, extents, address(field)
        self._as_parameter_ = ctypes.c_void_p(self.address)

    def __repr__(self) -> str:
        return f"<{kinds.declared(self.field.dtype)}, dimension({', '.join(map(str, self.extents))}) at {self.address:#x}>"


def explicit(array: Any, kind: Any = None, *, intent: str = "inout") -> Explicit:
    """A pointer and extents, for `real(c_double) :: a(lda, ny, nz)`.

    Parameters
    ----------
    array, kind, intent
        As for `f2py`. Rows may have room behind them, as gridbuf pads them; the first index must be the fastest.

    Examples
    --------
    >>> import gridbuf as gb, gridbuf.interop.fortran as gbf
    >>> field = gb.Field.zeros((100, 20), dims="IJ", backend="F")
    >>> gbf.explicit(field[2:-2, ::3]).extents
    (300, 7)
    """
    field = checks.readable(array, intent)
    kinds.check(field, kind)
    return Explicit(field, checks.declared_extents(field))


def descriptor(
    array: Any,
    kind: Any = None,
    *,
    attribute: Attribute = "other",
    lower_bounds: Sequence[int] | None = None,
    intent: str = "inout",
) -> Descriptor:
    """A CFI_cdesc_t, for `a(:,:,:)` in a `bind(c)` procedure compiled by gfortran.

    Parameters
    ----------
    array, kind, intent
        As for `f2py`. Any order of indices, gaps and indices that run backwards pass.
    attribute : {"other", "pointer"}, optional
        "pointer" for an argument declared `pointer`: only these have lower bounds of the caller's.
    lower_bounds : sequence of int, optional
        Of a pointer, by default such that the own points begin at 1 (`lower_bounds(field)`).

    Examples
    --------
    >>> import gridbuf as gb, gridbuf.interop.fortran as gbf
    >>> field = gb.Field.zeros((10, 5), dims="IK", halo=(3, 0))
    >>> gbf.descriptor(field, attribute="pointer").cdesc.dim[0].lower_bound
    -2
    """
    if attribute == "allocatable":
        raise ValueError(
            "attribute: Fortran could deallocate an allocatable, and this memory is not its own; declare a pointer, or neither"
        )
    if lower_bounds is not None and attribute != "pointer":
        raise ValueError(
            "lower_bounds: an argument that is no pointer has those of its own declaration; attribute='pointer' takes the caller's"
        )
    field = checks.readable(array, intent)
    kinds.check(field, kind)
    checks.whole_elements(field)
    cdesc = cfi.blank(field.dtype, kinds.intrinsic(kind), field.ndim, attribute)
    cdesc.base_addr = address(field)
    lower = (0,) * field.ndim
    if attribute == "pointer":
        lower = _lower_bounds(field) if lower_bounds is None else checks.per_index("lower_bounds", lower_bounds, field.ndim)
    for i in range(field.ndim):
        cdesc.dim[i] = cfi.CfiDim(lower[i], field.shape[i], field.strides[i])
    return Descriptor(cdesc, field)


def unset(rank: int, kind: Any, *, attribute: Attribute = "pointer") -> Descriptor:
    """A CFI_cdesc_t of nothing, which Fortran sets: `real(c_double), pointer, intent(out) :: a(:,:)`.

    Parameters
    ----------
    rank : int
    kind : str or dtype_like
    attribute : {"pointer", "allocatable"}, optional
        As Fortran declares the argument. `from_descriptor` then makes a Field of it.

    Examples
    --------
    >>> import gridbuf.interop.fortran as gbf
    >>> empty = gbf.unset(2, "real(c_double)")
    >>> try:
    ...     gbf.from_descriptor(empty)
    ... except ValueError as error:
    ...     print(error)
    descriptor: its pointer is not associated
    """
    if attribute not in ("pointer", "allocatable"):
        raise ValueError(f"attribute: {attribute!r}; Fortran sets a 'pointer' or an 'allocatable'")
    found = dtype(kind)
    kinds.declared(found)
    return Descriptor(cfi.blank(found, kinds.intrinsic(kind), operator.index(rank), attribute), None)


def lower_bounds(field: _core.Field) -> tuple[int, ...]:
    """The lower bounds of a declaration in which a Field's own points begin at 1.

    Examples
    --------
    >>> import gridbuf as gb, gridbuf.interop.fortran as gbf
    >>> gbf.lower_bounds(gb.Field.zeros((10, 8), dims="IJ", halo=((3, 3), (1, 0))))
    (-2, 0)
    """
    return tuple(1 - n for n in field.origin) if field.origin is not None else (1,) * field.ndim


_lower_bounds = lower_bounds

__all__ = [
    "Descriptor", "Explicit", "descriptor", "dtype", "explicit", "f2py", "from_descriptor", "from_pointer", "lower_bounds", "unset", "wrap",
]  # fmt: skip
