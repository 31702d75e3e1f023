"""Tiles and the seams between them: where a point outside its tile lies, and which points are one.

A seam says how to go on beyond a side of a tile: x' = P x + c in doubled coordinates, x' in the tile on the other side.
Periodic axes are seams of a tile to itself that only move; a fold turns both axes back; a cube has 24.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import NamedTuple

from gridbuf.distributed.boxes import Box, Map, clip, compare, identity, intersect, is_empty, subtract

Side = tuple[int, int, int]  # tile, axis, -1 or 1
Copy = tuple[int, Map]  # the tile, and where the points lie there
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
    """Extents of tiles, and the seam at each side that has one."""

    def __init__(self, tiles: tuple[tuple[int, ...], ...], seams: Mapping[Side, Seam], names: tuple[str, ...]) -> None:
        self.tiles, self.seams, self.names = tiles, dict(sorted(seams.items())), names  # sorted: all ranks walk alike
        self.ndim = len(names)
        self.here = identity(self.ndim)
        self._strips: list[list[tuple[int, int, int, Seam]]] = [[] for _ in tiles]
        self._folds: list[list[tuple[int, int]]] = [[] for _ in tiles]
        for (tile, axis, side), seam in self.seams.items():
            self._strips[tile].append(self._strip(axis, seam))
            if self._is_fold(tile, axis, side):
                self._folds[tile].append((axis, seam.map.shift[axis]))

    def _is_fold(self, tile: int, axis: int, side: int) -> bool:
        there, how = self.seams[tile, axis, side]
        return there == tile and how.axes[axis] == axis and how.signs[axis] < 0 and side > 0

    def _strip(self, axis: int, seam: Seam) -> tuple[int, int, int, Seam]:
        """Between which x of an axis points of a tile lie on the other side's tile as well."""
        other = seam.map.axes.index(axis)
        sign, shift, n = seam.map.signs[other], seam.map.shift[other], 2 * self.tiles[seam.tile][other]
        low, high = sorted((sign * -shift, sign * (n - shift)))
        return axis, low, high, seam

    def name_of(self, side: Side) -> str:
        """A seam as errors call it."""
        tile, axis, sign = side
        there = self.seams[side].tile
        return f"the {self.names[axis]}{'+' if sign > 0 else '-'} edge of tile {tile} (to tile {there})"

    # ---- points outside a tile ----

    def trace(self, tile: int, box: Box, depth: int = 0) -> list[Piece]:
        """Where the points of a box in a tile's coordinates lie; those beyond an edge without seam lie nowhere.

        Points outside along several axes are followed through the seams in every order; those lie somewhere for which
        all orders lead to one point. At a vertex of a cube they do not.
        """
        sides = []
        for axis, n in enumerate(self.tiles[tile]):
            low, high = box[axis]
            sides.append([
                side
                for side, first, last in ((-1, low, min(high, -1)), (0, max(low, 0), min(high, 2 * n)), (1, max(low, 2 * n + 1), high))
                if first + ((first ^ low) & 1) <= last
            ])  # fmt: skip
        found: list[Piece] = []
        for where in product(*sides):
            part = box
            for axis, side in enumerate(where):
                n = 2 * self.tiles[tile][axis]
                if side < 0:
                    part = clip(part, axis, part[axis][0], -1)
                elif side > 0:
                    part = clip(part, axis, n + 1, part[axis][1])
                else:
                    part = clip(part, axis, 0, n)
            if not any(where):
                found.append(Piece(part, tile, self.here))
            else:
                found += self._beyond(tile, part, [(tile, axis, side) for axis, side in enumerate(where) if side], depth)
        return found

    def _beyond(self, tile: int, box: Box, outside: list[Side], depth: int) -> list[Piece]:
        if depth > DEEPEST:
            raise ValueError(f"halo: it crosses more than {DEEPEST} seams of tile {tile}")
        if any(side not in self.seams for side in outside):
            return []
        if all(self.seams[side].map.moves_only and self.seams[side].tile == tile for side in outside):
            outside = outside[:1]  # moves along axes of one tile may be made in any order
        agreed: list[Piece] | None = None
        for side in outside:
            there, how = self.seams[side]
            pieces = [Piece(how.back(p.box), p.tile, p.map.after(how)) for p in self.trace(there, how.of(box), depth + 1)]
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

    # ---- points that exist more than once ----

    def copies(self, tile: int, box: Box) -> Iterator[tuple[Box, list[Copy]]]:
        """Parts of a box within a tile, and all places where their points exist: the owner's first."""
        if not any(is_empty(clip(box, axis, low, high)) is False for axis, low, high, _ in self._strips[tile]):
            yield box, [(tile, self.here)]
            return
        for part, copies in self._closure(box, [(tile, self.here)], 0):
            yield from self._ranked(part, copies)

    def _closure(self, box: Box, known: list[Copy], i: int) -> Iterator[tuple[Box, list[Copy]]]:
        """Follow every seam from each known copy: a point of the tile on its strip exists on the other side too."""
        if i == len(known):
            yield box, known
            return
        tile, how = known[i]
        parts = [(box, known)]
        for axis, low, high, seam in self._strips[tile]:
            on = []
            for part, copies in parts:
                image = how.of(part)
                strip = clip(image, axis, low, high)
                if is_empty(strip):
                    on.append((part, copies))
                    continue
                rest = [strip]
                for piece in self.trace(seam.tile, seam.map.of(strip)):
                    there = seam.map.back(piece.box)
                    rest = [left for each in rest for left in subtract(each, there)]
                    mine, copy = how.back(there), (piece.tile, piece.map.after(seam.map).after(how))
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
                for d in range(self.ndim):
                    f, g = (tuple(row[d] for row in each) for each in (how, copy[1]))
                    same = [piece for each in same for piece, sign in compare(each, f, g) if sign == 0]  # type: ignore[arg-type]
                for piece in same:
                    yield piece
                    rest = [left for each in rest for left in subtract(each, piece)]

    def _ranked(self, box: Box, copies: list[Copy]) -> Iterator[tuple[Box, list[Copy]]]:
        """Sort the copies by who owns: what no fold has turned over, then the lowest tile, then the lowest coordinates."""
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
            for piece, rest in self._ranked(part, copies[:best] + copies[best + 1 :]):
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
                for d in range(self.ndim):
                    f, g = (tuple(row[d] for row in each[1]) for each in (a, b))
                    found = [one for each in equal for one in compare(each, f, g)]  # type: ignore[arg-type]
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
                (piece, int(over or sign > 0)) for part, over in parts for piece, sign in compare(part, linear, (0, 0, twice))
            ]
        yield from parts
