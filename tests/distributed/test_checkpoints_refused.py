"""Checkpoints that are unfinished, damaged or wrong are refused with a word that says why, and what
was there stays.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridbuf as gb
import gridbuf.distributed as gbd

try:
    import zarr

    FORMATS = ["npy", "zarr"]
except ImportError:
    FORMATS = ["npy"]


@pytest.mark.parametrize("kind", FORMATS)
def test_what_is_unfinished_or_damaged_is_refused(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gridbuf.distributed.files import checkpoint_folders, manifests, stores

    grid, path = gbd.grid((8, 6), blocks=(2, 3), halo=1), tmp_path / "step"
    first, second = grid.full(1.0), grid.full(2.0)
    grid.save(path, format=kind, T=first)
    manifest = json.loads((path / "manifest.json").read_text())

    def stays() -> None:
        assert [p.name for p in tmp_path.iterdir()] == ["step"] and grid.sum(
            grid.load(path)["T"]
        ) == 48.0

    for where, what in (
        (stores.STORES[kind], "write"),
        (stores.STORES[kind], "finish"),
        (manifests, "write"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(
                where,
                what,
                lambda *args: (_ for _ in ()).throw(OSError(28, "No space left on device")),
            )
            with pytest.raises(OSError, match="No space left"):
                grid.save(path, format=kind, T=second)
        stays()
    ended = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"],
        capture_output=True,
        text=True,
        check=True,
    )
    killed = (  # of a program that was killed
        f"step.{checkpoint_folders.machine()}-{int(ended.stdout)}-0123abcd.unfinished"
    )
    half = tmp_path / killed
    shutil.copytree(path, half)
    (half / "manifest.json").unlink()
    with pytest.raises(
        ValueError, match=r"has no manifest\.json: it is no checkpoint, or was never finished"
    ):
        grid.load(half)
    others = [
        tmp_path / "step.unfinished",
        tmp_path / killed.replace(str(int(ended.stdout)), "1"),
        tmp_path / f"other.{killed}",
    ]
    for other in others:  # anything else, and a folder of a program that runs
        other.mkdir()
    grid.save(path, format=kind, T=first)  # what a killed program has left is taken away
    for other in others:
        other.rmdir()
    stays()
    array = path / ("T.npy" if kind == "npy" else "T")
    aside = tmp_path / "aside"

    def damaged(words: str) -> None:
        with pytest.raises(ValueError, match=words):
            grid.load(path)

    array.rename(aside)
    damaged("'?.*T(.npy)?'? is missing")
    (
        np.save(array, np.ones((8, 5)))
        if kind == "npy"
        else zarr.create_array(array, shape=(8, 5), dtype="f8")
    )
    damaged(r"the shape of its array 'T' is \(8, 5\), its manifest says \(8, 6\)")
    array.unlink() if kind == "npy" else shutil.rmtree(array)
    (
        np.save(array, np.ones((8, 6), "f4"))
        if kind == "npy"
        else zarr.create_array(array, shape=(8, 6), dtype="f4")
    )
    damaged("the dtype of its array 'T' is float32, its manifest says float64")
    array.unlink() if kind == "npy" else shutil.rmtree(array)
    if kind == "npy":
        array.write_bytes(aside.read_bytes()[:-8])
        damaged("is damaged")
        array.write_bytes(b"no array")
        damaged("is damaged")
        array.unlink()
    aside.rename(array)
    stays()
    if kind == "npy":
        other = np.load(array, mmap_mode="r+")
        other[3, 3] = 1.5
        other.flush()
    else:
        zarr.open_array(array, mode="r+")[3, 3] = 1.5
    damaged("the values of 'T' in .* are not those that were saved: their checksum differs")
    assert grid.sum(grid.load(path, verify=False)["T"]) == 48.5
    for text, words in (
        ("{", "is damaged"),
        ("[]", "is not what Grid.save writes"),
        (json.dumps({**manifest, "version": 9}), "version 9"),
        (json.dumps({**manifest, "fields": {"T": {}}}), "is damaged: it lacks 'dims' of 'T'"),
    ):
        (path / "manifest.json").write_text(text)
        damaged(words)
    shutil.rmtree(path)
    damaged("there is no")


def test_headers_of_npy_files_that_are_damaged(tmp_path: Path) -> None:
    grid, path = gbd.grid((8, 6)), tmp_path / "x"
    grid.save(path, format="npy", T=grid.ones())
    text = (path / "T.npy").read_bytes()
    for old, new in ((b"}", b"("), (b"{", b"["), (b"'descr'", b"'\xffescr'"), (b"8, 6", b"8,-6")):
        (path / "T.npy").write_bytes(text.replace(old, new, 1))
        with pytest.raises(ValueError, match=r"T\.npy' is damaged|the shape of its array 'T' is"):
            grid.load(path)


def test_an_old_checkpoint_that_cannot_be_removed_is_in_nobodys_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gridbuf.distributed.files import checkpoint_folders

    grid, path = gbd.grid((8, 4)), tmp_path / "x"

    def save(value: float) -> None:
        grid.save(path, format="npy", T=grid.full(value), q=grid.ones())
        assert grid.load(path, "T")["T"].numpy()[0, 0] == value

    save(1.0)
    for _ in range(2):

        def busy(*args: Any) -> None:  # on NFS, while a file in it is open
            raise OSError(16, "Device or resource busy")

        with monkeypatch.context() as patch:
            patch.setattr(checkpoint_folders.shutil, "rmtree", busy)
            save(2.0)
        assert len([*tmp_path.glob("x.*.unfinished")]) == 1
        save(3.0)
        assert [p.name for p in tmp_path.iterdir()] == ["x"]
    # A system that exchanges no names
    monkeypatch.setattr(checkpoint_folders.ctypes, "CDLL", lambda *args, **keywords: object())
    save(4.0)
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


class Killed(BaseException):
    """What no `except Exception` sees, as a signal that ends a program."""


@pytest.mark.parametrize("at_once", [True, False])
def test_whenever_a_program_is_killed_the_next_one_saves(
    at_once: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gridbuf.distributed.files import checkpoint_folders

    grid, stop, over = gbd.grid((8, 4)), 0, False
    while not over:
        folder = tmp_path / str(stop)
        folder.mkdir()
        path, left = folder / "x", [stop]
        grid.save(path, format="npy", T=grid.full(1.0))

        def killed(before: Any, left: list[int] = left) -> Any:
            def do(*args: Any, **keywords: Any) -> Any:
                if not left[0]:
                    raise Killed
                left[0] -= 1
                return before(*args, **keywords)

            return do

        with monkeypatch.context() as patch:
            if not at_once:
                patch.setattr(checkpoint_folders.ctypes, "CDLL", lambda *args, **keywords: object())
            for owner, names in (
                (os, ["rename"]),
                (Path, ["unlink", "rmdir", "mkdir", "write_text"]),
                (checkpoint_folders, ["exchange"]),
            ):
                for name in names:
                    patch.setattr(owner, name, killed(getattr(owner, name)))
            try:
                grid.save(path, format="npy", T=grid.full(2.0))
                over = True
            except Killed:
                stop += 1
        if at_once or path.exists():
            assert grid.load(path)["T"].numpy()[0, 0] in (1.0, 2.0)
        for value in (3.0, 4.0):
            grid.save(path, format="npy", T=grid.full(value))
        assert grid.load(path)["T"].numpy()[0, 0] == 4.0
        assert [p.name for p in folder.iterdir()] == ["x"]
    assert stop > 2


def test_a_folder_that_is_read_only_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(
        PermissionError, match=f"path: nothing can be written in '{tmp_path}': Perm"
    ):
        gbd.grid((8, 6)).save(tmp_path / "x", format="npy", T=gbd.grid((8, 6)).ones())


@pytest.mark.parametrize(
    "change",
    [
        {"fields": []},
        {"fields": {}},
        {"fields": {"T": 3}},
        {"tiles": 5},
        {"tiles": []},
        {"tiles": [[8, -6]]},
        {"tiles": [[8, 6, 1]]},
        {"dims": "IJ"},
        {"dims": [["I"], "J"]},
        {"store": ["npy"]},
    ],
    ids=str,
)
def test_a_manifest_that_is_damaged_is_named(change: Any, tmp_path: Path) -> None:
    refused(change, tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"arrays": []},
        {"arrays": [3]},
        {"arrays": ["../../etc/x"]},
        {"arrays": ["/etc/x"]},
        {"arrays": [".."]},
        {"arrays": ["T\\x"]},
        {"dtype": 3},
        {"dtype": "O"},
        {"dtype": "[('a'"},
        {"dtype": "finfo"},
        {"shapes": [[8]]},
        {"shapes": [[8, 7]]},
        {"shapes": [[8, 1.5]]},
        {"shapes": 8},
        {"dims": ["I", "I"]},
        {"dims": 3},
        {"positions": {}},
        {"positions": {"I": "edge", "J": "centre"}},
        {"positions": {"I": [], "J": "centre"}},
        {"checksum": 3},
        {"layout": {"order": ["I", "J"], "halo": [[0, 10**5]] * 2, "alignment": 8}},
    ],
    ids=str,
)
def test_a_manifest_whose_field_is_damaged_is_named(change: Any, tmp_path: Path) -> None:
    if change.get("dtype") == "finfo":
        pytest.importorskip("ml_dtypes")
    refused(change, tmp_path, "T")


def refused(change: Any, folder: Path, *field: str) -> None:
    grid, path = gbd.grid((8, 6)), folder / "x"
    grid.save(path, format="npy", T=grid.ones())
    manifest = json.loads((path / "manifest.json").read_text())
    (manifest["fields"][field[0]] if field else manifest).update(change)
    (path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ValueError, match=r"path: the manifest\.json of '.*x' is damaged: ") as said:
        grid.load(path)
    assert repr(next(iter(change))) in str(
        said.value
    ) or f"field {next(iter(change['fields']))!r}" in str(said.value)


def test_a_manifest_in_which_a_digit_has_changed_is_refused(tmp_path: Path) -> None:
    grid, path = gbd.grid((8, 6), halo=1), tmp_path / "x"
    grid.save(path, format="npy", T=grid.ones(), attributes={"time": 125.0})
    file = path / "manifest.json"
    text = file.read_text()
    for old, new in (("125.0", "725.0"), ('"digest": "', '"digest": "0')):
        file.write_text(text.replace(old, new))
        with pytest.raises(ValueError, match=r"x' is damaged: .* its digest differs"):
            grid.load(path)
    older = json.loads(text)  # manifests of older versions have no digest
    del older["digest"]
    file.write_text(json.dumps(older))
    assert grid.load(path).attributes == {"time": 125.0}


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    grid = gbd.grid((8, 6), blocks=(2, 1))
    T, path = grid.ones(), tmp_path / "x"
    within: dict[str, Any] = {}
    within["within"] = within
    (tmp_path / "mine").mkdir()
    (tmp_path / "file").write_text("mine")
    grid.save(tmp_path / "good", format="npy", T=T)
    (tmp_path / "link").symlink_to("good")
    for error, words, call in (
        (ValueError, "fields: none were given", lambda: grid.save(path, format="npy")),
        (TypeError, "path: expected a path, got int", lambda: grid.save(3, T=T)),
        (ValueError, "path: it is empty", lambda: grid.save("", T=T)),
        (ValueError, "format: 'hdf5' is unknown", lambda: grid.save(path, format="hdf5", T=T)),
        (TypeError, "format: expected", lambda: grid.save(path, format=3, T=T)),
        (ValueError, "shards: only Zarr has it",
        lambda: grid.save(path, format="npy", shards=True, T=T)),
        (ValueError, "fields: 'a/b' is no name", lambda: grid.save(path, **{"a/b": T})),
        (ValueError, "fields: 'e\u0301' is no name", lambda: grid.save(path, **{"e\u0301": T})),
        (ValueError, "is no name; .* up to 240 bytes", lambda: grid.save(path, **{"a" * 241: T})),
        (ValueError, "T: its domain has",
        lambda: grid.save(path, T=[gb.Field(np.zeros((2, 2)), "IJ")] * 2)),
        (TypeError, "attributes: expected a dict", lambda: grid.save(path, T=T, attributes=3)),
        (TypeError, "attributes: they are kept as JSON",
        lambda: grid.save(path, T=T, attributes={"a": grid})),
        (TypeError, "attributes: they are kept as JSON",
        lambda: grid.save(path, T=T, attributes=within)),
        (TypeError, r"attributes\['T'\]: expected a dict",
        lambda: grid.save(path, T=T, attributes={"T": "K"})),
        (ValueError, "is there and is no checkpoint; it is left",
        lambda: grid.save(tmp_path / "mine", format="npy", T=T)),
        (ValueError, "is there and is no checkpoint; it is left",
        lambda: grid.save(tmp_path / "file", format="npy", T=T)),
        (ValueError, "link' is a link; give what it leads to",
        lambda: grid.save(tmp_path / "link", format="npy", T=T)),
        (TypeError, "attributes: .*: the key 1, which is no str",
        lambda: grid.save(path, T=T, attributes={"a": [{1: "a", "1": "b"}]})),
        (NotADirectoryError, "path: '.*/file' is no folder",
        lambda: grid.save(tmp_path / "file" / "x", format="npy", T=T)),
        (FileNotFoundError, "path: the folder '.*/no' does not exist",
        lambda: grid.save(tmp_path / "no" / "folder", format="npy", T=T)),
        (ValueError, "there is no", lambda: grid.load(path)),
        (ValueError, "names: 'q' is not in .*, which has T",
        lambda: grid.load(tmp_path / "good", "q")),
        (TypeError, "names: expected the names", lambda: grid.load(tmp_path / "good", 3)),
        (TypeError, "progress: expected a callable",
        lambda: grid.save(path, format="npy", progress=1, T=T)),
        (ZeroDivisionError, "division",
        lambda: grid.save(path, format="npy", progress=lambda part: 1 / 0, T=T)),
        (TypeError, "verify: expected True or False",
        lambda: grid.load(tmp_path / "good", verify=1)),
        (TypeError, "dtype: not allowed here; the result has that of the store",
        lambda: grid.load(tmp_path / "good", dtype="f4")),
        (ValueError, r"has tiles \(\(8, 6\),\) along \('I', 'J'\), this grid",
        lambda: gbd.grid((8, 7)).load(tmp_path / "good")),
        (ValueError, "has no manifest.json", lambda: grid.load(tmp_path / "mine")),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            call()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "good", "link", "mine"]
    assert grid.sum(grid.load(tmp_path / "link")["T"]) == grid.sum(T) == 48.0
