"""What MPI's packing of derived datatypes takes, which its calls hide, and what gridbuf.copyto takes for the same elements.

Both are measured on memory of our own, once for each kind of elements: a program's buffers may be under way.
"""

from collections.abc import Hashable
from typing import Any

import numpy as np

import gridbuf as gb
from gridbuf.watch.allocations import aside
from gridbuf.watch.book import Book, Message, Packed
from gridbuf.watch.datatypes import arrays
from gridbuf.watch.measuring import PART_OF_FREE, free_bytes, least
from gridbuf.watch.specifications import Buffer, Piece

ROUNDS, SECONDS = 5, 0.02  # at most, but for two rounds
KINDS = 64


def note(book: Book, mpi: Any, message: Message, buffers: list[Buffer], times: int) -> None:
    """So many times more these were packed or unpacked; what that takes is measured the first time."""
    for buffer in buffers:
        for piece in buffer.pieces:
            key = piece.receives, *_kind(piece)
            found = message.packed.get(key)
            if found is None:
                found = message.packed[key] = Packed(piece.receives, _measured(book, mpi, piece))
            found.count += times * piece.n


def _kind(piece: Piece) -> tuple[Hashable, ...]:
    """How many there are is known to a power of two: a program may send another number in each step."""
    return piece.n.bit_length(), *piece[3:]


def _measured(book: Book, mpi: Any, piece: Piece) -> dict[str, Any]:
    kind = _kind(piece)
    known = book.packed.get(kind)
    if known is None and len(book.packed) >= KINDS:
        return {"why": f"more than {KINDS} kinds of elements"}
    if known is None:
        with aside(book):
            try:
                known = measure(mpi, piece)
            except Exception as error:  # what fails in it is not the program's failure
                known = {"why": f"{type(error).__name__}: {error}"}
        book.packed[kind] = known
    return known


def measure(mpi: Any, piece: Piece) -> dict[str, Any]:
    """Least seconds of sending and of receiving one: of MPI's Pack and Unpack, and of gridbuf.copyto to and from memory without gaps, which MPI copies.

    MPI copies what it sends in any case: with gaps by packing it, without as it is.
    """
    nbytes, length = piece.n * piece.size, (piece.n - 1) * piece.extent + piece.reach
    if piece.extent <= 0:
        return {"why": f"one begins {piece.extent} bytes after the other"}
    if length + 2 * nbytes > PART_OF_FREE * free_bytes():
        return {"why": f"copies would need {length + 2 * nbytes:,} bytes"}
    memory, kept, sent = np.empty(length, "u1"), np.zeros(nbytes, "u1"), np.zeros(nbytes, "u1")
    first = memory.__array_interface__["data"][0] - piece.lowest
    whole, comm, datatype = mpi.buffer.fromaddress(first, piece.n * piece.extent), mpi.COMM_SELF, piece.datatype
    calls = [lambda: datatype.Unpack(sent, 0, whole, comm), lambda: datatype.Pack(whole, sent, 0, comm)]
    why = ""
    try:
        pairs = _pairs(arrays(mpi, datatype, piece.n, memory, piece.lowest), kept)
        calls += [lambda: _receive(mpi, sent, kept, comm, pairs), lambda: _send(mpi, sent, kept, comm, pairs)]
    except ValueError as error:
        why = str(error)
    unpack, pack, *ours = [seconds / piece.n for seconds in least(calls, ROUNDS, SECONDS)[0]]
    return {"pack": pack, "unpack": unpack, "why": why, **dict(zip(("receive", "send"), ours, strict=False))}


def _pairs(views: list[Any], kept: Any) -> list[tuple[Any, Any]]:
    made, at = [], 0
    for view in views:
        made.append((view, kept[at : at + view.nbytes].view(view.dtype).reshape(view.shape)))
        at += view.nbytes
    return made


def _send(mpi: Any, sent: Any, kept: Any, comm: Any, pairs: list[tuple[Any, Any]]) -> None:
    for view, part in pairs:
        gb.copyto(part, view)
    mpi.BYTE.Pack(kept, sent, 0, comm)


def _receive(mpi: Any, sent: Any, kept: Any, comm: Any, pairs: list[tuple[Any, Any]]) -> None:
    mpi.BYTE.Unpack(sent, 0, kept, comm)
    for view, part in pairs:
        gb.copyto(view, part)
