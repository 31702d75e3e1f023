"""mpi4py's messages by line: communicators, requests and windows of Python with the handles they
stand for, timed.

mpi4py's classes are C's, whose methods cannot be exchanged. So MPI.COMM_WORLD and COMM_SELF, and
every communicator made of them, are instances of subclasses with the same handles; so are the
requests that they return, and MPI.Request and MPI.Win.
"""

import functools
import sys
from collections.abc import Hashable
from typing import Any

import numpy as np

import gridbuf as gb
from gridbuf.watch.allocations import aside
from gridbuf.watch.benchmark import PART_OF_FREE, free_bytes, least, turns
from gridbuf.watch.datatypes import Buffer, Piece, arrays, buffers
from gridbuf.watch.lines import here
from gridbuf.watch.patches import Undo, from_import_on, put
from gridbuf.watch.records import Book, Message, Packed, clock

PACKAGE = "mpi4py.MPI"
COMMUNICATORS = ("Intracomm", "Intercomm", "Cartcomm", "Graphcomm", "Distgraphcomm")
OTHERS = ("Prequest", "Request", "Win")
BUFFERS = "_gridbuf_buffers"  # of a persistent request: the buffers that each Start of it moves
BLOCKING, STARTING, WAITING = "start and wait", "start", "wait"

_SENDS = ("Send", "Bsend", "Ssend", "Rsend")
_COLLECTIVE = (
    "Bcast", "Reduce", "Allreduce", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather",
    "Allgatherv", "Alltoall",
    "Alltoallv", "Alltoallw", "Reduce_scatter", "Reduce_scatter_block", "Barrier",
    "Neighbor_allgather", "Neighbor_allgatherv",
    "Neighbor_alltoall", "Neighbor_alltoallv", "Neighbor_alltoallw",
)  # fmt: skip
# Of objects, which are pickled: their bytes are those of the pickles.
_OBJECTS = (
    "send", "bsend", "ssend", "recv", "sendrecv", "bcast", "gather", "scatter", "allgather",
    "alltoall", "reduce", "allreduce",
)  # fmt: skip
_STARTS = (
    "isend", "ibsend", "issend", "irecv", "Start", "Startall", "Put", "Get", "Accumulate",
    "Get_accumulate", "Rput", "Rget",
    "Raccumulate", "Rget_accumulate",
)  # fmt: skip
_WAITS = (
    "Wait", "wait", "Test", "test", "Waitall", "waitall", "Waitany", "waitany", "Waitsome",
    "waitsome", "Testall", "testall",
    "Fence", "Complete", "Lock", "Lock_all", "Unlock", "Unlock_all", "Flush", "Flush_all",
    "Flush_local", "Flush_local_all",
)  # fmt: skip
_KEPT = (*_SENDS, "Recv", *_COLLECTIVE)
_ONCE = (*_KEPT, "Sendrecv", "Sendrecv_replace")
CALLS = {
    **dict.fromkeys((*_ONCE, *_OBJECTS), BLOCKING),
    **dict.fromkeys(
        (
            *(f"I{name[0].lower()}{name[1:]}" for name in _ONCE),
            *(f"{name}_init" for name in _KEPT),
            *_STARTS,
        ),
        STARTING,
    ),
    **dict.fromkeys(_WAITS, WAITING),
}
MADE = (
    "Clone", "Create", "Create_group", "Create_cart", "Create_graph", "Create_dist_graph",
    "Create_dist_graph_adjacent",
    "Split", "Split_type", "Sub", "Merge", "Create_intercomm", "Dup", "Dup_with_info",
)  # fmt: skip


def install(book: Book) -> Undo:
    """Watch communicators from the import of mpi4py.MPI on."""

    def begin(undo: list[Undo]) -> None:
        from mpi4py import MPI

        undo.extend(_Watched(MPI, book).put())
        note_rank(book)
        book.not_seen[
            "messages of other libraries than mpi4py, and of communicators that were made of"
            " handles"
        ] = None

    return from_import_on(book, PACKAGE, begin)


def note_rank(book: Book) -> None:
    """Which process this is, once MPI knows it: at the import or later."""
    mpi: Any = sys.modules.get("mpi4py.MPI")
    if book.rank is None and mpi is not None and mpi.Is_initialized() and not mpi.Is_finalized():
        book.rank = mpi.COMM_WORLD.rank, mpi.COMM_WORLD.size


class _StandsFor(type):
    """Of a class that stands for the one it is derived from: an instance of one is an instance of
    the other.
    """

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, vars(cls).get("_watched", ())) or super().__instancecheck__(
            instance
        )

    def __subclasscheck__(cls, other: Any) -> bool:
        return issubclass(other, vars(cls).get("_watched", ())) or super().__subclasscheck__(other)


class _Watched:
    """The classes that stand for mpi4py's."""

    def __init__(self, mpi: Any, book: Book) -> None:
        self.mpi, self.book = mpi, book
        self.ours = {name: self._class(getattr(mpi, name), _StandsFor) for name in OTHERS}
        self.classes = {getattr(mpi, name): ours for name, ours in self.ours.items()}
        self.classes |= {
            getattr(mpi, name): self._class(getattr(mpi, name), type) for name in COMMUNICATORS
        }

    def put(self) -> list[Undo]:
        """Exchange the names that programs take from mpi4py.MPI."""
        ours = {name: self.of(getattr(self.mpi, name)) for name in ("COMM_WORLD", "COMM_SELF")}
        return [put(self.mpi, name, value) for name, value in (ours | self.ours).items()]

    def of(self, made: Any) -> Any:
        """The communicator or request with the same handle that is watched; anything else as
        it is.
        """
        cls = self.classes.get(type(made))
        return made if cls is None or not made else cls(made)

    def _class(self, base: Any, meta: type) -> Any:
        methods: dict[str, Any] = {
            "__module__": base.__module__,
            "__qualname__": base.__qualname__,
            "_watched": base,
        }
        read = self._of_requests if issubclass(base, self.mpi.Request) else self._of_call
        methods |= {name: self._method(base, name, read) for name in CALLS if hasattr(base, name)}
        methods |= {
            name: self._maker(getattr(base, name))
            for name in MADE
            if issubclass(base, self.mpi.Comm) and hasattr(base, name)
        }
        return meta(base.__name__, (base,), methods)

    def _method(self, base: Any, name: str, read: Any) -> Any:
        plain = getattr(base, name)
        # Waitall and Startall are class methods
        of_class = getattr(plain, "__self__", None) is base
        return (
            classmethod(self._timed(_without_first(plain), name, read))
            if of_class
            else self._timed(plain, name, read)
        )

    def _maker(self, plain: Any) -> Any:
        @functools.wraps(plain)
        def method(comm: Any, *args: Any, **kwargs: Any) -> Any:
            return self.of(plain(comm, *args, **kwargs))

        return method

    def _timed(self, plain: Any, name: str, read: Any) -> Any:
        book, what, moved = self.book, CALLS[name], not name.endswith("_init")

        @functools.wraps(plain)
        def method(owner: Any, *args: Any, **kwargs: Any) -> Any:
            if not book.on:
                return self.of(plain(owner, *args, **kwargs))
            start = clock()
            result = plain(owner, *args, **kwargs)
            end = clock()
            result = self.of(result)
            try:  # a failure in a look is not the program's
                named = read(name, owner, args, kwargs)
                if not moved and hasattr(result, "__dict__"):
                    setattr(result, BUFFERS, named)
                message = note(book, name, what, end - start, named, moved=moved)
                book.events += 1
                book.own += clock() - end
                note_packing(book, self.mpi, message, named, times=moved)
            except Exception as error:
                book.not_seen[
                    f"{name} of mpi4py where its buffers were not understood:"
                    f" {type(error).__name__}"
                ] = None
            return result

        return method

    def _of_call(
        self, name: str, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[Buffer]:
        return buffers(self.mpi, name, args, kwargs)

    def _of_requests(
        self, name: str, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[Buffer]:
        started = (
            (owner,)
            if name == "Start"
            else (*args, *kwargs.values())[0]
            if name == "Startall"
            else ()
        )
        return [buffer for request in started for buffer in getattr(request, BUFFERS, ())]


def _without_first(plain: Any) -> Any:
    @functools.wraps(plain)
    def method(cls: Any, *args: Any, **kwargs: Any) -> Any:
        return plain(*args, **kwargs)

    return method


def note(
    book: Book, name: str, what: str, seconds: float, named: list[Buffer], *, moved: bool = True
) -> Message:
    """Put a call down to its line; memory that is only described moves later."""
    key = name, what, here(3)
    found = book.messages.get(key)
    if found is None:
        found = book.messages[key] = Message()
    found.count += 1
    found.seconds += seconds
    for buffer in named:
        found.bytes += buffer.nbytes * moved
        found.derived += buffer.derived * moved
        found.datatypes.update(dict.fromkeys(buffer.datatypes))
    return found


# ---- packing ----
#
# MPI packs derived datatypes inside of its calls, which hides the time; gridbuf.copyto packs the
# same elements. Both are measured on memory of our own, once for each kind of elements: a program's
# buffers may be under way.

ROUNDS, SECONDS = 5, 0.02  # at most, but for two rounds
KINDS = 64


def note_packing(book: Book, mpi: Any, message: Message, buffers: list[Buffer], times: int) -> None:
    """Count elements that were packed or unpacked; the time that takes is measured for the first of
    a kind.
    """
    for buffer in buffers:
        for piece in buffer.pieces:
            key = piece.receives, *_kind(piece)
            found = message.packed.get(key)
            if found is None:
                found = message.packed[key] = Packed(piece.receives, _measured(book, mpi, piece))
            found.count += times * piece.n


def _kind(piece: Piece) -> tuple[Hashable, ...]:
    """How many there are is known to a power of two: a program may send another number in each
    step.
    """
    return piece.n.bit_length(), *piece[3:]


def _measured(book: Book, mpi: Any, piece: Piece) -> dict[str, Any]:
    kind = _kind(piece)
    known = book.packed.get(kind)
    if known is None and len(book.packed) >= KINDS:
        return {"why": f"more than {KINDS} kinds of elements"}
    if known is None:
        with aside(book):
            try:
                known = measure_packing(mpi, piece)
            except Exception as error:  # a failure in it is not the program's
                known = {"why": f"{type(error).__name__}: {error}"}
        book.packed[kind] = known
    return known


def measure_packing(mpi: Any, piece: Piece) -> dict[str, Any]:
    """Least seconds of sending and of receiving one: of MPI's Pack and Unpack, and of
    gridbuf.copyto to and from memory without gaps, which MPI copies.

    MPI copies what it sends in any case: with gaps by packing it, without as it is.
    """
    nbytes, length = piece.n * piece.size, (piece.n - 1) * piece.extent + piece.reach
    if piece.extent <= 0:
        return {"why": f"one begins {piece.extent} bytes after the other"}
    if length + 2 * nbytes > PART_OF_FREE * free_bytes():
        return {"why": f"copies would need {length + 2 * nbytes:,} bytes"}
    memory, kept, sent = np.empty(length, "u1"), np.zeros(nbytes, "u1"), np.zeros(nbytes, "u1")
    first = memory.__array_interface__["data"][0] - piece.lowest
    whole = mpi.buffer.fromaddress(first, piece.n * piece.extent)
    comm = mpi.COMM_SELF
    datatype = piece.datatype
    calls = [
        lambda: datatype.Unpack(sent, 0, whole, comm),
        lambda: datatype.Pack(whole, sent, 0, comm),
    ]
    why = ""
    try:
        pairs = _pairs(arrays(mpi, datatype, piece.n, memory, piece.lowest), kept)
        calls += [
            lambda: _receive(mpi, sent, kept, comm, pairs),
            lambda: _send(mpi, sent, kept, comm, pairs),
        ]
    except ValueError as error:
        why = str(error)
    unpack, pack, *ours = [seconds / piece.n for seconds in least(turns(calls, ROUNDS, SECONDS))]
    return {
        "pack": pack,
        "unpack": unpack,
        "why": why,
        **dict(zip(("receive", "send"), ours, strict=False)),
    }


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
