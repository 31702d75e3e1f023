"""The links of NDSL's partitioners: every halo and every shared edge is filled from where NDSL's
own updaters fill it.

A rank is a block, and a tile of its own; NDSL's boundaries say what lies beside it.
"""

from collections.abc import Sequence
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np
from ndsl import constants
from ndsl.halo.rotate import rotate_scalar_data

from gridbuf.distributed.factories import engine_of, on_all_ranks
from gridbuf.distributed.geometry.blocks import Block, Cuts, Decomposition
from gridbuf.distributed.geometry.boxes import Index, Map
from gridbuf.distributed.geometry.linking import BY_BLOCKS, Geometry, Link, LinkBuilder
from gridbuf.distributed.geometry.tiles import Topology
from gridbuf.distributed.grid import Grid

# NDSL's names, which older versions have in the letters X and Y: of faces (0), of centres (1).
NAMES = tuple(
    tuple(
        getattr(constants, f"{new}{end}", None) or getattr(constants, f"{old}{end}")
        for end in ("_INTERFACE_DIM", "_DIM")
    )
    for new, old in (("I", "X"), ("J", "Y"))
)
HIGH = constants.EAST, constants.NORTH
LOW = constants.WEST, constants.SOUTH
HORIZONTAL = 0, 1


@lru_cache
def turned(rotations: int) -> tuple[Index, Index]:
    """How NDSL rotates what it sends: which axis of the destination each axis of the source runs
    along, and in which direction.
    """
    dims = tuple(name[1] for name in NAMES)
    come = [rotate_scalar_data(each, dims, np, -rotations) for each in np.indices((2, 2))]
    axes, signs = [], []
    for each in come:
        steps = [int(each[1, 0] - each[0, 0]), int(each[0, 1] - each[0, 0])]
        axis = 0 if steps[0] else 1
        axes.append(axis)
        signs.append(steps[axis])
    return tuple(axes), tuple(signs)


class NDSLLinks(LinkBuilder):
    """The links between the ranks of a partitioner."""

    def __init__(self, topology: Topology, decomposition: Decomposition, partitioner: Any) -> None:
        super().__init__(topology, decomposition)
        self.straight = False
        self._partitioner = partitioner
        self._beside = lru_cache(maxsize=64)(self._find_beside)

    def _find_beside(self, rank: int) -> list[tuple[int, int, Any]]:
        """The kinds of a rank's boundaries, the ranks beyond, and the boundaries."""
        found = [
            (kind, self._partitioner.boundary(kind, rank)) for kind in constants.BOUNDARY_TYPES
        ]
        return [
            (kind, int(boundary.to_rank), boundary)  # NDSL has NumPy's integers, too
            for kind, boundary in found
            if boundary is not None
        ]

    def _pairs(self, rank: int, source: int | None) -> list[tuple[int, int, Any, int, Any]]:
        """The boundaries of a rank, each with the one that leads back. Where two ranks share
        several, the first goes with the first, as in NDSL's messages.
        """
        found, seen = [], dict[int, int]()
        for kind, there, boundary in self._beside(rank):
            nth = seen[there] = seen.get(there, -1) + 1
            if source is None or there == source:
                back = [each for each in self._beside(there) if each[1] == rank]
                found.append((kind, there, boundary, back[nth][0], back[nth][2]))
        return found

    def crossings(self, axes: Index) -> list[tuple[str, Map]]:
        if axes != HORIZONTAL:
            return []
        found: dict[Map, str] = {}
        for block in self.decomposition.blocks():
            for _, there, boundary in self._beside(block.number):
                how = Map(*turned(boundary.n_clockwise_rotations), (0, 0))
                if not how.moves_only:
                    what = f"the way from rank {block.number} to rank {there}"
                    found.setdefault(how, what)
        return [(where, how) for how, where in found.items()]

    def check_width(self, geometry: Geometry, field: str) -> None:
        """NDSL's slices refuse what is too wide."""

    def filling(
        self, geometry: Geometry, block: Block, corners: bool = True, source: Block | None = None
    ) -> list[Link]:
        links = []
        for kind, there, boundary, _, back in self._pairs(
            block.number, None if source is None else source.number
        ):
            if not corners and kind in constants.CORNER_BOUNDARY_TYPES:
                continue
            axes, signs = turned(back.n_clockwise_rotations)
            width = geometry.halos[0][0]
            to = boundary.recv_slice(self._described(block.number, geometry.positions, width))
            positions = [geometry.positions[axis] for axis in axes]
            come = back.send_slice(self._described(there, positions, width))
            links.append(
                Link(
                    block.number,
                    there,
                    tuple([each.start - width for each in to]),
                    tuple([each.stop - each.start for each in to]),
                    tuple(
                        [
                            (each.start if sign > 0 else each.stop - 1) - width
                            for each, sign in zip(come, signs, strict=True)
                        ]
                    ),
                    axes,
                    signs,
                )
            )
        return sorted(links, key=BY_BLOCKS)

    def _described(self, rank: int, positions: Sequence[int], width: int) -> Any:
        """A field of a rank as NDSL's boundaries read it."""
        extent = tuple([n + 1 - p for n, p in zip(self.whole.tiles[rank], positions, strict=True)])
        return SimpleNamespace(
            n_points=width,
            dims=tuple([names[p] for names, p in zip(NAMES, positions, strict=True)]),
            origin=(width, width),
            extent=extent,
            shape=tuple([n + 2 * width for n in extent]),
        )

    def synchronising(self, geometry: Geometry, block: Block, corners: bool = True) -> list[Link]:
        """The links into the north and east edges of a vector on interfaces, each from the south or
        west edge that is the same.
        """
        links = []
        for kind, there, _, theirs, back in self._pairs(block.number, None):
            if kind not in HIGH or theirs not in LOW:
                continue
            across = HIGH.index(kind)
            if geometry.positions[across]:
                continue
            axes, signs = turned(back.n_clockwise_rotations)
            at, shape = [0, 0], list(self.whole.tiles[block.number])
            at[across], shape[across] = shape[across], 1
            source_at = [
                0 if sign > 0 or axis == across else n - 1
                for axis, sign, n in zip(axes, signs, self.whole.tiles[there], strict=True)
            ]
            links.append(
                Link(
                    block.number,
                    there,
                    tuple(at),
                    tuple(shape),
                    tuple(source_at),
                    axes,
                    signs,
                )
            )
        return sorted(links, key=BY_BLOCKS)

    def near(self, geometry: Geometry, block: Block, synchronised: bool = False) -> set[int]:
        return {block.number} | {there for _, there, _ in self._beside(block.number)}


@on_all_ranks
def grid_of(partitioner: Any, tiles: tuple[Index, ...], *, comm: Any = None) -> Grid:
    """The grid of a partitioner's ranks, whose shapes are these."""
    engine = engine_of(comm, None, None, None)
    names = ("I", "J")
    topology = Topology(tiles, {}, names)
    cuts = [tuple(Cuts(n, 1) for n in tile) for tile in tiles]
    builder = NDSLLinks(topology, Decomposition(cuts, engine.size), partitioner)
    engine.serve(builder)
    return Grid(builder, (), ((0, 0),) * 2, engine, comm, None)
