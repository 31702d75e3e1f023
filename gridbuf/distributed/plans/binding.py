"""Links bound to the layouts of fields: copies within a rank, and chunks of messages, in bytes.

Both ends of a message list its chunks in one order: by field, destination block, source block,
place in the walk. A message is in the order of the receiver's memory; the sender turns, flips and
signs.
"""

from collections.abc import Sequence
from functools import cache, cached_property
from itertools import groupby
from math import prod
from typing import Any, NamedTuple

import numpy as np

from gridbuf._core import CopyProgram
from gridbuf.distributed.geometry.blocks import Block
from gridbuf.distributed.geometry.boxes import Index
from gridbuf.distributed.geometry.linking import Link, Schedule
from gridbuf.distributed.plans.layouts import Bound
from gridbuf.distributed.plans.vectors import Sources
from gridbuf.strides import packed

ALIGNMENT = 16  # of chunks in a message
SIGN, ADD, CLEAR = (
    CopyProgram.SIGN,
    CopyProgram.ADD,
    CopyProgram.CLEAR,
)  # modes of an entry, to be added up
Entry = tuple[
    int, int, Index, int, int, Index, Index, np.dtype[Any], int
]  # one copy, as _core.CopyProgram takes it


def aligned(nbytes: int) -> int:
    """Bytes up to where the next chunk begins."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


class Place(NamedTuple):
    """Points of a field in this process."""

    slot: int
    at: int
    strides: Index


class Chunk(NamedTuple):
    """A part of a message: the points of one link of one field."""

    field: int
    link: Link
    at: int  # bytes from the start of the message
    nbytes: int
    shape: Index
    strides: Index  # in the message
    place: Place  # in the field: where it comes from, or where it goes
    dtype: np.dtype[Any]
    mode: int  # SIGN, where the sender changes it


Chunked = tuple[
    list[Chunk], int, int
]  # a field's chunks as if it were alone, and its bytes with what aligns them, and without


class Message:
    """All that one rank has for another in one exchange."""

    def __init__(self, peer: int) -> None:
        self.peer = peer
        self.nbytes = self.payload = self._at = 0  # nbytes: of the buffer
        self._parts: list[tuple[int, int, int, list[Chunk]]] = []

    def add(self, field: int, by: int, chunked: Chunked) -> None:
        """A field's part, which was worked out for slots that lie `by` further down."""
        chunks, nbytes, payload = chunked
        self._parts.append((field, by, self._at, chunks))
        if chunks:
            self.nbytes = self._at + chunks[-1].at + chunks[-1].nbytes
        self._at += nbytes
        self.payload += payload

    @cached_property
    def chunks(self) -> list[Chunk]:
        """What it is made of, in the order that both ends know."""
        return [
            Chunk(
                field,
                link,
                at + start,
                n,
                shape,
                strides,
                Place(slot + by, place, along),
                dtype,
                mode,
            )
            for field, by, at, base in self._parts
            for _, link, start, n, shape, strides, (slot, place, along), dtype, mode in base
        ]


class Work(NamedTuple):
    """What one field of an exchange takes, worked out for the place among the fields that it had
    then.
    """

    field: int
    copies: list[Entry]
    sends: dict[int, Chunked]
    receives: dict[int, Chunked]


class Binding:
    """Turns links of fields into entries: bytes and strides."""

    plain = False  # whether no link turns anything: then the rules of items make no difference

    def __init__(
        self,
        bounds: Sequence[Bound],
        sources: Sequence[Sources],
        blocks: Sequence[Block],
        names: Sequence[str],
    ) -> None:
        self.bounds, self.sources, self.names = bounds, sources, names
        self.local = {block.number: i for i, block in enumerate(blocks)}
        self.count = len(blocks)

    @property
    def orders(self) -> list[list[str]]:
        """In which order of dims this rank gets each field's values."""
        return [list(bound.order) for bound in self.bounds]

    def work(self, field: int, schedule: Schedule) -> Work:
        """A field's part of an exchange, its values in this rank's order."""
        order = self.bounds[field].order
        sends, receives = (
            {peer: self._chunked(field, links, sent, order) for peer, links in ends.items()}
            for sent, ends in ((True, schedule.sends), (False, schedule.receives))
        )
        return Work(field, self.copies(field, schedule.local), sends, receives)

    def copies(self, field: int, links: Sequence[Link]) -> list[Entry]:
        """From field to field within the rank."""
        bound, found = self.bounds[field], []
        for link in links:
            source, sign = self.sources[field].of(link, bound.geometry.axes)
            to, shape = self._target(field, link, bound.order)
            come = self._source(source, field, link, bound.order)
            mode = SIGN if sign < 0 else 0
            found.append(
                (
                    to.slot,
                    to.at,
                    to.strides,
                    come.slot,
                    come.at,
                    come.strides,
                    shape,
                    bound.dtype,
                    mode,
                )
            )
        return found

    def message(
        self,
        peer: int,
        parts: Sequence[tuple[int, Sequence[Link]]],
        sent: bool,
        orders: Sequence[Sequence[str]],
    ) -> Message:
        """The message to or from a peer: `orders` is the receiver's order of dims for each
        field.
        """
        found = Message(peer)
        for field, links in parts:
            found.add(field, 0, self._chunked(field, links, sent, orders[field]))
        return found

    def _chunked(
        self, field: int, links: Sequence[Link], sent: bool, order: Sequence[str]
    ) -> Chunked:
        bound, at, payload = self.bounds[field], 0, 0
        chunks: list[Chunk] = []
        for link in links:
            if sent:
                source, sign = self.sources[field].of(link, bound.geometry.axes)
                place = self._source(source, field, link, order)
                shape = self._shape(bound, link, order)
            else:
                sign, (place, shape) = 1, self._target(field, link, order)
            nbytes = prod(shape) * bound.dtype.itemsize
            strides = packed(shape, bound.dtype.itemsize)
            chunks.append(
                Chunk(
                    field,
                    link,
                    at,
                    nbytes,
                    shape,
                    strides,
                    place,
                    bound.dtype,
                    SIGN if sign < 0 else 0,
                )
            )
            payload += nbytes
            at += aligned(nbytes)
        return chunks, at, payload

    def _shape(self, bound: Bound, link: Link, order: Sequence[str]) -> Index:
        sizes = {dim: n for dim, n, _ in bound.extra}
        for axis, n in zip(bound.geometry.axes, link.shape, strict=True):
            sizes[self.names[axis]] = n
        return tuple(sizes[dim] for dim in order)

    def _target(self, field: int, link: Link, order: Sequence[str]) -> tuple[Place, Index]:
        bound, block = self.bounds[field], self.local[link.dst]
        at = 0
        strides = dict(zip(bound.layouts[block].dims, bound.layouts[block].strides, strict=True))
        for axis, (low, _), i in zip(
            bound.geometry.axes, bound.geometry.halos, link.at, strict=True
        ):
            at += (i + low) * strides[self.names[axis]]
        return Place(
            field * self.count + block, at, tuple(strides[dim] for dim in order)
        ), self._shape(bound, link, order)

    def _source(self, source: int, field: int, link: Link, order: Sequence[str]) -> Place:
        """Where a link's points come from, walked as the destination's axes go."""
        bound, block = self.bounds[source], self.local[link.src]
        strides = dict(zip(bound.layouts[block].dims, bound.layouts[block].strides, strict=True))
        at, turned = 0, dict(strides)
        axes = self.bounds[field].geometry.axes
        for d, (axis, (low, _), i) in enumerate(
            zip(axes, bound.geometry.halos, link.source_at, strict=True)
        ):
            stride = strides[self.names[axis]]
            at += (i + low) * stride
            turned[self.names[axes[link.axes[d]]]] = link.signs[d] * stride
        return Place(source * self.count + block, at, tuple(turned[dim] for dim in order))


@cache
def has_sign(dtype: np.dtype[Any]) -> bool:
    """Whether elements have a sign bit to flip: programs of copies know."""
    one = np.zeros(1, dtype)
    try:
        CopyProgram([one, one], [(0, 0, one.strides, 1, 0, one.strides, (1,), dtype, SIGN)])
    except TypeError:
        return False
    return True


def adjoint(copies: Sequence[Entry]) -> list[Entry]:
    """Copies the other way round: what was filled is added to where it came from, and set to 0."""
    return [
        (source, at, strides, slot, to, along, shape, dtype, mode | ADD | CLEAR)
        for slot, to, along, source, at, strides, shape, dtype, mode in copies
    ]


def packing(message: Message, slot: int, at: int, mode: int) -> list[Entry]:
    """Fields into a message that begins `at` bytes from the start of its slot."""
    return [
        (
            slot,
            at + c.at,
            c.strides,
            c.place.slot,
            c.place.at,
            c.place.strides,
            c.shape,
            c.dtype,
            mode or c.mode,
        )
        for c in message.chunks
    ]


def unpacking(message: Message, slot: int, at: int, mode: int) -> list[Entry]:
    """Such a message into fields."""
    return [
        (
            c.place.slot,
            c.place.at,
            c.place.strides,
            slot,
            at + c.at,
            c.strides,
            c.shape,
            c.dtype,
            mode and mode | c.mode,
        )
        for c in message.chunks
    ]


def links_of(message: Message) -> list[tuple[int, list[Any]]]:
    return [
        (field, [chunk.link for chunk in its])
        for field, its in groupby(message.chunks, lambda chunk: chunk.field)
    ]


def program(slots: Sequence[Any], entries: Sequence[Entry], gpu: int | None) -> Any:
    return CopyProgram(slots, entries, gpu) if entries else None
