"""The seams of the grids that have names, and of those that users describe: which side of which
tile meets which.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from gridbuf.distributed import arguments as read
from gridbuf.distributed.geometry.boxes import Map
from gridbuf.distributed.geometry.tiles import Seam, Side
from gridbuf.validation import boolean, integer

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
