"""Fields over Fortran's memory; the bounds of the declaration become origin and halo."""

import ctypes
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.interop.fortran.arguments import checked, gap, refuse
from gridbuf.interop.fortran.types import Descriptor, dtype_of, has_type, parsed
from gridbuf.strides import extent, packed
from gridbuf.validation import boolean
from gridbuf.wrapping import as_field

Bounds = Sequence[int | tuple[int, int] | None]


def wrap(
    array: Any,
    dims: Any = None,
    *,
    kind: Any = None,
    lower: Sequence[int] | None = None,
    domain: Bounds | None = None,
) -> _core.Field:
    """A Field over an array of Fortran's, as f2py gives it, checked to be in Fortran order without
    gaps.

    Parameters
    ----------
    array : array
        As f2py gives it.
    dims : sequence of str, optional
        What each index means.
    kind : str or dtype_like, optional
        What Fortran declares; checked where given.
    lower : sequence of int, optional
        The lower bounds of the declaration, which f2py does not pass on; 1 unless given.
    domain : sequence, optional
        For each index the bounds of the domain in Fortran's counting, (first, last), or `n` for (1,
        n), or None where there is no halo. Without it the domain begins at 1, and where it ends is
        not known: the Field has an origin only.

    Returns
    -------
    Field
        Over the same memory.

    Raises
    ------
    ValueError
        When the array is of another kind or has gaps, or bounds do not fit it.

    Examples
    --------
    >>> import numpy as np
    >>> from gridbuf.interop import fortran
    >>> a = np.zeros((10, 4), order="F")  # real(8) :: a(-2:7, 4), of which 1:4 is the domain
    >>> fortran.wrap(a, "IK", kind="real(8)", lower=(-2, 1), domain=(4, None)).halo
    ((3, 3), (0, 0))
    """
    field = checked(as_field(array, "array"), kind, writable=False, argument="array")
    refuse(field, gap(field), "array")
    if lower is not None and len(lower) != field.ndim:
        raise ValueError(f"lower: {len(lower)} bounds for an array of {field.ndim} indices")
    return _with_bounds(field.numpy(), dims, lower, domain)


def from_pointer(
    address: Any, bounds: Bounds, kind: Any, dims: Any = None, *,
    leading: Sequence[int] | None = None,
    domain: Bounds | None = None, owner: Any = None, release: Callable[[], Any] | None = None,
    writable: bool = True,
) -> _core.Field:  # fmt: skip
    """A Field over memory of Fortran's, given by `c_loc(a)` and the bounds of its declaration.

    Parameters
    ----------
    address : int or ctypes pointer
        The address of the element with the lowest indices.
    bounds : sequence
        For each index (lower, upper), both included, or `n` for (1, n).
    kind : str or dtype_like
        What Fortran declares: "real(8)", "integer(c_int)", ...
    dims : sequence of str, optional
        As for `wrap`.
    leading : sequence of int, optional
        The extents of every index but the last as declared, where they are larger than the bounds.
    domain : sequence, optional
        As for `wrap`.
    owner : object, optional
        Kept alive as long as the memory is in use. Without owner and release the memory must stay
        for good.
    release : callable, optional
        Called without arguments once the memory is no longer in use.
    writable : bool, optional
        False for memory that Python must not write to.

    Returns
    -------
    Field
        Over Fortran's memory.

    Raises
    ------
    ValueError
        When the address is 0 or not aligned, kind is no Fortran type, or bounds do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from gridbuf.interop import fortran
    >>> memory = np.arange(40.0)  # in real life: real(8), target :: a(0:9, 4)
    >>> bounds, domain = ((0, 9), 4), ((1, 8), None)
    >>> field = fortran.from_pointer(
    ...     memory.ctypes.data, bounds, "real(8)", "IK", domain=domain, owner=memory)
    >>> field.halo, float(field[1, 2])
    (((1, 1), (0, 0)), 21.0)
    """
    found = [_pair(b, "bounds", i) for i, b in enumerate(bounds)]
    shape = tuple(max(0, upper - lower + 1) for lower, upper in found)
    dtype = dtype_of(kind)
    if leading is not None and (
        len(leading) != len(shape) - 1 or any(n < m for n, m in zip(leading, shape, strict=False))
    ):
        raise ValueError(
            f"leading: {tuple(leading)} are not the extents, or more, of every index but the last"
            f" of {shape}"
        )
    whole = shape if leading is None else (*leading, *shape[-1:])
    strides = packed(whole, dtype.itemsize, range(len(shape))[::-1])
    if (why := has_type(dtype)) is not None:
        raise ValueError(f"kind: {why}")
    array = _seen(_address(address), dtype, shape, strides, owner, release, writable)
    return _with_bounds(array, dims, [lower for lower, _ in found], domain)


def from_descriptor(
    descriptor: Descriptor | int, dims: Any = None, *, kind: Any = None,
    lower: Sequence[int] | None = None,
    domain: Bounds | None = None, owner: Any = None, release: Callable[[], Any] | None = None,
    writable: bool = True,
) -> _core.Field:  # fmt: skip
    """A Field over what a CFI_cdesc_t describes: a `receiver` that Fortran filled, or the address
    that it called back with.

    Parameters
    ----------
    descriptor : Descriptor or int
        The structure is read now and need not stay.
    dims, kind
        As for `wrap`.
    lower : sequence of int, optional
        The lower bounds where the descriptor has none (assumed-shape arguments); those of pointers
        and allocatables are in the descriptor.
    domain
        As for `wrap`.
    owner, release, writable
        As for `from_pointer`. Memory of a Field of ours is held by its descriptor, and by the
        result.

    Returns
    -------
    Field
        Over Fortran's memory.

    Raises
    ------
    TypeError
        When descriptor is neither.
    ValueError
        When the structure is malformed or describes no memory or another kind, or bounds do not
        fit.

    Examples
    --------
    >>> import gridbuf as gb
    >>> from gridbuf.interop import fortran
    >>> field = gb.Field.ones((4, 5), dims="IJ", padding=True)
    >>> found = fortran.from_descriptor(fortran.descriptor(field), "IJ", owner=field)
    >>> found.strides == field.strides
    True
    """
    address, dtype, shape, strides, bounds = parsed(descriptor)
    if lower is not None and len(lower) != len(shape):
        raise ValueError(f"lower: {len(lower)} bounds for an array of {len(shape)} indices")
    held = (owner, descriptor.memory) if isinstance(descriptor, Descriptor) else owner
    array = _seen(address, dtype, shape, strides, held, release, writable)
    checked(_core.Field(array), kind, writable=False, argument="descriptor")
    return _with_bounds(array, dims, bounds if lower is None else lower, domain)


class _Memory:
    """The base of the arrays over Fortran's memory."""

    def __init__(self, owner: Any, **interface: Any) -> None:
        self.owner, self.__array_interface__ = owner, {"version": 3, **interface}


def _seen(
    address: int,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    owner: Any,
    release: Callable[[], Any] | None,
    writable: bool,
) -> np.ndarray[Any, Any]:
    first, end = extent(address, shape, strides, dtype.itemsize)
    if first <= 0 or end > 1 << 63 or max(shape, default=0) >= 1 << 63:
        raise ValueError(
            f"address: with the shape {shape} and the strides {strides} it would be more memory"
            " than there can be"
        )
    wrong = [
        i
        for i, (n, stride) in enumerate(zip(shape, strides, strict=True))
        if n > 1 and stride % dtype.alignment
    ]
    if 0 not in shape and (address % dtype.alignment or wrong):
        what = f"index {wrong[0]} has the stride {strides[wrong[0]]}" if wrong else f"{address:#x}"
        raise ValueError(f"address: {what}, which is no place for elements of {dtype}")
    memory = _Memory(
        owner,
        data=(address, not boolean(writable, "writable")),
        shape=shape,
        typestr=dtype.str,
        strides=strides,
    )
    array = np.asarray(memory)
    if release is not None:
        weakref.finalize(memory, release).atexit = False
    return array


def _address(given: Any) -> int:
    """The address in an int or a pointer of ctypes."""
    found = given
    if not isinstance(given, (int, np.integer, str, bytes)):
        try:
            found = ctypes.cast(given, ctypes.c_void_p).value or 0
        except (TypeError, ctypes.ArgumentError):
            found = -1
    if not isinstance(found, (int, np.integer)) or isinstance(found, bool) or found <= 0:
        raise ValueError(
            f"address: {given!r} is no address; is the array allocated, and the pointer associated?"
        )
    return int(found)


def _pair(bounds: Any, argument: str, i: int) -> tuple[int, int]:
    if isinstance(bounds, (int, np.integer)):
        return 1, int(bounds)
    try:
        lower, upper = bounds
        return int(lower), int(upper)
    except (TypeError, ValueError):
        raise ValueError(
            f"{argument}: index {i} has {bounds!r}; expected (first, last), or n for (1, n)"
        ) from None


def _with_bounds(
    array: np.ndarray[Any, Any], dims: Any, lower: Sequence[int] | None, domain: Bounds | None
) -> _core.Field:
    """A Field whose origin, and halo where the domain is known, follow from the bounds."""
    lower = (1,) * array.ndim if lower is None else lower
    if domain is None:
        for i, (first, n) in enumerate(zip(lower, array.shape, strict=True)):
            if not first <= 1 <= first + n:
                raise ValueError(
                    f"lower: index {i} is declared {first}:{first + n - 1}, without an element 1;"
                    " say with domain= where the domain is"
                )
        origin = tuple(1 - n for n in lower)
        return _core.Field(array, dims, origin=origin if any(origin) else None)
    if len(domain) != array.ndim:
        raise ValueError(f"domain: {len(domain)} entries for an array of {array.ndim} indices")
    halo = []
    for i, (inner, first, n) in enumerate(zip(domain, lower, array.shape, strict=True)):
        begin, end = (first, first + n - 1) if inner is None else _pair(inner, "domain", i)
        if begin < first or end > first + n - 1 or end < begin - 1:
            raise ValueError(
                f"domain: index {i} has {begin}:{end}, which is not within the bounds"
                f" {first}:{first + n - 1}"
            )
        halo.append((begin - first, first + n - 1 - end))
    return _core.Field(array, dims, halo=tuple(halo))
