"""Fortran: our memory for its procedures, and Fields over its memory, in both directions without a
copy.

A Field goes to Fortran in one of three ways, each with its own demands on the strides:

* `to_f2py`: an ndarray for an argument of an f2py module (Fortran order, no gaps).
* `explicit`: the address for an explicit-shape or assumed-size argument, `real(8) :: a(lda, *)`
  (gaps at the ends of columns are allowed and become the leading extents).
* `descriptor`: a CFI_cdesc_t for an assumed-shape argument of a `bind(C)` procedure, `real(8) ::
  a(:, :)` (any strides; the layout of the structure is gfortran's).

Fortran's memory becomes a Field with `wrap` (an array that f2py gives), `from_pointer` (`c_loc(a)`
and the bounds) or `from_descriptor`. The bounds of the declaration become origin and halo: the
element 1 is the first of the domain.

Examples
--------
>>> import gridbuf as gb
>>> from gridbuf.interop import fortran
>>> field = gb.Field.zeros((8, 5, 3), dims="IJK", backend="F", halo=(2, 0, 0))
>>> argument = fortran.explicit(field, "real(8)")  # for `real(8) :: a(-1:lda-2, 5, *)`
>>> argument.leading, argument.lower
((8, 5), (-1, 1, 1))
>>> try:
...     fortran.explicit(field[:, ::2, ::2].transpose("JIK"), "real(8)")
... except ValueError as error:
...     print(error)
field: J (index 0) has the stride 128 where Fortran's first index has 8; pass a copy: field.to(backend='F')
"""  # noqa: E501

from gridbuf.interop.fortran.arguments import Explicit, descriptor, explicit, receiver, to_f2py
from gridbuf.interop.fortran.memory import from_descriptor, from_pointer, wrap
from gridbuf.interop.fortran.types import Descriptor

__all__ = [
    "Descriptor",
    "Explicit",
    "descriptor",
    "explicit",
    "from_descriptor",
    "from_pointer",
    "receiver",
    "to_f2py",
    "wrap",
]
