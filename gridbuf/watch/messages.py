"""mpi4py's messages by line: communicators, requests and windows of Python that are those they were made of, and are timed besides.

mpi4py's classes are C's, whose methods nobody can exchange. So MPI.COMM_WORLD and COMM_SELF, and every communicator made of them,
are instances of subclasses with the same handles; so are the requests that they return, and MPI.Request and MPI.Win.
"""

import functools
import sys
from typing import Any

from gridbuf.watch import packing
from gridbuf.watch.book import Book, Message, clock
from gridbuf.watch.imports import Undo, from_import_on, put
from gridbuf.watch.lines import here
from gridbuf.watch.specifications import Buffer, buffers

PACKAGE = "mpi4py.MPI"
COMMUNICATORS = ("Intracomm", "Intercomm", "Cartcomm", "Graphcomm", "Distgraphcomm")
OTHERS = ("Prequest", "Request", "Win")
BUFFERS = "_gridbuf_buffers"  # of a persistent request: what each Start of it moves
BLOCKING, STARTING, WAITING = "start and wait", "start", "wait"

_SENDS = ("Send", "Bsend", "Ssend", "Rsend")
_COLLECTIVE = (
    "Bcast", "Reduce", "Allreduce", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv", "Alltoall",
    "Alltoallv", "Alltoallw", "Reduce_scatter", "Reduce_scatter_block", "Barrier", "Neighbor_allgather", "Neighbor_allgatherv",
    "Neighbor_alltoall", "Neighbor_alltoallv", "Neighbor_alltoallw",
)  # fmt: skip
# Of objects, which are pickled: their bytes are those of the pickles.
_OBJECTS = (
    "send", "bsend", "ssend", "recv", "sendrecv", "bcast", "gather", "scatter", "allgather", "alltoall", "reduce", "allreduce",
)  # fmt: skip
_STARTS = (
    "isend", "ibsend", "issend", "irecv", "Start", "Startall", "Put", "Get", "Accumulate", "Get_accumulate", "Rput", "Rget",
    "Raccumulate", "Rget_accumulate",
)  # fmt: skip
_WAITS = (
    "Wait", "wait", "Test", "test", "Waitall", "waitall", "Waitany", "waitany", "Waitsome", "waitsome", "Testall", "testall",
    "Fence", "Complete", "Lock", "Lock_all", "Unlock", "Unlock_all", "Flush", "Flush_all", "Flush_local", "Flush_local_all",
)  # fmt: skip
_KEPT = (*_SENDS, "Recv", *_COLLECTIVE)
_ONCE = (*_KEPT, "Sendrecv", "Sendrecv_replace")
CALLS = {
    **dict.fromkeys((*_ONCE, *_OBJECTS), BLOCKING),
    **dict.fromkeys(
        (*(f"I{name[0].lower()}{name[1:]}" for name in _ONCE), *(f"{name}_init" for name in _KEPT), *_STARTS), STARTING
    ),
    **dict.fromkeys(_WAITS, WAITING),
}
MADE = (
    "Clone", "Create", "Create_group", "Create_cart", "Create_graph", "Create_dist_graph", "Create_dist_graph_adjacent",
    "Split", "Split_type", "Sub", "Merge", "Create_intercomm", "Dup", "Dup_with_info",
)  # fmt: skip


def install(book: Book) -> Undo:
    """Watch communicators from the import of mpi4py.MPI on."""

    def begin(undo: list[Undo]) -> None:
        from mpi4py import MPI

        undo.extend(_Watched(MPI, book).put())
        note_rank(book)
        book.not_seen["messages of other libraries than mpi4py, and of communicators that were made of handles"] = None

    return from_import_on(PACKAGE, begin)


def note_rank(book: Book) -> None:
    """Which process this is, once MPI knows it: at the import or later."""
    mpi: Any = sys.modules.get("mpi4py.MPI")
    if book.rank is None and mpi is not None and mpi.Is_initialized() and not mpi.Is_finalized():
        book.rank = mpi.COMM_WORLD.rank, mpi.COMM_WORLD.size


class _StandsFor(type):
    """Of a class that stands for the one it is derived from: what is one, is the other."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, vars(cls).get("_watched", ())) or super().__instancecheck__(instance)

    def __subclasscheck__(cls, other: Any) -> bool:
        return issubclass(other, vars(cls).get("_watched", ())) or super().__subclasscheck__(other)


class _Watched:
    """The classes that stand for mpi4py's."""

    def __init__(self, mpi: Any, book: Book) -> None:
        self.mpi, self.book = mpi, book
        self.ours = {name: self._class(getattr(mpi, name), _StandsFor) for name in OTHERS}
        self.classes = {getattr(mpi, name): ours for name, ours in self.ours.items()}
        self.classes |= {getattr(mpi, name): self._class(getattr(mpi, name), type) for name in COMMUNICATORS}

    def put(self) -> list[Undo]:
        """Exchange what programs take from mpi4py.MPI."""
        ours = {name: self.of(getattr(self.mpi, name)) for name in ("COMM_WORLD", "COMM_SELF")}
        return [put(self.mpi, name, value) for name, value in (ours | self.ours).items()]

    def of(self, made: Any) -> Any:
        """The communicator or request with the same handle that is watched; anything else as it is."""
        cls = self.classes.get(type(made))
        return made if cls is None or not made else cls(made)

    def _class(self, base: Any, meta: type) -> Any:
        methods: dict[str, Any] = {"__module__": base.__module__, "__qualname__": base.__qualname__, "_watched": base}
        read = self._of_requests if issubclass(base, self.mpi.Request) else self._of_call
        methods |= {name: self._method(base, name, read) for name in CALLS if hasattr(base, name)}
        methods |= {
            name: self._maker(getattr(base, name)) for name in MADE if issubclass(base, self.mpi.Comm) and hasattr(base, name)
        }
        return meta(base.__name__, (base,), methods)

    def _method(self, base: Any, name: str, read: Any) -> Any:
        plain = getattr(base, name)
        of_class = getattr(plain, "__self__", None) is base  # Waitall, Startall: they ask nothing of the class
        return classmethod(self._timed(_without_first(plain), name, read)) if of_class else self._timed(plain, name, read)

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
            try:  # what fails in a look is not the program's failure
                named = read(name, owner, args, kwargs)
                if not moved and hasattr(result, "__dict__"):
                    setattr(result, BUFFERS, named)
                message = note(book, name, what, end - start, named, moved=moved)
                book.events += 1
                book.own += clock() - end
                packing.note(book, self.mpi, message, named, times=moved)
            except Exception as error:
                book.not_seen[f"{name} of mpi4py where its buffers were not understood: {type(error).__name__}"] = None
            return result

        return method

    def _of_call(self, name: str, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Buffer]:
        return buffers(self.mpi, name, args, kwargs)

    def _of_requests(self, name: str, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Buffer]:
        started = (owner,) if name == "Start" else (*args, *kwargs.values())[0] if name == "Startall" else ()
        return [buffer for request in started for buffer in getattr(request, BUFFERS, ())]


def _without_first(plain: Any) -> Any:
    @functools.wraps(plain)
    def method(cls: Any, *args: Any, **kwargs: Any) -> Any:
        return plain(*args, **kwargs)

    return method


def note(book: Book, name: str, what: str, seconds: float, named: list[Buffer], *, moved: bool = True) -> Message:
    """Put a call down to its line; what is only described moves later."""
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
