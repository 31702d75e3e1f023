"""Arrays made from other arrays: `from_array` and the `*_like` functions."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

import numpy as np

from gridbuf import _core
from gridbuf.docstrings import as_in
from gridbuf.like import base_shape, copy_values, like, prepare, renamed


def from_array(
    data: Any = None, device_data: Any = None, *, dtype: Any = np.float64, **spec: Any
) -> np.ndarray[Any, np.dtype[Any]]:
    """A new array of float64, or of the dtype given, with the values of another, laid out as asked.

    Parameters
    ----------
    data : array_like
        The values. Their index order is kept; an object's own dims are the default
        `dimensions`.
    device_data : array_like, optional
        Another source, used when `data` is None. A dtype is accepted in this place, too, as
        in gt4py.
    dtype : dtype_like, optional
        float64 unless given, also for integers, as gt4py's allocation functions have it; None keeps
        the data's.
    **spec
        The keywords of `gridbuf.empty`.

    Returns
    -------
    numpy.ndarray
        Always a copy.

    Raises
    ------
    TypeError
        When the values do not convert to dtype (same_kind).
    ValueError
        When a keyword does not fit the data's shape.

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.from_array([[1, 2], [3, 4]], backend="gt:cpu_ifirst").strides
    (8, 16)
    """
    source, spec, dtype = prepare(data, device_data, dtype, spec)
    try:
        array = _core.empty(base_shape(source.shape, dtype), dtype, **spec)
    except TypeError as error:
        raise renamed(error, "from_array") from None
    copy_values(array, source)
    return array


def copy(data: Any) -> Any:
    """A copy with the order of strides, padding and alignment of the original.

    `copy.deepcopy`, pickle, `array.copy("K")` and `numpy.empty_like` of an array keep at most the
    order: NumPy's copies have no padding.

    Parameters
    ----------
    data
        An array, or a Field.

    Returns
    -------
    numpy.ndarray or Field
        In new memory; a Field has the dims, origin and halo of the original.

    Raises
    ------
    MemoryError
        No memory, or a limit (`gridbuf.memory.set_limit`).

    Examples
    --------
    >>> import copy, gridbuf as gb
    >>> a = gb.zeros((17, 8, 4), backend="gt:cpu_ifirst", padding=True)
    >>> gb.copy(a).strides == a.strides, copy.deepcopy(a).strides == a.strides
    (True, False)
    """
    made = empty_like(data)
    _core.copyto(made, data)
    return made


if TYPE_CHECKING:
    from numpy.typing import NDArray

    F = TypeVar("F", bound=_core.Field)
    T = TypeVar("T", bound=np.generic)

    class _Like(Protocol):
        """The types for type checkers: a Field comes of a Field, an array of the same dtype of an
        array.
        """

        @overload
        def __call__(self, data: F, dtype: Any = None, **spec: Any) -> F: ...
        @overload
        def __call__(self, data: NDArray[T], dtype: None = None, **spec: Any) -> NDArray[T]: ...
        @overload
        def __call__(self, data: Any, dtype: type[T] | np.dtype[T], **spec: Any) -> NDArray[T]: ...
        @overload
        def __call__(
            self, data: Any, dtype: Any = None, **spec: Any
        ) -> np.ndarray[Any, np.dtype[Any]]: ...


def _typed(function: Callable[..., Any]) -> "_Like":
    return function


@_typed
def empty_like(data: Any, dtype: Any = None, **spec: Any) -> Any:
    """New memory with the shape and dtype of data; its values are undefined.

    Parameters
    ----------
    data
        An array, or a Field: then the result is a Field with the same dims, origin and halo. Of
        Blocks Blocks are made.
    dtype : dtype_like, optional
        The data's unless given.
    **spec
        The keywords of `gridbuf.empty`. Without `backend` or `layout` the result has the
        data's order of strides, padding and alignment.

    Returns
    -------
    numpy.ndarray, Field or Blocks
        In new memory.

    Raises
    ------
    TypeError, ValueError
        When a keyword does not fit the data's shape or dtype; the message names it.
    MemoryError
        No memory, or a limit (`gridbuf.memory.set_limit`).

    Examples
    --------
    >>> import gridbuf as gb
    >>> a = gb.empty((4, 5, 6), backend="gt:cpu_ifirst")
    >>> gb.empty_like(a).strides == a.strides
    True
    """
    made = None if spec else _core.like(data, dtype, False)
    return like(_core.empty, _core.Field.empty, data, (), dtype, spec) if made is None else made


@_typed
@as_in(empty_like)
def zeros_like(data: Any, dtype: Any = None, **spec: Any) -> Any:
    """Zeros in new memory with the shape and dtype of data.

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.zeros_like([1, 2])
    array([0, 0])
    """
    made = None if spec else _core.like(data, dtype, True)
    return like(_core.zeros, _core.Field.zeros, data, (), dtype, spec) if made is None else made


@_typed
@as_in(empty_like)
def ones_like(data: Any, dtype: Any = None, **spec: Any) -> Any:
    """Ones in new memory with the shape and dtype of data.

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.ones_like([[1.5, 2.5]], dtype='int32').dtype
    dtype('int32')
    """
    made = None if spec else _core.like(data, dtype, False, 1)
    return like(_core.ones, _core.Field.ones, data, (), dtype, spec) if made is None else made


@as_in(empty_like)
def full_like(data: Any, fill_value: Any, dtype: Any = None, **spec: Any) -> Any:
    """One value in new memory with the shape and dtype of data.

    Parameters
    ----------
    fill_value : scalar
        The value of every element; converted as by assignment.

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.full_like(gb.Field.empty((2,), dims="K"), 7.0).tolist()
    [7.0, 7.0]
    """
    made = None if spec else _core.like(data, dtype, False, fill_value)
    return (
        like(_core.full, _core.Field.full, data, (fill_value,), dtype, spec)
        if made is None
        else made
    )
