"""Checkpoints and other programs: two that save to one path, a disk that is full, damage, and calls
inside of progress=.
"""

import json
import math
import os
import resource
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridbuf as gb
import gridbuf.distributed as gbd
from gridbuf.distributed.files import checkpoint_folders

try:
    import zarr

    FORMATS = ["npy", "zarr"]
except ImportError:
    FORMATS = ["npy"]

try:
    import netCDF4  # noqa: F401

    ALL_FORMATS = [*FORMATS, "netcdf"]
except ImportError:
    ALL_FORMATS = FORMATS

SAVES = """
import os, sys
import gridbuf.distributed as gbd
path, kind, value, count, end = sys.argv[1:6]
g = gbd.grid((8, 6), blocks=(2, 1))
for i in range(int(count)):
    v = float(value) + i
    progress = (lambda part: os._exit(9)) if end else None
    g.save(path, T=g.full(v), q=g.full(v), format=kind, progress=progress)
"""


def program(
    path: Path, kind: str, value: float, count: int = 1, end: str = ""
) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-c", SAVES, str(path), kind, str(value), str(count), end]
    )


def whole(grid: gbd.Grid, path: Path) -> float:
    """The value of a checkpoint, all of whose fields are of one save."""
    found = grid.load(path)
    values = {float(f.domain.numpy().flat[0]) for name in ("T", "q") for f in found[name]}
    assert len(values) == 1 and grid.sum(found["T"]) == grid.sum(found["q"]) == 48 * max(values)
    return max(values)


@pytest.mark.parametrize("kind", ALL_FORMATS)
def test_a_program_that_is_killed_while_another_saves(kind: str, tmp_path: Path) -> None:
    """Neither takes the other's folder, and the one that is left is removed by the next save."""
    grid, path = gbd.grid((8, 6), blocks=(2, 1)), tmp_path / "x"
    grid.save(path, T=grid.full(1.0), q=grid.full(1.0), format=kind)

    def other(part: float) -> None:
        if part == 0.5:
            assert program(path, kind, 2.0, end="end").wait() == 9
            assert len([*tmp_path.glob("x.*.unfinished")]) == 2 and whole(grid_of_this, path) == 1.0

    grid_of_this = gbd.grid((8, 6), blocks=(2, 1))
    grid.save(path, T=grid.full(3.0), q=grid.full(3.0), format=kind, progress=other)
    assert whole(grid, path) == 3.0
    assert [p.name for p in tmp_path.iterdir()] == ["x"]
    assert program(path, kind, 2.0, end="end").wait() == 9
    assert whole(grid, path) == 3.0 and len([*tmp_path.iterdir()]) == 2
    grid.save(path, T=grid.full(4.0), q=grid.full(4.0), format=kind)
    assert [p.name for p in tmp_path.iterdir()] == ["x"] and whole(grid, path) == 4.0


@pytest.mark.parametrize("kind", ALL_FORMATS)
@pytest.mark.parametrize("at_once", [True, False])
def test_two_programs_that_save_to_one_path(
    kind: str, at_once: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last one has it, and at no time is there a mixture."""
    grid, path, count = gbd.grid((8, 6), blocks=(2, 1)), tmp_path / "x", 12
    programs = [program(path, kind, 1000.0, count)]
    if not at_once:  # a file system that exchanges no names, for this one of the two
        monkeypatch.setattr(checkpoint_folders.ctypes, "CDLL", lambda *args, **keywords: object())
    for i in range(count):
        grid.save(path, T=grid.full(float(i)), q=grid.full(float(i)), format=kind)
        try:
            assert whole(grid, path) in {*range(i, count), *range(1000, 1000 + count)}
        except (ValueError, OSError) as error:  # the other one has replaced it meanwhile
            assert "damaged" not in str(error) or kind == "zarr", error
    assert [each.wait() for each in programs] == [0]
    assert whole(grid, path) in (count - 1, 999.0 + count)
    grid.save(path, T=grid.full(7.0), q=grid.full(7.0), format=kind)
    assert [p.name for p in tmp_path.iterdir()] == ["x"] and whole(grid, path) == 7.0


@pytest.mark.parametrize("kind", ["npy", "netcdf"])
def test_threads_that_save_to_one_path(kind: str, tmp_path: Path) -> None:
    if kind == "netcdf":
        pytest.importorskip("netCDF4")
    wrong: list[Exception] = []

    def save(k: int) -> None:
        try:
            grid = gbd.grid((8, 6), blocks=(2, 1))
            for i in range(10):
                grid.save(
                    tmp_path / "x",
                    T=grid.full(10.0 * k + i),
                    q=grid.full(10.0 * k + i),
                    format=kind,
                )
                with suppress(ValueError):  # replaced meanwhile
                    grid.load(tmp_path / "x")
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=save, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and whole(gbd.grid((8, 6), blocks=(2, 1)), tmp_path / "x") % 10 == 9
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_a_folder_of_another_machine_stays_for_a_day(tmp_path: Path) -> None:
    grid = gbd.grid((4, 4))
    other = tmp_path / "x.elsewhere-4026531836-17-0123abcd.unfinished"
    other.mkdir()
    grid.save(tmp_path / "x", T=grid.ones(), format="npy")
    assert other.is_dir()
    os.utime(other, (0, 0))
    grid.save(tmp_path / "x", T=grid.ones(), format="npy")
    assert not other.exists()


@pytest.mark.parametrize("kind", ALL_FORMATS)
def test_a_call_of_all_ranks_inside_progress_is_refused_by_name(kind: str, tmp_path: Path) -> None:
    grid, other = gbd.grid((8, 6)), gbd.grid((8, 6))
    T = grid.ones()
    means: list[float] = []
    for call, name in (
        (lambda: grid.mean(T), "mean"),
        (lambda: grid.gather(T), "gather"),
        (lambda: grid.save(tmp_path / "y", T=T), "save"),
        (lambda: grid.load(tmp_path / "x"), "load"),
    ):
        words = f"{name}: save of the same grid is under way on this rank, in a callback"
        with pytest.raises(RuntimeError, match=words):
            grid.save(tmp_path / "x", T=T, format=kind, progress=lambda part: call())  # noqa: B023
    assert not [*tmp_path.iterdir()]
    grid.save(tmp_path / "x", T=T, format=kind, progress=lambda part: means.append(other.mean(T)))
    with pytest.raises(RuntimeError, match="sum: load of the same grid"):
        grid.load(tmp_path / "x", progress=lambda part: grid.sum(T))
    grid.save(tmp_path / "x", T=T, format=kind, progress=lambda part: grid.exchange(T))
    assert means == [1.0] and grid.sum(T) == 48.0


@pytest.mark.parametrize("kind", FORMATS)
def test_a_disk_that_is_full_names_the_path_and_the_bytes(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid, path = gbd.grid((8, 6)), tmp_path / "x"

    def full(*args: Any) -> Any:
        raise OSError(28, "No space left on device")

    (
        monkeypatch.setattr(os, "pwrite", full)
        if kind == "npy"
        else monkeypatch.setattr(zarr.Array, "__setitem__", full)
    )
    with pytest.raises(
        OSError, match=r"No space left on device: 384 bytes were to be written: '.*x\..*T(\.npy)?'"
    ) as raised:
        grid.save(path, format=kind, T=grid.ones())
    assert raised.value.errno == 28 and not [*tmp_path.iterdir()]


@pytest.mark.parametrize("kind", FORMATS)
def test_wherever_the_disk_is_full_the_error_names_a_path(kind: str, tmp_path: Path) -> None:
    """Files that may not grow: headers, values, metadata and the manifest."""
    grid, path = gbd.grid((8, 6)), tmp_path / "x"
    grid.save(path, format=kind, T=grid.ones())
    values, before = grid.full(2.0), resource.getrlimit(resource.RLIMIT_FSIZE)
    failed = 0
    for limit in (0, 20, 100, 200, 300, 400, 500, 600, 1000, 5000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
        try:
            grid.save(path, format=kind, T=values)
        except OSError as error:
            failed += 1
            assert str(path) in str(error.filename) and "were to be written" in str(error)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert grid.mean(grid.load(path)["T"]) in (1.0, 2.0)
        assert [p.name for p in tmp_path.iterdir()] == ["x"]
    assert failed >= 4


@pytest.mark.parametrize("kind", FORMATS)
def test_damage_is_a_value_error_that_names_the_place(kind: str, tmp_path: Path) -> None:
    """Any file of a checkpoint cut short, emptied, filled with other bytes, or made a folder."""
    grid, path = gbd.grid((8, 6), blocks=(2, 1)), tmp_path / "x"
    rng = np.random.default_rng(7)
    values = rng.random((8, 6))

    def save() -> None:
        T = grid.zeros()
        grid.scatter(values, T)
        grid.save(path, format=kind, T=T, attributes={"T": {"units": "K"}})

    save()
    files = sorted(each.relative_to(path) for each in path.rglob("*") if each.is_file())
    assert len(files) == {"npy": 2, "zarr": 5}[kind]
    for file in files:
        for change in ("cut", "empty", "bytes", "flipped", "folder"):
            save()
            text = (path / file).read_bytes()
            if change == "folder":
                (path / file).unlink()
                (path / file).mkdir()
            elif change == "flipped":
                for at in rng.integers(0, len(text), 5):
                    (path / file).write_bytes(text[:at] + bytes([text[at] ^ 0x55]) + text[at + 1 :])
                    try:
                        found = grid.gather(grid.load(path)["T"])
                        # What was changed says nothing of values
                        assert (found.numpy() == values).all()
                    except (ValueError, TypeError) as error:
                        assert "x'" in str(error) and (
                            "path" in str(error) or "dtype" in str(error)
                        ), (file, error)
                continue
            else:
                (path / file).write_bytes(
                    {"cut": text[: len(text) // 2], "empty": b"", "bytes": bytes(range(100))}[
                        change
                    ]
                )
            if file.name == "zarr.json" and file.parent == Path():
                grid.load(path)  # of the group, which is for others
                continue
            with pytest.raises(ValueError, match=r"path: .*x") as raised:
                grid.load(path)
            assert file.name == "manifest.json" or "T" in str(raised.value)
            # Zarr takes that for a chunk of zeros
            if file.parent.name not in ("", "T") and change != "folder":
                assert str(file.relative_to("T")) in str(raised.value)
            if change == "folder":
                (path / file).rmdir()
                (path / file).write_bytes(text)


@pytest.mark.parametrize("kind", FORMATS)
def test_nothing_is_made_of_sizes_that_only_the_manifest_has(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid, path = gbd.grid((8, 6)), tmp_path / "x"
    grid.save(path, format=kind, T=grid.zeros("IJK", sizes={"K": 3}))
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["fields"]["T"]["shapes"][0][2] = 10**9
    del manifest["digest"]
    (path / "manifest.json").write_text(json.dumps(manifest))
    made: list[Any] = []
    monkeypatch.setattr(gbd.Grid, "zeros", lambda *args, **keywords: made.append(args))
    with pytest.raises(
        ValueError,
        match=r"the shape of its array 'T' is \(8, 6, 3\), its manifest says \(8, 6, 1000000000\)",
    ):
        grid.load(path)
    assert not made


@pytest.mark.skipif("zarr" not in FORMATS, reason="needs zarr")
def test_zarr_chunks_that_are_larger_than_their_array(tmp_path: Path) -> None:
    grid, path = gbd.grid((8, 6)), tmp_path / "x"
    grid.save(path, format="zarr", T=grid.ones(), chunks={"I": 100})
    text = (path / "T" / "zarr.json").read_text()
    said = json.loads(text)
    said["chunk_grid"]["configuration"]["chunk_shape"][1] = 10**10
    (path / "T" / "zarr.json").write_text(json.dumps(said))
    with pytest.raises(
        ValueError,
        match=r"path: the array 'T' in '.*x' is damaged: chunks of \(8, 10000000000\) points",
    ):
        grid.load(path)
    said = json.loads(text)
    said["codecs"][-1]["name"] = "nothing"
    (path / "T" / "zarr.json").write_text(json.dumps(said))
    with pytest.raises(ValueError, match=r"path: the array 'T' in '.*x' is damaged"):
        grid.load(path)


LAYOUTS: list[dict[str, Any]] = [
    {"backend": "gt:cpu_ifirst"},
    {"backend": "gt:cpu_kfirst"},
    {"dims": "KIJ"},
    {"layout": "JKI"},
    {"halo": 2},
    {"halo": ((0, 3), 1, (2, 1)), "byte_alignment": 64},
    {"faces": "I", "dtype": "f4"},
]


@pytest.mark.parametrize("kind", ALL_FORMATS)
@pytest.mark.parametrize("spec", LAYOUTS, ids=str)
def test_layout_halo_and_dims_come_back(kind: str, spec: dict[str, Any], tmp_path: Path) -> None:
    """On any cut, unless something else is asked for."""
    grid, path = gbd.grid((8, 6), blocks=(2, 1), halo=1), tmp_path / "x"
    T = grid.full(2.0, **{"dims": "IJK", "sizes": {"K": 4}} | spec)
    grid.save(path, format=kind, T=T)
    for other in (grid, gbd.grid((8, 6)), gbd.grid((8, 6), blocks=(1, 3), halo=3)):
        found = other.load(path)["T"]
        for f in [found] if isinstance(found, gb.Field) else [*found]:
            assert (f.dims, f.halo, f.dtype) == (T[0].dims, T[0].halo, T[0].dtype)
            assert np.argsort(f.strides).tolist() == np.argsort(T[0].strides).tolist()
            if "byte_alignment" in spec:
                assert f.domain.numpy().ctypes.data % 64 == 0
    f = grid.load(path, halo=0, backend="gt:cpu_kfirst")["T"][0]
    assert f.halo == ((0, 0),) * 3 and f.strides[f.dims.index("K")] == f.dtype.itemsize


@pytest.mark.parametrize("kind", FORMATS)
def test_attributes_come_back(kind: str, tmp_path: Path) -> None:
    grid, path = gbd.grid((8, 6)), tmp_path / "x"
    given: dict[str, Any] = {
        "time": np.float32(2.5), "step": np.int64(7), "wet": np.bool_(True), "name": np.str_("ice"),
        "levels": np.arange(3), "pair": (1, 2.5),
        "nested": {"a": [1, None, "x"]}, "T": {"units": "K", "scale": np.float64(0.5)},
    }  # fmt: skip
    grid.save(path, format=kind, T=grid.ones(), q=grid.ones(), attributes=given)
    found = grid.load(path)
    assert isinstance(found, dict) and sorted(found) == ["T", "q"]
    assert found.attributes == {
        "time": 2.5, "step": 7, "wet": True, "name": "ice", "levels": [0, 1, 2], "pair": [1, 2.5],
        "nested": {"a": [1, None, "x"]}
    }  # fmt: skip
    assert (
        found.attributes_of("T") == {"units": "K", "scale": 0.5} and found.attributes_of("q") == {}
    )
    with pytest.raises(KeyError):
        found.attributes_of("p")
    for bad in (np.complex64(1), np.datetime64("2020-01-01"), object(), {1j}):
        with pytest.raises(
            TypeError, match="attributes: they are kept as JSON, which has no such value"
        ):
            grid.save(path, format=kind, T=grid.ones(), attributes={"x": bad})


@pytest.mark.parametrize("kind", ALL_FORMATS)
def test_attributes_may_be_nan_and_infinite(kind: str, tmp_path: Path) -> None:
    grid, path = gbd.grid((8, 6)), tmp_path / "x"
    given = {"a": math.nan, "T": {"_FillValue": math.nan, "valid_range": [-math.inf, 1.0]}}
    grid.save(path, format=kind, T=grid.ones(), attributes=given)
    found = grid.load(path)
    assert repr({**found.attributes, "T": found.attributes_of("T")}) == repr(given)


def test_paths_that_cannot_be(tmp_path: Path) -> None:
    grid = gbd.grid((4, 4))
    for path, words in (
        ("/", "path: '/' is no place for a checkpoint"),
        ("a\0b", "path: it has a zero byte"),
        ("", "path: it is empty"),
    ):
        for call in (lambda path: grid.save(path, T=grid.ones()), grid.load):
            with pytest.raises(ValueError, match=words):
                call(path)
    with pytest.raises(ValueError, match="timeout: larger than any float"):
        gbd.grid((4, 4), timeout=10**400)


ODD = ["#2", "?x=1", ";v", "\t", "\n", "\r", "%20", "#mode=zarr", "::", "é", "\x7f", "~", "*"]


@pytest.mark.parametrize("kind", ALL_FORMATS)
def test_no_character_of_a_path_leads_elsewhere(kind: str, tmp_path: Path) -> None:
    grid, odd = gbd.grid((4,), "I"), [*ODD, *([] if kind == "netcdf" else ["\\", "\udcff"])]
    paths = [tmp_path / f"x{end}" for end in ["", *odd]]
    for end in odd:
        (tmp_path / f"y{end}").mkdir()
        paths.append(tmp_path / f"y{end}" / "x")
    for i, path in enumerate(paths):
        grid.save(path, T=grid.full(i), format=kind)
    assert [grid.max(grid.load(path)["T"]) for path in paths] == [*range(len(paths))]
    assert len(os.listdir(tmp_path)) == len(paths)


@pytest.mark.parametrize("kind", ALL_FORMATS)
def test_names_of_any_length_that_a_file_system_has(kind: str, tmp_path: Path) -> None:
    grid, path = gbd.grid((8, 6), blocks=(2, 1)), tmp_path / ("é" * 127)
    assert program(path, kind, 1.0, end="end").wait() == 9
    grid.save(path, T=grid.full(2.0), q=grid.full(2.0), format=kind)
    assert whole(grid, path) == 2.0 and os.listdir(tmp_path) == [path.name]
    with pytest.raises(OSError, match=r"File name too long: '.*/aaaa"):
        grid.save(tmp_path / ("a" * 256), T=grid.ones(), format=kind)
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("kind", ALL_FORMATS)
@pytest.mark.parametrize("verify", [True, False])
def test_a_checkpoint_that_is_replaced_while_it_is_loaded(
    kind: str, verify: bool, tmp_path: Path
) -> None:
    """Fields of two checkpoints never come together, even unverified."""
    path, other = tmp_path / "x", gbd.grid((8, 6))
    grid = gbd.grid((8, 6), blocks=(2, 1))
    grid.save(path, T=grid.full(1.0), q=grid.full(1.0), format=kind)

    def replace(part: float) -> None:
        if part == 0.5:
            other.save(path, T=other.full(2.0), q=other.full(2.0), format=kind)

    with pytest.raises(ValueError, match="was replaced while it was loaded; load it again"):
        grid.load(path, verify=verify, progress=replace)
    grid = gbd.grid((8, 6), blocks=(2, 1))
    assert whole(grid, path) == 2.0

    def remove(part: float) -> None:
        if part == 0.5:
            path.rename(tmp_path / "elsewhere")

    with pytest.raises(ValueError, match="was replaced while it was loaded"):
        grid.load(path, verify=verify, progress=remove)
