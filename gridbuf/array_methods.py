"""The methods that an ndarray has, for Fields and storages alike: NumPy's functions of the same
names.

Fields and storages add what depends on their memory: `copy`, `astype`, `fill`, `transpose`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.docstrings import as_in
from gridbuf.positional_methods import PositionalMethods, call, given
from gridbuf.validation import integer

# Arguments that NumPy's functions take by position, after the axis.
_DTYPE_OUT = ("dtype", "out", "keepdims", "initial", "where")
_OUT = ("out", "keepdims", "initial", "where")
_SPREAD = ("dtype", "out", "ddof", "keepdims")

_ALONG = """{does}, {over}.

Parameters
----------
axis : str, int, tuple of them, or None, optional
    Which indices: "I", "IJ", 0, ...; None: {none}.
*args, **kwargs
    As for `numpy.{name}`.

Returns
-------
Field, storage, {other}
    {gives}

Raises
------
TypeError, ValueError
    When axis names no index, or an argument is wrong; the message names it.

Examples
--------
>>> import gridbuf as gb
>>> gb.Field.from_array([[1.0, 2.0], [3.0, 4.0]], dims="IJ").{name}("I").tolist()
{example}
"""


def _method(
    name: str, doc: dict[str, str], names: tuple[str, ...], quick: bool
) -> Callable[..., Any]:
    """NumPy's function of that name as a method, with the docstring that `doc` completes. `quick`:
    C knows the function with nothing but an axis.
    """
    function = getattr(np, name)

    def method(self: Any, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        if quick and not args and not kwargs:
            found = _core.reduced(function, self, axis)
            if found is not NotImplemented:
                return found
        return call(function, ("axis", *names), self, axis, *args, **kwargs)

    method.__name__, method.__qualname__ = name, f"ArrayMethods.{name}"
    method.__doc__ = _ALONG.format(name=name, **doc)
    return method


def _reduction(name: str, does: str, example: str, names: tuple[str, ...]) -> Callable[..., Any]:
    doc = {
        "does": does, "over": "over indices named or numbered", "none": "all", "other": "or scalar",
        "gives": "The indices that stay, with their halo; a scalar without an axis.",
        "example": example,
    }  # fmt: skip
    return _method(name, doc, names, quick=not name.startswith("arg"))


def _running(name: str, does: str, example: str) -> Callable[..., Any]:
    doc = {
        "does": does, "over": "along an index named or numbered", "none": "the values in a row",
        "other": "or numpy.ndarray", "example": example,
        "gives": "With the same indices and halo; a plain array where there is no axis.",
    }  # fmt: skip
    return _method(name, doc, ("dtype", "out"), quick=False)


class ArrayMethods(PositionalMethods):
    """An ndarray's methods by the names of indices."""

    __slots__ = ()

    # ---- reductions

    sum = _reduction("sum", "The sum", "[4.0, 6.0]", _DTYPE_OUT)
    prod = _reduction("prod", "The product", "[3.0, 8.0]", _DTYPE_OUT)
    mean = _reduction("mean", "The mean", "[2.0, 3.0]", ("dtype", "out", "keepdims"))
    std = _reduction("std", "The standard deviation", "[1.0, 1.0]", _SPREAD)
    var = _reduction("var", "The variance", "[1.0, 1.0]", _SPREAD)
    min = _reduction("min", "The least element", "[1.0, 2.0]", _OUT)
    max = _reduction("max", "The greatest element", "[3.0, 4.0]", _OUT)
    any = _reduction("any", "Whether any element is true", "[True, True]", _OUT[:2])
    all = _reduction("all", "Whether all elements are true", "[True, True]", _OUT[:2])
    argmin = _reduction("argmin", "The place of the least element", "[0, 0]", _OUT[:1])
    argmax = _reduction("argmax", "The place of the greatest element", "[1, 1]", _OUT[:1])

    # ---- along one index

    cumsum = _running("cumsum", "The sums so far", "[[1.0, 2.0], [4.0, 6.0]]")
    cumprod = _running("cumprod", "The products so far", "[[1.0, 2.0], [3.0, 8.0]]")

    def take(self, indices: Any, axis: Any = None, out: Any = None) -> Any:
        """Points along an index, by their numbers.

        Parameters
        ----------
        indices : int or sequence of int
            The numbers of the points.
        axis : str, int or None, optional
            The index; None: the values in a row.
        out : array_like, optional
            The array that receives the result, and is returned.

        Returns
        -------
        Field, storage, numpy.ndarray or scalar
            Without a halo along the index; a plain array where there is no axis.

        Examples
        --------
        >>> import gridbuf as gb
        >>> gb.Field.from_array([[1.0, 2.0], [3.0, 4.0]], dims="IJ").take([1], "J").tolist()
        [[2.0], [4.0]]
        """
        return call(np.take, ("indices",), self, indices, **given(axis=axis, out=out))

    def repeat(self, repeats: Any, axis: Any = None) -> Any:
        """Each point of an index several times.

        Parameters
        ----------
        repeats : int or sequence of int
            How often each point is repeated.
        axis : str, int or None, optional
            The index; None: the values in a row.

        Returns
        -------
        Field, storage or numpy.ndarray
            Points of the halo stay points of the halo; a plain array where there is no axis.

        Examples
        --------
        >>> import gridbuf as gb
        >>> gb.Field.from_array([1.0, 2.0], dims="K").repeat(2, "K").tolist()
        [1.0, 1.0, 2.0, 2.0]
        """
        return call(np.repeat, ("repeats",), self, repeats, axis=axis)

    # ---- element by element

    def round(self, decimals: int = 0, out: Any = None) -> Any:
        """The elements rounded.

        Parameters
        ----------
        decimals : int, optional
            The number of decimal places.
        out : array_like, optional
            The array that receives the result, and is returned.

        Returns
        -------
        Field or storage
            With the same indices and halo.

        Examples
        --------
        >>> import gridbuf as gb
        >>> gb.Field.full((2,), 1.26, dims="I").round(1).tolist()
        [1.3, 1.3]
        """
        return call(np.round, (), self, integer(decimals, "decimals"), **given(out=out))

    def clip(self, min: Any = None, max: Any = None, out: Any = None, **options: Any) -> Any:
        """The elements, bounded below and above.

        Parameters
        ----------
        min, max : scalar or array_like, optional
            The bounds; Fields and storages are matched by the names of their indices.
        out : array_like, optional
            The array that receives the result, and is returned.
        **options
            Further keywords of `numpy.clip`.

        Returns
        -------
        Field or storage

        Raises
        ------
        TypeError, ValueError
            When the bounds do not fit.

        Examples
        --------
        >>> import gridbuf as gb
        >>> f = gb.Field.from_array([[1.0, 2.0], [3.0, 4.0]], dims="IJ")
        >>> f.clip(2.0, 3.0).tolist()
        [[2.0, 2.0], [3.0, 3.0]]
        """
        return call(np.clip, ("min", "max"), self, min, max, **given(out=out), **options)

    def conj(self) -> Any:
        """The complex conjugate.

        Returns
        -------
        Field or storage

        Examples
        --------
        >>> import gridbuf as gb
        >>> gb.Field.full((2,), 1j, complex, dims="I").conj().tolist()
        [-1j, -1j]
        """
        obj: Any = self
        return np.conjugate(obj) if obj.dtype.kind == "c" else obj.copy()

    @as_in(conj)
    def conjugate(self) -> Any:
        """The complex conjugate, as `conj`.

        Examples
        --------
        >>> import gridbuf as gb
        >>> gb.Field.full((2,), 1j, complex, dims="I").conjugate().tolist()
        [-1j, -1j]
        """
        return self.conj()

    # ---- views

    @property
    def real(self) -> Any:
        """The real part: a view."""
        return np.real(self)

    @property
    def imag(self) -> Any:
        """The imaginary part: of complex numbers a view, else zeros."""
        return np.imag(self)

    def squeeze(self, axis: Any = None) -> Any:
        """The same memory without indices of size 1.

        Parameters
        ----------
        axis : str, int or tuple of them, optional
            The indices; None: all of size 1.

        Returns
        -------
        Field or storage
            A view.

        Examples
        --------
        >>> import gridbuf as gb
        >>> gb.Field.zeros((1, 4), dims="IK").squeeze().dims
        ('K',)
        """
        return call(np.squeeze, ("axis",), self, axis)

    def swapaxes(self, axis1: Any, axis2: Any) -> Any:
        """The same memory with two indices exchanged.

        Parameters
        ----------
        axis1, axis2 : str or int
            The two indices.

        Returns
        -------
        Field or storage
            A view.

        Examples
        --------
        >>> import gridbuf as gb
        >>> gb.Field.zeros((2, 3), dims="IJ").swapaxes("I", "J").dims
        ('J', 'I')
        """
        return call(np.swapaxes, ("axis1", "axis2"), self, axis1, axis2)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        obj: Any = self
        return int(obj.dtype.itemsize)
