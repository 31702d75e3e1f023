"""Partitions of unstructured meshes, and the values that their points get in an exchange: the
oracle is an array of the whole mesh, indexed by global index.
"""

from typing import Any, NamedTuple

import numpy as np

Ints = np.ndarray[Any, np.dtype[np.int64]]


class Mesh(NamedTuple):
    """The global indices of each block's own points, and of its halo."""

    own: list[Ints]
    halo: list[Ints]


class Mixed(NamedTuple):
    """The global indices of each block's points, and which of them are own: halo points stand
    between own points.
    """

    points: list[Ints]
    mask: list[Any]


def mixed(mesh: Mesh, seed: int = 0) -> Mixed:
    """The points of each block in an order at random."""
    rng = np.random.default_rng(seed)
    points, masks = [], []
    for own, halo in zip(*mesh, strict=True):
        order = rng.permutation(len(own) + len(halo))
        points.append(np.concatenate([own, halo])[order])
        masks.append(order < len(own))
    return Mixed(points, masks)


def random_mesh(seed: int, blocks: int, cells: int = 60) -> Mesh:
    """Cells with three neighbours each, on blocks at random; indices have gaps, and blocks may have
    no cells.
    """
    rng = np.random.default_rng(seed)
    ids = rng.permutation(10 * cells)[:cells]
    block = rng.integers(0, blocks, cells)
    neighbours = rng.integers(0, cells, (cells, 3))
    own, halo = [], []
    for b in range(blocks):
        beyond = np.unique(neighbours[block == b])
        own.append(ids[block == b])
        halo.append(rng.permutation(ids[beyond[block[beyond] != b]]))
    return Mesh(own, halo)


def torus(shape: tuple[int, int], blocks: int, seed: int = 0) -> Mesh:
    """Points of a doubly periodic plane in uneven parts, with all eight neighbours of each as halo,
    as in GHEX's own test. A block meets itself around the plane, and an index stands twice
    in a halo.
    """
    rng = np.random.default_rng(seed)
    seeds = rng.integers(0, max(shape), (blocks, 2))
    places = np.stack(np.indices(shape), axis=-1)[..., None, :]
    block = np.abs(places - seeds).sum(axis=-1).argmin(axis=-1)
    return parts(block, blocks)


# GHEX's unstructured example: 80 points of a doubly periodic plane in four uneven parts
GHEX_EXAMPLE = np.array(
    [
        [0, 0, 0, 1, 1, 1, 1, 1, 1, 1],
        [0, 0, 0, 0, 1, 1, 1, 1, 1, 1],
        [2, 0, 0, 0, 0, 1, 1, 1, 1, 1],
        [2, 2, 2, 2, 0, 1, 1, 1, 1, 1],
        [2, 2, 2, 2, 2, 1, 1, 1, 1, 1],
        [2, 2, 2, 2, 2, 1, 1, 1, 1, 1],
        [3, 3, 3, 3, 3, 3, 1, 1, 1, 1],
        [3, 3, 3, 3, 3, 3, 1, 1, 1, 1],
    ]
)


def parts(block: Ints, count: int) -> Mesh:
    """The points of a doubly periodic plane by their blocks."""
    points = windows(block, count)
    return Mesh(
        [p[m] for p, m in zip(*points, strict=True)],
        [p[~m] for p, m in zip(*points, strict=True)],
    )


def windows(block: Ints, count: int) -> Mixed:
    """The same, row by row: halo points stand between own points."""
    wide = np.pad(np.arange(block.size).reshape(block.shape), 1, "wrap")
    points, masks = [], []
    for b in range(count):
        inside = np.pad(block == b, 1)  # around the plane an own point is halo, too
        near = np.zeros_like(inside)
        for i in (-1, 0, 1):
            for j in (-1, 0, 1):
                near |= np.roll(inside, (i, j), (0, 1))
        points.append(wide[near])
        masks.append(inside[near])
    return Mixed(points, masks)


def example_values(index: Ints, block: Ints, levels: int) -> Ints:
    """What GHEX's example has in points and levels: 1000 times the owner, 10 times the index, and
    the level.
    """
    return (1000 * block.ravel()[index] + 10 * index)[:, None] + np.arange(levels)
