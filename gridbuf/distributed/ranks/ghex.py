"""The ghex engine: halos filled by GHEX (package ghex), everything else by messages of our own.

GHEX works out its patterns with all ranks, so every rank makes its plans in the same order. Fields
that GHEX would exchange wrongly or does not support are refused with the reason. GHEX has no
handshake and no timeout; its exchanges are polled here, so that both a timeout and Ctrl-C are
noticed.
"""

import atexit
import time
import weakref
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from mpi4py import MPI

from gridbuf._core import CopyProgram
from gridbuf.common import BoundedCache
from gridbuf.distributed.calls import Waiting
from gridbuf.distributed.geometry.blocks import Block
from gridbuf.distributed.geometry.linking import LinkBuilder
from gridbuf.distributed.plans.layouts import Bound, Layout
from gridbuf.distributed.ranks.communicator import Channel
from gridbuf.distributed.ranks.mpi import MPIEngine, MPITransport
from gridbuf.distributed.ranks.pending_requests import LAST_WORDS
from gridbuf.interop.ghex import DTYPES

DIMS = 4
MOST_FIELDS = 256  # with a descriptor of GHEX
PLANNING = "a plan for GHEX"
WHY = "engine='ghex' does not take {}; engine='mpi' does"


class Kind(NamedTuple):
    """The properties that fields of one group share: dtype, dims, extents and halos on the grid,
    order in memory.
    """

    dtype: str
    dims: tuple[str, ...]
    extents: tuple[int, ...]  # along dims that are not cut, else 0
    halos: tuple[tuple[int, int], ...]
    order: tuple[str, ...]


class Group(NamedTuple):
    """Fields of a plan that travel together."""

    slots: list[int]
    offsets: tuple[int, ...]
    domains: list[Any]  # one a block
    pattern: Any
    exchanger: Any


class GHEXEngine(MPIEngine):
    """The ranks of a communicator, through GHEX."""

    name = "ghex"

    def __init__(self, comm: Any, timeout: float | None = None, aware: bool | None = None) -> None:
        try:
            import ghex.context  # noqa: F401
        except ImportError as error:
            raise ImportError(
                "engine: 'ghex' needs the package ghex (pip install ghex, with libboost-dev):"
                f" {error}"
            ) from error
        super().__init__(comm, timeout, aware)
        # Before the context, since attributes are released in this order
        self.patterns: dict[Any, tuple[Any, list[Any]]] = {}
        self.context: Any = None
        _engines.add(self)

    def connect(self, channel: Channel) -> None:
        from ghex.context import make_context

        super().connect(channel)
        self.context = make_context(channel.comm, MPI.Query_thread() == MPI.THREAD_MULTIPLE)

    def serve(self, links: LinkBuilder) -> None:
        cuts = links.decomposition.cuts
        why = None
        if len(cuts) > 1 or not links.straight:
            why = "seams, folds, explicit links and missing blocks"
        elif (
            links.decomposition.number_of_blocks < self.size
            or links.decomposition.owners is not None
        ):
            why = "ranks without a block and owners"
        if why:
            raise ValueError(f"engine: {WHY.format(why)}")
        self.links = links
        self.periodic = [(0, axis, 1) in links.whole.seams for axis in range(links.whole.ndim)]
        self.least = [
            min(axis.start(k + 1) - axis.start(k) for k in range(axis.count)) for axis in cuts[0]
        ]

    def prepare(self, plan: Any) -> Any:
        ours = plan.what != "halos" or plan.binding.edges
        return super().prepare(plan) if ours else GHEXTransport(plan, self)

    def refused(self, bound: Bound) -> Iterator[str]:
        """The reasons why GHEX cannot fill the halos of a field."""
        names = self.links.whole.names
        if bound.layouts[0].gpu is not None:
            yield "fields on a GPU"
        if str(bound.dtype) not in DTYPES or not bound.dtype.isnative:
            yield f"{bound.dtype}: only {', '.join(DTYPES)} of this machine"
        if len(bound.geometry.axes) < len(names):
            yield f"fields without all of {names}"
        if 0 in bound.geometry.positions:
            yield "faces"
        if len(bound.dims) > DIMS:
            yield f"more than {DIMS} dims"
        for layout in bound.layouts:
            if min(layout.shape) < 2:
                yield f"an axis of length {min(layout.shape)}"
            # GHEX reads rows as if their elements touched
            if min(layout.strides) != bound.dtype.itemsize:
                yield f"strides of {layout.strides}"
        for axis, pair in zip(bound.geometry.axes, bound.geometry.halos, strict=True):
            if max(pair) > self.least[axis]:
                yield (
                    f"a halo of {max(pair)} along {names[axis]}, wider than a block of"
                    f" {self.least[axis]}"
                )

    def pattern(self, kind: Kind, blocks: Sequence[Block]) -> tuple[Any, list[Any]]:
        """The pattern of a kind of field, which all ranks make together."""
        from ghex.structured.cartesian_sets import ProductSet, UnitRange
        from ghex.structured.regular import DomainDescriptor, HaloGenerator, make_pattern

        found = self.patterns.get(kind[1:4])
        if found is None:
            names, shape = self.links.whole.names, self.links.whole.tiles[0]
            axes = [names.index(dim) if dim in names else None for dim in kind.dims]

            def box(spans: Sequence[tuple[int, int]]) -> Any:
                along = [
                    UnitRange(0, n) if a is None else UnitRange(*spans[a])
                    for a, n in zip(axes, kind.extents, strict=True)
                ]
                return ProductSet(*along)

            domains = [
                DomainDescriptor(b.number, box([*zip(b.start, b.stop, strict=True)]))
                for b in blocks
            ]
            whole = HaloGenerator(
                box([(0, n) for n in shape]),
                kind.halos,
                tuple(a is not None and self.periodic[a] for a in axes),
            )
            found = self.patterns[kind[1:4]] = make_pattern(self.context, whole, domains), domains
        return found

    def stop(self) -> None:
        """At exit: free GHEX's objects before MPI."""
        self.patterns.clear()
        self.context = None


class GHEXTransport:
    """Moves one plan: a group of alike fields after the other, the last while the caller
    computes.
    """

    def __init__(self, plan: Any, engine: GHEXEngine) -> None:
        from ghex.structured.regular import make_communication_object

        self.engine, self._plan, self.timeout, self.exchange = engine, plan, engine.timeout, 0
        assert engine.channel is not None
        self.channel = engine.channel
        self.name = (
            f"plan {self.channel.number()} ({', '.join(bound.name for bound in plan.bounds)})"
        )
        kinds = [kind_of(bound, engine.links.whole.names) for bound in plan.bounds]
        reasons = [
            f"{bound.name}: {WHY.format(why)}"
            for bound in plan.bounds
            for why in engine.refused(bound)
        ]
        said = {"fields": str([kind[:4] for kind in kinds])}

        def together(ranks: Any) -> None:
            if reasons:
                raise ValueError(reasons[0])
            ranks.agree(PLANNING, said)

        engine.run(PLANNING, together)
        self._groups: list[Group] = []
        for kind in dict.fromkeys(kinds):
            pattern, domains = engine.pattern(kind, plan.blocks)
            slots = [
                f * len(plan.blocks) + b
                for f, other in enumerate(kinds)
                if other == kind
                for b in range(len(plan.blocks))
            ]
            offsets = tuple(low for low, _ in kind.halos)
            self._groups.append(
                Group(slots, offsets, domains, pattern, make_communication_object(engine.context))
            )
        self._check = CopyProgram(plan.slots(), []).check  # GHEX takes memory as it is
        # A weak reference and GHEX's descriptor, by the Field's id
        self._descriptors: BoundedCache[tuple[Any, Any]] = BoundedCache(MOST_FIELDS)
        self._back: MPITransport | None = None
        self._under_way: list[Any] = []  # GHEX's handle, and what its exchange needs
        _forget([each for each in _left if moved_on(each[0])])
        weakref.finalize(self, _leave, self._under_way).atexit = False

    def run(self, fields: Sequence[Any]) -> None:
        return None

    def start(self, fields: Sequence[Any]) -> int:
        self.channel.check(self.name)
        self._check(*fields)
        if self._under_way:  # given up: it counts as made
            self._wait(None)
        self.exchange += 1
        for i, group in enumerate(self._groups):
            if i:
                self._wait(None)
            descriptors = [self._descriptor(group, slot, fields[slot]) for slot in group.slots]
            self._under_way[:] = (
                group.exchanger.exchange([group.pattern(each) for each in descriptors]),
                fields,
                group,
                descriptors,
                self.engine,
            )
        return self.exchange

    def test(self, exchange: int) -> bool:
        self.channel.check(self.name)
        if exchange != self.exchange or not self._under_way:
            return True
        if not self._ready():
            return False
        self._end()
        return True

    def wait(self, exchange: int, timeout: float | None) -> None:
        self.channel.check(self.name)
        if exchange == self.exchange:
            try:
                self._wait(timeout)
            except TimeoutError as error:
                if timeout is None:
                    self.abandon(error)
                raise
            except BaseException as error:
                self.abandon(error)
                raise

    def abandon(self, error: BaseException) -> None:
        self.engine.failed(error)

    def accumulate(self, fields: Sequence[Any]) -> None:
        if self._under_way:
            self._wait(None)
        if self._back is None:
            self._back = MPITransport(self._plan, self.engine)
        self._back.accumulate(fields)

    def _wait(self, timeout: float | None) -> None:
        if not self._under_way:
            return
        Waiting(self.timeout if timeout is None else timeout, self._missing).until(
            self._ready, lambda: self.channel.check_notes(self.name, self._ready)
        )
        self._end()

    def _ready(self) -> bool:
        return moved_on(self._under_way[0])

    def _end(self) -> None:
        self._under_way[0].wait()
        self._under_way.clear()

    def _missing(self) -> str:
        return (
            f"rank {self.channel.rank} waits for its neighbours: {self.name}, exchange"
            f" {self.exchange}, by GHEX"
        )

    def _descriptor(self, group: Group, slot: int, field: Any) -> Any:
        from ghex.structured.regular import make_field_descriptor

        known = self._descriptors.get(id(field))
        if known is not None and known[0]() is field:
            return known[1]
        array = field.numpy()
        domain = group.domains[slot % len(group.domains)]
        try:
            made = make_field_descriptor(domain, array, group.offsets, array.shape)
        except AttributeError as error:  # GHEX has no such class
            name = self._plan.slots()[slot][0]
            raise ValueError(
                f"{name}: {WHY.format(f'{array.dtype} in memory order {array.strides}')} ({error})"
            ) from error
        self._descriptors[id(field)] = weakref.ref(field), made
        return made


_engines: weakref.WeakSet[GHEXEngine] = weakref.WeakSet()
_left: list[list[Any]] = []  # exchanges whose handles were dropped, with all that they use


def _leave(under_way: list[Any]) -> None:
    if under_way:
        _left.append(under_way)


def _forget(exchanges: list[list[Any]]) -> None:
    for each in exchanges:
        _left.remove(each)
        while each:
            del each[0]  # the handle first, the engine last


@atexit.register
def _stop() -> None:
    end = time.monotonic() + LAST_WORDS
    for handle, *_ in _left:
        while not moved_on(handle) and time.monotonic() < end:
            pass
    _forget([*_left])
    for engine in _engines:
        engine.stop()


def moved_on(handle: Any) -> bool:
    """Whether an exchange has ended; drive its progress where not."""
    if handle.is_ready():
        return True
    handle.progress()
    return False


def kind_of(bound: Bound, names: Sequence[str]) -> Kind:
    layout: Layout = bound.layouts[0]
    cut = dict(
        zip((names[axis] for axis in bound.geometry.axes), bound.geometry.halos, strict=True)
    )
    extents = tuple(
        0 if dim in cut else n for dim, n in zip(layout.dims, layout.shape, strict=True)
    )
    return Kind(
        str(bound.dtype),
        layout.dims,
        extents,
        tuple(cut.get(dim, (0, 0)) for dim in layout.dims),
        bound.order,
    )
