"""The client of a share server (Go's package share, whose documentation has the protocol).

A connection is the reference to one attached array: it ends with the mapping, and so with the last
view of the Field, or with this process.
"""

import errno
import fcntl
import json
import mmap
import os
import re
import socket
import stat
import struct
import sys
import weakref
from math import prod
from typing import Any

import numpy as np

from gridbuf._core import Field

_VERSION = 1
_PATIENCE = struct.pack("ll", 10, 0)  # the time that the server may take: seconds, microseconds
_LONGEST = 1 << 20  # bytes of a message
_LENGTH = struct.Struct("<I")  # before each message


def attach(address: str, name: str, writable: bool) -> Field:
    """A Field over an array that the server of an address offers."""
    connection = _connect(address)
    try:
        request = {"op": "attach", "name": name, "writable": writable}
        answer, descriptors = _ask(connection, address, request)
        try:
            if not descriptors or not isinstance(answer.get("array"), dict):
                raise ValueError(f"{address}: the server sent no description with a descriptor")
            description = answer["array"]
            array = _array(description, descriptors[0], writable)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        field = Field(array, dims=description.get("dims"), halo=description.get("halo"))
        # The socket is closed when the mapping goes, which every view of the array keeps.
        weakref.finalize(array.base, os.close, connection.detach()).atexit = False
        return field
    except BaseException:
        connection.close()
        raise


def names(address: str) -> tuple[str, ...]:
    """The arrays that the server of an address offers."""
    with _connect(address) as connection:
        answer, descriptors = _ask(connection, address, {"op": "names"})
    for descriptor in descriptors:
        os.close(descriptor)
    found = answer.get("names", [])
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise ValueError(f"{address}: the server sent {found!r:.200} as names")
    return tuple(found)


def _connect(address: str) -> socket.socket:
    if not isinstance(address, str):
        raise TypeError(f"address: expected a str, got {address!r}")
    kind, _, path = address.partition(":")
    if kind != "unix" or not path or path[0] == "@" or "\0" in path:
        raise ValueError(f"address: {address!r}; give 'unix:' and the path of a socket")
    if sys.platform != "linux":
        raise RuntimeError("attach: processes share arrays on Linux only")
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # Timeouts of the system, not of Python: connect then waits where many clients come at once.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _PATIENCE)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _PATIENCE)
        connection.connect(path)
    except OSError as error:
        connection.close()
        if error.errno is None:
            raise ValueError(f"address: {address!r}: {error}") from None
        number = errno.ETIMEDOUT if error.errno == errno.EAGAIN else error.errno
        raise OSError(number, f"address: {os.strerror(number)}", path) from None
    return connection


def _ask(
    connection: socket.socket, address: str, request: dict[str, Any]
) -> tuple[dict[str, Any], list[int]]:
    """The answer to a request, and the descriptors that come with it."""
    text = json.dumps({"version": _VERSION, **request}).encode()
    descriptors: list[int] = []
    try:
        connection.sendall(_LENGTH.pack(len(text)) + text)
        data, descriptors, _, _ = socket.recv_fds(connection, 1 << 16, 1, socket.MSG_CMSG_CLOEXEC)
        return _decoded(_rest(connection, address, data), address), descriptors
    except BaseException as error:
        for descriptor in descriptors:
            os.close(descriptor)
        if isinstance(error, BlockingIOError):
            raise TimeoutError(errno.ETIMEDOUT, f"{address}: the server does not answer") from None
        raise


def _rest(connection: socket.socket, address: str, data: bytes) -> bytes:
    """The message that begins with these bytes, without its length."""
    while len(data) < _LENGTH.size:
        data += _more(connection, address)
    end = _LENGTH.size + _LENGTH.unpack_from(data)[0]
    if end > _LONGEST:
        raise ValueError(
            f"{address}: the server sent a message of {end} bytes; at most {_LONGEST} are allowed"
        )
    while len(data) < end:
        data += _more(connection, address)
    return data[_LENGTH.size : end]


def _more(connection: socket.socket, address: str) -> bytes:
    if not (data := connection.recv(1 << 16)):
        raise ConnectionResetError(f"{address}: the server has ended the connection")
    return data


def _decoded(text: bytes, address: str) -> dict[str, Any]:
    try:
        answer = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{address}: the server sent {text[:80]!r}, no JSON: {error}") from None
    if not isinstance(answer, dict) or answer.get("version") != _VERSION:
        raise ValueError(
            f"{address}: the server sent {text[:80]!r}; expected version {_VERSION} of the protocol"
        )
    if "error" in answer:
        raise ValueError(f"{answer['error']} (the server of {address})")
    return answer


# ---- from a description to memory ----


def _array(description: dict[str, Any], descriptor: int, writable: bool) -> Any:
    """An array over a mapping of the descriptor, once all sizes are checked."""
    size, found = description.get("bytes"), os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or type(size) is not int or not 0 < size == found.st_size:
        raise ValueError(f"bytes: the server said {size!r:.80}; its memory has {found.st_size}")
    if not _keeps_its_size(descriptor):
        raise ValueError("descriptor: the server's memory is not sealed: pages can be taken away")
    if writable and description.get("writable") is not True:
        raise ValueError("writable: the server sent memory for reading only")
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
    if end > size or prod(max(n, 1) for n in shape) * max(dtype.itemsize, 1) >= 1 << 63:
        raise ValueError(
            f"shape, strides: the server sent {shape} and {strides} at offset {offset} of {dtype};"
            f" they reach beyond its {size} bytes"
        )
    access = mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ
    mapping = mmap.mmap(descriptor, size, access=access)
    return np.ndarray(shape, dtype, buffer=mapping, offset=offset, strides=strides)


def _keeps_its_size(descriptor: int) -> bool:
    try:
        return bool(fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK)
    except OSError:  # no memfd
        return False


def _sizes(given: Any, key: str) -> tuple[int, ...]:
    if not isinstance(given, list) or not all(type(n) is int and 0 <= n < 1 << 63 for n in given):
        raise ValueError(f"{key}: the server sent {given!r:.200}; expected integers of 0 or more")
    return tuple(given)


def _dtype(typestr: Any) -> "np.dtype[Any]":
    if isinstance(typestr, str) and re.fullmatch("[<>|][biufcmMV][0-9]{1,9}", typestr):
        try:
            return np.dtype(typestr)
        except TypeError:
            pass
    raise ValueError(f"typestr: the server sent {typestr!r:.80}; expected such as '<f8'")
