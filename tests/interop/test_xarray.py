"""`gridbuf.interop.xarray`: the accessor of GT4Py's "GT Storage Interface", and DataArrays from and
to Fields and storages.
"""

import pickle
from typing import Any

import numpy as np
import pytest
from fake_device import FakeDevice

import gridbuf as gb
import gridbuf.storage as gs
from gridbuf.interface import acquired, read

xr = pytest.importorskip("xarray")
import gridbuf.interop.xarray as gbx  # noqa: E402


def test_a_dataarray_has_the_interface_with_its_dims() -> None:
    array = xr.DataArray(np.zeros((2, 3, 4)), dims=("J", "I", "K"))
    found = read(array)
    assert found["dims"] == ("J", "I", "K") and found["data"][0] == array.values.ctypes.data
    with acquired({"a": array}, outputs=("a",)) as buffers:
        buffers["a"][2, 1, 3] = 5
    assert array[1, 2, 3] == 5


def test_the_interface_of_the_data_is_passed_on(gpu: FakeDevice) -> None:
    s = gs.ones((2, 3), axes="IJ", device="gpu")
    array = gbx.to_dataarray(s).rename(I="K")
    s.set_device_modified()
    gpu.log.clear()
    assert (
        read(array)["dims"] == ("K", "J")
        and read(array, "gpu")["data"] == s.__gt_interface__["gpu"]["data"]
    )
    assert gpu.log == []
    with acquired({"a": array}, outputs=("a",)) as buffers:
        assert gpu.log == ["download"] and buffers["a"].shape == (3, 2)
    assert s.sync_state.state == gs.SyncState.SYNC_HOST_DIRTY


def _numbers_of_xarray(a: Any, b: Any) -> list[Any]:
    return [
        a.mean(), a.sum("x"), a + b, a - b.transpose(), a.where(a > 3), a.where(a > 3, b),
        xr.concat([a, b], "x"), xr.dot(a, b), a.T @ b,
        a.isel(x=1), a[:, ::-1] * b, a.isel(x=[1, 0]), a.std("y"), a.cumsum("x"), np.sqrt(a),
        a.astype("f4"), a.shift(x=1), a.copy() + 1,
        a.rolling(y=2).mean(), a.stack(z=("x", "y")), a.expand_dims("t"), a.squeeze(), a.clip(1, 2),
        xr.where(a > b, a, b), a.T.data + 0,
        xr.apply_ufunc(lambda p, q: p + q, a, b), a.isnull(), a.fillna(0), a.equals(b),
        a.quantile(0.5), a.max(), a.argmax(), a ** 2 > b,
    ]  # fmt: skip


@pytest.mark.parametrize("managed", ["gt4py", "cuda"])
@pytest.mark.parametrize("turned", [False, True])
def test_a_storage_with_two_sides_has_its_newest_numbers_and_xarray_s_order(
    gpu: FakeDevice, managed: str, turned: bool
) -> None:
    values, others = np.arange(9.0).reshape(3, 3), 10.0 * np.arange(9.0).reshape(3, 3)
    s = gs.storage(values, device="gpu", managed=managed, halo=(1, 0))
    t = gs.storage(others, axes="JI" if turned else "IJ", device="gpu", managed=managed)
    with pytest.raises(TypeError, match=r"a host and a device buffer.*to_dataarray"):
        xr.DataArray(s, dims=("x", "y"))
    a = gbx.to_dataarray(s).rename(I="x", J="y")
    b = gbx.to_dataarray(t).rename(dict(zip(t.axes, "xy", strict=True)))
    plain = [xr.DataArray(v, dims=("x", "y"), attrs=m.attrs) for v, m in ((values, a), (others, b))]
    for found, expected in zip(_numbers_of_xarray(a, b), _numbers_of_xarray(*plain), strict=True):
        if isinstance(expected, xr.DataArray):
            xr.testing.assert_identical(found, expected)
        else:
            assert np.array_equal(found, expected)
    view = a.T[1:]
    s.host_to_device()
    s._dev.hidden[...] = 7.0  # a kernel
    s.set_device_modified()
    assert (a == 7).all() and (view == 7).all() and a.values.tolist() == [[7.0] * 3] * 3
    a[0] = 5.0
    a.loc[{"x": 1}] = xr.DataArray([1.0, 2.0, 3.0], dims="y")
    a[2, [0, 1]] = [8.0, 9.0]
    s.host_to_device()
    assert s._dev.hidden.tolist() == s.to_numpy().tolist() == [[5, 5, 5], [1, 2, 3], [8, 9, 7]]
    with pytest.raises(ValueError, match="read-only"):
        a.values[0] = 1.0
    with acquired({"a": a}, outputs=("a",)) as buffers:
        buffers["a"][...] = 2.0
    s.host_to_device()
    assert (s._dev.hidden == 2).all() and (a == 2).all()
    assert gb.Field(gbx.to_dataarray(s)).halo == s.halo
    deep = a.copy(deep=True)
    a[...] = 1.0
    assert (
        (deep == 2).all()
        and (a.copy(deep=False) == 1).all()
        and (pickle.loads(pickle.dumps(a)) == 1).all()
    )


def test_a_storage_on_the_device_alone_is_refused(gpu: FakeDevice) -> None:
    s = gs.zeros((2, 3), device="gpu", managed=None)
    for call in (lambda: xr.DataArray(s), lambda: gbx.to_dataarray(s)):
        with pytest.raises(TypeError, match=r"to_cupy|a host array is needed"):
            call()


def test_nothing_is_cached_when_the_data_are_replaced() -> None:
    array = xr.DataArray(np.zeros(3), dims=("I",))
    before = read(array)["data"]
    other = np.ones(3)
    array.data = other
    assert read(array)["data"][0] == other.ctypes.data != before[0]
    assert read(array.isel(I=slice(1, None)))["data"][0] == other.ctypes.data + 8


def test_dims_that_are_no_stencil_names() -> None:
    array = xr.DataArray(np.zeros((2, 3)), dims=("lat", "lon"))
    assert (
        read(array)["dims"] is None
        and not hasattr(array, "__gt_dims__")
        and gb.get_dims(array) is None
    )
    assert gb.get_dims(xr.DataArray(np.zeros((2, 3)), dims=("K", "0"))) == ("K", "0")


@pytest.mark.parametrize("make", [gb.Field.zeros, gs.zeros])
def test_there_and_back_without_a_copy(make: Any) -> None:
    obj = make(
        (4, 3), **{"dims" if make is gb.Field.zeros else "axes": "JI"}, halo=((1, 0), (0, 2))
    )
    array = gbx.to_dataarray(obj, coords={"I": [10.0, 20.0, 30.0]}, name="t")
    assert (
        array.dims == ("J", "I")
        and array.name == "t"
        and array.coords["I"].values.tolist() == [10, 20, 30]
    )
    assert np.shares_memory(array.values, gb.as_numpy(obj))
    back = gbx.from_dataarray(array)
    assert isinstance(back, gb.Field) and np.shares_memory(back.numpy(), gb.as_numpy(obj))
    assert back.dims == ("J", "I") and back.origin == (1, 0) and back.halo == ((1, 0), (0, 2))
    assert back.__gt_origin__ == (0, 1)
    again = gbx.to_dataarray(back, like=array)
    assert again.identical(array)


def test_other_names_are_translated_both_ways() -> None:
    axes = {"lon": "I", "lat": "J"}
    array = xr.DataArray(
        np.zeros((4, 3)),
        dims=("lat", "lon"),
        coords={"lat": range(4), "area": ("lon", [1, 2, 3])},
        attrs={"units": "K"},
    )
    field = gbx.from_dataarray(array, axes=axes, halo=(1, 1))
    assert field.dims == ("J", "I") and field.halo == ((1, 1), (1, 1))
    with pytest.warns(UserWarning, match=r"like: lat has 4 points there and 2 here.*domain=True"):
        back = gbx.to_dataarray(field.domain, like=array, axes=axes)
    # Of another size
    assert back.dims == ("lat", "lon") and back.attrs["units"] == "K" and not back.coords
    assert set(gbx.to_dataarray(field, like=array, axes=axes).coords) == {"lat", "area"}
    kept = gbx.from_dataarray(array)
    assert kept.dims == gbx.to_dataarray(kept + kept).dims == ("lat", "lon")
    with pytest.raises(ValueError, match="axes: the dims"):
        gbx.from_dataarray(array.rename(lat="sea level"))
    with pytest.raises(ValueError, match="does not name its indices"):
        gbx.to_dataarray(np.zeros(3))


def test_a_dataarray_becomes_a_storage_by_its_names() -> None:
    array = xr.DataArray(np.arange(6.0).reshape(2, 3), dims=("K", "I"))
    shared = gs.as_storage(array)
    assert shared.axes == "KI" and np.shares_memory(shared.to_numpy(), array.values)
    copied = gs.storage(array, axes="IK", defaults="F")
    assert copied.strides == (8, 24) and copied[2, 1] == 5


def test_origin_and_halo_go_with_their_dims_and_not_with_parts() -> None:
    field = gb.Field.zeros((6, 8), dims="IJ", halo=((1, 1), (2, 3)))
    array = gbx.to_dataarray(field)
    turned = gbx.from_dataarray(array.transpose("J", "I"))
    assert (turned.dims, turned.halo, turned.origin) == (("J", "I"), ((2, 3), (1, 1)), (2, 1))
    for part in (
        array.isel(I=slice(2, None)),
        array.isel(I=slice(0, 4)),
        array.isel(I=0),
        array[:, 1:],
        array[::-1],
        array + 1,
    ):
        found = gbx.from_dataarray(part)
        assert found.halo is None and found.origin is None
    assert gbx.from_dataarray(array.isel(I=slice(2, None)), halo=((0, 1), (2, 3))).halo == (
        (0, 1),
        (2, 3),
    )


@pytest.mark.parametrize("make", [gb.Field.ones, gs.ones])
@pytest.mark.parametrize("writer", ["to_netcdf", "to_zarr"])
def test_nothing_of_ours_goes_into_a_file(tmp_path: Any, make: Any, writer: str) -> None:
    """Not by a Field, a storage, a domain, a model that 0.2 wrote, or a result; what the user wrote
    stays.
    """
    package, engine = {"to_netcdf": ("netCDF4", None), "to_zarr": ("zarr", "zarr")}[writer]
    pytest.importorskip(package)
    obj = make((4, 3), **{"dims" if make is gb.Field.ones else "axes": "JI"}, halo=((1, 0), (0, 2)))
    of_0_2 = {"units": "K", "gt_origin": (0, 1), "gt_halo": (0, 2, 1, 0), "gt_shape": (3, 4)}
    like = xr.DataArray(np.zeros((4, 3)), dims=("J", "I"), attrs=of_0_2)
    dataset = xr.Dataset(
        {
            "whole": gbx.to_dataarray(obj),
            "inside": gbx.to_dataarray(obj.domain).rename(I="x", J="y"),
        }
    )
    dataset["modelled"] = gbx.to_dataarray(obj, like=like)
    dataset["result"] = dataset.modelled + 1
    getattr(dataset, writer)(tmp_path / "file")
    with xr.open_dataset(tmp_path / "file", engine=engine) as stored:
        found = {name: dict(stored[name].attrs) for name in stored.variables} | {
            "": dict(stored.attrs)
        }
    assert found.pop("modelled") == {"units": "K"}
    assert found.pop("result") in ({}, {"units": "K"})  # as xarray's option keep_attrs has it
    assert not any(found.values()), found


# ---- from a file to a stencil and back ----

AXES = {"lon": "I", "lat": "J", "lev": "K"}


@pytest.fixture
def dataset() -> xr.Dataset:
    values = np.arange(2 * 3 * 6 * 8, dtype="f4").reshape(2, 3, 6, 8)
    coords = {
        "lon": np.arange(8) * 10.0,
        "lat": np.arange(6) * 5.0,
        "height": ("lev", [1.0, 2.0, 3.0]),
        "time": [0, 6],
    }
    return xr.Dataset(
        {"h": (("time", "lev", "lat", "lon"), values), "oro": (("lat", "lon"), np.ones((6, 8)))},
        coords=coords,
    )


def test_one_mapping_serves_a_dataset(dataset: xr.Dataset) -> None:
    assert gbx.from_dataarray(dataset.oro, axes=AXES).dims == ("J", "I")
    assert gbx.from_dataarray(dataset.h.isel(time=0), axes=AXES).dims == ("K", "J", "I")
    assert "time" in gbx.from_dataarray(dataset.h, axes=AXES).dims  # which no stencil takes


@pytest.mark.parametrize("halo", [(1, 2, 0), ((1, 2), (0, 1), (1, 0))])
@pytest.mark.parametrize("dims", ["IJK", "KJI"])
def test_coordinates_are_cut_by_the_halo(dataset: xr.Dataset, halo: tuple, dims: str) -> None:
    step = dataset.h.isel(time=1)
    field = gb.Field(
        gbx.from_dataarray(step, axes=AXES), halo=[halo["IJK".index(d)] for d in "KJI"]
    )
    array = gbx.to_dataarray(
        field.to(dims=dims, backend="gt:cpu_ifirst"), like=step, axes=AXES, domain=True
    )
    pairs = [(h, h) if isinstance(h, int) else h for h in halo]
    cut = {
        name: slice(low, step.sizes[name] - high)
        for name, (low, high) in zip(("lon", "lat", "lev"), pairs, strict=True)
    }
    expected = step.isel(cut).transpose(*array.dims)
    assert array.dtype == np.float32 and np.array_equal(array, expected) and array.name == "h"
    for name in ("lon", "lat", "height", "time"):
        assert array[name].equals(expected[name]), name


def test_a_domain_needs_a_halo(dataset: xr.Dataset) -> None:
    with pytest.raises(ValueError, match="domain: HostField has no halo"):
        gbx.to_dataarray(
            gb.Field.zeros((8, 6), dims="IJ"), like=dataset.oro, axes=AXES, domain=True
        )


def test_names_are_never_made_up(dataset: xr.Dataset) -> None:
    field = gb.Field(dataset.h)
    assert repr(field).startswith("Field(dims not given, (2, 3, 6, 8) float32") and not hasattr(
        field, "__gt_dims__"
    )
    assert repr(gb.Field(dataset.oro, "JI")).startswith("Field(JI (6, 8)")
    with pytest.raises(
        ValueError, match=r"data: its dims \('lev', 'lat', 'lon'\) are not all I, J or K"
    ):
        gs.as_storage(dataset.h.isel(time=0))


def test_the_accessor_finds_halo_and_domain_by_the_memory():
    f = gb.Field.zeros((8, 6, 3), dims="IJK", halo=(2, 1, 0), backend="gt:cpu_ifirst")
    array = gbx.to_dataarray(f, axes={"lon": "I", "lat": "J", "level": "K"})
    turned = array.transpose("level", "lat", "lon")
    assert array.gridbuf.halo == f.halo and array.gridbuf.origin == f.origin
    assert turned.gridbuf.halo == ((0, 0), (1, 1), (2, 2))
    assert turned.gridbuf.domain.dims == ("level", "lat", "lon")
    turned.gridbuf.domain[...] = 1.0
    assert np.asarray(f).sum() == 4 * 4 * 3
    assert array.gridbuf.plan.strides == f.strides
    axes = {"lon": "I", "lat": "J", "level": "K"}
    assert array.gridbuf.field(axes=axes).halo == f.halo


def test_the_accessor_of_other_memory_and_of_replaced_memory():
    f = gb.Field.zeros((8, 6), dims="IJ", halo=(1, 1))
    array = gbx.to_dataarray(f)
    assert array.gridbuf.halo == f.halo and array[1:].gridbuf.halo is None
    array.data = np.ones((8, 6))
    assert array.gridbuf.halo is None and array.gridbuf.domain.shape == (8, 6)
