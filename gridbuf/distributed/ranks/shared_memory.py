"""Messages between two ranks of one machine: values lie in memory that both have mapped, and an
empty MPI message announces them.

**Double buffering.** Buffer n % 2 is overwritten by message n + 2 only after message n + 1 of the
peer has arrived, which the peer sends only after its exchange n has ended, or was given up and is
never unpacked. So only peers that both send and receive share memory; exchanges of the same kind
that are under way end first. Each handshake begins with new memory: values that are under way in
the old one stay as they are.

The memory is the sender's file without a name, which the receiver opens through /proc. The
handshake names the file; a token at its start excludes files of other processes and machines; the
receiver answers whether it reads there. Both ranks wait for that answer before anything else, so
both act alike. Then the file is closed, and the memory lives as long as one of the two has it
mapped.
"""

import ctypes
import fcntl
import mmap
import os
import weakref
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridbuf.distributed.arguments import read_switch

VARIABLE = "GRIDBUF_SHARED_MESSAGES"
LEAST = 2048  # bytes: shorter messages are sent faster than memory is made
# offers at once: agreements stay, and the number of a process's mappings is limited
MOST = 512
NAME = "gridbuf"
FIRST = 4096  # bytes before the first of the two buffers: the token

Words = dict[str, Any]
Bytes = NDArray[np.uint8]


def wanted() -> bool:
    return read_switch(VARIABLE) is not False


@cache
def machine() -> str:
    """A name of the machine and its process numbers; "" where memory cannot be shared."""
    if not hasattr(os, "memfd_create"):
        return ""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip() + os.readlink(
            "/proc/self/ns/pid"
        )
    except OSError:
        return ""


@cache
def _library() -> Any:
    """The C library: a mapping of Python's mmap would hold a file open."""
    found = ctypes.CDLL(None, use_errno=True)
    found.mmap.restype = ctypes.c_void_p
    found.mmap.argtypes = (
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_long,
    )
    found.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    return found


class Mapping:
    """A mapping of a file, as long as this object or an array over it is alive."""

    def __init__(self, file: int, nbytes: int, access: int) -> None:
        address = _library().mmap(None, nbytes, access, mmap.MAP_SHARED, file, 0)
        if address == ctypes.c_void_p(-1).value:
            raise OSError(ctypes.get_errno(), "mmap")
        self.__array_interface__ = {
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": (address, not access & mmap.PROT_WRITE),
            "version": 3,
        }
        weakref.finalize(self, _library().munmap, address, nbytes).atexit = False


def size_of(nbytes: int) -> int:
    """Of a file with two messages."""
    return FIRST + 2 * -(-nbytes // FIRST) * FIRST


def rows_of(memory: Bytes) -> Bytes:
    """The two buffers."""
    rows: Bytes = memory[FIRST:].reshape(2, -1)
    return rows


class Offer(dict[str, Any]):
    """Memory for messages to a peer: the entry of the handshake that offers it.

    Attributes
    ----------
    rows : ndarray or None
        The two buffers; None: they are not read.
    taken : bool or None
        Whether the peer reads them; None: no answer yet.
    """

    def __init__(self, nbytes: int) -> None:
        size = size_of(nbytes)
        file = os.memfd_create(NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        self._close = weakref.finalize(self, os.close, file)
        # Reserve the memory: running out of it is an error here, and SIGBUS later
        os.posix_fallocate(file, 0, size)
        fcntl.fcntl(
            file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
        )
        memory: Bytes = np.asarray(Mapping(file, size, mmap.PROT_READ | mmap.PROT_WRITE))
        token = os.urandom(16)
        memory[:16] = np.frombuffer(token, "u1")
        self.rows: Bytes | None = rows_of(memory)
        self.taken: bool | None = None
        super().__init__(
            machine=machine(), process=os.getpid(), file=file, token=token.hex(), size=size
        )
        offers[token.hex()] = self

    def answer(self, taken: bool) -> None:
        self.taken = taken
        self._close()
        if not taken:  # no rank has it mapped: free it
            self.rows = None
            offers.pop(self["token"], None)


offers: "weakref.WeakValueDictionary[str, Offer]" = weakref.WeakValueDictionary()  # by token


def offer(nbytes: int) -> Offer | None:
    """Memory for messages of so many bytes; None where no memory can be shared, or they are too
    short.
    """
    if nbytes < LEAST or len(offers) >= MOST or not machine():
        return None
    try:
        return Offer(nbytes)
    except OSError:
        return None


def opened(words: Words, nbytes: int) -> Bytes | None:
    """A peer's two buffers, to read; None where they cannot be reached."""
    if words["machine"] != machine() or words["size"] != size_of(nbytes):
        return None
    path = f"/proc/{words['process']}/fd/{words['file']}"
    try:
        if not os.readlink(path).startswith(f"/memfd:{NAME}"):  # no other file is opened
            return None
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if (
                not fcntl.fcntl(file, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK
                or os.fstat(file).st_size != words["size"]
            ):
                return None
            memory: Bytes = np.asarray(Mapping(file, words["size"], mmap.PROT_READ))
        finally:
            os.close(file)
    except OSError:
        return None
    return rows_of(memory) if memory[:16].tobytes().hex() == words["token"] else None


def answered(words: Words) -> None:
    """Record a peer's answer to an offer."""
    its = offers.get(words["token"])
    if its is not None:
        its.answer(words["taken"])


class Lane:
    """The memory that two ranks share between two handshakes.

    Attributes
    ----------
    offer : Offer or None
        This rank's offer.
    come : ndarray or None
        The peer's buffers; None: its messages are sent.
    turns : ndarray of two int64
        Exchanges begun and ended: the lowest bit selects the buffer.
    """

    def __init__(self, offer: Offer | None, come: Bytes | None) -> None:
        self.offer, self.come, self.turns = offer, come, np.zeros(2, np.int64)

    @property
    def out(self) -> Bytes | None:
        """This rank's buffers; None: its messages are sent."""
        return self.offer.rows if self.offer is not None and self.offer.taken else None

    def is_answered(self) -> bool:
        """Whether the peer has answered."""
        return self.offer is None or self.offer.taken is not None

    def idle(self) -> bool:
        """Whether all exchanges that began have ended here."""
        return bool(self.turns[0] == self.turns[1])
