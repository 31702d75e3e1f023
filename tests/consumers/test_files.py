"""zarr and netCDF4: Fields of any layout are written and read back, with and without their halo."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import gridbuf as gb

LAYOUTS: dict[str, Callable[[], gb.Field]] = {
    "C": lambda: gb.Field.empty((6, 5, 4), dims="IJK", halo=(1, 1, 0)),
    "F": lambda: gb.Field.empty((6, 5, 4), dims="IJK", halo=(1, 1, 0), backend="F"),
    "padded": lambda: gb.Field.empty((6, 5, 4), dims="IJK", halo=(1, 1, 0), backend="gt:cpu_ifirst", padding=True),
    "sliced": lambda: gb.Field.empty((6, 10, 13), dims="IJK", halo=(1, 2, 0))[:, ::2, 1:12:3],
    "reversed": lambda: gb.Field.empty((6, 5, 4), dims="IJK", halo=(1, 1, 0))[::-1],
    "size 0": lambda: gb.Field.empty((6, 0, 4), dims="IJK"),
}


def numbered(make: Callable[[], gb.Field]) -> gb.Field:
    field = make()
    field[...] = np.arange(float(field.size)).reshape(field.shape)
    return field


@pytest.mark.parametrize("layout", LAYOUTS)
def test_zarr(layout: str, tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    field = numbered(LAYOUTS[layout])
    chunks = tuple(max(1, n // 2) for n in field.shape)
    stored = zarr.create_array(tmp_path / "a", shape=field.shape, dtype=field.dtype, chunks=chunks, dimension_names=field.dims)
    stored[...] = field
    again = zarr.open_array(tmp_path / "a", mode="r")
    assert (again[...] == field.numpy()).all()
    back = gb.Field.zeros(again.shape, again.dtype, dims=again.metadata.dimension_names, backend="F")
    back[...] = again[...]
    assert back.dims == field.dims and (back.numpy() == field.numpy()).all()


@pytest.mark.parametrize("dtype", ["bool", "i1", "u8", "f2", "f4", "c16"])
def test_zarr_dtypes(dtype: str) -> None:
    zarr = pytest.importorskip("zarr")
    field = gb.Field.from_array((np.arange(6).reshape(2, 3) % 2).astype(dtype), dtype=dtype, backend="F")
    stored = zarr.create_array({}, data=field)
    assert stored.dtype == field.dtype and (stored[...] == field.numpy()).all()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_netcdf(layout: str, tmp_path: Path) -> None:
    netCDF4 = pytest.importorskip("netCDF4")
    field = numbered(LAYOUTS[layout])
    own = field.domain if field.halo is not None else field
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
        for dim, n in zip(field.dims, own.shape, strict=True):
            file.createDimension(dim, n)
        if own.size:
            file.createVariable("own", own.dtype, own.dims)[:] = own
            file.createVariable("turned", own.dtype, ("K", "I", "J"))[:] = own.transpose("KIJ")
    with netCDF4.Dataset(tmp_path / "a.nc") as file:
        file.set_auto_mask(False)
        if own.size:
            assert (file["own"][:] == own.numpy()).all()
            back = gb.Field(file["turned"][:], file["turned"].dimensions).transpose("IJK")
            assert (back.numpy() == own.numpy()).all()


def test_a_record_is_written_and_read_into_the_domain(tmp_path: Path) -> None:
    netCDF4 = pytest.importorskip("netCDF4")
    field = gb.Field.full((6, 5), -1.0, dims="IJ", halo=(1, 1), backend="F")
    with netCDF4.Dataset(tmp_path / "t.nc", "w") as file:
        file.createDimension("time", None)
        file.createDimension("J", 3)
        file.createDimension("I", 4)
        variable = file.createVariable("a", "f4", ("time", "J", "I"))
        for step in range(3):
            field.domain[...] = step
            variable[step] = field.domain.transpose("JI")
        variable.set_auto_mask(False)
        field.domain.transpose("JI")[...] = variable[1]
    assert (field.domain.numpy() == 1).all() and (field.numpy()[0] == -1).all()
