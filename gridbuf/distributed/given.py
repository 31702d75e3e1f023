"""Links that users write down themselves, in the place of those that a topology makes."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from gridbuf.distributed import arguments as read
from gridbuf.distributed.blocks import Block, Decomposition
from gridbuf.distributed.boxes import Map
from gridbuf.distributed.linking import Geometry, Index, Link, LinkBuilder
from gridbuf.distributed.tiles import Topology


class Given(NamedTuple):
    """A link as it was written, and its place in the list."""

    number: int
    link: Link
    outside: int  # along how many axes its points lie outside the destination's domain


class GivenLinks(LinkBuilder):
    """Each tile is one block, and halos are filled by the links in a list alone."""

    def __init__(self, topology: Topology, decomposition: Decomposition, links: Sequence[Given]) -> None:
        super().__init__(topology, decomposition)
        self.straight = False
        self._into: dict[int, list[Given]] = {}
        self._out_of: dict[int, set[int]] = {}
        for given in links:
            self._into.setdefault(given.link.dst, []).append(given)
            self._out_of.setdefault(given.link.src, set()).add(given.link.dst)

    def crossings(self, axes: Index) -> Iterator[tuple[str, Map]]:
        for given in (each for several in self._into.values() for each in several):
            how = Map(given.link.axes, given.link.signs, (0,) * len(given.link.axes))
            if not how.moves_only:
                yield f"links[{given.number}]", how

    def check_width(self, geometry: Geometry, field: str) -> None:
        """Fields of explicit links lie at centres and have all dims, and their halos have what is filled."""
        names = self.whole.names
        if geometry.axes != tuple(range(len(names))) or 0 in geometry.positions:
            raise ValueError(
                f"{field}: fields of a grid of explicit links have all its dims, {names}, and lie at centres along each"
            )
        for given in (each for several in self._into.values() for each in several):
            shape = self.whole.tiles[given.link.dst]
            for name, at, n, whole, (low, high) in zip(
                names, given.link.at, given.link.shape, shape, geometry.halos, strict=True
            ):
                if at < -low or at + n > whole + high:
                    raise ValueError(
                        f"{field}: links[{given.number}] fills points {at} to {at + n} along {name}, and the field has those from {-low} to {whole + high}"
                    )

    def filling(self, geometry: Geometry, block: Block, corners: bool = True) -> list[Link]:
        found = [each.link for each in self._into.get(block.number, ()) if corners or each.outside < 2]
        return sorted((each for each in found if self.decomposition.rank_of(each.src) is not None), key=lambda link: link[:2])

    def near(self, geometry: Geometry, block: Block, synchronised: bool = False) -> set[int]:
        return {block.number} | (set() if synchronised else self._out_of.get(block.number, set()))


def read_links(links: Any, shapes: Sequence[Index], names: Sequence[str]) -> list[Given]:
    """Links as users write them: (destination, slices, source, slices) and, where axes turn, the source's axes."""
    found = []
    form = "a link is (destination, slices, source, slices) and, if need be, axes"
    for i, (what, parts) in enumerate(read.connections(links, "links", form)):
        dst, src = (_block(parts[k], what, len(shapes)) for k in (0, 2))
        box, origin = (_slices(parts[k], what, shapes[b], names) for k, b in ((1, dst), (3, src)))
        axes, signs = _axes(parts[4], what, names) if len(parts) == 5 else (tuple(range(len(names))), (1,) * len(names))
        for d, (axis, (first, last)) in enumerate(zip(axes, origin, strict=True)):
            start, stop = box[axis]
            if stop - start != last - first:
                raise ValueError(f"{what}: {stop - start} points along {names[axis]} come from {last - first} along {names[d]}")
            if not 0 <= first <= last <= shapes[src][d]:
                raise ValueError(
                    f"{what}: its source is {first} to {last} along {names[d]}; block {src} owns 0 to {shapes[src][d]}"
                )
        outside = sum(stop <= 0 or start >= n for (start, stop), n in zip(box, shapes[dst], strict=True))
        shape = tuple(stop - start for start, stop in box)
        if 0 in shape:
            continue
        if not outside:
            raise ValueError(f"{what}: it fills points that block {dst} owns; a link fills the halo")
        at = tuple(start for start, _ in box)
        source_at = tuple(first if sign > 0 else last - 1 for (first, last), sign in zip(origin, signs, strict=True))
        found.append(Given(i, Link(dst, src, at, shape, source_at, axes, signs), outside))
    for a, b in combinations(found, 2):
        if a.link.dst == b.link.dst and all(
            max(p, q) < min(p + m, q + n) for p, m, q, n in zip(a.link.at, a.link.shape, b.link.at, b.link.shape, strict=True)
        ):
            raise ValueError(f"links: links[{a.number}] and links[{b.number}] fill the same points of block {a.link.dst}")
    return found


def _block(given: Any, what: str, count: int) -> int:
    number = read.integer(given, what, 0)
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
            raise ValueError(f"{what}: {each} has the step {each.step}; links take all points between two")
        start = 0 if each.start is None else read.integer(each.start, what)
        stop = n if each.stop is None else read.integer(each.stop, what)
        if stop < start:
            raise ValueError(f"{what}: {each} ends before it begins; negative numbers are in the low halo here")
        box.append((start, stop))
    return box


def _axes(given: Any, what: str, names: Sequence[str]) -> tuple[Index, Index]:
    """Of ("J", "-I"), the source's axis that each of the destination's goes along: which of the destination's each of the source's is."""
    entries = read.entries(given, what, len(names), f"dims {tuple(names)} are")
    axes, signs = [-1] * len(names), [1] * len(names)
    for axis, entry in enumerate(entries):
        if not isinstance(entry, str):
            raise TypeError(f"{what}: axes are names, such as {names[0]!r} or {'-' + names[0]!r}, got {type(entry).__name__}")
        name = entry.removeprefix("-")
        if name not in names or axes[names.index(name)] >= 0:
            raise ValueError(f"{what}: axes {tuple(entries)} are not each of {tuple(names)} once")
        axes[names.index(name)], signs[names.index(name)] = axis, -1 if entry.startswith("-") else 1
    return tuple(axes), tuple(signs)
