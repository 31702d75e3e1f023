"""GHEX: descriptors of our memory, by which it sends domains and fills halos.

Examples
--------
>>> import gridbuf.interop.ghex as gbx
>>> descriptor = gbx.field_descriptor(domain, field)  # doctest: +SKIP
>>> exchanger.exchange([pattern(descriptor)]).wait()  # doctest: +SKIP
"""

from typing import Any

from gridbuf import _core
from gridbuf.strides import index_name
from gridbuf.wrapping import as_field

__all__ = ["field_descriptor"]

DTYPES = ("float64", "float32", "int64", "int32", "bool")


def field_descriptor(domain: Any, field: _core.Field) -> Any:
    """The field descriptor of a Field, as `ghex.structured.regular.make_field_descriptor` makes
    them; nothing is copied, and the descriptor keeps the Field alive.

    GHEX packs and unpacks rows as if their elements touched, whatever the strides are, and would
    send and overwrite the bytes between them. So such a Field is refused.

    Parameters
    ----------
    domain : ghex.structured.regular.DomainDescriptor
        Of the points inside the Field's halo.
    field : Field
        On the host, of float64, float32, int64, int32 or bool.

    Returns
    -------
    object
        For a pattern of GHEX.

    Raises
    ------
    ValueError
        When elements along the fastest index do not touch, or the memory is read-only.
    TypeError
        When GHEX has no such type or layout.

    Examples
    --------
    >>> from gridbuf.interop.ghex import field_descriptor
    >>> field_descriptor(domain, field)  # doctest: +SKIP
    """
    field = as_field(field)
    if str(field.dtype) not in DTYPES:
        raise TypeError(
            f"field: GHEX has no {field.dtype}, only {', '.join(DTYPES)} of this machine; pass"
            " field.to(dtype='float64')"
        )
    if field.readonly:
        raise ValueError("field: it is read-only, and GHEX writes halos; pass field.copy()")
    fastest = min(range(field.ndim), key=field.strides.__getitem__, default=None)
    if fastest is not None and field.strides[fastest] != field.dtype.itemsize:
        raise ValueError(
            f"field: {index_name(field, fastest)} has the stride {field.strides[fastest]}, and GHEX"
            " reads rows as if their elements touched; pass field.copy()"
        )
    from ghex.structured.regular import make_field_descriptor

    return make_field_descriptor(domain, field, field.origin or (0,) * field.ndim, field.shape)
