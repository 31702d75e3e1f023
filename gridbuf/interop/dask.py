"""dask.array: Fields in chunks, and functions of Fields mapped over them with dims and halo kept.

Chunks of a Field are views of its memory, halos included: mapping over a Field copies nothing on
the way in.

Examples
--------
>>> import gridbuf as gb, gridbuf.interop.dask as gbd
>>> f = gb.Field.from_array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0], dims="I", halo=(1,))
>>> def mean(part):  # each part is a Field with one point more on both sides
...     values = part.numpy()
...     return (values[:-2] + values[2:]) / 2
>>> gbd.map_overlap(mean, f, chunks=2).compute()
array([1., 2., 3., 4.])
"""

import uuid
from collections.abc import Callable, Sequence
from typing import Any

import dask.array as da
import numpy as np

from gridbuf import _core
from gridbuf.explain import halo_pairs
from gridbuf.names import as_numpy, read_names
from gridbuf.validation import as_dtype
from gridbuf.wrapping import naming

Halo = tuple[tuple[int, int], ...]


def to_dask(field: _core.Field, chunks: Any = "auto") -> da.Array:
    """A dask array whose chunks are NumPy views of a Field's memory; nothing is copied.

    Parameters
    ----------
    field : Field
        On the host.
    chunks : optional
        As for `dask.array.from_array`.

    Returns
    -------
    dask.array.Array

    Raises
    ------
    TypeError
        When field is no Field.
    ValueError
        When chunks do not fit its shape.

    Examples
    --------
    >>> import gridbuf as gb, gridbuf.interop.dask as gbd
    >>> gbd.to_dask(gb.Field.ones((4, 6)), chunks=(2, 3)).sum().compute()
    np.float64(24.0)
    """
    _check_field(field)
    sizes = _sizes(chunks, field.shape, field.dtype)
    return _views(field, sizes, None, _core.Field.numpy)  # dask.array.from_array would copy


def from_dask(
    array: da.Array, dims: Any = None, *, origin: Any = None, halo: Any = None, **spec: Any
) -> _core.Field:
    """Compute a dask array into a new Field, chunk by chunk, without a whole copy in between.

    Parameters
    ----------
    array : dask.array.Array
        The values of the whole Field, halo included.
    dims, origin, halo, **spec
        As for `Field.empty`.

    Returns
    -------
    Field
        Over new memory.

    Raises
    ------
    TypeError
        When array is no dask array.
    ValueError
        When dask does not know its sizes, or a keyword does not fit its shape.

    Examples
    --------
    >>> import dask.array as da, gridbuf.interop.dask as gbd
    >>> gbd.from_dask(da.ones((4, 6), chunks=2), "IJ", backend="gt:cpu_ifirst").strides
    (8, 32)
    """
    _check_array(array)
    field = _core.Field.empty(array.shape, array.dtype, dims=dims, origin=origin, halo=halo, **spec)
    store(array, field)
    return field


def store(array: da.Array, field: _core.Field) -> None:
    """Compute a dask array into a Field of the same shape; chunks are written in parallel.

    Parameters
    ----------
    array : dask.array.Array
        The values.
    field : Field
        The target, of the same shape.

    Raises
    ------
    TypeError
        When array is no dask array.
    ValueError
        When dask does not know its sizes, or they are not field's.

    Examples
    --------
    >>> import dask.array as da, gridbuf as gb, gridbuf.interop.dask as gbd
    >>> f = gb.Field.zeros((6, 6), dims="IJ", halo=(1, 1))
    >>> gbd.store(da.ones((4, 4), chunks=2), f.domain)
    >>> float(f.numpy().sum())
    16.0
    """
    _check_array(array)
    _check_field(field)
    if array.shape != field.shape:
        raise ValueError(f"field: its shape is {field.shape}, the array's {array.shape}")
    da.store(array, field, lock=False)


def _check_field(field: Any) -> None:
    if not isinstance(field, _core.Field):
        raise TypeError(
            f"field: expected a Field, got {type(field).__name__}; wrap it: gridbuf.Field(data,"
            " dims)"
        )


def _check_array(array: Any) -> None:
    if not isinstance(array, da.Array):
        raise TypeError(
            f"array: expected a dask array, got {type(array).__name__}; gridbuf.Field.from_array"
            " copies values that are there"
        )
    if any(n != n for n in array.shape):
        raise ValueError(
            f"array: its shape is {array.shape}: dask does not know its sizes; call"
            " array.compute_chunk_sizes() first"
        )


def map_blocks(
    func: Callable[..., Any],
    *args: Any,
    dims: Any = None,
    chunks: Any = "auto",
    dtype: Any = None,
    **kwargs: Any,
) -> da.Array:
    """Map a function of Fields over the chunks of Fields and dask arrays.

    Parameters
    ----------
    func : callable
        Called with a Field for each argument, with its dims, and with what lies of its halo in the
        chunk. Returns a Field or an array of the chunk's shape.
    *args : Field or dask.array.Array
        Of the same shape and order of indices.
    dims : sequence of str, optional
        For the dask arrays; default those of the first Field.
    chunks : optional
        Default those of the first dask array.
    dtype : optional
        Of the result; default the first argument's.
    **kwargs
        Handed to `func`.

    Returns
    -------
    dask.array.Array
        Of the shape of the arguments.

    Raises
    ------
    TypeError
        When an argument is neither a Field nor a dask array, or there is none.
    ValueError
        When arguments differ in shape or dims; from `compute()` when func returns another shape.

    Examples
    --------
    >>> import gridbuf as gb, gridbuf.interop.dask as gbd
    >>> f = gb.Field.zeros((6, 4), dims="KI", halo=(1, 0))
    >>> gbd.map_blocks(lambda part: part.numpy() + sum(part.halo[0]), f, chunks=3).compute()[:, 0]
    array([1., 1., 1., 1., 1., 1.])
    """
    names, sizes = _common(args, dims, chunks, lambda arg: arg.shape)
    blocks = [
        _views(arg, sizes, None) if isinstance(arg, _core.Field) else arg.rechunk(sizes)
        for arg in args
    ]
    return _mapped(func, blocks, names, None, dtype or args[0].dtype, kwargs)


def map_overlap(
    func: Callable[..., Any],
    *args: Any,
    dims: Any = None,
    halo: Any = None,
    boundary: Any = None,
    chunks: Any = "auto",
    dtype: Any = None,
    **kwargs: Any,
) -> da.Array:
    """Map a function of Fields over chunks that overlap by a halo.

    Parameters
    ----------
    func : callable
        Called with a Field for each argument, with its dims and halo. Returns a Field or array of
        that shape, of which the halo is cut off, or of the shape without the halo.
    *args : Field or dask.array.Array
        A Field is cut along its domain; beyond it lie the points of its own halo. A dask array is
        all domain.
    dims : sequence of str, optional
        As for `map_blocks`.
    halo : sequence, optional
        For dask arrays; default that of the first Field.
    boundary : optional
        The points beyond a dask array: "periodic", "reflect", "nearest" or a value.
    chunks, dtype, **kwargs
        As for `map_blocks`.

    Returns
    -------
    dask.array.Array
        Of the domain; `store(result, out.domain)` computes it into another Field.

    Raises
    ------
    TypeError
        When an argument is neither a Field nor a dask array, there is none, or a dask array is
        without boundary.
    ValueError
        When arguments differ in domain, dims or halo; from `compute()` when func returns another
        shape.

    Examples
    --------
    >>> import dask.array as da, gridbuf.interop.dask as gbd
    >>> def difference(part):
    ...     return part.numpy()[1:] - part.numpy()[:-1]
    >>> x = da.arange(6, chunks=3)
    >>> gbd.map_overlap(difference, x, dims="I", halo=((1, 0),), boundary=0).compute()
    array([0, 1, 1, 1, 1, 1])
    """
    names, sizes = _common(
        args,
        dims,
        chunks,
        lambda arg: arg.domain.shape if isinstance(arg, _core.Field) else arg.shape,
    )
    first = next((arg for arg in args if isinstance(arg, _core.Field)), None)
    widths = halo_pairs(
        halo if halo is not None else None if first is None else first.halo, len(names)
    )
    blocks = []
    for i, arg in enumerate(args):
        if isinstance(arg, _core.Field):
            own = halo_pairs(arg.halo, arg.ndim)
            if own != widths:
                raise ValueError(
                    f"args: the halo of argument {i} is {own}, that of the others {widths}"
                )
            blocks.append(_views(arg, sizes, own))
        else:
            if boundary is None:
                raise TypeError(
                    "boundary: a dask array has no points beyond its edge; say 'periodic',"
                    " 'reflect', 'nearest' or a value"
                )
            blocks.append(_overlapping(arg.rechunk(sizes), widths, boundary))
    return _mapped(func, blocks, names, widths, dtype or args[0].dtype, kwargs)


def _common(
    args: Sequence[Any], dims: Any, chunks: Any, shape_of: Callable[[Any], tuple[int, ...]]
) -> tuple[tuple[str, ...], Any]:
    """The names and the chunk sizes of all arguments."""
    if not args:
        raise TypeError("args: expected at least one Field or dask array")
    for i, arg in enumerate(args):
        if not isinstance(arg, (_core.Field, da.Array)):
            raise TypeError(
                f"args: argument {i} is a {type(arg).__name__}; expected a Field or a dask array"
                " (to_dask, from_array)"
            )
    shapes = [*map(shape_of, args)]
    fields = [arg for arg in args if isinstance(arg, _core.Field)]
    arrays = [arg for arg in args if isinstance(arg, da.Array)]
    if dims is not None:
        names = read_names(dims, "dims:", own_names=True)
    else:
        names = fields[0].dims if fields else _core.plan(arrays[0].shape).dims
    for i, (arg, shape) in enumerate(zip(args, shapes, strict=True)):
        if isinstance(arg, _core.Field) and arg.dims != names:
            raise ValueError(
                f"args: argument {i} has the dims {arg.dims}, the others {names}; use"
                f" field.transpose({names})"
            )
        if shape != shapes[0]:
            raise ValueError(f"args: argument {i} covers {shape}, the first {shapes[0]}")
    if isinstance(chunks, str) and chunks == "auto" and arrays:
        return names, arrays[0].chunks
    return names, _sizes(chunks, shapes[0], args[0].dtype)


def _sizes(chunks: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    with naming("chunks"):
        return da.core.normalize_chunks(chunks, shape, dtype=dtype)


def _name(kind: str) -> str:
    """A name for dask, another one for each array: memory changes."""
    return f"gridbuf-{kind}-{uuid.uuid4().hex}"


def _views(
    field: _core.Field,
    chunks: Any,
    halo: Halo | None,
    finish: Callable[[_core.Field], Any] | None = None,
) -> da.Array:
    """An array of which each block is a Field; dask sees the sizes without the overlap."""
    widths = halo_pairs(halo, field.ndim)

    def view(block_info: Any = None) -> Any:
        where = block_info[None]["array-location"]
        cut = tuple(
            slice(a, b + low + high) for (a, b), (low, high) in zip(where, widths, strict=True)
        )
        part = field[cut] if cut else field  # without indices, [()] reads the value
        # The halo of a part is its overlap with neighbours, not the rest of the Field's halo
        if halo is not None:
            part = _core.Field(part, part.dims, halo=halo)
        return part if finish is None else finish(part)

    return da.map_blocks(
        view,
        chunks=chunks,
        name=_name("views"),
        dtype=field.dtype,
        meta=_meta(field.ndim, field.dtype),
    )


def _overlapping(array: da.Array, halo: Halo, boundary: Any) -> da.Array:
    """The views of a dask array: dask overlaps symmetrically, so the surplus is cut off."""
    depth = [max(pair) for pair in halo]
    wider = da.overlap.overlap(array, dict(enumerate(depth)), boundary, allow_rechunk=False)
    cut = tuple(
        slice(d - low, None if d == high else high - d)
        for d, (low, high) in zip(depth, halo, strict=True)
    )
    return da.map_blocks(
        lambda block: block[cut],
        wider,
        chunks=array.chunks,
        dtype=array.dtype,
        meta=_meta(array.ndim, array.dtype),
    )


def _mapped(
    func: Any,
    blocks: list[da.Array],
    dims: tuple[str, ...],
    halo: Halo | None,
    dtype: Any,
    kwargs: Any,
) -> da.Array:
    dtype = as_dtype(dtype)

    def call(*parts: Any) -> Any:
        fields = [
            p if isinstance(p, _core.Field) else _core.Field(np.asarray(p), dims, halo=halo)
            for p in parts
        ]
        return _result(func(*fields, **kwargs), fields[0], dims, halo, dtype)

    return da.map_blocks(
        call, *blocks, name=_name("mapped"), dtype=dtype, meta=_meta(len(dims), dtype)
    )


def _result(
    result: Any, part: _core.Field, dims: tuple[str, ...], halo: Halo | None, dtype: np.dtype[Any]
) -> Any:
    array = as_numpy(result, dims) if isinstance(result, _core.Field) else np.asarray(result)
    domain = tuple(
        n - low - high
        for n, (low, high) in zip(part.shape, halo_pairs(halo, part.ndim), strict=True)
    )
    if array.shape not in (part.shape, domain):
        allowed = (
            f"{part.shape}" if halo is None else f"{part.shape} or, without the halo, {domain}"
        )
        raise ValueError(f"func: it returned the shape {array.shape} for a part of shape {allowed}")
    if array.shape != domain:
        array = array[
            tuple(
                slice(low, n - high)
                for n, (low, high) in zip(part.shape, halo_pairs(halo, part.ndim), strict=True)
            )
        ]
    return array.astype(dtype, copy=False)


def _meta(ndim: int, dtype: Any) -> Any:
    return np.empty((0,) * ndim, dtype)


__all__ = ["from_dask", "map_blocks", "map_overlap", "store", "to_dask"]
