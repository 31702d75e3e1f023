"""The same diffusion in NumPy: what every result is checked against."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def diffuse(
    values: NDArray[Any],
    steps: int,
    coefficient: float,
    *,
    advance: Callable[[], Any] = lambda: None,
) -> NDArray[np.float64]:
    """`steps` steps of horizontal diffusion of an I, J, K field.

    The rim of one point around it is a closed boundary: it is read and never written, as
    with the stencil, which writes the domain of its output only.

    Parameters
    ----------
    values : ndarray
        Not changed.
    steps : int
    coefficient : float
        dt * K / dx**2.
    advance : callable
        Called after each step.
    """
    now = np.array(values, np.float64)
    after, laplacian = now.copy(), np.empty_like(now[1:-1, 1:-1])
    for _ in range(steps):
        middle = now[1:-1, 1:-1]
        np.add(now[:-2, 1:-1], now[2:, 1:-1], out=laplacian)
        laplacian += now[1:-1, :-2]
        laplacian += now[1:-1, 2:]
        laplacian -= 4.0 * middle
        laplacian *= coefficient
        np.add(middle, laplacian, out=after[1:-1, 1:-1])
        now, after = after, now
        advance()
    return now


def max_error(result: NDArray[Any], expected: NDArray[np.float64]) -> float:
    """The largest difference at any point, halo included; a NaN anywhere is a NaN here."""
    return float(np.abs(result - expected).max())
