"""A plan: the links of an exchange bound to the layouts of its fields, not to their memory. Fields
are given at every start.

A rank's plan has the copies from field to field (`copies`), and for each peer the chunks of one
message each way (`sends`, `receives`). An engine moves them.
"""

import weakref
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from gridbuf import _core
from gridbuf.distributed.arguments import read_timeout
from gridbuf.distributed.blocks import Blocks
from gridbuf.distributed.geometry.blocks import Block
from gridbuf.distributed.geometry.boxes import Index, Pairs
from gridbuf.distributed.plans.binding import CLEAR, Binding, Entry, Message, Work, adjoint
from gridbuf.distributed.plans.checks import check_same, check_shared
from gridbuf.distributed.plans.debugging import compare_copies
from gridbuf.distributed.plans.engines import Engine, Quick, Transport
from gridbuf.distributed.plans.layouts import HOST, as_field, gpu_of, layout_of
from gridbuf.distributed.plans.vectors import refuse_item
from gridbuf.docstrings import as_in
from gridbuf.names import joined

NOT_YET = Quick(lambda *fields: None, lambda: None)
MOST_DISTANCES = 16  # entries of Plan._apart
T = TypeVar("T")
Slot = tuple[str, np.dtype[Any], Index, Index, bool, tuple[str, ...], Pairs | None]


class Handle:
    """An exchange under way: the result of `Plan.start`. As a context manager it waits when the
    block is left.
    """

    def __init__(self, plan: "Plan", transport: Transport, exchange: int) -> None:
        self._plan, self._transport, self._exchange = plan, transport, exchange
        self._done = self._given_up = False

    def test(self) -> bool:
        """Whether everything has arrived; the call also drives MPI's progress.

        Returns
        -------
        bool
            True once the halos can be read.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4,), "I", periodic="I", halo=1)
        >>> f = grid.ones()
        >>> grid.plan(f).start(f).test()
        True
        """
        if not self._done:
            # An error leaves it True: the plan may be started again
            given_up, self._given_up = self._given_up, True
            self._done = self._transport.test(self._exchange)
            self._given_up = given_up
        return self._done

    def wait(self, timeout: float | None = None) -> None:
        """Wait until everything has arrived.

        Parameters
        ----------
        timeout : float, optional
            After so many seconds a TimeoutError names the missing ranks; the next call goes on
            waiting.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4,), "I", periodic="I", halo=1)
        >>> f = grid.ones()
        >>> grid.plan(f).start(f).wait()
        >>> float(f[0])
        1.0
        """
        try:
            seconds = read_timeout(timeout)
        except (TypeError, ValueError) as error:  # peers would wait in their next exchange
            self._plan._failed(error)
            raise
        if not self._done:
            self._given_up = True  # an error leaves the exchange to the next start
            self._transport.wait(self._exchange, seconds)
            self._done = True

    def __enter__(self) -> "Handle":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        if kind is None:
            self.wait()
        elif not self._done:
            self._given_up = True
            if error is not None:
                self._transport.abandon(error)


class Plan:
    """The messages and copies of an exchange: the result of `Grid.plan`.

    A plan is bound to the layouts of the fields, not to their memory, and exchanges any fields of
    these layouts.

    Attributes
    ----------
    number : int
        The plan's place among those of its grid.
    messages : int
        How many messages this rank sends in an exchange.
    nbytes : int
        The bytes of values in these messages.
    copies : list
        The copies within the rank, as `_core.CopyProgram` takes them.
    sends, receives : dict
        The message to and from each peer, by its rank.
    shared : bool
        Whether plans with the same messages share one agreement: those that a grid keeps.
    gpu : int or None
        The number of the GPU that has its fields; None: the host reaches them.
    what : {"halos", "sides", "sync"}
        The points that are filled: halos, halos without corners, points that exist twice.
    """

    def __init__(
        self,
        number: int,
        binding: Binding,
        works: Sequence[Work],
        blocks: Sequence[Block],
        engine: Engine,
        shared: bool,
        what: str,
    ) -> None:
        self.number = number
        self.bounds = tuple(binding.bounds)
        self.blocks = tuple(blocks)
        self.shared = shared
        self.what = what
        self.gpu = gpu_of(self.bounds)
        self.binding, self._works = binding, works
        sends: dict[int, Message] = {}
        receives: dict[int, Message] = {}
        for field, work in enumerate(works):
            by = (field - work.field) * binding.count
            for found, chunks in ((sends, work.sends), (receives, work.receives)):
                for peer, chunked in chunks.items():
                    message = found.get(peer)
                    if message is None:
                        message = found[peer] = Message(peer)
                    message.add(field, by, chunked)
        self.sends, self.receives = dict(sorted(sends.items())), dict(sorted(receives.items()))
        self.messages = len(sends)
        self.nbytes = sum([message.payload for message in sends.values()])
        self._fills = [
            constant._replace(place=constant.place._replace(slot=constant.place.slot + by))
            for field, work in enumerate(works)
            for by in [(field - work.field) * binding.count]
            for constant in work.fills
        ]
        self._transport = engine.prepare(self)
        # Distances between fields that interleave and were found to share no element
        self._apart: set[tuple[int, ...]] = set()
        self._under_way: weakref.ref[Handle] | None = None
        self._again, self._finish = NOT_YET
        # Debug mode: the plan that gives points their owner's values, for a comparison
        self.twice: Plan | None = None

    @cached_property
    def copies(self) -> list[Entry]:
        return [
            (to + by, at, strides, come + by, start, along, shape, dtype, mode)
            for field, work in enumerate(self._works)
            for by in [(field - work.field) * self.binding.count]
            for to, at, strides, come, start, along, shape, dtype, mode in work.copies
        ] + [
            (*one.place, slot, 0, (0,) * len(one.shape), one.shape, one.value.dtype, 0)
            for slot, one in enumerate(self._fills, len(self.bounds) * self.binding.count)
        ]

    def slots(self) -> list[Slot]:
        """The fields in the order of their slots, as `_core.CopyProgram` takes them.

        Returns
        -------
        list of tuple
            Name, dtype, shape, strides, True, dims and halo of each: all that the rank has of one
            field, then the next; then the constants of edges, as arrays of one element.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4,), "I", blocks=(2,), halo=1)
        >>> [slot[0] for slot in grid.plan(grid.zeros(), names=["T"]).slots()]
        ['T', 'T']
        """
        return [
            (bound.name, layout.dtype, layout.shape, layout.strides, True, layout.dims, layout.halo)
            for bound in self.bounds
            for layout in bound.layouts
        ] + [self._constant(one.value) for one in self._fills]

    def _constant(self, value: np.ndarray[Any, Any]) -> Any:
        return value if self.gpu is None else _core.Field(value).to(device=("gpu", self.gpu))

    def adjoint(self) -> list[Entry]:
        """The copies within the rank in the other direction: halo points are added to their
        sources, and set to 0.

        Returns
        -------
        list of tuple
            As `_core.CopyProgram` takes them.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4,), "I", periodic="I", halo=1)
        >>> len(grid.plan(grid.zeros()).adjoint())
        2
        """
        fields = len(self.bounds) * self.binding.count
        return adjoint([copy for copy in self.copies if copy[3] < fields]) + [
            (slot, at, strides, slot, at, strides, shape, dtype, CLEAR)
            for slot, at, strides, source, _, _, shape, dtype, _ in self.copies
            if source >= fields
        ]

    def start(self, *fields: Any) -> Handle:
        """Begin an exchange. Before `wait` returns, do not read or write halos, and do not write
        own points.

        Parameters
        ----------
        *fields : Field, Blocks or list of Field
            The fields of the plan's items, in their order, of the layouts that the plan was made
            for: dtype, shape, strides, dims and halo. A bare array has no dims and halo, and takes
            the plan's.

        Returns
        -------
        Handle
            To test and to wait for.

        Raises
        ------
        RuntimeError
            When the plan's last exchange has not been waited for.
        TypeError, ValueError
            When the number of fields or their layouts are not the plan's.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4,), "I", periodic="I", halo=1)
        >>> f = grid.ones()
        >>> plan = grid.plan(f)
        >>> with plan.start(f):
        ...     pass  # work on what needs no halo
        >>> float(f[0])
        1.0
        """
        handle = Handle(self, self._transport, self._begin(fields, self._transport.start))
        # The handshake has compared GRIDBUF_DEBUG on both ranks
        if self.twice is not None and self.gpu is None:
            names = [
                f"{bound.name} on block {block.index}"
                for bound in self.bounds
                for block in self.blocks
            ]
            compare_copies(
                partial(self.twice, *fields), [*zip(names, self._flat(fields), strict=True)]
            )
        self._under_way = weakref.ref(handle)  # last: of a start that raises there is no handle
        return handle

    def __call__(self, *fields: Any) -> None:
        """Exchange: start and wait."""
        try:
            ended = self._again(*fields)
            if ended is None:
                ended = self._look_and_run(fields)
        except BaseException as error:
            self._failed(error)
            raise
        if ended is None:
            self.start(*fields).wait()
        elif not ended:
            self._finish()

    def _look_and_run(self, fields: Sequence[Any]) -> bool | None:
        if self.twice is not None:
            return None
        if self._under_way is not None:
            self._check_idle()
        quick = self._transport.run(fields)
        if quick is None:
            return None
        self._again, self._finish = quick
        return True

    @as_in(start)
    def accumulate(self, *fields: Any) -> None:
        """The adjoint of an exchange: each halo value is added to the point that it comes from, and
        set to 0.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4,), "I", periodic="I", halo=1)
        >>> f = grid.ones()
        >>> grid.plan(f).accumulate(f)
        >>> f.numpy()
        array([0., 2., 1., 1., 2., 0.])
        """
        self._begin(fields, self._accumulate)

    def _accumulate(self, flat: Sequence[Any]) -> None:
        for bound in self.bounds:
            if bound.dtype.kind not in "biufc" or not bound.dtype.isnative:
                raise TypeError(
                    f"{bound.name}: elements of dtype {bound.dtype} cannot be added; allowed are"
                    " bools and numbers of this machine's byte order"
                )
        self._transport.accumulate(flat)

    def _check_idle(self) -> None:
        before = None if self._under_way is None else self._under_way()
        if before is not None and not (before._done or before._given_up):
            raise RuntimeError(
                f"plan {self.number}: it was started before and not waited for; call wait() of what"
                " start() returned"
            )
        self._under_way = None

    def _begin(self, fields: Sequence[Any], begin: Callable[[Sequence[Any]], T]) -> T:
        """Begin with the given fields; an error revokes the grid."""
        try:
            self._check_idle()
            return begin(self._flat(fields))
        except BaseException as error:
            self._failed(error)
            raise

    def _failed(self, error: BaseException) -> None:
        self._transport.abandon(error)

    def _flat(self, fields: Sequence[Any]) -> list[Any]:
        """The fields on all blocks of the rank, in the order of the slots."""
        if not self.blocks:  # a rank without blocks has no fields: its arguments are ignored
            return []
        if len(fields) != len(self.bounds):
            raise TypeError(
                f"fields: the plan is for {len(self.bounds)}"
                f" ({', '.join(b.name for b in self.bounds)}), got {len(fields)}"
            )
        if len(self.blocks) == 1 and {*map(type, fields)} == HOST:
            flat = list(fields)
        else:
            flat = []
            for bound, given in zip(self.bounds, fields, strict=True):
                flat += on_blocks(given, len(self.blocks), bound.name)
        if len({*map(id, flat)}) < len(flat):
            check_same(self.binding, flat)
        distances = _core.spans_meet(*flat)
        if distances is not None and distances not in self._apart:
            self._check_shared(flat, distances)
        return flat

    def _check_shared(self, flat: Sequence[_core.Field], distances: tuple[int, ...]) -> None:
        """Refuse overlapping fields, as planning does. Fields that interleave in the same way again
        are not checked again.
        """
        check_shared(self.binding, flat)
        if len({*map(id, flat)}) == len(flat) and [*map(layout_of, flat)] == [
            each for b in self.bounds for each in b.layouts
        ]:
            if len(self._apart) >= MOST_DISTANCES:
                self._apart.clear()
            self._apart.add(distances)

    def __str__(self) -> str:
        what = ", ".join(f"{b.name} ({b.dtype}, {joined(b.dims)})" for b in self.bounds)
        lines = [f"plan {self.number}: {what}; {len(self.copies)} copies within the rank"]
        shared: Any = getattr(self._transport, "shared", ((), ()))
        for word, found, peers in (
            ("to", self.sends, shared[0]),
            ("from", self.receives, shared[1]),
        ):
            for peer, message in found.items():
                how = ", in memory that both have" if peer in peers else ""
                lines.append(
                    f"  {word} rank {peer}: {message.payload:,} bytes in {len(message.chunks)}"
                    f" chunks{how}"
                )
                for chunk in message.chunks:
                    shape = " x ".join(map(str, chunk.shape))
                    lines.append(
                        f"    {self.bounds[chunk.field].name}: {shape} points of block"
                        f" {chunk.link.src} for block {chunk.link.dst}"
                    )
        return "\n".join(lines)


def on_blocks(given: Any, count: int, name: str) -> list[Any]:
    """A field given by the user as one Field for each block of the rank."""
    refuse_item(given, name)
    if isinstance(given, Blocks | list | tuple):
        if len(given) != count:
            raise ValueError(f"{name}: got {len(given)} fields, this rank has {count} blocks")
        return [as_field(each, name) for each in given]
    if count != 1:
        raise TypeError(
            f"{name}: expected Blocks, or a list of {count} Fields, one for each of this rank's"
            f" blocks, got {type(given).__name__}"
        )
    return [as_field(given, name)]
