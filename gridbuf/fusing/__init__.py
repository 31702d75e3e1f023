"""Fused expressions: NumPy notation whose intermediate values never leave the cache.

To be read in this order: operations (what takes part, what one does, and what its result is like),
segments (operations that run as one kernel), traces (what a function did), traced (what it is
called with to find that out), calls (the callable, and what it says of a call).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gridbuf.fusing.calls import Fused


def fused(function: Callable[..., Any]) -> "Fused":
    """A function whose elementwise operations run as one, tile by tile, without temporaries.

    The result of a call has the bits that the function itself gives: values, dtype, shape, names,
    origin, halo, class and order of strides. Operations that cannot be fused run unfused.

    Parameters
    ----------
    function : callable
        Computes with arrays, Fields, storages and numbers, and returns one or a tuple of them. It
        is called anew for arguments of another structure.

    Returns
    -------
    Fused
        A callable with the function's arguments and, by keyword, ``out``, memory for the result (a
        tuple where the function returns one), and ``workers``, the most threads to use. Its methods
        are ``explain(*args)``, what a call does; ``traces()``, how many are kept; and ``clear()``.

    Raises
    ------
    TypeError
        When function is no callable, or has a parameter named out or workers.

    Examples
    --------
    >>> import numpy as np
    >>> import gridbuf as gb
    >>> @gb.fused
    ... def smooth(u, k):
    ...     return u[1:-1] + k * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    >>> smooth(np.array([0.0, 1.0, 0.0, 4.0]), 0.25)
    array([0.5 , 1.25])
    """
    from gridbuf.fusing.calls import Fused

    return Fused(function)
