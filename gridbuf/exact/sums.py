"""Exact sums of one array, and totals: sums in progress, which are arrays of integers that
processes can add up.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gridbuf._core import (
    EXACT_BIAS,
    EXACT_CHUNKS,
    EXACT_WORDS,
    Field,
    exact_add,
    exact_merge,
    host_array,
)
from gridbuf.docstrings import as_in
from gridbuf.validation import as_dtype

__all__ = ["Total", "dot", "mean", "norm", "sum"]

# ---- what may be summed ----


ALLOWED = "bool, integers, float16, float32, float64, complex64 and complex128"


def kind_of(dtype: np.dtype[Any], argument: str) -> str:
    """`"i"` for bools and integers, `"f"` or `"c"`; TypeError for what is not summed."""
    if dtype.kind in "biu":
        return "i"
    if dtype.char in "efd":
        return "f"
    if dtype.char in "FD":
        return "c"
    raise TypeError(
        f"{argument}: elements of dtype {dtype} are not summed exactly; allowed are {ALLOWED}"
    )


def operand(x: Any, argument: str) -> Any:
    """A Field, or an array over the memory of x; numbers and lists become arrays. In this machine's
    byte order.
    """
    if type(x) is not np.ndarray and not isinstance(x, Field):
        try:
            x = (
                np.asarray(x)
                if isinstance(x, list | tuple | int | float | complex | np.generic)
                else host_array(x)
            )
        except TypeError as error:
            raise TypeError(f"{argument}: {error}") from None
    kind_of(x.dtype, argument)
    return x if x.dtype.isnative else np.asarray(x).astype(x.dtype.newbyteorder("="))


def parts(x: Any, kind: str) -> tuple[Any, ...]:
    """The real numbers that x consists of: itself, or real and imaginary parts."""
    if kind != "c":
        return (x,)
    array = np.asarray(x)
    return (array.real, array.imag)


def pair(x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands of one shape, y's axes in x's order where both have names."""
    x, y = operand(x, "x"), operand(y, "y")
    if isinstance(x, Field) and isinstance(y, Field) and x.dims != y.dims:
        if sorted(x.dims) != sorted(y.dims):
            raise ValueError(f"y: dims {y.dims}; x has {x.dims}")
        y = y.transpose(*x.dims)
    if x.shape != y.shape:
        raise ValueError(f"y: shape {y.shape}; x has {x.shape}")
    x_whole, y_whole = (kind_of(a.dtype, "x") == "i" for a in (x, y))
    if x_whole != y_whole:  # small integers are doubles
        if x_whole:
            x = _floats(x, "x", y.dtype)
        else:
            y = _floats(y, "y", x.dtype)
    return x, y


def _floats(a: Any, argument: str, other: np.dtype[Any]) -> Any:
    if a.dtype.itemsize > 4:
        raise TypeError(
            f"{argument}: not every {a.dtype} is a float64, so its products with {other} would not"
            " be exact; convert it"
        )
    return np.asarray(a).astype(np.float64)


# ---- a sum on its way ----


class Total:
    """A sum to which arrays are added without rounding.

    `values`, an array of int64, is its whole state. Sums of several processes are added by adding
    these, with any reduction of integers (`comm.Allreduce(MPI.IN_PLACE, total.values)`), up to
    2**30 of them at a time.

    Parameters
    ----------
    dtype : dtype_like
        Of the values to add. Bools and integers of any size are one kind, floats another,
        complex numbers a third. For products, the kind of the product.
    values : numpy.ndarray, optional
        The sum of the `values` of other Totals of this kind; used, not copied.

    Raises
    ------
    TypeError
        `dtype` is no number, or a long double; `values` is no writable array of int64 in a row.
    ValueError
        `values` has another length.

    Examples
    --------
    >>> import gridbuf as gb, numpy as np
    >>> a, b = gb.exact.Total("float64"), gb.exact.Total("float64")
    >>> a.add(np.array([1e16, 1.0]))
    >>> b.add(np.array([-1e16, 1.0]))
    >>> both = gb.exact.Total("float64", a.values + b.values)
    >>> both.sum(), both.mean(), both.count
    (2.0, 0.5, 4)
    """

    __slots__ = ("_kind", "values")
    values: NDArray[np.int64]

    def __init__(self, dtype: DTypeLike, values: NDArray[np.int64] | None = None) -> None:
        self._kind = kind_of(as_dtype(dtype), "dtype")
        length = self._numbers * EXACT_WORDS + 1
        if values is None:
            values = np.zeros(length, np.int64)
        elif not (
            isinstance(values, np.ndarray)
            and values.dtype == np.int64
            and values.flags.carray
            and values.ndim == 1
        ):
            raise TypeError(f"values: expected a writable array of {length} int64 in a row")
        elif len(values) != length:
            raise ValueError(
                f"values: {len(values)} of them; a Total of {np.dtype(dtype)} has {length}"
            )
        self.values = values

    @property
    def _numbers(self) -> int:
        return 2 if self._kind == "c" else 1

    def _part(self, i: int) -> NDArray[np.int64]:
        return self.values[i * EXACT_WORDS : (i + 1) * EXACT_WORDS]

    @property
    def count(self) -> int:
        """How many elements, or products, were added."""
        return int(self.values[-1])

    def _fits(self, kind: str, argument: str) -> None:
        if kind != self._kind and (kind, self._kind) != ("f", "c"):
            names = {"i": "integers", "f": "floats", "c": "complex numbers"}
            raise TypeError(
                f"{argument}: {names[kind]} do not go into a Total of {names[self._kind]}"
            )

    def add(self, x: Any) -> None:
        """Add every element of an array.

        Parameters
        ----------
        x : array_like
            An array, a Field, a storage or anything whose memory on the host can be read; halos
            count like all other elements.

        Raises
        ------
        TypeError
            Elements that are no numbers, long doubles, or another kind of number than the Total's.

        Examples
        --------
        >>> import gridbuf as gb
        >>> total = gb.exact.Total("int64")
        >>> total.add(gb.Field.full((3, 4), 2**62, "int64", dims="IJ"))
        >>> total.sum() == 12 * 2**62
        True
        """
        x = operand(x, "x")
        kind = kind_of(x.dtype, "x")
        self._fits(kind, "x")
        for i, part in enumerate(parts(x, kind)):
            exact_add(self._part(i), part, None, False)
        self.values[-1] += math.prod(x.shape)

    def add_product(self, x: Any, y: Any) -> None:
        """Add the product of every element of x with that of y at the same index; nothing is
        conjugated.

        Parameters
        ----------
        x, y : array_like
            As for `add`, of one shape. Where both are Fields, y's axes are brought into x's order
            by name. Integers of at most 32 bits may meet floats.

        Raises
        ------
        TypeError
            As for `add`; or larger integers with floats.
        ValueError
            The shapes or dims differ.

        Examples
        --------
        >>> import gridbuf as gb
        >>> total = gb.exact.Total("float64")
        >>> total.add_product([1e200, 1.0], [1e-200, 3.0])
        >>> total.sum()
        4.0
        """
        x, y = pair(x, y)
        kinds = kind_of(x.dtype, "x"), kind_of(y.dtype, "y")
        kind = "c" if "c" in kinds else kinds[0]
        self._fits(kind, "x, y")
        for i, a in enumerate(parts(x, kinds[0])):
            for k, b in enumerate(parts(y, kinds[1])):
                exact_add(self._part(i ^ k), a, b, i + k == 2)
        self.values[-1] += math.prod(x.shape)

    def __iadd__(self, other: Any) -> "Total":
        if not isinstance(other, Total):
            return NotImplemented
        self._fits(other._kind, "other")
        for i in range(other._numbers):
            exact_merge(self._part(i), other._part(i))
        self.values[-1] += other.values[-1]
        return self

    def _special(self, i: int) -> float | None:
        """The sum of a part with infinities or NaN; None where there are none."""
        nans, infinities, negative = (int(n) for n in self._part(i)[EXACT_CHUNKS:])
        if nans or (infinities and negative):
            return math.nan
        return math.inf if infinities else -math.inf if negative else None

    def _scaled(self, i: int) -> int:
        """The finite part, times 2**EXACT_BIAS."""
        values = self._part(i).copy()
        exact_merge(values, np.zeros_like(values))
        low = int.from_bytes(values[: EXACT_CHUNKS - 1].astype("<u4").tobytes(), "little")
        return low + (int(values[EXACT_CHUNKS - 1]) << 32 * (EXACT_CHUNKS - 1))

    def _rounded(self, i: int, divisor: int) -> float:
        special = self._special(i)
        if special is not None:
            return special
        total = self._scaled(i)
        try:
            return total / (divisor << EXACT_BIAS)
        except OverflowError:
            return math.inf if total > 0 else -math.inf

    def sum(self) -> Any:
        """The sum, rounded once.

        Returns
        -------
        int, float or complex
            Beyond the range of doubles an infinity; NaN where NaN or infinities of both signs were
            added. Of nothing 0.

        Examples
        --------
        >>> import gridbuf as gb
        >>> gb.exact.Total("complex64").sum()
        0j
        """
        if self._kind == "i":
            return self._scaled(0) >> EXACT_BIAS
        return (
            complex(self._rounded(0, 1), self._rounded(1, 1))
            if self._kind == "c"
            else self._rounded(0, 1)
        )

    def mean(self) -> Any:
        """The exact sum divided by `count`, rounded once.

        Returns
        -------
        float or complex
            NaN where nothing was added.

        Examples
        --------
        >>> import gridbuf as gb
        >>> total = gb.exact.Total("float64")
        >>> total.add([1e308, 1e308])
        >>> total.sum(), total.mean()
        (inf, 1e+308)
        """
        n = self.count
        values = [self._rounded(i, n) if n else math.nan for i in range(self._numbers)]
        return complex(*values) if self._kind == "c" else values[0]

    def root(self) -> float:
        """The square root of the exact sum, rounded once: of a Total of squares, the norm.

        Returns
        -------
        float
            Finite where the norm is, also where the squares are larger than any double.

        Raises
        ------
        ValueError
            The sum is negative, or complex.

        Examples
        --------
        >>> import gridbuf as gb
        >>> total = gb.exact.Total("float64")
        >>> x = [3 * 2.0**800, 4 * 2.0**800]
        >>> total.add_product(x, x)
        >>> total.sum(), total.root() == 5 * 2.0**800
        (inf, True)
        """
        if self._kind == "c":
            raise ValueError(
                "the sum is complex; add the squares of real and imaginary parts to a Total of"
                " floats"
            )
        special = self._special(0)
        total = self._scaled(0)
        if special == -math.inf or (special is None and total < 0):
            raise ValueError("the sum is negative; it has no real square root")
        if special is not None:
            return special
        # Bits to add, so that the root has more than a double's
        more = max(0, 132 - total.bit_length() // 2 * 2)
        root = math.isqrt(total << more)
        inexact = root * root != total << more
        try:
            return (2 * root + inexact) / (1 << (more + EXACT_BIAS) // 2 + 1)
        except OverflowError:
            return math.inf


# ---- sums of one array ----


def sum(x: Any) -> Any:
    """The sum of all elements, rounded once.

    Parameters
    ----------
    x : array_like
        An array, a Field, a storage, a list ..., of any layout; of a Field all elements count, its
        halo included (`field.domain` leaves it out).

    Returns
    -------
    int, float or complex
        The bits of `math.fsum`, where that does not raise: beyond the range of doubles an infinity,
        of infinities of both signs NaN. Of bools and integers the Python int.

    Raises
    ------
    TypeError
        `x` has elements that are no numbers, or long doubles, or lies on a GPU.

    Examples
    --------
    >>> import gridbuf as gb, numpy as np
    >>> gb.exact.sum(np.full(10, 0.1)), float(np.full(10, 0.1).cumsum()[-1])
    (1.0, 0.9999999999999999)
    >>> gb.exact.sum(np.full(3, 2**63, "uint64")) == 3 * 2**63
    True
    """
    return _total(x).sum()


@as_in(sum)
def mean(x: Any) -> Any:
    """The exact sum divided by the number of elements, rounded once.

    Returns
    -------
    float or complex
        NaN without elements.

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.exact.mean([1, 2, 4])
    2.3333333333333335
    """
    return _total(x).mean()


def dot(x: Any, y: Any) -> Any:
    """The sum of the products of elements at the same index, rounded once; nothing is conjugated.

    Parameters
    ----------
    x, y : array_like
        As for `sum`, of one shape. Where both are Fields, y's axes are brought into x's order by
        name. Integers of at most 32 bits may meet floats.

    Returns
    -------
    int, float or complex
        Products and sums are exact also where a product would be too large or too small for a
        double.

    Raises
    ------
    TypeError
        As `sum` does; or integers of 64 bits with floats.
    ValueError
        The shapes or dims differ.

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.exact.dot([1e200, 1.0, 1e200], [1e200, 2.0, -1e200])
    2.0
    """
    x, y = pair(x, y)
    total = Total(x.dtype if kind_of(x.dtype, "x") == "c" else y.dtype)
    total.add_product(x, y)
    return total.sum()


@as_in(sum)
def norm(x: Any) -> float:
    """The square root of the sum of squares of all elements, rounded once.

    Parameters
    ----------
    x : array_like
        As for `sum`; of complex numbers the magnitudes count.

    Returns
    -------
    float
        Correct also where squares are beyond the range of doubles.

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.exact.norm([3 * 2.0**800, 4 * 2.0**800]) == 5 * 2.0**800
    True
    >>> gb.exact.norm([3 + 4j, 12])
    13.0
    """
    x = operand(x, "x")
    kind = kind_of(x.dtype, "x")
    total = Total("int64" if kind == "i" else "float64")
    for part in parts(x, kind):
        total.add_product(part, part)
    return total.root()


def _total(x: Any) -> Total:
    x = operand(x, "x")
    total = Total(x.dtype)
    total.add(x)
    return total
