"""The client of a share server (Go's package share, whose documentation has the protocol).

A connection is the reference to one attached array. With the last view of the Field the server is
told that the array is released, and the connection waits for the next attach.
"""

import errno
import fcntl
import json
import mmap
import os
import re
import reprlib
import socket
import stat
import struct
import sys
import time
import weakref
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from gridbuf._core import Field

_VERSION = 1
_PATIENCE = 10.0  # seconds that the server may take, from the call to the end of its answer
_LONGEST = 1 << 20  # bytes of a message
_LONGEST_NAME = 200  # bytes, as servers have it
_LENGTH = struct.Struct("<I")  # before each message
_File = tuple[int, int]  # of a socket: its device and inode


def attach(address: str, name: str, writable: bool) -> Field:
    """A Field over an array that the server of an address offers."""
    path, deadline = _path(address), time.monotonic() + _PATIENCE
    if (size := len(name.encode(errors="replace"))) > _LONGEST_NAME:
        raise ValueError(
            f"name: {name[:20]!r}... has {size} bytes; at most {_LONGEST_NAME} bytes are allowed"
        )
    file = _file(path)
    while (connection := _idle_connection(file)) is not None:
        try:
            return _attached(connection, file, deadline, address, name, writable)
        except ConnectionError:
            pass  # the server has ended it meanwhile
    return _attached(_connect(path, deadline), file, deadline, address, name, writable)


def _attached(
    connection: socket.socket,
    file: _File,
    deadline: float,
    address: str,
    name: str,
    writable: bool,
) -> Field:
    forks = _forks
    request = _message("attach", name, writable)
    try:
        answer, descriptors = _ask(connection, deadline, address, request)
        try:
            described = _described(answer, address)
            if not descriptors:
                raise ValueError(f"{address}: the server sent no description with a descriptor")
            array = _array(described, descriptors[0], writable)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        field = Field(array, dims=described.dims, halo=described.halo)
        # Every view of the array keeps the mapping.
        last = weakref.finalize(array.base, _release, connection.detach(), file, forks)
        last.atexit = False
        return field
    except BaseException:
        connection.close()
        raise


def names(address: str) -> tuple[str, ...]:
    """The arrays that the server of an address offers."""
    path, deadline = _path(address), time.monotonic() + _PATIENCE
    with _connect(path, deadline) as connection:
        answer, descriptors = _ask(connection, deadline, address, _message("names"))
    for descriptor in descriptors:
        os.close(descriptor)
    found = _decoded(answer, address).get("names", [])
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise ValueError(f"{address}: the server sent {reprlib.repr(found)} as names")
    return tuple(found)


def _path(address: str) -> str:
    if not isinstance(address, str):
        raise TypeError(f"address: expected a str, got {address!r:.200}")
    kind, _, path = address.partition(":")
    if kind != "unix" or not path or path[0] == "@" or "\0" in path:
        raise ValueError(f"address: {address!r:.200}; give 'unix:' and the path of a socket")
    try:
        os.fsencode(path)
    except UnicodeEncodeError as error:
        raise ValueError(
            f"address: {address!r:.200}; no path has such characters: {error}"
        ) from None
    if sys.platform != "linux":
        raise RuntimeError("attach: processes share arrays on Linux only")
    return path


def _connect(path: str, deadline: float) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.setblocking(False)
    try:
        while True:
            try:
                connection.connect(path)
                return connection
            except BlockingIOError:  # so many clients come at once that the server's queue is full
                if time.monotonic() >= deadline:
                    raise
                time.sleep(0.005)
    except OSError as error:
        connection.close()
        if error.errno is None:
            raise ValueError(f"address: {path!r:.200}: {error}") from None
        number = errno.ETIMEDOUT if error.errno == errno.EAGAIN else error.errno
        raise OSError(number, f"address: {os.strerror(number)}", path) from None
    except BaseException:
        connection.close()
        raise


@lru_cache(maxsize=16)
def _message(op: str, name: str = "", writable: bool = False) -> bytes:
    request = {"version": _VERSION, "op": op, "name": name, "writable": writable}
    text = json.dumps(request).encode()
    return _LENGTH.pack(len(text)) + text


def _ask(
    connection: socket.socket, deadline: float, address: str, request: bytes
) -> tuple[bytes, list[int]]:
    """The answer to a request, without its length, and the descriptors that come with it."""
    data = b""
    descriptors: list[int] = []
    try:
        _limit(connection, deadline)
        connection.sendall(request)
        _limit(connection, deadline)
        data, descriptors, flags, _ = socket.recv_fds(
            connection, 1 << 12, 1, socket.MSG_CMSG_CLOEXEC
        )
        if flags & socket.MSG_CTRUNC and not descriptors:
            said = os.strerror(errno.EMFILE)
            raise OSError(errno.EMFILE, f"{said}: none is left for the array of {address}")
        return _rest(connection, deadline, address, data), descriptors
    except BaseException as error:
        for descriptor in descriptors:
            os.close(descriptor)
        if isinstance(error, TimeoutError):
            said = "has not sent its whole answer" if data else "does not answer"
            message = f"{address}: the server {said} within {_PATIENCE:g} seconds"
            raise TimeoutError(errno.ETIMEDOUT, message) from None
        if isinstance(error, ConnectionError):
            message = f"{address}: the server has ended the connection"
            raise ConnectionResetError(errno.ECONNRESET, message) from None
        raise


def _limit(connection: socket.socket, deadline: float) -> None:
    """Let the next call of a connection take the rest of the time, however often signals come."""
    if (left := deadline - time.monotonic()) <= 0:
        raise TimeoutError
    connection.settimeout(left)


def _rest(connection: socket.socket, deadline: float, address: str, data: bytes) -> bytes:
    """The message that begins with these bytes, without its length."""
    while len(data) < _LENGTH.size:
        data += _more(connection, deadline)
    end = _LENGTH.size + _LENGTH.unpack_from(data)[0]
    if end > _LONGEST:
        raise ValueError(
            f"{address}: the server sent a message of {end} bytes; at most {_LONGEST} are allowed"
        )
    while len(data) < end:
        data += _more(connection, deadline)
    return data[_LENGTH.size : end]


def _more(connection: socket.socket, deadline: float) -> bytes:
    _limit(connection, deadline)
    if not (data := connection.recv(1 << 16)):
        raise ConnectionResetError
    return data


def _decoded(text: bytes, address: str) -> dict[str, Any]:
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError) as error:  # recursion: lists in lists in lists
        raise ValueError(f"{address}: the server sent {text[:80]!r}, no JSON: {error}") from None
    if not isinstance(answer, dict) or answer.get("version") != _VERSION:
        raise ValueError(
            f"{address}: the server sent {text[:80]!r}; expected version {_VERSION} of the protocol"
        )
    if "error" in answer:
        told = answer["error"]
        said = told[:5000] if isinstance(told, str) else reprlib.repr(told)
        raise ValueError(f"{said} (the server of {address})")
    return answer


# ---- connections that wait for the next attach ----
#
# A forked child holds the arrays of its parent, until their connections are closed in both. So a
# connection that was open at a fork is closed and not used again.

_RELEASE = _message("release")
_MOST_IDLE = 4
_idle: list[tuple[_File, int]] = []
_forks = 0


def close_idle() -> None:
    """Close the connections that no array uses."""
    while _idle:
        os.close(_idle.pop()[1])


def _before_fork() -> None:
    global _forks
    _forks += 1
    close_idle()


os.register_at_fork(before=_before_fork)


def _file(path: str) -> _File:
    """The socket file that is at a path now: another server has another one."""
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0)  # connecting says what is wrong
    return (found.st_dev, found.st_ino)


def _idle_connection(file: _File) -> socket.socket | None:
    while True:
        try:
            of, descriptor = _idle.pop()
        except IndexError:  # a list is safe for threads, and finalizers run in any
            return None
        if of == file:
            return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, descriptor)
        os.close(descriptor)


def _release(descriptor: int, file: _File, forks: int) -> None:
    """Tell the server that the array of a connection is not used any more."""
    if forks == _forks and len(_idle) < _MOST_IDLE:
        try:
            os.write(descriptor, _RELEASE)
        except OSError:
            pass  # the server has ended, or reads nothing
        else:
            _idle.append((file, descriptor))
            return
    os.close(descriptor)


# ---- from a description to memory ----


class _Described(NamedTuple):
    """An array as its description has it, before the memory is seen."""

    size: Any  # of the memory, in bytes
    writable: bool
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    dtype: "np.dtype[Any]"
    end: int  # of the last element, in bytes
    dims: tuple[str, ...]
    halo: list[tuple[int, int]] | None


@lru_cache(maxsize=16)  # a server sends the same bytes for each attach of an array
def _described(answer: bytes, address: str) -> _Described:
    description = _decoded(answer, address).get("array")
    if not isinstance(description, dict):
        raise ValueError(f"{address}: the server sent no description with a descriptor")
    shape, strides = (_sizes(description.get(key), key) for key in ("shape", "strides"))
    (offset,) = _sizes([description.get("offset")], "offset")
    dtype = _dtype(description.get("typestr"))
    if len(shape) != len(strides) or len(shape) > 32:
        raise ValueError(
            f"shape, strides: the server sent {len(shape)} and {len(strides)} entries; expected as"
            " many of each, at most 32"
        )
    end = offset  # of an array without elements, however far the strides reach
    if 0 not in shape:
        end += sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
        end += dtype.itemsize
    if prod(max(n, 1) for n in shape) * max(dtype.itemsize, 1) >= 1 << 63:
        end = 1 << 63  # beyond any memory
    return _Described(
        size=description.get("bytes"),
        writable=description.get("writable") is True,
        shape=shape,
        strides=strides,
        offset=offset,
        dtype=dtype,
        end=end,
        dims=_dims(description.get("dims"), len(shape)),
        halo=_halo(description.get("halo"), len(shape)),
    )


def _array(d: _Described, descriptor: int, writable: bool) -> Any:
    """An array over a mapping of the descriptor, once its size is checked."""
    found = os.fstat(descriptor)
    size = d.size
    if not stat.S_ISREG(found.st_mode) or type(size) is not int or not 0 < size == found.st_size:
        raise ValueError(
            f"bytes: the server said {reprlib.repr(d.size)}; its memory has {found.st_size}"
        )
    if not _keeps_its_size(descriptor):
        raise ValueError("descriptor: the server's memory is not sealed: pages can be taken away")
    if writable and not d.writable:
        raise ValueError("writable: the server sent memory for reading only")
    if d.end > d.size:
        raise ValueError(
            f"shape, strides: the server sent {d.shape} and {d.strides} at offset {d.offset} of"
            f" {d.dtype}; they reach beyond its {d.size} bytes"
        )
    access = mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ
    mapping = mmap.mmap(descriptor, d.size, access=access)
    return np.ndarray(d.shape, d.dtype, buffer=mapping, offset=d.offset, strides=d.strides)


def _keeps_its_size(descriptor: int) -> bool:
    try:
        return bool(fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK)
    except OSError:  # no memfd
        return False


def _sizes(given: Any, key: str) -> tuple[int, ...]:
    if not isinstance(given, list) or not all(type(n) is int and 0 <= n < 1 << 63 for n in given):
        raise ValueError(
            f"{key}: the server sent {reprlib.repr(given)}; expected integers of 0 or more"
        )
    return tuple(given)


def _dims(given: Any, ndim: int) -> tuple[str, ...]:
    if (
        not isinstance(given, list)
        or len(given) != ndim
        or not all(isinstance(dim, str) and re.fullmatch("[IJK]|[0-9]{1,10}", dim) for dim in given)
    ):
        raise ValueError(
            f"dims: the server sent {reprlib.repr(given)}; expected {ndim} of 'I', 'J', 'K' and"
            " '0', '1', ..."
        )
    return tuple(given)


def _halo(given: Any, ndim: int) -> list[tuple[int, int]] | None:
    if given is None or given == []:
        return None
    if (
        not isinstance(given, list)
        or len(given) != ndim
        or not all(isinstance(widths, list) and len(widths) == 2 for widths in given)
    ):
        raise ValueError(
            f"halo: the server sent {reprlib.repr(given)}; expected null or {ndim} lists of the"
            " widths before and after an index"
        )
    pairs = [_sizes(widths, "halo") for widths in given]
    return [(before, after) for before, after in pairs]


def _dtype(typestr: Any) -> "np.dtype[Any]":
    if isinstance(typestr, str) and re.fullmatch("[<>|][biufcmMV][0-9]{1,9}", typestr):
        try:
            return np.dtype(typestr)
        except TypeError:
            pass
    raise ValueError(f"typestr: the server sent {reprlib.repr(typestr)}; expected such as '<f8'")
