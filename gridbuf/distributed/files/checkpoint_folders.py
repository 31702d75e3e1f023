"""The folder beside a path in which a checkpoint is written, and how it comes to its name without a moment in which there is none.

A folder beside the path that has MARK was made here, and may be removed. What was there before gets it before the two exchange their names, and
loses it last of all that is in it: so a program may be killed at any point, and the next save still knows what it finds.
"""

import ctypes
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from gridbuf.distributed.files import manifests
from gridbuf.distributed.files.stores import Store

MARK = ".unfinished"
TEXT = f"written by gridbuf; without a {manifests.NAME} a checkpoint that is not finished\n"


def beside_of(where: Path) -> Path:
    return where.with_name(where.name + MARK)


def aside_of(where: Path) -> Path:
    return where.with_name(where.name + ".before")


def ours(folder: Path) -> bool:
    """Whether a folder was made here. One that is empty was about to get its mark, or has just lost it."""
    if folder.is_symlink() or not folder.is_dir():
        return False
    return (folder / MARK).is_file() or not any(folder.iterdir())


def remove(folder: Path) -> None:
    """Remove a folder of ours; OSError where something in it cannot be."""
    for each in [*folder.iterdir()]:
        if each.name == MARK:
            continue
        if each.is_dir() and not each.is_symlink():
            shutil.rmtree(each)
        else:
            each.unlink()
    (folder / MARK).unlink(missing_ok=True)
    folder.rmdir()


def clear(folder: Path) -> None:
    """Remove what an earlier save has left; ValueError for anything else."""
    if os.path.lexists(folder):
        if not ours(folder):
            raise ValueError(f"path: {str(folder)!r} is in the way, and was not made by Grid.save")
        remove(folder)


def begin(where: Path, store: Store, manifest: manifests.Said, chunks: Mapping[str, Any]) -> None:
    """Make the store beside the path; what is neither a checkpoint nor one that was never finished is left alone."""
    if where.is_symlink():
        raise ValueError(f"path: {str(where)!r} is a link; give what it leads to")
    if os.path.lexists(where) and not (where / manifests.NAME).is_file():
        raise ValueError(f"path: {str(where)!r} is there and is no checkpoint; it is left as it is")
    beside = beside_of(where)
    clear(beside)
    beside.mkdir()
    (beside / MARK).write_text(TEXT)
    store.prepare(beside, manifest, chunks)


def give_up(where: Path) -> None:
    """What was begun is removed."""
    beside = beside_of(where)
    if ours(beside):
        with suppress(OSError):  # the next save removes the rest
            remove(beside)


def end_with(where: Path, store: Store, manifest: manifests.Said) -> None:
    """All ranks have written: the manifest, then the name. What was there is removed afterwards, where it can be."""
    beside = beside_of(where)
    store.finish(beside)
    manifests.write(beside, manifest)
    if os.path.lexists(where):
        (where / MARK).write_text(TEXT)
        exchange(beside, where)
    else:
        os.rename(beside, where)
    manifests.sync(where.parent)
    with suppress(OSError):
        (where / MARK).unlink()
    for folder in (beside, aside_of(where)):  # the other one where an earlier program was killed in `exchange`
        with suppress(OSError):  # somebody has a file open on NFS: what is new is saved, and the next save removes the rest
            if (folder / MARK).is_file():
                remove(folder)


def exchange(new: Path, old: Path) -> None:
    """Let two folders exchange their names: at once where the system can, in three steps where it cannot."""
    with suppress(AttributeError):
        rename = ctypes.CDLL(None, use_errno=True).renameat2
        if rename(-100, os.fsencode(new), -100, os.fsencode(old), 2) == 0:  # AT_FDCWD, RENAME_EXCHANGE
            return
    aside = aside_of(old)
    clear(aside)
    os.rename(old, aside)
    try:
        os.rename(new, old)
    except OSError:
        os.rename(aside, old)
        raise
    os.rename(aside, new)
