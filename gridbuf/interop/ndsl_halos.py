"""NDSL's halo updates by `gridbuf.distributed`: updaters with the methods of NDSL's own, and the
same bits.

What NDSL's communicator hands out is exchanged for these where the communicator is mpi4py's and the
quantities are on the host, in both horizontal dims. Everything else stays NDSL's: other
communicators, GPUs, quantities in one horizontal dim, scalars whose points do not fit where axes
turn.
"""

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from ndsl.comm.communicator import Communicator

from gridbuf import _core
from gridbuf.distributed.plans.plan import Handle, Plan
from gridbuf.distributed.plans.vectors import Item, vector
from gridbuf.interop.ndsl_links import HORIZONTAL, NAMES, grid_of, turned

MOST = 256  # kept Fields, and plans, of a communicator
OTHERS = "K", "0", "1", "2", "3"


class Halos:
    """The grid of a communicator of NDSL's, its plans, and Fields over its quantities."""

    def __init__(self, communicator: Any, shape: tuple[int, int]) -> None:
        comm = mpi_of(communicator)
        shapes = tuple(map(tuple, comm.allgather(shape)))
        self.grid = grid_of(communicator.partitioner, shapes, comm=comm)
        self._idle: dict[Any, list[Plan]] = {}
        self._fields: dict[Any, tuple[weakref.ref[Any], _core.Field]] = {}

    def start(self, xs: Sequence[Any], ys: Sequence[Any] | None, width: int) -> "Pending":
        """Begin to fill the halos of scalars, or of vectors whose components are given in pairs."""
        first = [self.field(each, width) for each in xs]
        if ys is None:
            return self._started("halos", [*first], first)
        second = [self.field(each, width) for each in ys]
        items = [vector(*pair) for pair in zip(first, second, strict=True)]
        fields = [each for item in items for each in item.fields]
        return self._started("halos", items, fields)

    def synchronise(self, x: Any, y: Any) -> "Pending":
        """Begin to give the shared edges of a vector the values of their south and west sides."""
        pair = vector(self.field(x, 0), self.field(y, 0))
        return self._started("sync", [pair], pair.fields)

    def field(self, quantity: Any, width: int) -> _core.Field:
        """A Field over a quantity's domain and so many halo points of it."""
        data, dims = data_of(quantity), quantity.dims
        key = id(data), width, dims, quantity.origin, quantity.extent
        known = self._fields.get(key)
        if known is not None and known[0]() is data:
            return known[1]
        field = field_of(quantity, width)
        if len(self._fields) >= MOST:
            self._fields.clear()
        self._fields[key] = weakref.ref(data), field
        return field

    def _started(self, purpose: str, items: list[Any], fields: Sequence[Any]) -> "Pending":
        """Start an idle plan of these layouts, or a new one: updaters of equal layouts may be under
        way at the same time.
        """
        key: list[Any] = [purpose]
        made = []
        for item in items:
            made.append(item if isinstance(item, Item) else Item("scalar", (item,), 1))
            key += [made[-1].kind]
            key += [(f.dtype, f.shape, f.strides, f.dims, f.halo) for f in made[-1].fields]
        if tuple(key) not in self._idle and len(self._idle) >= MOST:
            self._idle.clear()
        idle = self._idle.setdefault(tuple(key), [])
        plan = idle.pop() if idle else self.grid._planner.plan(made, purpose)
        return Pending(plan, plan.start(*fields), idle)


class Pending:
    """An exchange under way. Its plan is idle again when it has ended."""

    def __init__(self, plan: Plan, handle: Handle, idle: list[Plan]) -> None:
        self._plan, self._idle = plan, idle
        self._handle: Handle | None = handle

    def wait(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            handle.wait()
            self._idle.append(self._plan)


def data_of(quantity: Any) -> Any:
    """The whole array. The property `data` warns from NDSL 2026 on; a slice is another object."""
    found = getattr(quantity, "_data", None)
    return quantity.data if found is None else found


def field_of(quantity: Any, width: int) -> _core.Field:
    """A Field over a quantity's domain and so many halo points of it; nothing is copied."""
    wide = [width * (dim in NAMES[0] or dim in NAMES[1]) for dim in quantity.dims]
    box = tuple(
        slice(origin - n, origin + extent + n)
        for origin, extent, n in zip(quantity.origin, quantity.extent, wide, strict=True)
    )
    others = iter(OTHERS)
    names = [
        "I" if dim in NAMES[0] else "J" if dim in NAMES[1] else next(others)
        for dim in quantity.dims
    ]
    return _core.Field(data_of(quantity)[box], dims=names, halo=[(n, n) for n in wide])


_known: weakref.WeakKeyDictionary[Any, Halos] = weakref.WeakKeyDictionary()


def halos_of(communicator: Any, quantity: Any) -> Halos:
    """The grid of a communicator, made by all ranks at its first update."""
    found = _known.get(communicator)
    if found is None:
        sizes = dict(zip(quantity.dims, quantity.extent, strict=True))
        shape = tuple(
            sizes[names[1]] if names[1] in sizes else sizes[names[0]] - 1 for names in NAMES
        )
        found = _known[communicator] = Halos(communicator, (shape[0], shape[1]))
    return found


def mpi_of(communicator: Any) -> Any:
    """The communicator of mpi4py below one of NDSL's, or None."""
    from mpi4py import MPI

    comm = communicator.comm
    for each in (comm, getattr(comm, "_comm", None)):
        if isinstance(each, MPI.Intracomm):
            return each
    return None


class HaloUpdater:
    """An updater with NDSL's methods: `start`, `wait` and `update`."""

    def __init__(self, communicator: Any, width: int) -> None:
        self._communicator, self._width = communicator, width
        self._handle: Pending | None = None

    def force_finalize_on_wait(self) -> None:
        """NDSL frees buffers then; there are none to free."""

    def start(self, quantities_x: Sequence[Any], quantities_y: Sequence[Any] | None = None) -> None:
        """Begin the exchange."""
        if self._handle is not None:
            raise RuntimeError("start: the updater was started before and not waited for")
        halos = halos_of(self._communicator, quantities_x[0])
        timer = self._communicator.timer
        with timer.clock("pack"):
            self._handle = halos.start(quantities_x, quantities_y, self._width)

    def wait(self) -> None:
        """End it: the halos can be read."""
        if self._handle is None:
            raise RuntimeError("wait: the updater was not started")
        handle, self._handle = self._handle, None
        with self._communicator.timer.clock("wait"):
            handle.wait()

    def update(
        self, quantities_x: Sequence[Any], quantities_y: Sequence[Any] | None = None
    ) -> None:
        """Exchange from start to end."""
        self.start(quantities_x, quantities_y)
        self.wait()


class Request:
    """A synchronisation under way."""

    def __init__(self, handle: Pending, timer: Any) -> None:
        self._handle, self._timer = handle, timer

    def wait(self) -> None:
        with self._timer.clock("wait"):
            self._handle.wait()


def is_ours(communicator: Any, xs: Sequence[Any], ys: Sequence[Any] | None) -> bool:
    """Whether these specifications are exchanged by gridbuf: an answer that is the same on all
    ranks.
    """
    if mpi_of(communicator) is None or not xs or (ys is not None and len(ys) != len(xs)):
        return False
    both = [*xs, *(ys or ())]
    if any(each.n_points != xs[0].n_points or each.numpy_module is not np for each in both):
        return False
    positions = [positions_of(each.dims) for each in both]
    if any(each is None for each in positions) or any(len(each.dims) > 7 for each in both):
        return False
    count = len(xs)
    for i, here in enumerate(positions):
        there = here if ys is None else positions[(i + count) % (2 * count)]
        if here is not None and there is not None and here[::-1] != there and turns(communicator):
            return False
    return True


def positions_of(dims: Sequence[str]) -> tuple[int, int] | None:
    """Faces (0) or centres (1) along both horizontal dims; None where one is missing."""
    found = [[p for p in HORIZONTAL if names[p] in dims] for names in NAMES]
    return None if any(len(each) != 1 for each in found) else (found[0][0], found[1][0])


def turns(communicator: Any) -> bool:
    """Whether axes change places between some ranks."""
    partitioner = communicator.partitioner
    return (
        hasattr(partitioner, "tile")
        and partitioner.tile is not partitioner
        and any(
            turned(each.n_clockwise_rotations)[0] != HORIZONTAL
            for rank in range(partitioner.total_ranks)
            for each in (partitioner.boundary(kind, rank) for kind in range(4))
            if each is not None
        )
    )


def on() -> Callable[[], None]:
    """Exchange the methods of NDSL's communicator, until the result is called."""
    theirs = {
        name: getattr(Communicator, name)
        for name in (
            "get_scalar_halo_updater",
            "get_vector_halo_updater",
            "start_synchronize_vector_interfaces",
        )
    }

    def get_scalar_halo_updater(self: Any, specifications: Any) -> Any:
        given = list(specifications)
        if given and given[0].n_points and is_ours(self, given, None):
            return HaloUpdater(self, given[0].n_points)
        return theirs["get_scalar_halo_updater"](self, given)

    def get_vector_halo_updater(self: Any, specifications_x: Any, specifications_y: Any) -> Any:
        xs, ys = list(specifications_x), list(specifications_y)
        if xs and xs[0].n_points and is_ours(self, xs, ys):
            return HaloUpdater(self, xs[0].n_points)
        return theirs["get_vector_halo_updater"](self, xs, ys)

    def start_synchronize_vector_interfaces(self: Any, x_quantity: Any, y_quantity: Any) -> Any:
        on_edges = [positions_of(each.dims) for each in (x_quantity, y_quantity)] == [
            (1, 0),
            (0, 1),
        ]
        host = type(data_of(x_quantity)) is type(data_of(y_quantity)) is np.ndarray
        if not on_edges or not host or mpi_of(self) is None:
            return theirs["start_synchronize_vector_interfaces"](self, x_quantity, y_quantity)
        handle = halos_of(self, x_quantity).synchronise(x_quantity, y_quantity)
        return Request(handle, self.timer)

    ours = (get_scalar_halo_updater, get_vector_halo_updater, start_synchronize_vector_interfaces)
    for function in ours:
        setattr(Communicator, function.__name__, function)

    def off() -> None:
        for function in ours:
            if getattr(Communicator, function.__name__) is function:
                setattr(Communicator, function.__name__, theirs[function.__name__])

    return off
