"""What the halos of folded grids and of cubed spheres hold, point by point."""

from collections.abc import Callable
from itertools import permutations, product
from typing import Any

import numpy as np
from oracle import Axes, Point, Where, units

import gridbuf as gb
import gridbuf.distributed as gbd

# A, C, D and B grids: positions of u and v
STAGGERED = [((1, 1), (1, 1)), ((0, 1), (1, 0)), ((1, 0), (0, 1)), ((0, 0), (0, 0))]


def tripolar(shape: Point, pivot: str) -> tuple[Where, Callable[[int, Point], bool]]:
    n, rows = 2 * shape[0], 2 * shape[1]
    line, around = {"F": (rows, n), "T": (rows - 1, 2)}[pivot]

    def where(tile: int, x: Point) -> tuple[Any, Axes] | None:
        (i, j), turned = x, 1
        if j > line:
            i, j, turned = around - i, 2 * line - j, -1
        if j < 0:
            return None
        i %= n
        if j == line and (around - i) % n < i:
            i, turned = (around - i) % n, -turned
        return (i, j), units(2, turned)

    return where, lambda tile, x: x[1] > line


def made(grid: gbd.Grid, positions: tuple[int, ...], **keywords: Any) -> list[Any]:
    fields = grid.zeros(
        faces=[dim for dim, p in zip(grid.dims, positions, strict=True) if p == 0], **keywords
    )
    return [fields] if isinstance(fields, gb.Field) else [*fields]


def on_cube(n: int) -> tuple[Where, dict[int, tuple[Any, Any, Any]]]:
    """Where tiles lie in space, found from what is said of their edges alone: origins and axes on a
    cube of side 2n.
    """
    frames = []
    for i, j in permutations(range(3), 2):
        for si, sj, side in product((1, -1), (1, -1), (0, 2 * n)):
            a, b, o = np.zeros(3, int), np.zeros(3, int), np.zeros(3, int)
            a[i], b[j] = si, sj
            o[i], o[j], o[3 - i - j] = 2 * n * (si < 0), 2 * n * (sj < 0), side
            out = np.zeros(3, int)
            out[3 - i - j] = 1 if side else -1
            if (np.cross(a, b) == out).all():  # seen from outside, J is to the left of I
                frames.append((o, a, b))
    assert len(frames) == 24
    tiles = {0: frames[0]}
    while len(tiles) < 6:
        for t, frame in [*tiles.items()]:
            edges = [(2 * n, s) for s in range(2 * n + 1)], [(s, 2 * n) for s in range(2 * n + 1)]
            if t % 2 == 0:
                theirs = [
                    ((t + 1) % 6, [(0, s) for _, s in edges[0]]),
                    ((t + 2) % 6, [(0, 2 * n - s) for s, _ in edges[1]]),
                ]
            else:
                theirs = [
                    ((t + 2) % 6, [(2 * n - s, 0) for _, s in edges[0]]),
                    ((t + 1) % 6, [(s, 0) for s, _ in edges[1]]),
                ]
            for ours, (other, points) in zip(edges, theirs, strict=True):
                want = [at(frame, p) for p in ours]
                fit = [
                    each
                    for each in frames
                    if [at(each, p) for p in points] == want and normal(each) != normal(frame)
                ]
                assert len(fit) == 1
                assert other not in tiles or all(
                    (a == b).all() for a, b in zip(tiles[other], fit[0], strict=True)
                )
                tiles[other] = fit[0]
    assert len({normal(frame) for frame in tiles.values()}) == 6

    def where(tile: int, x: Point) -> tuple[Any, Axes] | None:
        frame = tiles[tile]
        _, a, b = frame
        out, down = [not 0 <= c <= 2 * n for c in x], -np.array(normal(frame))
        if all(out):
            return None  # at a corner three tiles meet
        edge = tuple(min(max(c, 0), 2 * n) for c in x)
        point, axes = np.array(at(frame, edge)), [a, b]
        for d in range(2):
            if out[d]:
                beyond = x[d] - edge[d]
                point = point + abs(beyond) * down  # over the edge, and down the next side
                axes[d] = down if beyond > 0 else -down
        return tuple(point.tolist()), tuple(across(n, point, each) for each in axes)

    return where, tiles


def across(n: int, point: Any, direction: Any) -> Point:
    """A direction at a point of the surface. Over an edge two of them are one: up to the edge on
    one side, and down on the next.

    At a corner of the cube no direction means anything.
    """
    normals = [d for d in range(3) if point[d] in (0, 2 * n)]
    if len(normals) == 3:
        return (0, 0, 0)
    d = int(np.flatnonzero(direction)[0])
    if len(normals) == 2 and d in normals:
        out = [1 if point[k] else -1 for k in normals]
        towards = out[1] * direction[d] if d == normals[1] else -out[0] * direction[d]
        return (7 * int(towards), 0, 0)  # unlike any direction in space
    return tuple(int(c) for c in direction)


def at(frame: Any, x: Point) -> Point:
    o, a, b = frame
    return tuple((o + x[0] * a + x[1] * b).tolist())


def normal(frame: Any) -> Point:
    return tuple(np.cross(frame[1], frame[2]).tolist())
