"""The pieces that a field is cut into for a file: by places, of which a file has as many as an
array has elements.
"""

from collections.abc import Sequence

from gridbuf.distributed.geometry.blocks import Block, Cuts
from gridbuf.distributed.geometry.boxes import Index
from gridbuf.distributed.whole_fields.collective_context import Context
from gridbuf.distributed.whole_fields.field_info import FieldInfo


def places(context: Context, one: FieldInfo, tile: int) -> Index:
    """How many places a field has along each of the grid's dims; 1 where it lacks the dim."""
    by = dict(zip(one.geometry.axes, one.geometry.positions, strict=True))
    return tuple(n + 1 - by[a] if a in by else 1 for a, n in enumerate(context.tiles[tile]))


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


def box_of(block: Block, names: Sequence[str], dims: Sequence[str], shape: Index) -> list[slice]:
    """The slices of a tile that an array with a block's points fills, along these dims."""
    starts = dict(zip(names, block.start, strict=True))
    return [
        slice(start := starts.get(dim, 0), start + n) for dim, n in zip(dims, shape, strict=True)
    ]
