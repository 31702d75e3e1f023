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
# Modes of an entry: a sum of these
SIGN, ADD, CLEAR = CopyProgram.SIGN, CopyProgram.ADD, CopyProgram.CLEAR
# One copy, as _core.CopyProgram takes it
Entry = tuple[int, int, Index, int, int, Index, Index, np.dtype[Any], int]


def aligned(nbytes: int) -> int:
    """nbytes rounded up to ALIGNMENT: the offset of the next chunk."""
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
    place: Place  # in the field: source of a send, destination of a receive
    dtype: np.dtype[Any]
    mode: int  # SIGN where the sender flips the sign


# Chunks of one field, counted from byte 0; its bytes with padding, and without
Chunked = tuple[list[Chunk], int, int]


class Message:
    """The message from one rank to another in one exchange."""

    def __init__(self, peer: int) -> None:
        self.peer = peer
        self.nbytes = self.payload = self._at = 0  # nbytes: of the buffer
        self._parts: list[tuple[int, int, int, list[Chunk]]] = []

    def add(self, field: int, by: int, chunked: Chunked) -> None:
        """Add a field's part, which was made for slots that lie `by` further down."""
        chunks, nbytes, payload = chunked
        self._parts.append((field, by, self._at, chunks))
        if chunks:
            self.nbytes = self._at + chunks[-1].at + chunks[-1].nbytes
        self._at += nbytes
        self.payload += payload

    @cached_property
    def chunks(self) -> list[Chunk]:
        """The chunks, in an order that is the same at both ends."""
        found = []
        for field, by, at, base in self._parts:
            for chunk in base:
                slot, start, strides = chunk.place
                place = Place(slot + by, start, strides)
                found.append(chunk._replace(field=field, at=at + chunk.at, place=place))
        return found


class Work(NamedTuple):
    """The copies and chunks of one field of an exchange, for the field's place in the plan that it
    was made for.
    """

    field: int
    copies: list[Entry]
    sends: dict[int, Chunked]
    receives: dict[int, Chunked]
    fills: Sequence["Constant"] = ()


class Constant(NamedTuple):
    """Points of a field that get a constant."""

    place: Place
    shape: Index
    value: np.ndarray[Any, Any]  # of one element, and the field's dtype


class Binding:
    """Turns links of fields into entries: bytes and strides."""

    plain = False  # no link turns axes, so rules of items make no difference
    ruled = False  # a link may be for one component alone
    edges = ""  # the rules for points beyond edges, as text

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
        """The order of dims in which this rank receives each field."""
        return [list(bound.order) for bound in self.bounds]

    def work(self, field: int, schedule: Schedule) -> Work:
        """A field's part of an exchange, its values in this rank's order."""
        order = self.bounds[field].order
        sends = {p: self._chunked(field, its, True, order) for p, its in schedule.sends.items()}
        receives = {
            p: self._chunked(field, its, False, order) for p, its in schedule.receives.items()
        }
        return Work(field, self.copies(field, schedule.local), sends, receives)

    def copies(self, field: int, links: Sequence[Link]) -> list[Entry]:
        """Copies from field to field within the rank."""
        bound, found = self.bounds[field], list[Entry]()
        links = self._taken(field, links)
        shapes = self.shapes(bound, links, bound.order)
        for link, shape in zip(links, shapes, strict=True):
            slot, at, strides = self.destination(field, link, bound.order)
            source, start, along, sign = self.source(field, link, bound.order)
            mode = (SIGN if sign < 0 else 0) | added(link)
            found.append((slot, at, strides, source, start, along, shape, bound.dtype, mode))
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
        links = self._taken(field, links)
        shapes = self.shapes(bound, links, order)
        for link, shape in zip(links, shapes, strict=True):
            if sent:
                slot, start, along, sign = self.source(field, link, order)
            else:
                (slot, start, along), sign = self.destination(field, link, order), 1
            nbytes = prod(shape) * bound.dtype.itemsize
            strides, mode = packed(shape, bound.dtype.itemsize), SIGN if sign < 0 else 0
            place = Place(slot, start, along)
            chunks.append(Chunk(field, link, at, nbytes, shape, strides, place, bound.dtype, mode))
            payload += nbytes
            at += aligned(nbytes)
        return chunks, at, payload

    def _taken(self, field: int, links: Sequence[Link]) -> Sequence[Link]:
        """The links that fill a field."""
        source = self.sources[field]
        return [link for link in links if source.takes(link)] if self.ruled else links

    def shapes(self, bound: Bound, links: Sequence[Link], order: Sequence[str]) -> list[Index]:
        """The shape of each link's points, along the dims in this order."""
        sizes = {dim: n for dim, n, _ in bound.extra}
        names, found = [self.names[axis] for axis in bound.geometry.axes], []
        for link in links:
            sizes.update(zip(names, link.shape, strict=True))
            found.append(tuple([sizes[dim] for dim in order]))
        return found

    def destination(self, field: int, link: Link, order: Sequence[str]) -> tuple[int, int, Index]:
        """The slot of a link's destination, the byte where its points begin, and their strides."""
        bound, block = self.bounds[field], self.local[link.dst]
        layout, at = bound.layouts[block], 0
        strides = dict(zip(layout.dims, layout.strides, strict=True))
        for axis, (low, _), i in zip(
            bound.geometry.axes, bound.geometry.halos, link.at, strict=True
        ):
            at += (i + low) * strides[self.names[axis]]
        return field * self.count + block, at, tuple([strides[dim] for dim in order])

    def source(self, field: int, link: Link, order: Sequence[str]) -> tuple[int, int, Index, int]:
        """The slot of a link's source, the byte where its points begin, their strides along the
        destination's axes, and the sign that they get.
        """
        axes = self.bounds[field].geometry.axes
        source, sign = self.sources[field].of(link, axes)
        bound, block = self.bounds[source], self.local[link.src]
        layout, at = bound.layouts[block], 0
        strides = dict(zip(layout.dims, layout.strides, strict=True))
        turned = dict(strides)
        for d, axis in enumerate(axes):
            stride = strides[self.names[axis]]
            at += (link.source_at[d] + bound.geometry.halos[d][0]) * stride
            turned[self.names[axes[link.axes[d]]]] = link.signs[d] * stride
        return source * self.count + block, at, tuple([turned[dim] for dim in order]), sign


@cache
def has_sign(dtype: np.dtype[Any]) -> bool:
    """Whether elements have a sign bit that a program of copies can flip."""
    one = np.zeros(1, dtype)
    try:
        CopyProgram([one, one], [(0, 0, one.strides, 1, 0, one.strides, (1,), dtype, SIGN)])
    except TypeError:
        return False
    return True


def added(link: Link) -> int:
    """ADD for a link whose values are added to those of the links before."""
    return ADD if link.edge is not None and link.edge.add else 0


def adjoint(copies: Sequence[Entry]) -> list[Entry]:
    """Copies in the other direction: filled points are added to their sources, and set to 0, after
    the last sum that reads them.
    """
    found = [
        (source, at, strides, slot, to, along, shape, dtype, mode | ADD)
        for slot, to, along, source, at, strides, shape, dtype, mode in copies
    ]
    sums = [entry for entry, copy in zip(found, copies, strict=True) if copy[8] & ADD]
    return sums + [
        (*entry[:8], entry[8] | CLEAR)
        for entry, copy in zip(found, copies, strict=True)
        if not copy[8] & ADD
    ]


def packing(message: Message, slot: int, at: int, mode: int) -> list[Entry]:
    """Entries from fields into a message that begins `at` bytes from the start of its slot."""
    chunks = message.chunks
    if mode:  # an adjoint clears points after the last chunk that has them
        chunks = sorted(chunks, key=lambda c: not added(c.link))
    return [
        (slot, at + c.at, c.strides, *c.place, c.shape, c.dtype, packing_mode(c, mode))
        for c in chunks
    ]


def packing_mode(chunk: Chunk, mode: int) -> int:
    """The mode of a chunk on its way into a message."""
    if not mode:
        return chunk.mode
    return 0 if added(chunk.link) else mode


def unpacking(message: Message, slot: int, at: int, mode: int) -> list[Entry]:
    """Entries from such a message into fields."""
    return [
        (
            *c.place,
            slot,
            at + c.at,
            c.strides,
            c.shape,
            c.dtype,
            mode | c.mode if mode else added(c.link),
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
