"""Cells of the cubed sphere that gbd.cubed_sphere cuts: where they lie, how large they are, and
what a gradient makes of their neighbours. shallow_water_sphere.py computes on them.
"""

from typing import Any

import numpy as np

# Centre of each tile, and where its I and J go there: as gbd.cubed_sphere numbers and turns them.
X, Y, Z = np.eye(3)
TILES = ((X, Y, Z), (Y, -X, Z), (Z, -X, -Y), (-X, -Z, -Y), (-Y, -Z, X), (-Z, Y, X))
INNER = np.s_[1:-1, 1:-1]  # without the halo of one
LOW = {"I": np.s_[:-1, 1:-1], "J": np.s_[1:-1, :-1]}  # the cells before each face
HIGH = {"I": np.s_[1:, 1:-1], "J": np.s_[1:-1, 1:]}  # and those behind


def dot(a: Any, b: Any) -> Any:
    """Along the last axis, in this order for arrays of every shape."""
    return a[..., 0] * b[..., 0] + a[..., 1] * b[..., 1] + a[..., 2] * b[..., 2]


def unit(a: np.ndarray) -> np.ndarray:
    return a / np.sqrt(dot(a, a))[..., None]


def around(f: np.ndarray) -> list[np.ndarray]:
    """The four neighbours of each cell."""
    return [f[:-2, 1:-1], f[2:, 1:-1], f[1:-1, :-2], f[1:-1, 2:]]


class Geometry:
    """Of a block on the unit sphere: cut out of the whole tile's, so that no cut changes a bit."""

    def __init__(self, n: int, block: Any) -> None:
        centre, along_i, along_j = TILES[block.tile]
        t = np.tan((np.arange(2 * n + 1) / (2 * n) - 0.5) * (np.pi / 2))  # corners and middles
        points = unit(centre + t[:, None, None] * along_i + t[:, None] * along_j)
        angle = np.arctan2(np.outer(t, t), np.sqrt(1 + t[:, None] ** 2 + t**2))[::2, ::2]
        area = angle[1:, 1:] - angle[:-1, 1:] - angle[1:, :-1] + angle[:-1, :-1]
        corners = points[::2, ::2]
        i, j = map(slice, block.start, block.stop)
        faces_i, faces_j = slice(i.start, i.stop + 1), slice(j.start, j.stop + 1)
        self.area, self.centre = (area / (4 * np.pi / (6 * n * n)))[i, j], points[1::2, 1::2][i, j]
        self.middle = {"I": points[::2, 1::2][faces_i, j], "J": points[1::2, ::2][i, faces_j]}
        self.normal = {  # as long as the face
            "I": np.cross(corners[:, 1:], corners[:, :-1])[faces_i, j],
            "J": np.cross(corners[:-1], corners[1:])[i, faces_j],
        }

    def find_weights(self, centres: np.ndarray) -> None:
        """Of the four neighbours in a gradient by least squares; the halo has their centres."""
        away = [each - self.centre for each in around(centres)]
        one = unit(away[1] - dot(away[1], self.centre)[..., None] * self.centre)
        two = np.cross(self.centre, one)  # these two span the tangent plane
        a, b = (np.stack([dot(each, axis) for each in away]) for axis in (one, two))
        aa, ab, bb = (p[0] + p[1] + p[2] + p[3] for p in (a * a, a * b, b * b))
        a, b = (bb * a - ab * b) / (aa * bb - ab * ab), (aa * b - ab * a) / (aa * bb - ab * ab)
        self.weights = a[..., None] * one + b[..., None] * two
