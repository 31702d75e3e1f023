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
    """Points of a doubly periodic plane in uneven parts, with all eight neighbours of each as halo:
    the case of GHEX's own test. A block meets itself around the plane, and an index stands twice
    in a halo.
    """
    rng = np.random.default_rng(seed)
    number = np.arange(shape[0] * shape[1]).reshape(shape)
    wide = np.pad(number, 1, "wrap")
    seeds = rng.integers(0, max(shape), (blocks, 2))
    places = np.stack(np.indices(shape), axis=-1)[..., None, :]
    block = np.abs(places - seeds).sum(axis=-1).argmin(axis=-1)
    own, halo = [], []
    for b in range(blocks):
        inside = np.pad(block == b, 1)
        near = np.zeros_like(inside)
        for i in (-1, 0, 1):
            for j in (-1, 0, 1):
                near |= np.roll(inside, (i, j), (0, 1))
        own.append(number[block == b])
        halo.append(wide[near & ~inside])  # around the plane an own point is halo, too
    return Mesh(own, halo)
