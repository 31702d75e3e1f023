"""Grid.save as one netCDF file: what comes back, what xarray sees, what is refused, and damage."""

import json
import math
import os
import re
import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridbuf.distributed as gbd
from gridbuf.distributed.files import netcdf, netcdf_packages

netCDF4 = pytest.importorskip("netCDF4")


@pytest.fixture(params=["netCDF4", "h5netcdf"], autouse=True)
def package(request: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """The package that writes and reads; the tests look at the files with netCDF4."""
    if request.param == "h5netcdf":
        pytest.importorskip("h5py")
        pytest.importorskip("h5netcdf")
        monkeypatch.setitem(sys.modules, "netCDF4", None)
    assert netcdf_packages.find_package().__name__.partition(".")[0] == request.param
    return str(request.param)


def filled(grid: gbd.Grid, *args: Any, **more: Any) -> Any:
    field = grid.zeros(*args, **more)
    for block, f in grid.each(field):
        values = np.random.default_rng(block.number).integers(0, 100, f.shape)
        f[...] = values.astype(f.dtype)
    return field


GRID = gbd.grid((9, 7), blocks=(2, 2), periodic="I", halo=1)
OTHER = gbd.grid((9, 7), blocks=(1, 3), periodic="I")


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "u8", "i8", "f4", "f8", ">f8", ">i2"])
@pytest.mark.parametrize("slab", [2**26, 100])
def test_values_dims_dtype_and_layout_come_back(
    dtype: str, slab: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(netcdf, "SLAB", slab)
    T = filled(GRID, "KIJ", dtype, sizes={"K": 3}, backend="gt:cpu_ifirst")
    u = filled(GRID, "IJ", dtype, faces="J", halo=0)
    k = filled(GRID, "K", dtype, sizes={"K": 3})
    GRID.save(tmp_path / "a.nc", T=T, u=u, k=k)
    assert os.listdir(tmp_path) == ["a.nc"]
    loaded = OTHER.load(tmp_path / "a.nc")
    for name, field in (("T", T), ("u", u), ("k", k)):
        found = loaded[name]
        assert OTHER.checksum(found) == GRID.checksum(field)
        assert (found.dims, found.dtype) == (field.dims, field.dtype)
    assert loaded["T"].halo == T.halo and OTHER.load(tmp_path / "a.nc", "u")["u"].halo == u.halo
    order = np.argsort(loaded["T"][0].strides).tolist()
    assert order == np.argsort(T[0].strides).tolist()
    with netCDF4.Dataset(tmp_path / "a.nc") as file:
        assert np.array_equal(file["T"][:], GRID.gather(T).numpy())
        assert file["u"].dimensions == ("I", "J_face") and file.ncattrs() == []
        assert set(file["T"].ncattrs()) == {"gridbuf"}


def test_attributes_come_back_equal_and_others_read_them(tmp_path: Path) -> None:
    attributes: dict[str, Any] = {
        "title": "a model", "no": "", "step": 7, "dt": 0.5, "one": [1], "n": np.int32(3),
        "on": True, "flags": [True, False], "most": 2**64 - 1, "limits": [-math.inf, 1], "Größe": 1,
        "T": {"units": "K", "valid_range": (1.0, 2.0), "names": ["a", "b"], "scale_factor": 0.5},
    }  # fmt: skip
    GRID.save(tmp_path / "a", T=filled(GRID), attributes=attributes, format="netcdf")
    loaded = GRID.load(tmp_path / "a")
    assert loaded.attributes == {
        "title": "a model", "no": "", "step": 7, "dt": 0.5, "one": [1], "n": 3, "on": True,
        "flags": [True, False], "most": 2**64 - 1, "limits": [-math.inf, 1], "Größe": 1,
    }  # fmt: skip
    assert loaded.attributes_of("T") == {
        "units": "K", "valid_range": [1.0, 2.0], "names": ["a", "b"], "scale_factor": 0.5
    }  # fmt: skip
    with netCDF4.Dataset(tmp_path / "a", "a") as file:
        assert file["T"].units == "K" and file.step == 7
        file["T"].units = "degC"
    assert GRID.load(tmp_path / "a").attributes_of("T")["units"] == "degC"


def test_xarray_opens_it_and_land_is_missing(package: str, tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    grid = gbd.grid((4, 3), blocks=(2, 1), owners=[0, None])
    grid.save(tmp_path / "a.nc", T=grid.full(2.0), n=grid.full(3, dtype="i4"))
    with xarray.open_dataset(tmp_path / "a.nc", engine=package.lower()) as found:
        assert found["T"].dims == ("I", "J") and (found["T"][:2] == 2.0).all()
        assert np.isnan(found["T"][2:]).all() and np.isnan(found["n"][2:]).all()
    assert (grid.load(tmp_path / "a.nc")["T"] == 2.0).all()
    given = {"T": {"_FillValue": -1.0, "units": "K"}}
    grid.save(tmp_path / "a.nc", T=grid.full(2.0), attributes=given)
    with netCDF4.Dataset(tmp_path / "a.nc") as file:
        assert file["T"]._FillValue == -1.0 and file["T"][:].mask[2:].all()
    assert grid.load(tmp_path / "a.nc").attributes_of("T") == given["T"]
    usual = {"T": {"_FillValue": 1e20}}  # is rounded
    grid.save(tmp_path / "a.nc", T=grid.full(2.0, dtype="f4"), attributes=usual)
    assert grid.load(tmp_path / "a.nc").attributes_of("T")["_FillValue"] == np.float32(1e20)


def test_fields_without_elements(tmp_path: Path) -> None:
    fields = {dims: GRID.ones(dims, sizes={"K": 0}) for dims in ("IJK", "KJ", "K")}
    GRID.save(tmp_path / "a.nc", full=GRID.ones("IJK", sizes={"K": 2}), **fields)
    found = OTHER.load(tmp_path / "a.nc")
    assert OTHER.sum(found["full"]) == 126.0
    for dims, field in fields.items():
        assert OTHER.checksum(found[dims]) == GRID.checksum(field)
        assert found[dims][0].shape[dims.index("K")] == 0


def test_several_tiles(tmp_path: Path) -> None:
    cube = gbd.cubed_sphere(3, halo=1)
    T = filled(cube, "IJK", sizes={"K": 2})
    cube.save(tmp_path / "cube.nc", T=T)
    assert cube.checksum(cube.load(tmp_path / "cube.nc")["T"]) == cube.checksum(T)


@pytest.mark.parametrize("dtype", ["c16", "f2", "?", "S3", "U2", "M8[s]", [("a", "f8")]])
def test_dtypes_that_netcdf_lacks(dtype: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"q: netCDF has no elements of dtype"):
        GRID.save(tmp_path / "a.nc", T=GRID.zeros(), q=GRID.zeros(dtype=dtype))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("words", "more"),
    [
        ("attributes: 'x' is {'a': 1}; netCDF has numbers, text", {"attributes": {"x": {"a": 1}}}),
        ("attributes: 'x' of 'T' is None", {"attributes": {"T": {"x": None}}}),
        ("attributes: 'x' is \\[1, 'a'\\]", {"attributes": {"x": [1, "a"]}}),
        ("attributes: 'gridbuf' of 'T' is gridbuf's own", {"attributes": {"T": {"gridbuf": 1}}}),
        ("chunks: only Zarr has it, and the format is 'netcdf'", {"chunks": {"I": 1}}),
        ("format: 'nc' is unknown; allowed are 'zarr', 'npy' and 'netcdf'", {"format": "nc"}),
    ],
)
def test_what_is_wrong_is_named(words: str, more: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=words):
        GRID.save(tmp_path / "a.nc", T=GRID.zeros(), **more)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "words"), [("a\\b", "a backslash, which"), ("a\udcff", "not UTF-8, which")], ids=ascii
)
def test_paths_that_the_packages_take_for_others(name: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"path: '.*' (has|is) {words}"):
        GRID.save(tmp_path / name, T=GRID.zeros(), format="netcdf")
    (tmp_path / name).touch()
    with pytest.raises(ValueError, match=f"path: '.*' (has|is) {words}"):
        GRID.load(tmp_path / name)


NAMES = ["", "a/b", "-a", "a ", "a\n", "a\0b", "\ud800", "e\u0301", "a" * 256]
OWN = ["DIMENSION_LIST", "CLASS", "_NCProperties", "_nczarr_array"]
VALUES = ["a\0b", "\ud800", ["a", "\0"], 2**64, -(2**63) - 1, [2**53 + 1, 0.5], [2**63 + 1, -1], []]
FILLS = ["x", [1, 2], True, None, 1.5, 300, -1, math.nan, 1e300, 10**400]


@pytest.mark.parametrize(
    ("words", "attributes"),
    [
        *(("is no name in netCDF: up to 255 bytes", {name: 1}) for name in NAMES),
        *(("is netCDF's own", {name: 1}) for name in OWN),
        *(("is .*; netCDF has", {"a": value}) for value in VALUES),
        *(("is .*; it is one number that uint8 holds", {"_FillValue": fill}) for fill in FILLS),
    ],
    ids=ascii,
)
def test_attributes_that_netcdf_lacks_or_changes(
    words: str, attributes: Any, tmp_path: Path
) -> None:
    name, T = re.escape(repr(next(iter(attributes)))), GRID.zeros(dtype="u1")
    with pytest.raises(ValueError, match=f"^attributes: {name} of 'T' {words}"):
        GRID.save(tmp_path / "a.nc", T=T, attributes={"T": attributes})
    with pytest.raises(ValueError, match=f"^attributes: {name} "):
        GRID.save(tmp_path / "a.nc", T=T, attributes=attributes)
    assert os.listdir(tmp_path) == []


def test_other_files_are_left_alone_and_a_good_one_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    path.write_bytes(b"a text")
    with pytest.raises(ValueError, match=r"is no netCDF file of Grid.save; it is left as it is"):
        GRID.save(path, T=GRID.zeros())
    assert path.read_bytes() == b"a text"
    path.unlink()
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 2)
    with pytest.raises(ValueError, match="it is left as it is"):
        GRID.save(path, T=GRID.zeros())
    path.unlink()
    GRID.save(path, T=GRID.full(1.0))

    def fail(part: float) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        GRID.save(path, T=GRID.full(2.0), progress=fail)
    assert GRID.max(GRID.load(path)["T"]) == 1.0 and os.listdir(tmp_path) == ["a.nc"]
    GRID.save(path, T=GRID.full(3.0), progress=lambda part: None)
    assert GRID.max(GRID.load(path)["T"]) == 3.0
    path.write_bytes(b"a text")  # over a file that this process has written
    with pytest.raises(ValueError, match="it is left as it is"):
        GRID.save(path, T=GRID.zeros())
    path.unlink()
    GRID.save(path, T=GRID.full(4.0))
    assert GRID.max(GRID.load(path)["T"]) == 4.0


def test_files_of_unknown_versions_are_refused(tmp_path: Path) -> None:
    GRID.save(tmp_path / "a.nc", T=GRID.zeros())
    with netCDF4.Dataset(tmp_path / "a.nc", "a") as file:
        entry = json.loads(file["T"].gridbuf)
        del entry["digest"]  # older files have none
        entry["store"]["version"] = 1
        file["T"].gridbuf = json.dumps(entry)
    with pytest.raises(ValueError, match=r"a.nc' has version 1, known: 2"):
        GRID.load(tmp_path / "a.nc")


def test_many_files_in_turn(tmp_path: Path) -> None:
    for step in [*range(20), 0, 19, 19]:
        GRID.save(tmp_path / f"{step}.nc", T=GRID.full(1.0 + step))
        assert GRID.max(GRID.load(tmp_path / f"{step}.nc")["T"]) == 1.0 + step


def test_damage_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    GRID.save(path, T=filled(GRID))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 3])
    with pytest.raises(ValueError, match=r"path: .*a.nc.* is damaged"):
        GRID.load(path)
    path.write_bytes(whole)
    with netCDF4.Dataset(path, "a") as file:
        file["T"][0, 0] = -5.0
    with pytest.raises(ValueError, match=r"values of 'T' .* their checksum differs"):
        GRID.load(path)
    with netCDF4.Dataset(path, "a") as file:
        file["T"].gridbuf = file["T"].gridbuf.replace('"alignment": ', '"alignment": 3')
    with pytest.raises(ValueError, match=r"is damaged: its attribute .* its digest differs"):
        GRID.load(path)
    with netCDF4.Dataset(path, "a") as file:
        file["T"].gridbuf = "{}"
    with pytest.raises(ValueError, match=r"the array 'T' in .* is damaged: its attribute"):
        GRID.load(path)
    with netCDF4.Dataset(path, "a") as file:
        file["T"].delncattr("gridbuf")
    with pytest.raises(ValueError, match=r"Grid.save did not write it"):
        GRID.load(path)


def test_what_one_package_wrote_the_other_reads(
    package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, T = tmp_path / "a.nc", filled(GRID, "KIJ", "f4", sizes={"K": 3})
    other = "netCDF4" if package == "h5netcdf" else "h5netcdf"
    attributes: dict[str, Any] = {
        "title": "", "step": 7, "T": {"names": ["a", "b"], "range": [1.0, 2.0], "_FillValue": -1.0}
    }  # fmt: skip
    GRID.save(path, T=T, attributes=attributes)
    if other == "h5netcdf":
        pytest.importorskip("h5netcdf")
    monkeypatch.setitem(sys.modules, "netCDF4", netCDF4 if other == "netCDF4" else None)
    found = OTHER.load(path)
    assert OTHER.checksum(found["T"]) == GRID.checksum(T)
    assert found.attributes == {"title": "", "step": 7}
    assert found.attributes_of("T") == attributes["T"]


def test_without_a_package_the_error_names_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    GRID.save(tmp_path / "a.nc", T=GRID.ones())
    for name in ("netCDF4", "h5netcdf"):
        monkeypatch.setitem(sys.modules, name, None)
    both = r"netCDF4 \(pip install netCDF4\), or h5netcdf with h5py"
    with pytest.raises(ValueError, match=f"format: 'netcdf' needs the package {both}"):
        GRID.save(tmp_path / "b.nc", T=GRID.ones())
    with pytest.raises(ValueError, match=f"path: .*a.nc' is a file; .* install the package {both}"):
        GRID.load(tmp_path / "a.nc")
    assert os.listdir(tmp_path) == ["a.nc"]


def test_wherever_the_disk_is_full_the_error_names_the_path(tmp_path: Path) -> None:
    """Files that may not grow: the header, values and attributes."""
    path, before = tmp_path / "a.nc", resource.getrlimit(resource.RLIMIT_FSIZE)
    GRID.save(path, T=GRID.ones("IJK", sizes={"K": 50}))
    values, failed = GRID.full(2.0, "IJK", sizes={"K": 50}), 0
    for limit in (0, 100, 1000, 6000, 10000, 30000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
        try:
            GRID.save(path, T=values)
        except OSError as error:
            failed += 1
            assert "a.nc" in str(error.filename) and "were to be written" in str(error), error
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert GRID.min(GRID.load(path)["T"]) in (1.0, 2.0)
        assert os.listdir(tmp_path) == ["a.nc"]
    assert failed >= 3


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_bytes_that_change_anywhere_are_named_or_change_no_value(
    package: str, tmp_path: Path
) -> None:
    path, rng = tmp_path / "a.nc", np.random.default_rng(5)
    T = filled(GRID)
    GRID.save(path, T=T, attributes={"T": {"units": "K"}})
    text, known, named = path.read_bytes(), GRID.checksum(T), 0
    for i in range(16):
        changed = bytearray(text)
        for at in rng.integers(0, len(text), 1 + 19 * (i % 2)):
            changed[at] ^= int(rng.integers(1, 256))
        path.write_bytes(changed)
        try:
            assert GRID.checksum(GRID.load(path)["T"]) == known
        except ValueError as error:
            assert "path: " in str(error) and "a.nc" in str(error), error
            named += 1
    assert named > 2
