"""empty, zeros, ones and full, and the same after the model of another storage."""

from typing import Any, TypedDict, Unpack

import numpy as np

from gridbuf import _core, defaults
from gridbuf.common import BoundedCache
from gridbuf.docstrings import as_in
from gridbuf.storage.base import Storage
from gridbuf.storage.buffers import host_plan
from gridbuf.storage.classes import CPUStorage, class_of
from gridbuf.storage.meta import Meta
from gridbuf.storage.parameters import Parameters, Source, resolve
from gridbuf.wrapping import naming

# Plans by request: programs ask for the same storages in every step. Only
# what cannot change is a key (`request_of` of pyext/storage/request.c says what that is). The
# answer is a plan of host memory and the Meta, for what is a host storage.
ANSWERS: BoundedCache[tuple[_core.Plan, Meta]] = BoundedCache(1024)


def remember(key: tuple[Any, ...] | None, made: Any) -> None:
    """Note what a request came to."""
    if key is not None and type(made) is CPUStorage:
        ANSWERS[key] = host_plan(made.shape, made.dtype, made._meta), made._meta


class Spec(TypedDict, total=False):
    """The optional keywords that all constructors share."""

    aligned_index: Any
    alignment: int | None
    axes: str | None
    backend: str | None
    defaults: str | None
    dimensions: Any
    dims: Any
    device: Any
    halo: Any
    layout: Any
    managed: str | None


class DataSpec(Spec, total=False):
    """And what can be checked against data."""

    shape: Any


def allocate(parameters: Parameters) -> Storage:
    p = parameters
    return class_of(p.device, p.managed)._new(p.shape, p.dtype, p.meta, p.device)


def _made(shape: Any, dtype: Any, spec: Any, zero: bool = False) -> Storage:
    """A storage as asked for; zero: of zeros."""
    if defaults.was_set and not any(
        spec.get(name) is not None for name in ("backend", "defaults", "layout")
    ):
        spec = {**spec, "defaults": defaults.of_storages()}
    found = _core.known_storage(ANSWERS, shape, dtype, spec, zero)
    return (
        found
        if type(found) is CPUStorage
        else _new(found, resolve(dtype, {"shape": shape, **spec}), zero)
    )


def _made_like(data: Any, dtype: Any, spec: Any, zero: bool = False) -> Storage:
    """A storage like the data; zero: of zeros."""
    found = _core.known_like(ANSWERS, data, dtype, spec, zero, None)
    if type(found) is CPUStorage:
        return found
    for name in ("shape", "axes", "dims", "dimensions"):
        if name in spec:
            raise TypeError(f"{name}: not allowed here; the result has that of data")
    return _new(found, resolve(dtype, dict(spec), Source(data, copying=True).known), zero)


def _new(key: tuple[Any, ...] | None, parameters: Parameters, zero: bool) -> Storage:
    """The storage of a request that was not known."""
    made = allocate(parameters)
    remember(key, made)
    return _filled(made, 0) if zero else made


def _filled(storage: Storage, value: Any) -> Storage:
    """Both sides filled, so that a software-managed storage stays clean."""
    if type(value) not in (bool, int, float, complex):
        with naming("fill_value"):
            value = _core.values(value)
    if type(storage) is CPUStorage:
        storage._host[...] = value
        return storage
    for buffer in (
        storage._host,
        storage._dev if storage._pair is not None or storage._host is None else None,
    ):
        if buffer is not None:
            buffer[...] = value
    return storage


def empty(shape: Any = None, dtype: Any = np.float64, **spec: Unpack[Spec]) -> Storage:
    """A storage with undefined values.

    Parameters
    ----------
    shape : sequence of int
        One size per axis; three sizes for fewer axes are read as I, J, K.
    dtype : dtype_like, optional
        Booleans, integers, floats and complex numbers.
    **spec
        Optional keywords, each of which may be None:

        * axes (str), also called dims or dimensions: the name of each index, such as "IJK"
          (default: its first letters), "KJI", "IJ".
        * defaults (str), also called backend: "C", "F" or a backend preset: parameters that are not
          given come from there.
        * layout (str): all three axes, the one with the largest stride first; default "IJK".
        * halo (sequence of int or (int, int)): per axis the points at the ends that do not belong
          to the domain; default none.
        * aligned_index (sequence of int): the point that memory is aligned to; default the low ends
          of the halo.
        * alignment (int): the boundary of this point and of the rows, in elements; default 1,
          none.
        * device ("cpu", "gpu", ("gpu", n) or n, as a storage's own `device`): where the storage has
          a buffer; "cpu" keeps to the host whatever the preset says.
        * managed ("gt4py" or "cuda"): with a GPU, how host and device are kept equal; default
          "gt4py".

    Returns
    -------
    Storage

    Raises
    ------
    TypeError, ValueError
        When a parameter is wrong; the message names it.
    ImportError, RuntimeError
        When device="gpu" and there is no cupy or no GPU.

    Examples
    --------
    >>> import gridbuf.storage as gs
    >>> s = gs.empty((12, 12, 7), defaults="gtmc", halo=(2, 2, 0))
    >>> s.layout, s.strides, s.domain.shape
    ('JKI', (8, 896, 128), (8, 8, 7))
    """
    return _made(shape, dtype, spec)


@as_in(empty)
def zeros(shape: Any = None, dtype: Any = np.float64, **spec: Unpack[Spec]) -> Storage:
    """A storage of zeros.

    Examples
    --------
    >>> import gridbuf.storage as gs
    >>> gs.zeros((2,), axes="K").to_numpy()
    array([0., 0.])
    """
    return _made(shape, dtype, spec, zero=True)


@as_in(empty)
def ones(shape: Any = None, dtype: Any = np.float64, **spec: Unpack[Spec]) -> Storage:
    """A storage of ones.

    Examples
    --------
    >>> import gridbuf.storage as gs
    >>> gs.ones((2,), "int32", axes="K").to_numpy()
    array([1, 1], dtype=int32)
    """
    return _filled(_made(shape, dtype, spec), 1)


@as_in(empty)
def full(shape: Any, fill_value: Any, dtype: Any = np.float64, **spec: Unpack[Spec]) -> Storage:
    """A storage of one value.

    Parameters
    ----------
    fill_value : scalar or array_like
        The value of every element; it broadcasts.

    Examples
    --------
    >>> import gridbuf.storage as gs
    >>> gs.full((2,), 7.0, axes="K").to_numpy()
    array([7., 7.])
    """
    return _filled(_made(shape, dtype, spec), fill_value)


@as_in(empty)
def empty_like(data: Any, dtype: Any = None, **spec: Unpack[Spec]) -> Storage:
    """A storage with undefined values and the shape, dtype and parameters of another.

    Parameters
    ----------
    data : Storage
        A storage, or an array; its strides then give the layout.
    dtype : dtype_like, optional
        The data's unless given.
    **spec
        The keywords of `empty` except shape and axes, which the data decide.

    Examples
    --------
    >>> import gridbuf.storage as gs
    >>> s = gs.zeros((4, 5), axes="KI", defaults="F")
    >>> gs.empty_like(s).strides == s.strides
    True
    """
    return _made_like(data, dtype, spec)


@as_in(empty_like)
def zeros_like(data: Any, dtype: Any = None, **spec: Unpack[Spec]) -> Storage:
    """A storage of zeros with the shape, dtype and parameters of another.

    Examples
    --------
    >>> import gridbuf.storage as gs
    >>> s = gs.empty((2,), axes="K")
    >>> gs.zeros_like(s).to_numpy()
    array([0., 0.])
    """
    return _made_like(data, dtype, spec, zero=True)


@as_in(empty_like)
def ones_like(data: Any, dtype: Any = None, **spec: Unpack[Spec]) -> Storage:
    """A storage of ones with the shape, dtype and parameters of another.

    Examples
    --------
    >>> import gridbuf.storage as gs
    >>> s = gs.empty((2,), axes="K")
    >>> gs.ones_like(s).to_numpy()
    array([1., 1.])
    """
    return _filled(_made_like(data, dtype, spec), 1)


@as_in(empty_like)
def full_like(data: Any, fill_value: Any, dtype: Any = None, **spec: Unpack[Spec]) -> Storage:
    """A storage of one value with the shape, dtype and parameters of another.

    Parameters
    ----------
    fill_value : scalar or array_like
        The value of every element; it broadcasts.

    Examples
    --------
    >>> import gridbuf.storage as gs
    >>> s = gs.empty((2,), axes="K")
    >>> gs.full_like(s, 7.0).to_numpy()
    array([7., 7.])
    """
    return _filled(_made_like(data, dtype, spec), fill_value)
