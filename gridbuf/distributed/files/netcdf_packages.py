"""The packages that read and write netCDF: netCDF4, or h5netcdf where netCDF4 is missing. Of
h5netcdf the names are used that netCDF4 has too.

HDF5 and netCDF-C are not made for threads, and netCDF4 lets go of the GIL: every use of a file
holds LOCK.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np

LOCK = RLock()
MISSING = (
    "the package netCDF4 (pip install netCDF4), or h5netcdf with h5py (pip install h5netcdf h5py)"
)


def find_package() -> Any:
    """The module whose Dataset is a file; None where no package is installed."""
    try:
        import netCDF4
    except ImportError:
        pass
    else:
        return netCDF4
    try:
        import h5netcdf.legacyapi
        import h5py  # noqa: F401
    except ImportError:
        return None
    return h5netcdf.legacyapi


def open_file(path: Path) -> Any:
    """The file for reading; ValueError where it is damaged."""
    try:
        return find_package().Dataset(str(path), "r")
    except FileNotFoundError:
        raise ValueError(f"path: there is no {str(path)!r}") from None
    except OSError as error:
        if isinstance(error, PermissionError):
            raise
        raise ValueError(f"path: {str(path)!r} is damaged, or no netCDF file: {error}") from error


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    with LOCK:
        file = open_file(path)
        try:
            yield file
        finally:
            file.close()


def new_file(path: Path) -> Any:
    return find_package().Dataset(str(path), "w")


def new_variable(
    file: Any, name: str, dtype: np.dtype[Any], dims: tuple[str, ...], fill: Any
) -> Any:
    """A variable whose values lie in one piece; fill None: nothing is written where no values
    are.
    """
    if find_package().__name__ == "netCDF4":
        more = {"fill_value": False if fill is None else fill, "contiguous": True}
    else:  # in one piece unless told otherwise
        more = {"fill_value": fill}
    variable = file.createVariable(name, dtype.newbyteorder("="), dims, **more)
    take_as_they_are(variable)
    return variable


def take_as_they_are(variable: Any) -> None:
    """Values without masks and scales, as h5netcdf has them anyway."""
    if hasattr(variable, "set_auto_maskandscale"):
        variable.set_auto_maskandscale(False)


def default_fill(dtype: np.dtype[Any]) -> Any:
    return find_package().default_fillvals[f"{dtype.kind}{dtype.itemsize}"]
