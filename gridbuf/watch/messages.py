"""mpi4py's messages by line: communicators and requests of Python that are those they were made of, and are timed besides.

mpi4py's classes are C's, whose methods nobody can exchange. So MPI.COMM_WORLD and COMM_SELF, and every communicator made of them,
are instances of subclasses with the same handles; so are the requests that they return, and MPI.Request.
"""

import functools
from typing import Any

from gridbuf.watch.book import Book, Message, clock
from gridbuf.watch.imports import Undo, from_import_on, put
from gridbuf.watch.lines import here
from gridbuf.watch.specifications import Buffer, read

PACKAGE = "mpi4py.MPI"
KINDS = ("Intracomm", "Intercomm", "Cartcomm", "Graphcomm", "Distgraphcomm")
BLOCKING, STARTING, WAITING = "start and wait", "start", "wait"

_SENDS = ("Send", "Bsend", "Ssend", "Rsend")
_COLLECTIVE = (
    *(
        "Bcast",
        "Reduce",
        "Allreduce",
        "Gather",
        "Gatherv",
        "Scatter",
        "Scatterv",
        "Allgather",
        "Allgatherv",
        "Alltoall",
        "Alltoallv",
    ),
    *("Alltoallw", "Reduce_scatter", "Reduce_scatter_block", "Barrier"),
    *("Neighbor_allgather", "Neighbor_allgatherv", "Neighbor_alltoall", "Neighbor_alltoallv", "Neighbor_alltoallw"),
)
# Of objects, which are pickled: their bytes are those of the pickles.
_OBJECTS = (
    "send",
    "bsend",
    "ssend",
    "recv",
    "sendrecv",
    "bcast",
    "gather",
    "scatter",
    "allgather",
    "alltoall",
    "reduce",
    "allreduce",
)
_OBJECTS_LATER = ("isend", "ibsend", "issend", "irecv")
MADE = ("Clone", "Create", "Create_group", "Create_cart", "Create_graph", "Create_dist_graph", "Create_dist_graph_adjacent", "Split",
        "Split_type", "Sub", "Merge", "Create_intercomm", "Dup", "Dup_with_info")  # fmt: skip


def _calls() -> dict[str, str]:
    """The methods of communicators that are watched, and what each does."""
    later = [f"I{name[0].lower()}{name[1:]}" for name in (*_SENDS, "Recv", "Sendrecv", *_COLLECTIVE)]
    kept = [f"{name}_init" for name in (*_SENDS, "Recv", *_COLLECTIVE)]
    found = dict.fromkeys((*_SENDS, "Recv", "Sendrecv", "Sendrecv_replace", *_COLLECTIVE, *_OBJECTS), BLOCKING)
    return {**found, **dict.fromkeys((*later, *kept, *_OBJECTS_LATER), STARTING)}


def install(book: Book) -> Undo:
    """Watch communicators from the import of mpi4py.MPI on."""

    def begin(undo: list[Undo]) -> None:
        from mpi4py import MPI

        undo.extend(_Watched(MPI, book).put())
        book.not_seen["messages of other libraries than mpi4py, and of communicators that were made of handles"] = None

    return from_import_on(PACKAGE, begin)


class _Watched:
    """The classes that stand for mpi4py's."""

    def __init__(self, mpi: Any, book: Book) -> None:
        self.mpi, self.book = mpi, book
        self.requests = {
            mpi.Prequest: _request_class(mpi, mpi.Prequest, book),
            mpi.Request: _request_class(mpi, mpi.Request, book),
        }
        self.classes = {getattr(mpi, name): self._communicator_class(getattr(mpi, name)) for name in KINDS if hasattr(mpi, name)}

    def put(self) -> list[Undo]:
        """Exchange what programs take from mpi4py.MPI."""
        ours = {name: self.of(getattr(self.mpi, name)) for name in ("COMM_WORLD", "COMM_SELF")}
        ours |= {name: self.requests[getattr(self.mpi, name)] for name in ("Request", "Prequest")}
        return [put(self.mpi, name, value) for name, value in ours.items()]

    def of(self, made: Any) -> Any:
        """The communicator or request with the same handle that is watched; anything else as it is."""
        cls = self.classes.get(type(made)) or self.requests.get(type(made))
        return made if cls is None or not made else cls(made)

    def _communicator_class(self, base: Any) -> Any:
        methods: dict[str, Any] = {"__module__": base.__module__, "__qualname__": base.__qualname__}
        for name, what in _calls().items():
            if hasattr(base, name):
                methods[name] = self._timed(getattr(base, name), name, what)
        for name in MADE:
            if hasattr(base, name):
                methods[name] = self._maker(getattr(base, name))
        return type(base.__name__, (base,), methods)

    def _maker(self, plain: Any) -> Any:
        @functools.wraps(plain)
        def method(comm: Any, *args: Any, **kwargs: Any) -> Any:
            return self.of(plain(comm, *args, **kwargs))

        return method

    def _timed(self, plain: Any, name: str, what: str) -> Any:
        book = self.book

        @functools.wraps(plain)
        def method(comm: Any, *args: Any, **kwargs: Any) -> Any:
            if not book.on:
                return self.of(plain(comm, *args, **kwargs))
            start = clock()
            result = plain(comm, *args, **kwargs)
            end = clock()
            buffers = [read(self.mpi, spec) for spec in specifications(name, args, kwargs)]
            note(book, name, what, end - start, buffers)
            result = self.of(result)
            book.events += 1
            book.own += clock() - end
            return result

        return method


def specifications(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments of a call that say what memory: buf, or sendbuf and recvbuf; objects have none."""
    if name[0].islower():
        return []
    named = [kwargs[key] for key in ("buf", "sendbuf", "recvbuf") if key in kwargs]
    if "endrecv" in name and "replace" not in name:
        return [*named, *args[:1], *args[3:4]]
    one = name.removesuffix("_init").lstrip("I").lower() in (
        "send",
        "bsend",
        "ssend",
        "rsend",
        "recv",
        "bcast",
        "sendrecv_replace",
    )
    return [*named, *args[: 1 if one else 2]] if "arrier" not in name else []


def note(book: Book, name: str, what: str, seconds: float, buffers: list[Buffer]) -> None:
    """Put a call down to its line."""
    key = name, what, here(3)
    found = book.messages.get(key)
    if found is None:
        found = book.messages[key] = Message()
    found.count += 1
    found.seconds += seconds
    for buffer in buffers:
        found.bytes += buffer.nbytes
        found.derived += buffer.derived
        if buffer.datatype:
            found.datatypes.setdefault(buffer.datatype)


def _request_class(mpi: Any, base: Any, book: Book) -> Any:
    """A request whose waiting is timed; every request of mpi4py's is an instance of it."""

    class Meta(type):
        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, base)

    def timed(name: str, plain: Any) -> Any:
        def method(owner: Any, *args: Any, **kwargs: Any) -> Any:
            if not book.on:
                return plain(owner, *args, **kwargs)
            start = clock()
            result = plain(owner, *args, **kwargs)
            end = clock()
            note(book, name, STARTING if name.startswith("Start") else WAITING, end - start, [])
            book.events += 1
            book.own += clock() - end
            return result

        return functools.wraps(plain)(method)

    methods: dict[str, Any] = {"__module__": base.__module__, "__qualname__": base.__qualname__}
    for name in ("Wait", "wait", "Start", "Test", "test"):
        if hasattr(base, name):
            methods[name] = timed(name, getattr(base, name))
    for name in ("Waitall", "waitall", "Waitany", "waitany", "Waitsome", "waitsome", "Startall", "Testall", "testall"):
        if hasattr(base, name):
            methods[name] = classmethod(timed(name, _unbound(base, name)))
    return Meta(base.__name__, (base,), methods)


def _unbound(base: Any, name: str) -> Any:
    """A class method as a function of the class, which need not be told: these ask nothing of it."""
    bound = getattr(base, name)

    @functools.wraps(bound)
    def method(cls: Any, *args: Any, **kwargs: Any) -> Any:
        return bound(*args, **kwargs)

    return method
