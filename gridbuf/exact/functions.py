"""Sums of one array."""

from typing import Any

from gridbuf.docstrings import as_in
from gridbuf.exact.operands import kind_of, operand, pair, parts
from gridbuf.exact.total import Total


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
        NaN of no elements.

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
        It is right also where squares are larger than any double, or smaller.

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
