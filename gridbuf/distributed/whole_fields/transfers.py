"""Moving points once, from arrays at one end to arrays at the other: one message a pair of ranks,
whatever the number of fields.

Nothing is planned to be repeated. A message is packed and sent whole, and unpacked and forgotten as
it comes, so that no rank holds more than one copy of what it has, and of what it gets the longest
message.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from numpy.typing import NDArray

from gridbuf import _core
from gridbuf.distributed.geometry.boxes import Index
from gridbuf.distributed.geometry.linking import Link, Schedule
from gridbuf.distributed.plans.binding import SIGN, Entry, aligned
from gridbuf.distributed.plans.vectors import Sources
from gridbuf.strides import packed

# Points of each block without halo, axes in the order of the message
Arrays = Mapping[int, NDArray[Any]]


class Way(NamedTuple):
    """A field on its way: arrays at both ends, and the links that concern this rank."""

    axes: Index  # of the grid: those of the links
    places: Index  # axis of the arrays, by dim
    sources: Sources
    shape: Index  # of an array's other axes; entries of the links' axes are unused
    itemsize: int
    links: Schedule


class Transfer:
    """The ways of several fields that travel together.

    Parameters
    ----------
    ways
        The fields.
    sources, targets
        Of each field its arrays, by block; at the end that this rank has nothing of they are empty.
    """

    def __init__(
        self, ways: Sequence[Way], sources: Sequence[Arrays], targets: Sequence[Arrays]
    ) -> None:
        self._ways, self._sources, self._targets = ways, sources, targets
        self._outgoing: dict[int, Any] = {}
        self._room: Any = None
        self.incoming = {
            peer: nbytes
            for peer in sorted({peer for way in ways for peer in way.links.receives})
            if (nbytes := sum(self._nbytes(way, way.links.receives.get(peer, ())) for way in ways))
        }

    def _nbytes(self, way: Way, links: Iterable[Link]) -> int:
        return sum(aligned(prod(self._shape(way, link)) * way.itemsize) for link in links)

    def _shape(self, way: Way, link: Link) -> Index:
        shape = list(way.shape)
        for place, n in zip(way.places, link.shape, strict=True):
            shape[place] = n
        return tuple(shape)

    def pack(self) -> "Transfer":
        """Make the messages, and room for the longest that comes."""
        for peer in sorted({peer for way in self._ways for peer in way.links.sends}):
            buffer = self._pack(peer)
            if buffer is not None:
                self._outgoing[peer] = buffer
        if self.incoming:
            self._room = _core.empty((max(self.incoming.values()),), "uint8")
        return self

    def run(self, ranks: Any) -> None:
        """Copy within the rank, send, and unpack the messages that come."""
        self._copy()
        ranks.move(self._outgoing, self.incoming, self._room, self._unpack)

    def _pack(self, peer: int) -> Any:
        nbytes = sum(self._nbytes(way, way.links.sends.get(peer, ())) for way in self._ways)
        if not nbytes:
            return None
        buffer, slots, at = _core.empty((nbytes,), "uint8"), Slots(), 0
        message, entries = slots.of(buffer), []
        for way in self._ways:
            for link in way.links.sends.get(peer, ()):
                shape = self._shape(way, link)
                array, start, strides, mode = self._source(way, link)
                to = message, at, packed(shape, way.itemsize)
                entries.append((*to, slots.of(array), start, strides, shape, array.dtype, mode))
                at += aligned(prod(shape) * way.itemsize)
        _core.CopyProgram(slots.arrays, entries).run()
        return buffer

    def _copy(self) -> None:
        slots, entries = Slots(), []
        for way, targets in zip(self._ways, self._targets, strict=True):
            for link in way.links.local:
                array, start, strides, mode = self._source(way, link)
                target, at = targets[link.dst], self._at(way, targets[link.dst], link)
                shape = self._shape(way, link)
                to = slots.of(target), at, target.strides
                entries.append((*to, slots.of(array), start, strides, shape, array.dtype, mode))
        if entries:
            _core.CopyProgram(slots.arrays, entries).run()

    def _unpack(self, peer: int, buffer: Any) -> None:
        slots, at = Slots(), 0
        message, entries = slots.of(buffer), list[Entry]()
        for way, targets in zip(self._ways, self._targets, strict=True):
            for link in way.links.receives.get(peer, ()):
                target, shape = targets[link.dst], self._shape(way, link)
                to = slots.of(target), self._at(way, target, link), target.strides
                entries.append(
                    (*to, message, at, packed(shape, way.itemsize), shape, target.dtype, 0)
                )
                at += aligned(prod(shape) * way.itemsize)
        _core.CopyProgram(slots.arrays, entries).run()

    def _at(self, way: Way, array: NDArray[Any], link: Link) -> int:
        return sum(i * array.strides[place] for i, place in zip(link.at, way.places, strict=True))

    def _source(self, way: Way, link: Link) -> tuple[NDArray[Any], int, Index, int]:
        """The array of a link's source, its first byte, strides along the target's axes, and mode
        of the copy.
        """
        field, sign = way.sources.of(link, way.axes)
        array = self._sources[field][link.src]
        at, strides = 0, list(array.strides)
        for d, (place, i) in enumerate(zip(way.places, link.source_at, strict=True)):
            at += i * array.strides[place]
            strides[way.places[link.axes[d]]] = link.signs[d] * array.strides[place]
        return array, at, tuple(strides), SIGN if sign < 0 else 0


class Slots:
    """The arrays of a program, each once."""

    def __init__(self) -> None:
        self.arrays: list[Any] = []
        self._known: dict[int, int] = {}

    def of(self, array: Any) -> int:
        found = self._known.get(id(array))
        if found is None:
            found = self._known[id(array)] = len(self.arrays)
            self.arrays.append(array)
        return found
