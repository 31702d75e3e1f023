"""The packages that read and write netCDF: netCDF4, or h5netcdf where netCDF4 is missing. Of
h5netcdf the names are used that netCDF4 has too.

HDF5 and netCDF-C are not made for threads, and netCDF4 lets go of the GIL: every use of a file
holds LOCK.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np

from gridbuf.distributed.files.manifests import writing

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


def check_path(path: Path) -> None:
    """ValueError for a path that a package would take for another, or cannot take."""
    text = str(path)
    if "\\" in text:
        raise ValueError(f"path: {text!r} has a backslash, which netCDF4 takes for '/'")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"path: {text!r} is not UTF-8, which netCDF4 needs") from None


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Hold LOCK; whatever else a package raises at a damaged file is a ValueError."""
    with LOCK:
        try:
            yield
        except (ValueError, PermissionError, MemoryError):
            raise
        except FileNotFoundError:
            raise ValueError(f"path: there is no {str(path)!r}") from None
        except Exception as error:
            raise ValueError(
                f"path: {str(path)!r} is damaged, or no netCDF file: {error}"
            ) from error


def open_file(path: Path) -> Any:
    """The file for reading; ValueError where it is damaged."""
    with reading(path):
        return find_package().Dataset(str(path), "r")


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    with reading(path):
        file = open_file(path)
        try:
            yield file
        finally:
            file.close()


class NewFile:
    """A file that is written: `dataset` is the package's."""

    def __init__(self, path: Path) -> None:
        self._path, self._raw = path, None
        with self._named("the header"):
            package = find_package()
            if package.__name__ != "netCDF4":
                self._raw = LateErrors(path, "w+")
            self.dataset = package.Dataset(self._raw or str(path), "w")

    @contextmanager
    def writing(self, content: str) -> Iterator[Any]:
        """The dataset, for writing; OSError with the path and the content where that fails."""
        with self._named(content):
            yield self.dataset
            if self._raw is not None and self._raw.failure is not None:
                raise self._raw.failure

    @contextmanager
    def _named(self, content: str) -> Iterator[None]:
        with LOCK, writing(self._path, content):
            try:
                yield
            except RuntimeError as error:  # HDF5 has no other word for a full disk
                raise OSError(str(error)) from error

    def close(self) -> None:
        """Close the file once: HDF5 may fail hard at a second try."""
        dataset, self.dataset = self.dataset, None
        if dataset is not None:
            with self._named("the rest"):
                dataset.close()
                if self._raw is not None:
                    self._raw.close()
                    if self._raw.failure is not None:
                        raise self._raw.failure


class LateErrors(FileIO):
    """A file whose first error waits in `failure`: h5py crashes where it cannot end a file."""

    failure: OSError | None = None

    def write(self, values: Any) -> int:
        rest = memoryview(values).cast("B")
        size = rest.nbytes
        try:
            while rest.nbytes:
                rest = rest[super().write(rest) :]
        except OSError as error:
            self.failure = self.failure or error
        return size

    def truncate(self, size: int | None = None) -> int:
        try:
            return super().truncate(size)
        except OSError as error:
            self.failure = self.failure or error
            return size or 0


def new_variable(
    file: Any, name: str, dtype: np.dtype[Any], dims: tuple[str, ...], fill: Any
) -> Any:
    """A variable whose values lie in one piece; fill None: nothing is written where no values
    are.
    """
    if find_package().__name__ == "netCDF4":
        # A dim of size 0 is one without a limit, which no variable in one piece has
        more = {
            "fill_value": False if fill is None else fill,
            "contiguous": all(file.dimensions[dim].size for dim in dims),
        }
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


def attribute(holder: Any, name: str) -> Any:
    """An attribute's number, text, list or array; h5netcdf has bytes for an empty text."""
    value = holder.getncattr(name)
    return value.decode() if isinstance(value, bytes) else value
