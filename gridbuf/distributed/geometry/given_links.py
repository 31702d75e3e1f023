"""Links that users write down themselves, in the place of those that a topology makes."""

from collections.abc import Sequence
from itertools import combinations, groupby
from typing import Any, NamedTuple

from gridbuf.distributed import arguments as read
from gridbuf.distributed.geometry.blocks import Block, Decomposition
from gridbuf.distributed.geometry.boxes import Index, Map
from gridbuf.distributed.geometry.linking import Geometry, Link, LinkBuilder
from gridbuf.distributed.geometry.tiles import Topology
from gridbuf.validation import integer

Spans = Sequence[tuple[int, int]]


class Given(NamedTuple):
    """A link as it was written, and its place in the list."""

    number: int
    link: Link
    side: Link | None  # its points that lie outside the destination's domain along one axis alone


class GivenLinks(LinkBuilder):
    """Each tile is one block, and halos are filled by the links in a list alone."""

    def __init__(
        self, topology: Topology, decomposition: Decomposition, links: Sequence[Given]
    ) -> None:
        super().__init__(topology, decomposition)
        self.straight = False
        self._into: dict[int, list[Given]] = {}
        self._out_of: dict[int, set[int]] = {}
        self._turning: dict[Map, str] = {}  # of each kind the first
        for given in links:
            self._into.setdefault(given.link.dst, []).append(given)
            self._out_of.setdefault(given.link.src, set()).add(given.link.dst)
            how = Map(given.link.axes, given.link.signs, (0,) * topology.ndim)
            if not how.moves_only:
                self._turning.setdefault(how, f"links[{given.number}]")
        self._farthest = [
            (
                min(links, key=lambda given: given.link.at[a]),
                max(
                    links,
                    key=lambda given: (
                        given.link.at[a] + given.link.shape[a] - topology.tiles[given.link.dst][a]
                    ),
                ),
            )
            for a in range(topology.ndim * bool(links))
        ]

    def crossings(self, axes: Index) -> list[tuple[str, Map]]:
        return [(where, how) for how, where in self._turning.items()]

    def check_width(self, geometry: Geometry, field: str) -> None:
        """Fields of explicit links lie at centres and have all dims, and their halos have what is
        filled.
        """
        names = self.whole.names
        if geometry.axes != tuple(range(len(names))) or 0 in geometry.positions:
            raise ValueError(
                f"{field}: fields of a grid of explicit links have all its dims, {names}, and lie"
                " at centres along each"
            )
        for a, ends in enumerate(self._farthest):
            for given in ends:
                at = given.link.at[a]
                n = given.link.shape[a]
                whole = self.whole.tiles[given.link.dst][a]
                low, high = geometry.halos[a]
                if at < -low or at + n > whole + high:
                    raise ValueError(
                        f"{field}: links[{given.number}] fills points {at} to {at + n} along"
                        f" {names[a]}, and the field has those from {-low} to {whole + high}"
                    )

    def filling(
        self, geometry: Geometry, block: Block, corners: bool = True, source: Block | None = None
    ) -> list[Link]:
        found = [each.link if corners else each.side for each in self._into.get(block.number, ())]
        links = [
            link
            for link in found
            if link is not None and self.decomposition.rank_of(link.src) is not None
        ]
        if source is not None:
            links = [link for link in links if link.src == source.number]
        return sorted(links, key=lambda link: link[:2])

    def near(self, geometry: Geometry, block: Block, synchronised: bool = False) -> set[int]:
        return {block.number} | (set() if synchronised else self._out_of.get(block.number, set()))


def read_links(links: Any, shapes: Sequence[Index], names: Sequence[str]) -> list[Given]:
    """Links as users write them: (destination, slices, source, slices) and, where axes turn, the
    source's axes.
    """
    found = []
    form = "a link is (destination, slices, source, slices) and, if need be, axes"
    for i, (what, parts) in enumerate(read.connections(links, "links", form)):
        dst, src = (_block(parts[k], what, len(shapes)) for k in (0, 2))
        box, origin = (_slices(parts[k], what, shapes[b], names) for k, b in ((1, dst), (3, src)))
        axes, signs = (
            _axes(parts[4], what, names)
            if len(parts) == 5
            else (tuple(range(len(names))), (1,) * len(names))
        )
        for d, (axis, (first, last)) in enumerate(zip(axes, origin, strict=True)):
            start, stop = box[axis]
            if stop - start != last - first:
                raise ValueError(
                    f"{what}: {stop - start} points along {names[axis]} come from {last - first}"
                    f" along {names[d]}"
                )
            if not 0 <= first <= last <= shapes[src][d]:
                raise ValueError(
                    f"{what}: its source is {first} to {last} along {names[d]}; block {src} owns 0"
                    f" to {shapes[src][d]}"
                )
        if any(start == stop for start, stop in box):
            continue
        outside = [
            stop <= 0 or start >= n for (start, stop), n in zip(box, shapes[dst], strict=True)
        ]
        if not any(outside):
            raise ValueError(
                f"{what}: it fills points that block {dst} owns; a link fills the halo"
            )
        beside = [
            span if out else (max(span[0], 0), min(span[1], n))
            for span, out, n in zip(box, outside, shapes[dst], strict=True)
        ]
        whole, side = (_link(dst, src, part, box, origin, axes, signs) for part in (box, beside))
        found.append(Given(i, whole, side if sum(outside) == 1 and min(side.shape) > 0 else None))
    found.sort(key=lambda given: given.link.dst)
    for dst, its in groupby(found, lambda given: given.link.dst):
        for a, b in combinations(its, 2):
            ends = zip(a.link.at, a.link.shape, b.link.at, b.link.shape, strict=True)
            if all(max(p, q) < min(p + m, q + n) for p, m, q, n in ends):
                raise ValueError(
                    f"links: links[{a.number}] and links[{b.number}] fill the same points of block"
                    f" {dst}"
                )
    return found


def _link(
    dst: int, src: int, part: Spans, box: Spans, origin: Spans, axes: Index, signs: Index
) -> Link:
    """Of a link that fills a box the part that fills a smaller one."""
    by = [start - first for (start, _), (first, _) in zip(part, box, strict=True)]
    source_at = tuple(
        first + by[axis] if sign > 0 else last - 1 - by[axis]
        for (first, last), axis, sign in zip(origin, axes, signs, strict=True)
    )
    at, shape = tuple(start for start, _ in part), tuple(stop - start for start, stop in part)
    return Link(dst, src, at, shape, source_at, axes, signs)


def _block(given: Any, what: str, count: int) -> int:
    number = integer(given, what, 0)
    if number >= count:
        raise ValueError(f"{what}: there is no block {number}; blocks are 0 to {count - 1}")
    return number


def _slices(given: Any, what: str, shape: Index, names: Sequence[str]) -> list[tuple[int, int]]:
    slices = [given] if isinstance(given, slice) else read.entries(given, what)
    if len(slices) != len(names):
        raise ValueError(f"{what}: {len(slices)} slices, the dims are {tuple(names)}")
    box = []
    for each, n in zip(slices, shape, strict=True):
        if not isinstance(each, slice):
            raise TypeError(f"{what}: expected slices, got {type(each).__name__}")
        if each.step not in (None, 1):
            raise ValueError(
                f"{what}: {each} has the step {each.step}; links take all points between two"
            )
        start = 0 if each.start is None else integer(each.start, what)
        stop = n if each.stop is None else integer(each.stop, what)
        if stop < start:
            raise ValueError(
                f"{what}: {each} ends before it begins; negative numbers are in the low halo here"
            )
        box.append((start, stop))
    return box


def _axes(given: Any, what: str, names: Sequence[str]) -> tuple[Index, Index]:
    """Of ("J", "-I"), the source's axis that each of the destination's goes along: which of the
    destination's each of the source's is.
    """
    entries = read.entries(given, what, len(names), f"dims {tuple(names)} are")
    axes, signs = [-1] * len(names), [1] * len(names)
    for axis, entry in enumerate(entries):
        if not isinstance(entry, str):
            raise TypeError(
                f"{what}: axes are names, such as {names[0]!r} or {'-' + names[0]!r}, got"
                f" {type(entry).__name__}"
            )
        name = entry.removeprefix("-")
        if name not in names or axes[names.index(name)] >= 0:
            raise ValueError(f"{what}: axes {tuple(entries)} are not each of {tuple(names)} once")
        axes[names.index(name)], signs[names.index(name)] = axis, -1 if entry.startswith("-") else 1
    return tuple(axes), tuple(signs)
