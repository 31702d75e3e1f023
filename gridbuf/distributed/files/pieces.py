"""The pieces that a field is cut into for a file, and their checksums: by places, of which a file
has as many as an array has elements.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.distributed.geometry.blocks import Block, Cuts
from gridbuf.distributed.geometry.boxes import Index
from gridbuf.distributed.whole_fields.collective_context import Context
from gridbuf.distributed.whole_fields.field_info import FieldInfo
from gridbuf.distributed.whole_fields.reductions import of_block

AT_ONCE = 2**18  # points of one step of a checksum, which takes several times their memory


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


def checksum(
    field: _core.Field, one: FieldInfo, block: Block, head: int, parts: Any, names: Sequence[str]
) -> np.uint64:
    """Of parts of a block, a few points at a time."""
    total = 0
    for part in parts:
        rest = one.sizes.values()
        step = max(AT_ONCE // max(int(np.prod([*rest, *(b - a for a, b in part[1:])])), 1), 1)
        starts = range(part[0][0], part[0][1], step) if part else [0]
        for start in starts:
            slab = ((start, min(start + step, part[0][1])), *part[1:]) if part else part
            total += of_block(field, one.geometry.axes, block, head, [slab], names)
    return np.uint64(total % 2**64)
