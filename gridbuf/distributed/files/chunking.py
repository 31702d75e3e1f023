"""How a field is cut for a file: so that every piece of the file has one rank that writes it, and
none is written twice.

Pieces are cut by places, of which a file has as many as an array has elements: along a staggered
axis one more than there are cells.
"""

from collections.abc import Sequence
from itertools import pairwise

from gridbuf.distributed.geometry.between_decompositions import End
from gridbuf.distributed.geometry.blocks import Decomposition, Index
from gridbuf.distributed.geometry.cuts import Cuts
from gridbuf.distributed.whole_fields.ground import Ground
from gridbuf.distributed.whole_fields.subjects import Subject


def places(ground: Ground, one: Subject, tile: int) -> Index:
    """How many places a field has along each of the grid's dims; 1 where it lacks the dim."""
    by = dict(zip(one.geometry.axes, one.geometry.positions, strict=True))
    return tuple(n + 1 - by[a] if a in by else 1 for a, n in enumerate(ground.tiles[tile]))


def cut_into(sizes: Sequence[Index], pieces: Sequence[Index]) -> list[tuple[Cuts, ...]]:
    """Each tile's axes in pieces of one size, the last of which may be smaller."""
    found = []
    for whole, piece in zip(sizes, pieces, strict=True):
        row = []
        for n, size in zip(whole, piece, strict=True):
            count = max(-(-n // size), 1)
            row.append(Cuts(n, count, [*[size] * (count - 1), n - size * (count - 1)]))
        found.append(tuple(row))
    return found


def blockwise(ground: Ground, one: Subject) -> tuple[End, list[Index]]:
    """Pieces as large as the blocks of a regular cut, each written by the rank of the block that it
    is; how large they are on each tile.
    """
    there = ground.decomposition
    extents = [places(ground, one, t) for t in range(len(ground.tiles))]
    pieces = []
    for cuts in there.cuts:
        pieces.append(
            tuple(largest(axis) if a in one.geometry.axes else 1 for a, axis in enumerate(cuts))
        )
    cut = cut_into(extents, pieces)
    owners: list[int | None] = []
    for block in Decomposition(cut, ground.size).blocks():
        index = tuple(
            min(i, count - 1)
            for i, count in zip(block.index, there.counts[block.tile], strict=True)
        )
        rank = there.rank_of(there.number_at(block.tile, index))
        owners.append(
            block.number % ground.size if rank is None else rank
        )  # land has faces, beside blocks
    end = ground.by_places(one, cut, owners)
    return end, pieces


def largest(axis: Cuts) -> int:
    """The size of a regular cut's blocks; of another the least with which as many are enough."""
    first = axis.start(1)
    if first and all(axis.start(k) == min(k * first, axis.n) for k in range(axis.count + 1)):
        return first
    return max(-(-axis.n // axis.count), 1)


def in_slabs(ground: Ground, one: Subject, dims: Sequence[str]) -> End:
    """As many slabs along the slowest dim that the grid cuts as there are ranks, so that each
    writes long runs.
    """
    along = next((ground.dims.index(dim) for dim in dims if dim in ground.dims), None)
    extents = [places(ground, one, t) for t in range(len(ground.tiles))]
    pieces = [
        tuple(
            max(-(-n // ground.size), 1) if a == along else max(n, 1) for a, n in enumerate(extent)
        )
        for extent in extents
    ]
    cut = cut_into(extents, pieces)
    tiles = pairwise(Decomposition(cut, ground.size).first)
    owners = [
        (i + t) % ground.size for t, (first, end) in enumerate(tiles) for i in range(end - first)
    ]  # each begins elsewhere
    return ground.by_places(one, cut, owners)
