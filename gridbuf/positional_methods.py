"""The methods of an ndarray that know no names, for Fields and storages alike: they go by position
and give plain arrays.
"""

from typing import Any

import numpy as np

from gridbuf.docstrings import as_in


def call(function: Any, names: tuple[str, ...], obj: Any, *args: Any, **options: Any) -> Any:
    """`function(obj, *args, **options)`; an error of NumPy's names the argument. `names`: those of
    args.
    """
    try:
        return function(obj, *args, **options)
    except (TypeError, ValueError) as error:
        from gridbuf.named.arguments import raise_named

        raise_named(error, names, args, options)
        raise


def given(**options: Any) -> dict[str, Any]:
    """The options that are not None."""
    return {name: value for name, value in options.items() if value is not None}


class PositionalMethods:
    """Methods that give plain arrays, by position."""

    __slots__ = ()

    def _values(self) -> np.ndarray[Any, np.dtype[Any]]:
        """The newest values on the host."""
        raise NotImplementedError

    def item(self, *args: Any) -> Any:
        """One element as a Python number.

        Parameters
        ----------
        *args : int or tuple of int
            The element's place, as for `numpy.ndarray.item`; needed unless there is only one.

        Returns
        -------
        scalar

        Raises
        ------
        ValueError, IndexError
            When there are several elements, or none at that place.

        Examples
        --------
        >>> import gridbuf as gb
        >>> f = gb.Field.from_array([[1.0, 2.0], [3.0, 4.0]], dims="IJ")
        >>> f.item(1, 0)
        3.0
        """
        return self._values().item(*args)

    def tolist(self) -> Any:
        """The elements as Python numbers.

        Returns
        -------
        list, or scalar
            Nested lists; a number where there are no indices.

        Examples
        --------
        >>> import gridbuf as gb
        >>> f = gb.Field.from_array([[1.0, 2.0], [3.0, 4.0]], dims="IJ")
        >>> f.tolist()
        [[1.0, 2.0], [3.0, 4.0]]
        """
        return self._values().tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        """The values as bytes, in the order of the indices.

        Parameters
        ----------
        order : {"C", "F", "A"}, optional
            "F": the first index fastest.

        Returns
        -------
        bytes

        Examples
        --------
        >>> import gridbuf as gb
        >>> gb.Field.full((2,), 1, "int8", dims="I").tobytes()
        b'\\x01\\x01'
        """
        return self._values().tobytes(order)

    def tofile(self, fid: Any, sep: str = "", format: str = "%s") -> None:
        """Write the values to a file, in the order of the indices.

        Parameters
        ----------
        fid : str, path or open file
            The file; `numpy.fromfile` reads it.
        sep : str, optional
            What stands between two values in a text; "" writes bytes.
        format : str, optional
            How a text shows a value.

        Examples
        --------
        >>> import gridbuf as gb, numpy as np, os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "ones.bin")
        >>> gb.Field.ones((2, 2), dims="IJ").tofile(path)
        >>> np.fromfile(path)
        array([1., 1., 1., 1.])
        """
        self._values().tofile(fid, sep, format)

    def ravel(self, order: Any = "C") -> Any:
        """The values in one row, by position.

        Parameters
        ----------
        order : {"C", "F", "A", "K"}, optional
            The order of the indices.

        Returns
        -------
        numpy.ndarray
            A plain array without a name of its index; a view where the layout allows.

        Examples
        --------
        >>> import gridbuf as gb
        >>> gb.Field.from_array([[1.0, 2.0], [3.0, 4.0]], dims="IJ").ravel()
        array([1., 2., 3., 4.])
        """
        return call(np.ravel, ("order",), self, order)

    @as_in(ravel)
    def flatten(self, order: Any = "C") -> Any:
        """A copy of the values in one row, by position.

        Examples
        --------
        >>> import gridbuf as gb
        >>> gb.Field.from_array([[1.0, 2.0], [3.0, 4.0]], dims="IJ").flatten()
        array([1., 2., 3., 4.])
        """
        return self.ravel(order).copy()

    def reshape(self, *shape: Any, order: Any = "C") -> Any:
        """The values in another shape, by position.

        Parameters
        ----------
        *shape : int or tuple of int
            The new sizes.
        order : {"C", "F", "A"}, optional
            The order of the indices.

        Returns
        -------
        numpy.ndarray
            A plain array without names of indices; a view where the layout allows.

        Examples
        --------
        >>> import gridbuf as gb
        >>> gb.Field.from_array([1.0, 2.0], dims="I").reshape(2, 1).shape
        (2, 1)
        """
        sizes = shape[0] if len(shape) == 1 else shape
        return call(np.reshape, ("shape",), self, sizes, order=order)

    def nonzero(self) -> Any:
        """The places of the elements that are not zero.

        Returns
        -------
        tuple of numpy.ndarray
            One for each index.

        Examples
        --------
        >>> import gridbuf as gb
        >>> gb.Field.from_array([0.0, 2.0], dims="I").nonzero()
        (array([1]),)
        """
        return np.nonzero(self)  # type: ignore[call-overload]

    def argsort(self, axis: Any = -1) -> Any:
        """The places of the elements in rising order along an index.

        Parameters
        ----------
        axis : str, int or None, optional
            The index; None: the values in a row.

        Returns
        -------
        numpy.ndarray
            A plain array.

        Examples
        --------
        >>> import gridbuf as gb
        >>> gb.Field.from_array([3.0, 2.0], dims="I").argsort("I")
        array([1, 0])
        """
        return call(np.argsort, ("axis",), self, axis)

    @as_in(argsort)
    def argpartition(self, kth: Any, axis: Any = -1) -> Any:
        """The places of the elements, partitioned: those before the kth are not larger.

        Parameters
        ----------
        kth : int
            The element that gets its place in rising order.

        Examples
        --------
        >>> import gridbuf as gb
        >>> gb.Field.from_array([3.0, 2.0], dims="I").argpartition(1)
        array([1, 0])
        """
        return call(np.argpartition, ("kth", "axis"), self, kth, axis)

    def searchsorted(self, v: Any) -> Any:
        """The places where elements would be inserted; this array is in rising order.

        Parameters
        ----------
        v : array_like
            The values to look for.

        Returns
        -------
        numpy.ndarray or int

        Examples
        --------
        >>> import gridbuf as gb
        >>> gb.Field.from_array([1.0, 2.0], dims="I").searchsorted([1.5])
        array([1])
        """
        return call(np.searchsorted, ("v",), self, v)

    def choose(self, choices: Any, out: Any = None) -> Any:
        """Elements of several arrays, chosen by these integers.

        Parameters
        ----------
        choices : sequence of array_like
            The arrays to choose from.
        out : array_like, optional
            The array that receives the result, and is returned.

        Returns
        -------
        numpy.ndarray
            A plain array.

        Examples
        --------
        >>> import gridbuf as gb
        >>> gb.Field.from_array([1, 0], dims="I").choose([5, 6])
        array([6, 5])
        """
        return call(np.choose, ("choices",), self, choices, **given(out=out))

    def compress(self, condition: Any, axis: Any = None, out: Any = None) -> Any:
        """Some points along an index.

        Parameters
        ----------
        condition : array_like of bool
            True for the points to keep.
        axis : str, int or None, optional
            The index; None: the values in a row.
        out : array_like, optional
            The array that receives the result, and is returned.

        Returns
        -------
        numpy.ndarray
            A plain array.

        Examples
        --------
        >>> import gridbuf as gb
        >>> gb.Field.from_array([1.0, 2.0], dims="I").compress([False, True])
        array([2.])
        """

        def function(obj: Any, condition: Any, **options: Any) -> Any:
            return np.compress(condition, obj, **options)

        return call(function, ("condition",), self, condition, **given(axis=axis, out=out))

    def diagonal(self, offset: int = 0) -> Any:
        """The diagonal of the first two indices.

        Parameters
        ----------
        offset : int, optional
            The distance from the main diagonal.

        Returns
        -------
        numpy.ndarray
            A plain array.

        Examples
        --------
        >>> import gridbuf as gb
        >>> gb.Field.from_array([[1.0, 2.0], [3.0, 4.0]], dims="IJ").diagonal()
        array([1., 4.])
        """
        return call(np.diagonal, ("offset",), self, offset)

    @as_in(diagonal)
    def trace(self, offset: int = 0) -> Any:
        """The sum of the diagonal of the first two indices.

        Returns
        -------
        scalar or numpy.ndarray

        Examples
        --------
        >>> import gridbuf as gb
        >>> float(gb.Field.from_array([[1.0, 2.0], [3.0, 4.0]], dims="IJ").trace())
        5.0
        """
        return call(np.trace, ("offset",), self, offset)

    def dot(self, b: Any, out: Any = None) -> Any:
        """The matrix product, by position.

        Parameters
        ----------
        b : array_like
            The other factor.
        out : array_like, optional
            The array that receives the result, and is returned.

        Returns
        -------
        numpy.ndarray or scalar
            A plain array.

        Examples
        --------
        >>> import gridbuf as gb
        >>> float(gb.Field.from_array([1.0, 2.0], dims="I").dot([3.0, 4.0]))
        11.0
        """
        return call(np.dot, ("b",), self, b, **given(out=out))

    def put(self, indices: Any, values: Any) -> None:
        """Write elements by their number in index order.

        Parameters
        ----------
        indices : array_like of int
            The numbers of the points.
        values : array_like
            The values to write.

        Examples
        --------
        >>> import gridbuf as gb
        >>> f = gb.Field.zeros((2, 2), dims="IJ")
        >>> f.put([1], 5.0)
        >>> f.tolist()
        [[0.0, 5.0], [0.0, 0.0]]
        """
        call(np.put, ("indices", "values"), self, indices, values)
