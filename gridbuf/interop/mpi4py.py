"""MPI: buffer specifications and derived datatypes for Fields of any layout, and the exchange of
halos.

mpi4py alone takes contiguous memory. A derived datatype describes the rest, so that MPI reads and
writes padded, sliced and reversed memory in place. Elements travel in the order of the indices:
sender and receiver may have different layouts.

Examples
--------
>>> import gridbuf as gb, gridbuf.interop.mpi4py as gbm
>>> from mpi4py import MPI
>>> ours = gb.Field.full((4, 5), 2.0, backend="gt:cpu_ifirst", padding=True)
>>> theirs = gb.Field.zeros((4, 5))
>>> MPI.COMM_SELF.Sendrecv(gbm.buffer(ours), 0, recvbuf=gbm.buffer(theirs), source=0)
>>> float(theirs[3, 4])
2.0
"""

import functools
import sys
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, Literal

import numpy as np

try:
    from mpi4py import MPI
except RuntimeError as error:  # mpi4py's wheels look for the library when they are imported
    raise ImportError(
        f"mpi4py finds no MPI library (Debian: apt install libopenmpi-dev openmpi-bin): {error}"
    ) from error
from mpi4py.util import dtlib

from gridbuf import _core
from gridbuf.distributed.arguments import some_fields
from gridbuf.distributed.plans.checks import memory_of, shared
from gridbuf.docstrings import as_in
from gridbuf.interop.cartesian_halos import exchanges_of
from gridbuf.names import is_name, name_of
from gridbuf.strides import address, extent
from gridbuf.wrapping import as_field

Side = Literal["low", "high"]
SIDES: tuple[Side, Side] = ("low", "high")
Loop = tuple[int, int]  # a count and a stride in bytes
LARGE = 2**30  # counts above go through a second loop: MPI 3 counts with ints


class FieldDatatype(MPI.Datatype):
    """A datatype that is freed with its last reference, as is any made from it; MPI lets what has
    begun finish.
    """

    def __del__(self, ending: Callable[[], bool] = sys.is_finalizing) -> None:
        # Bound as a default: at exit modules are emptied before objects go
        if not ending() and self != MPI.DATATYPE_NULL and not MPI.Is_finalized():
            self.Free()


def _owned(made: MPI.Datatype) -> FieldDatatype:
    """A FieldDatatype; one made by another is one already, and two owners would free it twice."""
    return made if isinstance(made, FieldDatatype) else FieldDatatype(made)


class _Span:
    """All bytes from a Field's first to its last, as memory that holds the Field."""

    def __init__(self, field: _core.Field, start: int, nbytes: int) -> None:
        self.field = field
        data = (address(field) + start, field.readonly)
        self.__array_interface__ = {
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": data,
            "version": 3,
        }


def buffer(field: Any) -> list[Any]:
    """A buffer specification of mpi4py: memory, count and datatype, for `Send`, `Irecv`,
    `Bcast`, ...

    Parameters
    ----------
    field
        A Field or anything that `gridbuf.Field` takes: a slice, a halo, a NumPy view.

    Returns
    -------
    list
        Memory, count and datatype.

    Raises
    ------
    TypeError
        When field has no host memory.
    ValueError
        When its dtype has another byte order than the machine's.

    Notes
    -----
    The memory is the Field's own. A read-only Field can be sent; receiving into it is mpi4py's
    error.

    Examples
    --------
    >>> import gridbuf as gb, gridbuf.interop.mpi4py as gbm
    >>> memory, count, datatype = gbm.buffer(gb.Field.zeros((4, 6))[:, ::2])
    >>> count, datatype.Get_size(), memory.nbytes
    (1, 96, 184)
    """
    source = as_field(field)
    element = _element(source.dtype)
    if source.size == 0:
        return [np.empty(0, "u1"), 0, element]
    lowest, end = extent(0, source.shape, source.strides, source.dtype.itemsize)
    memory = np.asarray(_Span(source, lowest, end - lowest))
    loops = _loops(source)
    if not loops and lowest == 0:
        return [memory, 1, element]
    return [memory, 1, _derived(element, source.dtype.itemsize, loops, -lowest)]


@as_in(buffer)
def datatype(field: Any) -> MPI.Datatype:
    """The datatype of `buffer(field)`: its elements in the order of the indices, from the lowest
    address on.

    Returns
    -------
    mpi4py.MPI.Datatype
        Freed with its last reference.

    Examples
    --------
    >>> import gridbuf as gb, gridbuf.interop.mpi4py as gbm
    >>> gbm.datatype(gb.Field.zeros((4, 6), "float32")[:, ::2]).Get_size()
    48
    """
    return buffer(field)[2]


@functools.lru_cache(maxsize=64)
def _element(dtype: np.dtype[Any]) -> MPI.Datatype:
    """MPI's type of one element; as many bytes where MPI has none (float16, bfloat16, records)."""
    if not dtype.isnative:
        raise ValueError(
            f"field: MPI would not swap the bytes of {dtype!r}; use"
            f" field.to(dtype={dtype.newbyteorder('=').str!r})"
        )
    if dtype.kind in "biufc" and dtype != np.float16:
        found = dtlib.from_numpy_dtype(dtype)
        if found != MPI.DATATYPE_NULL:
            return found if found.is_predefined else _owned(found)
    return _owned(MPI.BYTE.Create_contiguous(dtype.itemsize)).Commit()


def _loops(field: _core.Field) -> list[Loop]:
    """The loops over the elements in index order, from the outermost, neighbours joined where they
    are one loop.
    """
    loops: list[Loop] = []
    for n, stride in zip(field.shape, field.strides, strict=True):
        if n == 1:
            continue
        if loops and loops[-1][1] == n * stride:
            loops[-1] = (loops[-1][0] * n, stride)
        else:
            loops.append((n, stride))
    return loops


def _derived(element: MPI.Datatype, itemsize: int, loops: list[Loop], start: int) -> MPI.Datatype:
    """Loop within loop; `start` is where the first element lies, counted from the lowest."""
    current, run = element, 1
    if loops and loops[-1][1] == itemsize:
        run = loops.pop()[0]
    if run > LARGE or not loops:
        current, run = _owned(current.Create_contiguous(run)), 1
    for n, stride in reversed(loops):
        current, run = _repeated(current, n, run, stride), 1
    if start:
        current = _owned(current.Create_hindexed_block(1, [start]))
    return current.Commit()


def _repeated(inner: MPI.Datatype, n: int, run: int, stride: int) -> MPI.Datatype:
    """`n` times a run of `run`, each `stride` bytes after the other."""
    if n <= LARGE:
        return _owned(inner.Create_hvector(n, run, stride))
    chunks, rest = divmod(n, LARGE)
    many = _repeated(_repeated(inner, LARGE, run, stride), chunks, 1, LARGE * stride)
    if not rest:
        return many
    last = _repeated(inner, rest, run, stride)
    return FieldDatatype.Create_struct([1, 1], [0, chunks * LARGE * stride], [many, last])


# ---- halos ----


def halo(field: _core.Field, dim: str, side: Side) -> _core.Field:
    """The halo's points along an index, as a Field over the same memory: what a neighbour sends.

    Parameters
    ----------
    field : Field
        With a halo.
    dim : str
        The index.
    side : {"low", "high"}
        Which end of it.

    Returns
    -------
    Field
        A view.

    Raises
    ------
    TypeError, ValueError
        When side or dim is not the field's, or it has no halo.

    Examples
    --------
    >>> import gridbuf as gb, gridbuf.interop.mpi4py as gbm
    >>> f = gb.Field.zeros((10, 8), dims="IJ", halo=(2, (1, 0)))
    >>> gbm.halo(f, "I", "high").shape, gbm.halo(f, "J", "low").shape
    ((2, 8), (10, 1))
    """
    i, low, high = _widths(field, dim, side)
    n = field.shape[i]
    return _part(field, i, slice(0, low) if side == "low" else slice(n - high, n))


@as_in(halo)
def edge(field: _core.Field, dim: str, side: Side) -> _core.Field:
    """The own points that the neighbour on a side has as its halo: as many as the halo's on the
    other side.

    Raises
    ------
    TypeError, ValueError
        When side or dim is not the field's, or it has no halo, or its domain has fewer points than
        a neighbour needs.

    Examples
    --------
    >>> import gridbuf as gb, gridbuf.interop.mpi4py as gbm
    >>> f = gb.Field.from_array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0], dims="I", halo=((2, 1),))
    >>> gbm.edge(f, "I", "high").numpy(), gbm.edge(f, "I", "low").numpy()
    (array([3., 4.]), array([2.]))
    """
    i, low, high = _widths(field, dim, side)
    n = field.shape[i]
    if n < low + high + max(low, high):
        raise ValueError(
            f"field: its domain has {n - low - high} points along {dim}, fewer than the halo of"
            f" {max(low, high)} that a neighbour needs"
        )
    return _part(
        field, i, slice(low, low + high) if side == "low" else slice(n - high - low, n - high)
    )


def _widths(field: _core.Field, dim: str, side: str) -> tuple[int, int, int]:
    if not isinstance(side, str) or side not in SIDES:
        raise ValueError(f"side: {side!r} is neither 'low' nor 'high'")
    if not isinstance(field, _core.Field):
        raise TypeError(
            f"field: expected a Field, got {type(field).__name__}; a halo is a Field's:"
            " gridbuf.Field(data, dims, halo=...)"
        )
    if not isinstance(dim, str) or dim not in field.dims:
        raise ValueError(f"dim: {dim!r} is not among the field's {field.dims}")
    if field.halo is None:
        raise ValueError(
            "field: it has no halo; give one where it is made, or gridbuf.Field(data, dims,"
            " halo=...)"
        )
    i = field.dims.index(dim)
    return (i, *field.halo[i])


def _part(field: _core.Field, i: int, part: slice) -> _core.Field:
    return field[(slice(None),) * i + (part,)]


def exchange_halos(comm: Any, *fields: _core.Field, dims: Sequence[str] = ("I", "J")) -> None:
    """Fill the halos of fields from the neighbours in a Cartesian communicator, corners included.

    Parameters
    ----------
    comm : mpi4py.MPI.Cartcomm
        The communicator of the neighbours.
    *fields : Field
        Of the same shapes and halos on every process along the shared borders; layouts and orders
        of dims may differ. Each field has its own dtype, dims, extents and widths, and no
        memory in common with the others.
    dims : sequence of str, optional
        Which index each dimension of the communicator cuts.

    Raises
    ------
    TypeError
        When comm is no Cartesian communicator, or an argument is no Field.
    ValueError
        When dims are not the communicator's, or a field is read-only, has no halo, or shares memory
        with another.
    gridbuf.distributed.DisagreementError
        When neighbours describe their fields differently.

    Notes
    -----
    One message goes to each neighbour, whatever the fields are, on a duplicate of the communicator
    that the first call makes. The plan for fields of given layouts is kept with the communicator,
    and freed with it. Halos beyond the communicator's ends keep their values; those of a neighbour
    arrive with its points. `gridbuf.distributed` does more: it makes the fields, turns vectors, and
    computes while messages travel.

    Examples
    --------
    >>> import gridbuf as gb, gridbuf.interop.mpi4py as gbm
    >>> from mpi4py import MPI
    >>> ring = MPI.COMM_SELF.Create_cart([1], periods=[True])
    >>> f = gb.Field.from_array([0.0, 1.0, 2.0, 3.0, 0.0], dims="I", halo=(1,))
    >>> gbm.exchange_halos(ring, f, dims="I")
    >>> f.numpy()
    array([3., 1., 2., 3., 1.])
    """
    if not isinstance(comm, MPI.Cartcomm):
        raise TypeError(
            f"comm: expected a Cartesian communicator (comm.Create_cart), got {type(comm).__name__}"
        )
    if comm == MPI.COMM_NULL:
        raise ValueError("comm: it is MPI.COMM_NULL: this rank is not in it")
    exchanges = exchanges_of(comm)
    try:
        cut = dims if type(dims) is tuple else _listed(dims)
        plan = exchanges.known(fields, cut)
        if plan is None or _core.spans_meet(*fields) is not None:
            cut = _checked_dims(cut, comm)
            some_fields(fields, "an exchange")
            for i, field in enumerate(fields):
                _check_exchanged(i, field, cut)
            for (i, a), (j, b) in combinations(enumerate(fields), 2):
                if a is not b and shared(memory_of(a), memory_of(b)):
                    raise ValueError(
                        f"fields: argument {j} shares memory with argument {i}; each has its own"
                    )
            plan = exchanges.plan(fields, cut)
        exchange = plan.transport.start(fields)
    except BaseException as error:
        exchanges.engine.failed(error)
        raise
    plan.transport.wait(exchange, None)


def _listed(dims: Any) -> tuple[Any, ...]:
    try:
        return tuple(dims)
    except TypeError as error:
        raise TypeError(
            f"dims: expected names of indices such as 'IJ', got {type(dims).__name__}"
        ) from error


def _checked_dims(dims: tuple[Any, ...], comm: Any) -> tuple[str, ...]:
    if not all(map(is_name, dims)):
        raise ValueError(f"dims: {dims} are not all I, J, K or numbers")
    if len(set(dims)) < len(dims):
        raise ValueError(f"dims: {dims} names an index twice")
    if len(dims) != comm.Get_dim():
        raise ValueError(
            f"dims: {dims} names {len(dims)} indices, the communicator has {comm.Get_dim()}"
            " dimensions"
        )
    return tuple(map(name_of, dims))


def _check_exchanged(i: int, field: Any, dims: tuple[str, ...]) -> None:
    """A Field whose halos can be filled."""
    if not isinstance(field, _core.Field):
        raise TypeError(
            f"fields: argument {i} is a {type(field).__name__}; a halo is a Field's:"
            " gridbuf.Field(data, dims, halo=...)"
        )
    if field.readonly:
        raise ValueError(f"fields: argument {i} is read-only, and its halo is to be written")
    for dim in dims:
        if dim in field.dims:
            edge(field, dim, "low")  # says what is wrong with the halo
    _element(field.dtype)


__all__ = ["FieldDatatype", "buffer", "datatype", "edge", "exchange_halos", "halo"]
