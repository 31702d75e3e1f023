"""Where the tiles are cut: as users say it, or into as many blocks as there are ranks, so that the
least is exchanged.
"""

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from gridbuf.distributed import arguments as read
from gridbuf.distributed.geometry.blocks import Decomposition, Pairs
from gridbuf.distributed.geometry.cuts import Cuts
from gridbuf.distributed.geometry.tiles import Topology
from gridbuf.validation import integer

CutTiles = list[tuple[Cuts, ...]]


def factors(count: int, ndim: int) -> Iterator[tuple[int, ...]]:
    """Every way to write count as a product of ndim numbers, the largest first number first."""
    if ndim == 1:
        yield (count,)
        return
    for first in sorted(
        {d for k in range(1, int(count**0.5) + 1) if count % k == 0 for d in (k, count // k)},
        reverse=True,
    ):
        for rest in factors(count // first, ndim - 1):
            yield (first, *rest)


def exchanged(
    shape: Sequence[int],
    blocks: Sequence[int],
    halo: Sequence[tuple[int, int]],
    periodic: Sequence[bool],
) -> int:
    """Points that all blocks together receive from others, corners counted once for each side."""
    total = 0
    for axis, count in enumerate(blocks):
        borders = count - 1 + (periodic[axis] and count > 1)
        total += (
            borders
            * sum(halo[axis])
            * prod(
                m + (k - 1) * sum(halo[i])
                for i, (m, k) in enumerate(zip(shape, blocks, strict=True))
                if i != axis
            )
        )
    return total


def best_cut(
    shape: Sequence[int], count: int, halo: Sequence[tuple[int, int]], periodic: Sequence[bool]
) -> tuple[int, ...]:
    """The cut into `count` blocks that exchanges least; one that leaves a block without points only
    where there is no other.
    """
    widths = [pair if any(pair) else (1, 1) for pair in halo]
    return min(
        factors(count, len(shape)),
        key=lambda blocks: (
            sum(k > max(n, 1) for n, k in zip(shape, blocks, strict=True)),
            exchanged(shape, blocks, widths, periodic),
        ),
    )


def cut(
    topology: Topology,
    cyclic: Sequence[bool],
    halo: Pairs,
    blocks: Any,
    cuts: Any,
    owners: Any,
    size: int,
) -> Decomposition:
    """The blocks of each tile and their owners."""
    tiles = topology.tiles
    if blocks is not None and cuts is not None:
        raise ValueError("cuts: blocks was given as well; one of them says where the grid is cut")
    if cuts is not None:
        cut_tiles = read_cuts(cuts, topology)
    elif blocks is not None:
        cut_tiles = evenly(tiles, [read_blocks(blocks, topology.ndim)] * len(tiles))
    elif owners is not None:
        raise ValueError("owners: they are of blocks; give blocks or cuts as well")
    else:
        cut_tiles = evenly(
            tiles, [best_cut(tile, -(-size // len(tiles)), halo, cyclic) for tile in tiles]
        )
    total = sum(prod(axis.count for axis in tile) for tile in cut_tiles)
    return Decomposition(
        cut_tiles, size, None if owners is None else read_owners(owners, total, size)
    )


def evenly(tiles: Sequence[Sequence[int]], blocks: Sequence[Sequence[int]]) -> CutTiles:
    """Each tile cut into so many blocks along each axis."""
    return [
        tuple(Cuts(n, count) for n, count in zip(tile, counts, strict=True))
        for tile, counts in zip(tiles, blocks, strict=True)
    ]


def read_blocks(blocks: Any, ndim: int) -> tuple[int, ...]:
    """How many blocks along each axis; of one axis a number alone."""
    one = ndim == 1 and not hasattr(blocks, "__iter__")
    given = [blocks] if one else read.entries(blocks, "blocks", ndim, "the grid's dims are")
    return tuple(integer(n, "blocks", 1) for n in given)


def read_cuts(cuts: Any, topology: Topology) -> CutTiles:
    """The sizes of the blocks along each axis, the same on all tiles."""
    lists = [
        [integer(n, "cuts", 0) for n in read.entries(each, "cuts")]
        for each in read.entries(cuts, "cuts", topology.ndim, "the grid's dims are")
    ]
    for axis, (name, sizes) in enumerate(zip(topology.names, lists, strict=True)):
        if not sizes:
            raise ValueError(f"cuts: none along {name}; at least one block is needed")
        for tile in topology.tiles:
            if sum(sizes) != tile[axis]:
                raise ValueError(
                    f"cuts: {sizes} along {name} are {sum(sizes)} points, the grid has {tile[axis]}"
                )
    return [
        tuple(Cuts(n, len(sizes), sizes) for n, sizes in zip(tile, lists, strict=True))
        for tile in topology.tiles
    ]


def read_owners(owners: Any, total: int, size: int) -> list[int | None]:
    found = [
        None if rank is None else integer(rank, "owners", 0)
        for rank in read.entries(owners, "owners", total, "the blocks are")
    ]
    for rank in found:
        if rank is not None and rank >= size:
            raise ValueError(f"owners: there is no rank {rank}; ranks are 0 to {size - 1}")
    return found
