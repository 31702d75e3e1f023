"""Tiles and the seams between them: where a point outside its tile lies, and which points are one.

A seam says how to go on beyond a side of a tile: x' = P x + c in doubled coordinates, x' in the
tile on the other side. Periodic axes are seams of a tile to itself that only move; a fold turns
both axes back; a cube has 24.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import NamedTuple

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

Side = tuple[int, int, int]  # tile, axis, -1 or 1
Copy = tuple[int, Map]  # the tile, and where the points lie there
EVERYWHERE = -1 << 62, 1 << 62
DEEPEST = 64  # seams crossed on the way to a point; more only when a halo wraps an axis that often


class Seam(NamedTuple):
    """What lies beyond one side of a tile."""

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
        self.tiles, self.seams, self.names = (
            tiles,
            dict(sorted(seams.items())),
            names,
        )  # sorted: all ranks walk alike
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
        """What lies at the same point in both."""
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
        """Sort the copies by who owns: what no fold has turned over, then the lowest tile, then the
        lowest coordinates.
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
