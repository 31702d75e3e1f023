"""The real input, one field of a Met Office forecast and larger grids tiled from it; and the same
diffusion in NumPy, which every result is checked against.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Weather:
    """A model field with what its axes mean.

    Attributes
    ----------
    values : ndarray
        In the index order of the file: K, J, I.
    name, units : str
        As the file says.
    heights, latitudes, longitudes : ndarray
        Metres above ground along K; degrees on the rotated grid along J and I.
    """

    values: NDArray[Any]
    name: str
    units: str
    heights: NDArray[Any]
    latitudes: NDArray[Any]
    longitudes: NDArray[Any]


def load() -> Weather:
    """`air_potential_temperature` from the Met Office's hybrid_height.nc, which the package
    iris-sample-data ships.
    """
    import iris_sample_data
    import netCDF4

    with netCDF4.Dataset(Path(iris_sample_data.path) / "hybrid_height.nc") as file:
        variables = {
            name: np.asarray(file[name][:])
            for name in ("level_height", "grid_latitude", "grid_longitude")
        }
        field = file["air_potential_temperature"]
        return Weather(
            np.asarray(field[:]),
            field.standard_name,
            field.units,
            variables["level_height"],
            # Degrees east wrap at 360 in the middle of this grid.
            variables["grid_latitude"],
            (variables["grid_longitude"] + 180) % 360 - 180,
        )


def tile(values: NDArray[Any], shape: Sequence[int]) -> NDArray[np.float64]:
    """A grid of any size from a field, mirrored at its edges so that no seam appears.

    Parameters
    ----------
    values : ndarray
        In K, J, I order.
    shape : sequence of int
        The size wanted, in I, J, K order.

    Returns
    -------
    ndarray
        C-ordered, I, J, K.
    """
    i, j, k = (_mirrored(size, n) for size, n in zip(shape, reversed(values.shape), strict=True))
    return np.ascontiguousarray(values.transpose(2, 1, 0)[np.ix_(i, j, k)], np.float64)


def _mirrored(size: int, n: int) -> NDArray[np.intp]:
    """0, 1, ..., n-1, n-1, ..., 1, 0, 0, 1, ... up to `size` entries."""
    at = np.arange(size) % (2 * n)
    return np.where(at < n, at, 2 * n - 1 - at)


# ---- the reference ----


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
