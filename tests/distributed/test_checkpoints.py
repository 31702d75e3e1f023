"""Checkpoints: any cut reads what any other has written, bit for bit."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import fill
from seams import made

import gridbuf as gb
import gridbuf.distributed as gbd
from gridbuf.distributed.plans.layouts import dtype_name, dtype_of

try:
    import zarr

    FORMATS = ["npy", "zarr"]
except ImportError:
    FORMATS = ["npy"]
needs_zarr = pytest.mark.skipif(len(FORMATS) < 2, reason="zarr is not installed")

GRIDS: dict[str, Any] = {
    "plain": (
        lambda **k: gbd.grid((7, 5), **k),
        [{"blocks": (3, 2), "halo": 2}, {"blocks": (2, 4)}, {}],
    ),
    "ring": (
        lambda **k: gbd.grid((8, 6), periodic="IJ", **k),
        [{"blocks": (2, 2), "halo": 1}, {"cuts": ((1, 7), (0, 6))}],
    ),
    "fold": (
        lambda **k: gbd.tripolar((6, 4), pivot="T", **k),
        [{"blocks": (3, 1)}, {"blocks": (2, 2), "halo": 1}],
    ),
    "cube": (
        lambda **k: gbd.cubed_sphere(4, **k),
        [{"blocks": (2, 1), "halo": 1}, {"blocks": (1, 3)}],
    ),
    "line": (lambda **k: gbd.grid((9,), "K", **k), [{"blocks": (4,)}, {"blocks": (2,), "halo": 1}]),
}


def one(fields: list[Any]) -> Any:
    return fields if len(fields) != 1 else fields[0]


def domains(fields: Any, dims: Any = None) -> list[np.ndarray]:
    return [
        f.domain.transpose(*(dims or f.dims)).numpy().copy()
        for f in ([fields] if isinstance(fields, gb.Field) else [*fields])
    ]


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("name", GRIDS)
def test_any_cut_reads_what_any_other_has_written(name: str, kind: str, tmp_path: Path) -> None:
    make, cuts = GRIDS[name]
    for here in [make(**cut) for cut in cuts][: None if kind == "npy" else 1]:
        fields = {}
        for i, (dtype, dims) in enumerate((("f8", None), ("i2", None), ("c8", None), ("?", None))):
            if kind == "zarr" and i % 2:  # it takes its time
                continue

            positions = [(1, 1), (0, 1), (0, 0), (1, 0)][i][: len(here.dims)]
            its = made(
                here,
                positions,
                dtype=dtype,
                dims=dims or ([*here.dims, "0"] if i % 2 else ["0", *here.dims[::-1]]),
                sizes={"0": 3},
            )
            fill(its, np.random.default_rng(i))
            fields[f"f{i}"] = one(its)
            if len(here.tiles) == 1:
                here.sync(fields[f"f{i}"])
        fields["only"] = here.full(2.5, "1", sizes={"1": 4})
        path = tmp_path / "step"
        here.save(path, format=kind, **fields)
        for there in (make(**cut) for cut in cuts):
            loaded = there.load(path, halo=1)
            assert list(loaded) == list(fields)
            for each, field in loaded.items():
                first = field if isinstance(field, gb.Field) else field[0]
                assert (
                    first.halo[first.dims.index(here.dims[0])] == (1, 1)
                    if here.dims[0] in first.dims
                    else True
                )
                assert there.checksum(field) == here.checksum(fields[each])
            again = there.load(path, "f2")["f2"]
            there.save(tmp_path / "again", format=kind, f2=again)
            back = here.load(tmp_path / "again")["f2"]
            for f, g in zip(domains(fields["f2"]), domains(back), strict=True):
                # There blocks need not agree about what they share, and the lowest one counts
                if name != "cube":
                    assert f.tobytes() == g.tobytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "step"]


@pytest.mark.parametrize("kind", FORMATS)
def test_vectors_come_back_as_they_were(kind: str, tmp_path: Path) -> None:
    """At a fold the two copies of a component have opposite signs: each side keeps its own."""
    grid = gbd.tripolar((6, 4), pivot="T", blocks=(3, 2), halo=1)
    u, v = grid.zeros(faces="I"), grid.zeros(faces="J")
    for i, each in enumerate((u, v)):
        fill(each, np.random.default_rng(i))
    grid.sync(gbd.vector(u, v))
    before = domains(u), domains(v)
    grid.save(tmp_path / "x", format=kind, u=u, v=v)
    after = grid.load(tmp_path / "x")
    for old, name in zip(before, "uv", strict=True):
        assert [a.tobytes() for a in old] == [a.tobytes() for a in domains(after[name])]


@pytest.mark.parametrize("kind", FORMATS)
def test_bytes_survive(kind: str, tmp_path: Path) -> None:
    grid = gbd.grid((4,), "I", blocks=(2,))
    T, big = grid.zeros(), grid.full(3, dtype=">i4")
    bits = np.array(
        [0x7FF8DEADBEEF0001, 0x8000000000000000, 0x0000000000000001, 0xFFF0000000000000], "u8"
    )
    grid.scatter(bits.view("f8"), T)
    records = grid.zeros(dtype=[("a", "i4"), ("b", "f8")])
    grid.save(tmp_path / "x", format=kind, T=T, big=big, records=records)
    found = gbd.grid((4,), "I").load(tmp_path / "x")
    assert found["T"].numpy().view("u8").tolist() == bits.tolist()
    assert found["big"].dtype == np.dtype(">i4") and found["big"].numpy().tolist() == [3] * 4
    assert found["records"].dtype == records[0].dtype


RECORDS = [
    [("a", "i1"), ("b", ">f8", (2,)), ("c", [("x", "f4")])],
    np.dtype([("a", "i1"), ("b", "f8")], align=True),
    {"names": ["b"], "formats": ["f4"], "offsets": [4], "itemsize": 16},
    {
        "names": ["b", "a"],
        "formats": [{"names": ["x"], "formats": ["f4"], "offsets": [2]}, "f4"],
        "offsets": [4, 0],
    },
]


@pytest.mark.parametrize("dtype", RECORDS, ids=str)
def test_records(dtype: Any, tmp_path: Path) -> None:
    """What lies between their fields means nothing."""
    grid = gbd.grid((4,), "I", blocks=(2,))
    fields, others = grid.zeros(dtype=dtype), grid.zeros(dtype=dtype)
    assert dtype_of(dtype_name(fields[0].dtype)) == fields[0].dtype
    for f, g in zip(fields, others, strict=True):
        f.numpy().view("u1")[...] = 7
        for name in f.dtype.names:
            g.numpy()[name] = f.numpy()[name]
    assert grid.checksum(fields) == grid.checksum(others)
    assert grid.gather(fields).dtype == fields[0].dtype
    for kind in FORMATS:
        try:
            grid.save(tmp_path / "x", format=kind, T=fields)
        except ValueError as error:
            assert (
                f"T: {'Zarr has' if kind == 'zarr' else '.npy files have'} no elements of dtype"
                in str(error)
            )
        else:
            found = grid.load(tmp_path / "x")["T"]
            assert found[0].dtype == fields[0].dtype and str(found[1].numpy()) == str(
                fields[1].numpy()
            )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", FORMATS)
def test_a_field_without_dims_is_one_number(kind: str, tmp_path: Path) -> None:
    grid = gbd.grid((4,), "I", blocks=(2,))
    fields = {dtype: grid.full(5, (), dtype) for dtype in (">i2", "f8", "?")}
    for dtype, its in fields.items():
        grid.save(tmp_path / "x", format=kind, T=its)
        found = grid.load(tmp_path / "x")["T"]
        assert [f[()] for f in found] == [f[()] for f in its] and found[0].dtype == dtype
        assert grid.checksum(its) == grid.checksum(found) == gbd.grid((4,), "I").checksum(its[0])


def test_plain_files_are_numpys(tmp_path: Path) -> None:
    grid = gbd.cubed_sphere(3, blocks=(2, 1))
    T = grid.zeros("KIJ", "f4", sizes={"K": 2}, faces="I")
    whole = [np.full((2, 4, 3), t, "f4") for t in range(6)]
    grid.scatter(whole, T)
    for t, tile in enumerate(whole):
        tile[:, :] = t  # of a shared face the lower tile owns
    grid.save(tmp_path / "x", format="npy", T=T)
    found = np.load(tmp_path / "x" / "T_4.npy")
    assert found.shape == (2, 4, 3) and found.dtype == np.float32 and (found[:, 1:] == 4).all()
    manifest = json.loads((tmp_path / "x" / "manifest.json").read_text())
    assert manifest["tiles"] == [[3, 3]] * 6 and manifest["fields"]["T"]["positions"] == {
        "I": "face",
        "J": "centre",
    }
    ml_dtypes = pytest.importorskip("ml_dtypes")
    half = grid.zeros(dtype=ml_dtypes.bfloat16)
    for f in half:
        f.numpy()[...] = 1.5
    grid.save(tmp_path / "y", format="npy", half=half)
    back = grid.load(tmp_path / "y")["half"]
    assert back[0].dtype == ml_dtypes.bfloat16 and (back[5].numpy() == 1.5).all()


@needs_zarr
def test_xarray_opens_a_zarr_store(tmp_path: Path) -> None:
    xr = pytest.importorskip("xarray")
    grid = gbd.grid((8, 6), blocks=(2, 3), periodic="I", halo=1)
    T = grid.zeros("IJK", sizes={"K": 4})
    u = grid.zeros("IJ", "f4", faces="I")
    half = grid.zeros("IK", sizes={"K": 5})
    values = np.arange(192.0).reshape(8, 6, 4)
    grid.scatter(values, T)
    said = {
        "title": "a run",
        "T": {"units": "K", "long_name": "temperature"},
        "half": {"_FillValue": -1.5},
    }
    grid.save(tmp_path / "x", T=T, u=u, half=half, attributes=said)
    with xr.open_zarr(tmp_path / "x") as found:
        assert (
            found.T.dims == ("I", "J", "K")
            and found.u.dims == ("I_face", "J")
            and found.half.dims == ("I", "K_5")
        )
        assert (
            np.array_equal(found.T, values)
            and found.u.shape == (9, 6)
            and found.u.dtype == np.float32
        )
        assert found.half.encoding["_FillValue"] == -1.5
        assert found.attrs["title"] == "a run" and found.T.attrs == {
            "units": "K",
            "long_name": "temperature",
        }
    group = zarr.open_group(tmp_path / "x", mode="r")
    assert group["T"].chunks == (4, 2, 4)
    # One a block
    assert len([p for p in (tmp_path / "x" / "T" / "c").rglob("*") if p.is_file()]) == 6
    grid.save(tmp_path / "x", T=T, chunks={"K": 2, "J": 1}, shards=True, compressors=None)
    group = zarr.open_group(tmp_path / "x", mode="r")
    assert group["T"].shards == (4, 2, 4) and group["T"].chunks == (4, 1, 2) and "u" not in group
    assert group["T"].compressors == ()  # None is none, as Zarr has it
    with pytest.raises(TypeError, match=r"compressors: zarr\.create_array does not take them"):
        grid.save(tmp_path / "x", T=T, compressors="zip")
    assert grid.checksum(grid.load(tmp_path / "x")["T"]) == grid.checksum(T)
    for words, options in (
        ("chunks: 3 along I do not divide", {"I": 3}),
        ("chunks: 'L' is not among", {"L": 1}),
        ("chunks\\['K'\\]: 0", {"K": 0}),
    ):
        with pytest.raises(ValueError, match=words):
            grid.save(tmp_path / "x", T=T, chunks=options)
    with pytest.raises(ValueError, match="chunks: 3 along K do not divide the 4 points"):
        grid.save(tmp_path / "x", T=T, chunks={"K": 3}, shards=True)
    with pytest.raises(ValueError, match="T: Zarr has no elements of dtype"):
        grid.save(tmp_path / "new", T=grid.zeros(dtype="longdouble"))
    assert not (tmp_path / "new").exists() and grid.checksum(
        grid.load(tmp_path / "x")["T"]
    ) == grid.checksum(T)


def test_progress_is_told(tmp_path: Path) -> None:
    grid, told = gbd.grid((8, 6), blocks=(2, 1)), []
    grid.save(tmp_path / "x", format="npy", progress=told.append, a=grid.ones(), b=grid.ones())
    grid.load(tmp_path / "x", "b", progress=told.append)
    assert told == [0.5, 1.0, 1.0]


def test_progress_may_be_a_bar(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    grid = gbd.grid((4, 4))
    grid.save(tmp_path / "x", format="npy", progress=True, a=grid.ones(), b=grid.ones())
    saved = capsys.readouterr().err
    assert f"save {tmp_path / 'x'}: 100 %" in saved and saved.endswith("\n")
    grid.load(tmp_path / "x", progress=True)
    assert f"load {tmp_path / 'x'}: 100 %" in capsys.readouterr().err
    grid.load(tmp_path / "x", progress=False)
    assert not capsys.readouterr().err


def test_without_tqdm_the_bar_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    grid = gbd.grid((4, 4))
    with pytest.raises(TypeError, match=r"progress: True draws a bar with the package tqdm"):
        grid.save(tmp_path / "x", format="npy", progress=True, a=grid.ones())


def test_land_is_not_written(tmp_path: Path) -> None:
    for kind in FORMATS:
        grid = gbd.grid((4, 4), blocks=(2, 2), owners=[0, None, 0, 0], halo=1)
        T = grid.full(2.0, faces="I")
        grid.save(tmp_path / kind, format=kind, T=T)
        back = grid.load(tmp_path / kind)["T"]
        assert [a.tolist() for a in domains(back)] == [a.tolist() for a in domains(T)]
        assert gbd.grid((4, 4)).sum(gbd.grid((4, 4)).load(tmp_path / kind)["T"]) == 2.0 * 16
