"""JAX: arrays over the memory of Fields where XLA can take it, and Fields over the memory of JAX's
arrays.

XLA takes compact memory only (any order of strides, no padding, no slices), whose first element
lies on a boundary of 64 bytes. JAX itself does not say which of these failed: it raises
UNIMPLEMENTED for the first, and silently copies for the second, and it silently turns float64 into
float32 while its 64-bit types are switched off. `to_array` says which, and never copies unasked.

Examples
--------
>>> import gridbuf as gb, gridbuf.interop.jax as gbj
>>> field = gb.Field.full((4, 5, 6), 2.0, "float32", dims="IJK", layout=(1, 2, 0), padding=False)
>>> array = gbj.to_array(field)
>>> float(array.sum())
240.0
>>> gbj.from_array(array, "IJK").readonly
True
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gridbuf import _core
from gridbuf.strides import XLA_ALIGNMENT, address, compact_strides, gap, index_name
from gridbuf.validation import boolean_or_none
from gridbuf.wrapping import as_field

_WIDE = {"int64", "uint64", "float64", "complex128"}


def why_not(field: Any) -> str | None:
    """Why JAX cannot share a Field's memory, and what to do; None where it can.

    Parameters
    ----------
    field : Field
        On the host.

    Returns
    -------
    str or None
        The reason; None when it can be shared.

    Examples
    --------
    >>> import gridbuf as gb, gridbuf.interop.jax as gbj
    >>> padded = gb.Field.zeros((4, 5), "float32", dims="IJ", padding=True)
    >>> print(gbj.why_not(padded))
    I (index 0) has the stride 64 where compact memory has 20, and XLA takes compact memory only; \
gridbuf.interop.jax.compact(field) is a copy that it takes
    >>> gbj.why_not(gbj.compact(padded)) is None
    True
    """
    source = as_field(field)
    return _narrowed(source) or _unshareable(source)


def _narrowed(source: _core.Field) -> str | None:
    name = source.dtype.name
    if jax.config.jax_enable_x64 or name not in _WIDE:
        return None
    half = name.replace("64", "32").replace("128", "64")
    return (
        f"its dtype {name} has 64-bit parts, and JAX's 64-bit types are switched off: it would"
        ' make a copy with half the precision; call jax.config.update("jax_enable_x64", True) at'
        f" the start, or field.to(dtype={half!r})"
    )


def _unshareable(source: _core.Field) -> str | None:
    index = gap(source)
    if index is not None:
        return (
            f"{index_name(source, index)} has the stride {source.strides[index]} where compact"
            f" memory has {compact_strides(source)[index]}, and XLA takes compact memory only;"
            " gridbuf.interop.jax.compact(field) is a copy that it takes"
        )
    off = address(source) % XLA_ALIGNMENT
    if off and source.size:
        return (
            f"its first element lies {off} bytes after a boundary of {XLA_ALIGNMENT} bytes, and XLA"
            " would copy it; allocate with aligned_index at element 0 (gridbuf.interop.jax.empty"
            " does), or gridbuf.interop.jax.compact(field) is a copy that it takes"
        )
    return None


def to_array(field: Any, *, copy: bool | None = False) -> jax.Array:
    """A jax.Array over the memory of a Field; a copy only when it is asked for.

    Parameters
    ----------
    field
        A Field, or what `gridbuf.Field` takes.
    copy : bool or None, optional
        False (default): share, or ValueError says why not. None: share where possible, else copy.
        True: copy. The dtype stays in each case.

    Returns
    -------
    jax.Array

    Raises
    ------
    ValueError
        When the memory cannot be shared; the message says why.
    BufferError
        When JAX has no such dtype, or the Field is read-only and JAX older than 0.12.

    Notes
    -----
    JAX takes its arrays for constants: do not write to the Field while the array is in use.

    Examples
    --------
    >>> import gridbuf as gb, gridbuf.interop.jax as gbj
    >>> f = gb.Field.full((4, 6), 3.0, "float32", dims="IJ")
    >>> try:
    ...     gbj.to_array(f[:, ::2])
    ... except ValueError as error:
    ...     print(str(error)[:60])
    field: J (index 1) has the stride 8 where compact memory has
    >>> gbj.to_array(f[:, ::2], copy=None).shape
    (4, 3)
    """
    copy, source = boolean_or_none(copy, "copy"), as_field(field)
    narrowed = _narrowed(source)  # a copy would not help, or not as asked
    reason = narrowed or _unshareable(source)
    if narrowed is not None or (copy is False and reason is not None):
        raise ValueError(f"field: {reason}")
    try:
        if copy is True or reason is not None:
            return jnp.array(source, copy=True)
        return jnp.from_dlpack(source)
    except (BufferError, TypeError) as error:
        if source.readonly and "legacy" in str(error):
            raise BufferError(
                f"field: it is read-only, and JAX {jax.__version__} asks for DLPack tensors that"
                " cannot say so, as JAX before 0.12 does; copy=True copies"
            ) from error
        raise BufferError(f"field: JAX cannot hold {source.dtype!r}: {error}") from error


def from_array(
    array: jax.Array, dims: Any = None, *, origin: Any = None, halo: Any = None
) -> _core.Field:
    """A read-only Field over the memory of a jax.Array; nothing is copied.

    Parameters
    ----------
    array : jax.Array
        On one device, and not traced: inside `jax.jit` an array has no memory yet.
    dims, origin, halo : optional
        As for `gridbuf.Field`.

    Returns
    -------
    Field
        Over the array's memory.

    Raises
    ------
    TypeError
        When it is no array of JAX, or is traced.
    ValueError
        When its memory is gone or not in one piece, or dims, origin or halo do not fit.

    Examples
    --------
    >>> import jax.numpy as jnp, gridbuf.interop.jax as gbj
    >>> gbj.from_array(jnp.arange(6.0).reshape(2, 3), "JK").shape
    (2, 3)
    """
    if isinstance(array, jax.core.Tracer):
        raise TypeError(
            "array: it is traced, inside jax.jit or grad, and has no memory; call from_array on the"
            " result"
        )
    if not isinstance(array, jax.Array):
        raise TypeError(f"array: expected a jax.Array, got {type(array).__name__}")
    if array.is_deleted():
        raise ValueError("array: it was deleted or donated, and its memory is gone")
    if len(array.sharding.device_set) > 1:
        raise ValueError(
            f"array: it is spread over {len(array.sharding.device_set)} devices; wrap"
            " array.addressable_shards one by one"
        )
    return _core.Field(array, dims, origin=origin, halo=halo)


def compact(field: Any) -> _core.Field:
    """A copy that JAX can share: the same order of strides, no padding, element 0 on a boundary of
    64 bytes.

    Parameters
    ----------
    field
        A Field, or what `gridbuf.Field` takes.

    Returns
    -------
    Field
        In new memory, or field itself.

    Examples
    --------
    >>> import gridbuf as gb, gridbuf.interop.jax as gbj
    >>> gbj.compact(gb.Field.zeros((4, 5), backend="gt:cpu_ifirst", padding=True)).strides
    (8, 32)
    """
    source = as_field(field)
    return source.to(padding=False, byte_alignment=XLA_ALIGNMENT, aligned_index=(0,) * source.ndim)


def empty(shape: Any, dtype: Any = "float32", **spec: Any) -> _core.Field:
    """An uninitialised Field that JAX can share: `gridbuf.Field.empty` without padding, aligned at
    element 0.

    Parameters
    ----------
    shape : int or sequence of int
        The size of each index.
    dtype : dtype_like, optional
        The type of the elements.
    **spec
        The keywords of `gridbuf.Field.empty`; `padding` and alignment given here win, and may spoil
        the sharing.

    Returns
    -------
    Field
        In new memory.

    Examples
    --------
    >>> import gridbuf.interop.jax as gbj
    >>> field = gbj.empty((5, 7), dims="IJ", backend="gt:cpu_ifirst", halo=(1, 1))
    >>> field.strides, gbj.why_not(field)
    ((4, 20), None)
    """
    ndim = np.size(shape) if np.ndim(shape) else 1
    own: dict[str, Any] = {
        "padding": False,
        "byte_alignment": XLA_ALIGNMENT,
        "aligned_index": (0,) * ndim,
    }
    spec = own | spec
    return _core.Field.empty(shape, dtype, **spec)


__all__ = ["compact", "empty", "from_array", "to_array", "why_not"]
