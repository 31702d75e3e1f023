"""Fields in files: zarr and netCDF4 write them from any layout as they are, and what they hold is
read back into one.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridbuf as gb

LAYOUTS: dict[str, Any] = {
    "C": {}, "F": {"backend": "F"}, "permuted": {"layout": (1, 2, 0)},
    "padded": {"backend": "gt:cpu_ifirst", "padding": 8},
}  # fmt: skip
DTYPES = [
    "bool",
    "int8",
    "uint16",
    "int32",
    "uint64",
    "float16",
    "float32",
    "complex64",
    "complex128",
    ">f8",
]


def values(dtype: Any = "float64") -> np.ndarray:
    return np.arange(120).reshape(4, 5, 6).astype(dtype)


def fields(dtype: Any = "float64") -> dict[str, gb.Field]:
    found = {
        name: gb.Field.from_array(values(dtype), dtype=dtype, dims="IJK", **spec)
        for name, spec in LAYOUTS.items()
    }
    found["sliced"] = gb.Field.from_array(np.repeat(values(dtype), 2, 1), dtype=dtype, dims="IJK")[
        :, ::2
    ]
    found["reversed"] = gb.Field.from_array(values(dtype)[::-1], dtype=dtype, dims="IJK")[::-1]
    constant = values(dtype)
    constant.setflags(write=False)
    found["read-only"] = gb.Field(constant, "IJK")
    found["size 0"] = gb.Field.zeros((4, 0, 6), dtype, dims="IJK")
    found["0-d"] = gb.Field.full((), 7, dtype)
    return found


@pytest.fixture
def zarr() -> Any:
    return pytest.importorskip("zarr", minversion="3")


@pytest.fixture
def netcdf(tmp_path: Path) -> Any:
    with pytest.importorskip("netCDF4").Dataset(tmp_path / "fields.nc", "w") as dataset:
        yield dataset


@pytest.mark.parametrize("layout", fields())
def test_zarr_writes_and_reads_back(zarr: Any, tmp_path: Path, layout: str) -> None:
    field = fields()[layout]
    stored = zarr.create_array(
        tmp_path / "a.zarr", shape=field.shape, dtype=field.dtype, dimension_names=list(field.dims)
    )
    stored[...] = field.numpy()
    opened = zarr.open_array(tmp_path / "a.zarr", mode="r")
    back = gb.Field.from_array(opened, dims=opened.metadata.dimension_names, backend="F")
    assert (
        back.dims == field.dims
        and back.numpy().flags.f_contiguous
        and np.array_equal(back, field.numpy())
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_zarr_keeps_the_dtype(zarr: Any, dtype: str) -> None:
    field = fields(dtype)["F"]
    stored = zarr.create_array({}, shape=field.shape, dtype=field.dtype)
    stored[...] = field.numpy()
    back = gb.Field.from_array(stored, dtype=None, dims="IJK")
    assert back.dtype == dtype and np.array_equal(back, field.numpy())


def test_zarr_takes_a_field_itself(zarr: Any) -> None:
    pytest.importorskip(
        "zarr", minversion="3.4", reason="zarr 3.1 takes what has the methods of an ndarray only"
    )
    stored = zarr.create_array({}, shape=(4, 5, 6), dtype="f8")
    stored[...] = fields()["padded"]
    assert np.array_equal(stored[...], values())
    assert np.array_equal(zarr.array(fields()["padded"])[...], values())


def test_zarr_writes_and_reads_the_domain_only(zarr: Any) -> None:
    field = gb.Field.zeros((6, 7), dims="IJ", halo=(1, 1), padding=True)
    field.domain[...] = 3.0
    stored = zarr.create_array({}, shape=field.domain.shape, dtype=field.dtype)
    stored[...] = field.domain.numpy()
    target = gb.Field.full(field.shape, -1.0, dims="IJ", halo=(1, 1), backend="F")
    target.domain[...] = stored[...]
    assert (target.domain.numpy() == 3).all() and target.numpy().sum() == 3 * 20 - 22


def test_zarr_reads_into_our_memory(zarr: Any) -> None:
    from zarr.core.buffer import default_buffer_prototype

    stored = zarr.array(values(), chunks=(2, 3, 6))
    field = gb.Field.zeros((4, 5, 6), dims="IJK", backend="gt:cpu_ifirst", padding=8)
    out = default_buffer_prototype().nd_buffer.from_ndarray_like(field.numpy())
    stored.get_basic_selection(..., out=out)
    assert np.array_equal(field, values())


@pytest.mark.parametrize("layout", fields())
def test_netcdf_writes_and_reads_back(netcdf: Any, layout: str) -> None:
    field = fields()[layout]
    for name, n in zip(field.dims, field.shape, strict=True):
        netcdf.createDimension(name, n)  # of size 0: an unlimited one
    stored = netcdf.createVariable("temperature", field.dtype, field.dims)
    stored.set_auto_mask(False)
    stored[...] = field
    back = gb.Field.from_array(stored[...], dims=stored.dimensions, backend="F")
    assert back.dims == field.dims and np.array_equal(back, field.numpy())


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint64", "float32"])
def test_netcdf_keeps_the_dtype(netcdf: Any, dtype: str) -> None:
    field = fields(dtype)["padded"]
    for name, n in zip(field.dims, field.shape, strict=True):
        netcdf.createDimension(name, n)
    stored = netcdf.createVariable("counts", dtype, field.dims)
    stored.set_auto_mask(False)
    stored[1:3] = field[1:3]
    back = gb.Field.from_array(stored[1:3], dtype=None, dims=stored.dimensions)
    assert back.dtype == dtype and np.array_equal(back, field.numpy()[1:3])


def test_what_lies_in_a_file_is_not_memory(zarr: Any, netcdf: Any) -> None:
    netcdf.createDimension("K", 3)
    for stored in (zarr.array(values()), netcdf.createVariable("t", "f8", ("K",))):
        with pytest.raises(
            TypeError, match=r"hands out a new copy each time it is read; gridbuf\.from_array"
        ):
            gb.Field(stored)
