"""The plans behind `gridbuf.interop.mpi4py.exchange_halos`: blocks that know their neighbours in a
communicator, and no grid.

A halo point comes from the rank that lies beyond it along those axes along which there is one;
along the others, where the communicator ends, from the same place there: a neighbour's boundary
values come with its points. So one message from each neighbour, those at corners included, fills
what an exchange axis by axis would. Extents are a rank's own affair: links say from which side they
come, and no more.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

from gridbuf import _core
from gridbuf.distributed.geometry.boxes import Index
from gridbuf.distributed.geometry.linking import Geometry
from gridbuf.distributed.plans.binding import Binding, Entry
from gridbuf.distributed.plans.layouts import Bound, Layout, extra_of, gpu_of, layout_of, order_of
from gridbuf.distributed.plans.planning import LayoutNumbers, PlanCache
from gridbuf.distributed.plans.vectors import Sources, plain
from gridbuf.distributed.ranks.collectives import Collectives
from gridbuf.distributed.ranks.communicator import Channel
from gridbuf.distributed.ranks.duplicates import channel_for, communicator_of
from gridbuf.distributed.ranks.mpi import MPIEngine

CALL = "exchange_halos"


class Slab(NamedTuple):
    """A link between neighbours. Both ends say the same of it, and each places its own."""

    src: int
    dst: int
    # of the destination's sides the one that is filled, along each of the communicator's axes; 0:
    # between them
    where: Index
    shape: Index  # along each of the field's dims, in the order of their names
    edge: None = None  # rules for points beyond edges are those of grids


class Span(NamedTuple):
    """Points along one axis."""

    start: int
    n: int


Spans = dict[str, Span]  # by dim
Found = dict[int, list[tuple[int, list[Any]]]]  # by rank: fields, and of each its slabs


class Neighbours(NamedTuple):
    """Where a rank lies in a Cartesian communicator, whose ranks MPI numbers in C order."""

    rank: int
    shape: Index
    periodic: Sequence[bool]
    coords: Index

    def has(self, axis: int, side: int) -> bool:
        return bool(self.periodic[axis]) or 0 <= self.coords[axis] + side < self.shape[axis]

    def at(self, way: Sequence[int]) -> int:
        """The rank so many steps away along each axis."""
        rank = 0
        for i, k, n in zip(self.coords, way, self.shape, strict=True):
            rank = rank * n + (i + k) % n
        return rank


class Sides:
    """Where a field of one layout is filled, and from where its neighbours take their points."""

    def __init__(self, layout: Layout, dims: Sequence[str], near: Neighbours) -> None:
        self.layout, self.near, self.names = layout, near, sorted(layout.dims)
        self.axes = [axis for axis, dim in enumerate(dims) if dim in layout.dims]
        self.dims = dims
        self.rows: dict[str, tuple[int, int, int]] = {}
        pairs = layout.halo or ((0, 0),) * len(layout.shape)
        for dim, n, (low, high) in zip(layout.dims, layout.shape, pairs, strict=True):
            self.rows[dim] = n, low, high

    def filled(self) -> Iterator[tuple[int, Index, Spans]]:
        """Sides to fill: the rank at the other end, the side, and its points."""
        for where in self._ways(self.near.has):
            yield self.near.at(where), where, self._spans(where, self._halo)

    def given(self) -> Iterator[tuple[int, Index, Spans]]:
        """Sides that a neighbour fills from here: its rank, its side, and this rank's
        points.
        """
        for where in self._ways(lambda axis, side: self.near.has(axis, -side)):
            yield self.near.at([-side for side in where]), where, self._spans(where, self._own)

    def shape(self, spans: Spans) -> Index:
        return tuple(spans[dim].n for dim in self.names)

    def _ways(self, has: Callable[[int, int], bool]) -> Iterator[Index]:
        """Sides with a neighbour, as steps along each axis, in one order on all ranks."""
        sides = [
            [side for side in (-1, 0, 1) if side == 0 or (axis in self.axes and has(axis, side))]
            for axis in range(len(self.near.shape))
        ]
        return (where for where in product(*sides) if any(where))

    def _spans(self, where: Index, along: Callable[[int, int, int, int], Span]) -> Spans:
        spans = {dim: Span(0, n) for dim, (n, _, _) in self.rows.items()}
        for axis in self.axes:
            n, low, high = self.rows[self.dims[axis]]
            start = low if self.near.has(axis, -1) else 0
            stop = n - high if self.near.has(axis, 1) else n
            spans[self.dims[axis]] = (
                along(where[axis], n, low, high) if where[axis] else Span(start, stop - start)
            )
        return spans

    @staticmethod
    def _halo(side: int, n: int, low: int, high: int) -> Span:
        return Span(0, low) if side < 0 else Span(n - high, high)

    @staticmethod
    def _own(side: int, n: int, low: int, high: int) -> Span:
        """The own points beside a side: the last ones fill the low halo of the next rank."""
        return Span(n - high - low, low) if side < 0 else Span(low, high)


class Slabs(Binding):
    """Places slabs in fields."""

    def __init__(
        self,
        bounds: Sequence[Bound],
        sources: Sequence[Sources],
        fields: Sequence[Sides],
        rank: int,
    ) -> None:
        super().__init__(bounds, sources, (), ())
        self.count = 1
        self.received: Found = {}
        self.sent: Found = {}
        self._there: dict[tuple[int, Slab], Spans] = {}
        self._here: dict[tuple[int, Slab], Spans] = {}
        for field, sides in enumerate(fields):
            for peer, where, spans in sides.filled():
                self._note(
                    field,
                    Slab(peer, rank, where, sides.shape(spans)),
                    spans,
                    self._there,
                    self.received,
                    peer,
                )
            for peer, where, spans in sides.given():
                self._note(
                    field,
                    Slab(rank, peer, where, sides.shape(spans)),
                    spans,
                    self._here,
                    self.sent,
                    peer,
                )
        self.within = self.received.pop(rank, [])
        self.sent.pop(rank, None)

    def _note(
        self,
        field: int,
        slab: Slab,
        spans: Spans,
        known: dict[tuple[int, Slab], Spans],
        found: Found,
        peer: int,
    ) -> None:
        if 0 in slab.shape and sum(map(abs, slab.where)) > 1:
            return  # beside a side without halo; a side itself stays: ranks compare its width
        known[field, slab] = spans
        its = found.setdefault(peer, [])
        if not its or its[-1][0] != field:
            its.append((field, []))
        its[-1][1].append(slab)

    def shapes(self, bound: Bound, links: Sequence[Any], order: Sequence[str]) -> list[Index]:
        dims = sorted(bound.dims)
        sizes = [dict(zip(dims, link.shape, strict=True)) for link in links]
        return [tuple(each[dim] for dim in order) for each in sizes]

    def destination(self, field: int, link: Any, order: Sequence[str]) -> tuple[int, int, Index]:
        return self._place(field, self._there[field, link], order)

    def source(self, field: int, link: Any, order: Sequence[str]) -> tuple[int, int, Index, int]:
        return *self._place(field, self._here[field, link], order), 1

    def _place(self, field: int, spans: Spans, order: Sequence[str]) -> tuple[int, int, Index]:
        """The slot of a slab, the byte where it begins, and its strides."""
        layout = self.bounds[field].layouts[0]
        strides = dict(zip(layout.dims, layout.strides, strict=True))
        start = sum(spans[dim].start * strides[dim] for dim in order)
        return field, start, tuple(strides[dim] for dim in order)


class HaloPlan:
    """The points that the mpi engine moves for fields of some layouts."""

    shared = True  # other layouts of the same points are no affair of the neighbours
    what = "halos"

    def __init__(
        self, layouts: Sequence[Layout], dims: Sequence[str], near: Neighbours, engine: MPIEngine
    ) -> None:
        self.bounds = [bound(layout, f"fields[{i}]", dims) for i, layout in enumerate(layouts)]
        self.gpu = gpu_of(self.bounds)
        sources = [*map(plain, range(len(layouts)))]
        self.binding = binding = Slabs(
            self.bounds, sources, [Sides(layout, dims, near) for layout in layouts], near.rank
        )
        self.copies: list[Entry] = [
            entry for field, links in binding.within for entry in binding.copies(field, links)
        ]
        self.sends, self.receives = (
            {
                peer: binding.message(peer, found[peer], sent, binding.orders)
                for peer in sorted(found)
            }
            for sent, found in ((True, binding.sent), (False, binding.received))
        )
        self.transport = engine.prepare(self)

    def slots(self) -> list[tuple[str, Any, Index, Index, bool]]:
        return [
            (b.name, b.dtype, b.layouts[0].shape, b.layouts[0].strides, True) for b in self.bounds
        ]


def bound(layout: Layout, name: str, dims: Sequence[str]) -> Bound:
    """The facts of a field in which ranks must agree: its dtype, its dims, and the points that it
    has along those that are not cut.
    """
    order = order_of(layout.dims, layout.strides)
    return Bound(
        name,
        layout.dtype,
        Geometry((), (), ()),
        layout.dims,
        extra_of(layout, dims),
        (layout,),
        order,
    )


class Exchanges(PlanCache[HaloPlan]):
    """The plans of one communicator, found by the fields' layouts."""

    def __init__(self, channel: Channel, comm: Any) -> None:
        super().__init__(LayoutNumbers())
        shape, periodic, coords = comm.Get_topo()
        self.near = Neighbours(channel.rank, tuple(shape), tuple(periodic), tuple(coords))
        self.engine = MPIEngine(comm)
        self.engine.connect(channel)

    def known(self, fields: tuple[Any, ...], dims: tuple[str, ...]) -> HaloPlan | None:
        """The plan of Fields that have been exchanged before, which therefore are right."""
        try:
            return self.plans.get((dims, *map(self.numbers.get, map(id, fields))))
        except TypeError:  # dims that are not even hashable
            return None

    def plan(self, fields: Sequence[_core.Field], dims: tuple[str, ...]) -> HaloPlan:
        """The plan of Fields that are known to be right."""
        key = (dims, *map(self.layouts.number, fields))
        return self.get(
            key, lambda: HaloPlan([*map(layout_of, fields)], dims, self.near, self.engine)
        )


def exchanges_of(comm: Any) -> Exchanges:
    """The exchanges that a communicator keeps. The first time all its ranks call this."""
    communicator = communicator_of(comm)
    if communicator.exchanges is None:
        channel = Collectives(communicator.lobby, None).run(
            CALL, lambda ranks: channel_for(communicator, {}, CALL, ranks)
        )
        communicator.exchanges = Exchanges(channel, comm)
    found: Exchanges = communicator.exchanges
    return found
