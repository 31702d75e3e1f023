"""Tiles and the seams between them: where a point outside its tile lies, and which points are one.

A seam maps points beyond a side of a tile: x' = P x + c in doubled coordinates, x' in the tile on
the other side. Periodic axes are seams of a tile to itself that only move; a fold turns both axes
back; a cube has 24.

The seams of the grids that have names, and of those that users describe: which side of which
tile meets which.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from gridbuf.distributed import arguments as read
from gridbuf.distributed.geometry.boxes import (
    Box,
    Map,
    clip,
    compare,
    identity,
    intersect,
    is_empty,
    meet,
    subtract,
)
from gridbuf.validation import boolean, integer

Side = tuple[int, int, int]  # tile, axis, -1 or 1
Copy = tuple[int, Map]  # the tile, and where the points lie there
EVERYWHERE = -1 << 62, 1 << 62
DEEPEST = 64  # seams crossed on the way to a point; more only when a halo wraps an axis that often


class Seam(NamedTuple):
    """The tile beyond one side of a tile, and the map to it."""

    tile: int
    map: Map


class Piece(NamedTuple):
    """Points of a box that lie in a tile, and how they get there."""

    box: Box
    tile: int
    map: Map


class Topology:
    """Extents of tiles, and the seam at each side that has one.

    Attributes
    ----------
    clear : list
        Of each tile and axis: between which x a box, within the tile or not, has to do with no seam
        but rings.
    rings : set
        Tiles and axes whose seams move the tile onto itself, and nothing else.
    """

    def __init__(
        self, tiles: tuple[tuple[int, ...], ...], seams: Mapping[Side, Seam], names: tuple[str, ...]
    ) -> None:
        # Sorted: all ranks walk alike
        self.tiles, self.seams, self.names = tiles, dict(sorted(seams.items())), names
        self.ndim = len(names)
        self.here = identity(self.ndim)
        self._strips: list[list[tuple[int, int, int, Seam]]] = [[] for _ in tiles]
        self._folds: list[list[tuple[int, int]]] = [[] for _ in tiles]
        self.clear = [[EVERYWHERE] * self.ndim for _ in tiles]
        self.rings: set[tuple[int, int]] = set()
        for (tile, axis, side), seam in self.seams.items():
            strip = self._strip(axis, seam)
            self._strips[tile].append(strip)
            if seam.tile == tile and seam.map.moves_only:
                self.rings.add((tile, axis))
            else:
                low, high = self.clear[tile][axis]
                self.clear[tile][axis] = (strip[2] + 1, high) if side < 0 else (low, strip[1] - 1)
            if self._is_fold(tile, axis, side):
                self._folds[tile].append((axis, seam.map.shift[axis]))

    def _is_fold(self, tile: int, axis: int, side: int) -> bool:
        there, how = self.seams[tile, axis, side]
        return there == tile and how.axes[axis] == axis and how.signs[axis] < 0 and side > 0

    def _strip(self, axis: int, seam: Seam) -> tuple[int, int, int, Seam]:
        """Between which x of an axis points of a tile lie on the other side's tile as well."""
        other = seam.map.axes.index(axis)
        sign = seam.map.signs[other]
        shift = seam.map.shift[other]
        n = 2 * self.tiles[seam.tile][other]
        low, high = sorted((sign * -shift, sign * (n - shift)))
        return axis, low, high, seam

    def name_of(self, side: Side) -> str:
        """A seam as errors call it."""
        tile, axis, sign = side
        there = self.seams[side].tile
        return (
            f"the {self.names[axis]}{'+' if sign > 0 else '-'} edge of tile {tile} (to tile"
            f" {there})"
        )

    # ---- points outside a tile ----

    def trace(self, tile: int, box: Box, depth: int = 0) -> list[Piece]:
        """Where the points of a box in a tile's coordinates lie; those beyond an edge without seam
        lie nowhere.

        Points outside along several axes are followed through the seams in every order; those lie
        somewhere for which all orders lead to one point. At a vertex of a cube they do not.
        """
        if self._holds(tile, box):
            return [Piece(box, tile, self.here)]
        spans = []
        for (low, high), n in zip(box, self.tiles[tile], strict=True):
            odd, end = low & 1, 2 * n
            parts = (
                (-1, low, min(high, odd - 2)),
                (0, max(low, odd), min(high, end - odd)),
                (1, max(low, end + 2 - odd), high),
            )
            spans.append([part for part in parts if part[1] <= part[2]])
        found: list[Piece] = []
        for each in product(*spans):
            part = tuple([span[1:] for span in each])
            outside = [(tile, axis, side) for axis, (side, _, _) in enumerate(each) if side]
            if outside:
                found += self._beyond(tile, part, outside, depth)
            else:
                found.append(Piece(part, tile, self.here))
        return found

    def _holds(self, tile: int, box: Box) -> bool:
        return all(
            [
                first >= 0 and last <= 2 * n
                for (first, last), n in zip(box, self.tiles[tile], strict=True)
            ]
        )

    def _beyond(self, tile: int, box: Box, outside: list[Side], depth: int) -> list[Piece]:
        if depth > DEEPEST:
            raise ValueError(f"halo: it crosses more than {DEEPEST} seams of tile {tile}")
        if any([side not in self.seams for side in outside]):
            return []
        if all([side[:2] in self.rings for side in outside]):
            outside = outside[:1]  # moves along axes of one tile may be made in any order
        agreed: list[Piece] | None = None
        for side in outside:
            there, how = self.seams[side]
            pieces = [
                Piece(how.back(p.box), p.tile, p.map.after(how))
                for p in self.trace(there, how.of(box), depth + 1)
            ]
            agreed = pieces if agreed is None else [*self._agreeing(agreed, pieces)]
        return agreed or []

    def _agreeing(self, some: list[Piece], others: list[Piece]) -> Iterator[Piece]:
        """The points of both that coincide."""
        for a, b in product(some, others):
            common = intersect(a.box, b.box)
            if is_empty(common):
                continue
            if a.tile == b.tile and a.map == b.map:
                yield Piece(common, a.tile, a.map)
                continue
            for part, copies in self._closure(common, [(a.tile, a.map)], 0):
                for same in self._where_known(part, copies, (b.tile, b.map)):
                    yield Piece(same, a.tile, a.map)

    def may_meet(self, tile: int, box: Box, places: Mapping[int, list[Box]]) -> bool:
        """Whether points of a box in a tile's coordinates may lie at some places; of a box that
        lies across an edge nothing is known.
        """
        while True:
            for axis, ((first, last), n) in enumerate(zip(box, self.tiles[tile], strict=True)):
                if last < 0 or first > 2 * n:
                    seam = self.seams.get((tile, axis, -1 if last < 0 else 1))
                    break
            else:
                return not self._holds(tile, box) or any(
                    [meet(box, place) for place in places.get(tile, ())]
                )
            if seam is None:
                return False
            tile, box = seam.tile, seam.map.of(box)

    # ---- points that exist more than once ----

    def copies(self, tile: int, box: Box, others: bool = True) -> Iterator[tuple[Box, list[Copy]]]:
        """Parts of a box within a tile, and all places where their points exist: the owner's first,
        or alone.
        """
        for part, copies in self.everywhere(tile, box):
            yield from self._ranked(part, copies, others)

    def everywhere(self, tile: int, box: Box) -> Iterator[tuple[Box, list[Copy]]]:
        """As `copies`, in no order."""
        return self._closure(box, [(tile, self.here)], 0)

    def _closure(self, box: Box, known: list[Copy], i: int) -> Iterator[tuple[Box, list[Copy]]]:
        """Follow every seam from each known copy: a point of the tile on its strip exists on the
        other side too.
        """
        if i == len(known):
            yield box, known
            return
        tile, how = known[i]
        parts, whole = [(box, known)], how.of(box)
        for axis, low, high, seam in self._strips[tile]:
            if whole[axis][0] > high or whole[axis][1] < low:
                continue
            on = []
            for part, copies in parts:
                image = how.of(part)
                strip = clip(image, axis, low, high)
                if is_empty(strip):
                    on.append((part, copies))
                    continue
                beyond, ahead = seam.map.of(strip), seam.map.after(how)
                inside = self._holds(seam.tile, beyond)
                if inside and (seam.tile, ahead) in copies:  # the way back
                    on.append((part, copies))
                    continue
                rest = [strip]
                for piece in (
                    [Piece(beyond, seam.tile, self.here)]
                    if inside
                    else self.trace(seam.tile, beyond)
                ):
                    there = seam.map.back(piece.box)
                    rest = [left for each in rest for left in subtract(each, there)]
                    mine, copy = how.back(there), (piece.tile, piece.map.after(ahead))
                    new = [mine]
                    for same in self._where_known(mine, copies, copy):
                        on.append((same, copies))
                        new = [left for each in new for left in subtract(each, same)]
                    on += [(each, [*copies, copy]) for each in new]
                on += [(how.back(each), copies) for each in (*rest, *subtract(image, strip))]
            parts = on
        for part, copies in parts:
            yield from self._closure(part, copies, i + 1)

    def _where_known(self, box: Box, known: list[Copy], copy: Copy) -> Iterator[Box]:
        """Parts of a box where a copy is the same place as one of the known ones."""
        rest = [box]
        for tile, how in known:
            if tile != copy[0]:
                continue
            for part in [*rest]:
                same = [part]
                for f, g in zip(zip(*how, strict=True), zip(*copy[1], strict=True), strict=True):
                    same = [
                        piece for each in same for piece, sign in compare(each, f, g) if sign == 0
                    ]
                for piece in same:
                    yield piece
                    rest = [left for each in rest for left in subtract(each, piece)]

    def _ranked(
        self, box: Box, copies: list[Copy], others: bool
    ) -> Iterator[tuple[Box, list[Copy]]]:
        """Sort the copies by ownership: those that no fold has turned over, then the lowest tile,
        then the lowest coordinates.
        """
        if len(copies) == 1:
            yield box, copies
            return
        parts = [(box, 0)]
        for i in range(1, len(copies)):
            parts = [
                (piece, i if sign < 0 else best)
                for part, best in parts
                for piece, sign in self._order(part, copies[i], copies[best])
            ]
        for part, best in parts:
            if not others:
                yield part, [copies[best]]
                continue
            for piece, rest in self._ranked(part, copies[:best] + copies[best + 1 :], True):
                yield piece, [copies[best], *rest]

    def _order(self, box: Box, a: Copy, b: Copy) -> Iterator[tuple[Box, int]]:
        """Parts of a box with -1 where copy a comes before copy b."""
        for part, beyond_a in self._turned_over(box, a):
            for piece, beyond_b in self._turned_over(part, b):
                first = (beyond_a - beyond_b) or (a[0] - b[0])
                if first:
                    yield piece, first
                    continue
                equal = [piece]
                for f, g in zip(zip(*a[1], strict=True), zip(*b[1], strict=True), strict=True):
                    found = [one for each in equal for one in compare(each, f, g)]
                    yield from (one for one in found if one[1])
                    equal = [each for each, sign in found if not sign]
                yield from ((each, 0) for each in equal)

    def _turned_over(self, box: Box, copy: Copy) -> Iterator[tuple[Box, int]]:
        """Parts of a box with 1 where the copy lies beyond the line at which its tile is folded."""
        tile, how = copy
        parts = [(box, 0)]
        for axis, twice in self._folds[tile]:
            linear = (how.axes[axis], 2 * how.signs[axis], 2 * how.shift[axis])
            parts = [
                (piece, int(over or sign > 0))
                for part, over in parts
                for piece, sign in compare(part, linear, (0, 0, twice))
            ]
        yield from parts


Seams = dict[Side, Seam]
Extents = tuple[tuple[int, ...], ...]


def rings(tile: int, extents: Sequence[int], cyclic: Sequence[bool], names: Sequence[str]) -> Seams:
    """The seams of a tile to itself along its periodic axes."""
    seams = {}
    for axis, n in enumerate(extents):
        if not cyclic[axis]:
            continue
        if n == 0:
            raise ValueError(
                f"periodic: {names[axis]!r} has no points, and a periodic dim needs one"
            )
        for side in (-1, 1):
            shift = [0] * len(extents)
            shift[axis] = -side * 2 * n
            seams[tile, axis, side] = Seam(
                tile, Map(tuple(range(len(extents))), (1,) * len(extents), tuple(shift))
            )
    return seams


def folded(shape: tuple[int, ...], pivot: str, names: Sequence[str]) -> Seams:
    """A ring along the first axis whose high end of the second is folded: about the corners of
    cells, or about centres.
    """
    n, rows = shape
    where = {"F": (2 * n, 4 * rows), "T": (2 * n + 2, 4 * rows - 2)}
    return rings(0, shape, (True, False), names) | {
        (0, 1, 1): Seam(0, Map((0, 1), (-1, -1), where[pivot]))
    }


def meeting(tiles: Extents, side: Side, other: Side, reverse: bool) -> Seam:
    """How to go on beyond a side: inwards from the other one, along it in the same direction or the
    opposite one.
    """
    (_, axis, out), (there, into, end) = side, other
    ndim = len(tiles[there])
    axes, signs, shift = [0] * ndim, [1] * ndim, [0] * ndim
    start = 2 * tiles[side[0]][axis] if out > 0 else 0
    axes[into] = axis
    signs[into] = -out * end
    shift[into] = (2 * tiles[there][into] if end > 0 else 0) - signs[into] * start
    if ndim == 2:
        axes[1 - into] = 1 - axis
        signs[1 - into] = -1 if reverse else 1
        shift[1 - into] = 2 * tiles[there][1 - into] if reverse else 0
    return Seam(there, Map(tuple(axes), tuple(signs), tuple(shift)))


def join(tiles: Extents, joints: Iterable[tuple[Side, Side, bool]]) -> Seams:
    """Seams in both directions."""
    seams: Seams = {}
    for side, other, reverse in joints:
        seams[side] = meeting(tiles, side, other, reverse)
        seams[other] = meeting(tiles, other, side, reverse)
    return seams


def cube(n: int) -> Seams:
    """The 24 seams of a cube's six tiles, even ones turned otherwise than odd ones."""
    joints: list[tuple[Side, Side, bool]] = []
    for t in range(0, 6, 2):
        joints.append(((t, 0, 1), ((t + 1) % 6, 0, -1), False))
        joints.append(((t, 1, 1), ((t + 2) % 6, 0, -1), True))
    for t in range(1, 6, 2):
        joints.append(((t, 1, 1), ((t + 1) % 6, 1, -1), False))
        joints.append(((t, 0, 1), ((t + 2) % 6, 1, -1), True))
    return join(((n, n),) * 6, joints)


def read_seams(given: Any, tiles: Extents, names: Sequence[str]) -> Seams:
    """Seams as users write them: (tile, "I+", other tile, "J-") and whether they run in opposite
    directions.
    """
    seams: Seams = {}
    form = "a seam is (tile, side, other tile, other side) and, if need be, reversed"
    for what, parts in read.connections(given, "seams", form):
        reverse = len(parts) == 5 and boolean(parts[4], f"{what}: reversed")
        side = read_side(parts[:2], what, tiles, names)
        other = read_side(parts[2:4], what, tiles, names)
        if len(names) == 2:
            ours, theirs = tiles[side[0]][1 - side[1]], tiles[other[0]][1 - other[1]]
            if ours != theirs:
                raise ValueError(
                    f"{what}: {parts[1]} of tile {side[0]} has {ours} cells, {parts[3]} of tile"
                    f" {other[0]} has {theirs}"
                )
        elif reverse:
            raise ValueError(
                f"{what}: the sides of tiles with one dim are points, and have no direction to"
                " reverse"
            )
        if not tiles[side[0]][side[1]] or not tiles[other[0]][other[1]]:
            raise ValueError(f"{what}: a tile has no points across the seam, and needs one")
        for one, two in ((side, other), (other, side)):
            seam = meeting(tiles, one, two, reverse)
            if seams.setdefault(one, seam) != seam:
                raise ValueError(
                    f"{what}: {names[one[1]]}{'+' if one[2] > 0 else '-'} of tile {one[0]} has"
                    " another seam already"
                )
    return seams


def read_side(given: Sequence[Any], what: str, tiles: Extents, names: Sequence[str]) -> Side:
    tile, side = integer(given[0], what, 0), given[1]
    if tile >= len(tiles):
        raise ValueError(f"{what}: there is no tile {tile}; tiles are 0 to {len(tiles) - 1}")
    if not isinstance(side, str):
        raise TypeError(
            f"{what}: a side is a name and a sign, such as {names[0] + '+'!r}, got"
            f" {type(side).__name__}"
        )
    if side[:-1] not in names or side[-1:] not in ("+", "-"):
        raise ValueError(
            f"{what}: {side!r} is no side; allowed are"
            f" {', '.join(repr(name + sign) for name in names for sign in '-+')}"
        )
    return tile, names.index(side[:-1]), 1 if side[-1] == "+" else -1
