"""The folder beside a path in which a checkpoint is written, and its way to the path by one rename.

Each save has a folder of its own, named after path, host, process and a random number: two programs
that save to one path do not meet, and the last one to end has its checkpoint there. The names of
the two folders are exchanged in one step; what was at the path before is removed then. A folder of
such a name whose process is gone is removed by the next save.
"""

import ctypes
import errno
import os
import re
import secrets
import shutil
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from gridbuf.distributed.files import manifests
from gridbuf.distributed.files.stores import Store

ENDING = "unfinished"
# seconds after which a folder of another machine is taken for that of a program that is gone
OLD = 86400.0
# seconds between tries to remove a folder: after an error Zarr's threads may still write and
# remove files there
PAUSES = (0.01, 0.1, 0.5)
LONGEST = 170  # bytes of a name; file systems have 255, and machine and process need up to 75
_own: set[str] = set()  # the names of saves of this process that are under way


def name_for(where: Path) -> str:
    """The name of the folder in which this process writes a checkpoint for a path."""
    return f"{stem_of(where)}.{machine()}-{os.getpid()}-{secrets.token_hex(4)}.{ENDING}"


def stem_of(where: Path) -> str:
    """The name of a path, shortened where the name of a folder has no room for it."""
    name = os.fsencode(where.name)
    if len(name) <= LONGEST:
        return where.name
    return f"{where.name[:30]}-{sha256(name).hexdigest()[:16]}"


def machine() -> str:
    """A name of this machine and its process numbers, unique among those that see a file system."""
    host = re.sub(r"\W", "_", socket.gethostname())[:32]
    try:
        space = re.sub(r"\D", "", os.readlink("/proc/self/ns/pid"))
    except OSError:
        space = "0"
    return f"{host}-{space}"


def begin(
    where: Path, beside: Path, store: Store, manifest: manifests.Json, chunks: Mapping[str, Any]
) -> None:
    """Make the store beside the path; anything at the path that is no checkpoint is left alone."""
    check(where)
    make(where, beside)
    store.prepare(beside, manifest, chunks)


def make(where: Path, beside: Path) -> None:
    """Make the folder of this save; those of programs that are gone are removed."""
    if not where.parent.is_dir():
        if where.parent.exists():
            raise NotADirectoryError(f"path: {str(where.parent)!r} is no folder")
        raise FileNotFoundError(f"path: the folder {str(where.parent)!r} does not exist")
    with suppress(FileNotFoundError):
        where.lstat()  # an error where the name is too long
    clear(where, complete=False)
    _own.add(beside.name)
    try:
        beside.mkdir()
    except OSError as error:
        text = f"path: nothing can be written in {str(where.parent)!r}: {error.strerror}"
        raise OSError(error.errno or 0, text, str(beside)) from error


def check(where: Path) -> None:
    """ValueError where the path is anything but a checkpoint, or free."""
    if where.is_symlink():
        raise ValueError(f"path: {str(where)!r} is a link; give what it leads to")
    if os.path.lexists(where) and not (where / manifests.NAME).is_file():
        raise ValueError(f"path: {str(where)!r} is there and is no checkpoint; it is left as it is")


def clear(where: Path, complete: bool) -> None:
    """Remove the folders of saves to this path whose programs are gone; `complete`: those that have
    a manifest as well.
    """
    pattern = re.compile(re.escape(stem_of(where)) + r"\.(\w+-\d+)-(\d+)-[0-9a-f]{8}\." + ENDING)
    for folder in [*where.parent.iterdir()] if where.parent.is_dir() else []:
        match = pattern.fullmatch(folder.name)
        if match is None or folder.name in _own or folder.is_symlink() or not folder.is_dir():
            continue
        if gone(match[1], int(match[2]), folder) and (
            complete or not (folder / manifests.NAME).exists()
        ):
            with suppress(OSError):  # NFS, while a file in it is open: the next save tries again
                remove(folder)


def gone(where: str, process: int, folder: Path) -> bool:
    """Whether a process has ended. Of another machine nothing is known but how long its folder has
    lain there.
    """
    if where != machine():
        with suppress(OSError):
            return (
                time.time() - max(each.stat().st_mtime for each in (folder, *folder.iterdir()))
                > OLD
            )
        return False
    if process == os.getpid():
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    return False


def remove(folder: Path) -> None:
    """Remove a folder of ours, its manifest first, so that no half of it passes for a
    checkpoint.
    """
    if not os.path.lexists(folder):
        return
    (folder / manifests.NAME).unlink(missing_ok=True)
    for pause in PAUSES:
        with suppress(OSError):
            return shutil.rmtree(folder)
        time.sleep(pause)
    shutil.rmtree(folder)


def give_up(beside: Path) -> None:
    """Remove a checkpoint that was begun."""
    try:
        with suppress(OSError):  # the next save removes the rest
            remove(beside)
    finally:
        _own.discard(beside.name)


def end_with(where: Path, beside: Path, store: Store, manifest: manifests.Json) -> None:
    """All ranks have written: the manifest, then the name. The checkpoint that was there is removed
    afterwards, where that can be done.
    """
    store.finish(beside)
    manifests.write(beside, manifest)
    while not renamed(beside, where):
        pass
    manifests.sync(where.parent)
    _own.discard(beside.name)
    clear(where, complete=True)


def renamed(new: Path, where: Path) -> bool:
    """Bring a folder to a path, and what was there to its name; False where another program took or
    freed the path meanwhile.
    """
    check(where)
    if os.path.lexists(where):
        return exchange(new, where)
    try:
        os.rename(new, where)
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
            return False
        raise
    return True


def exchange(new: Path, old: Path) -> bool:
    """Let two folders exchange their names: at once where the system can, in three steps where it
    cannot.
    """
    with suppress(AttributeError):
        rename = ctypes.CDLL(None, use_errno=True).renameat2
        # AT_FDCWD, RENAME_EXCHANGE
        if rename(-100, os.fsencode(new), -100, os.fsencode(old), 2) == 0:
            return True
    aside = old.with_name(name_for(old))
    _own.add(aside.name)
    try:
        try:
            os.rename(old, aside)
        except FileNotFoundError:
            return False
        try:
            os.rename(new, old)
        except OSError:
            if os.path.lexists(old):  # another program's, which is newer than the one aside
                return False
            os.rename(aside, old)
            raise
        os.rename(aside, new)
        return True
    finally:
        _own.discard(aside.name)
