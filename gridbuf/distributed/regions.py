"""Parts of a field on a block: which points no halo reaches, which lie at its rim, and where they
are on the grid.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from gridbuf import _core
from gridbuf.distributed.geometry.blocks import Block

Spans = list[tuple[int, int]]


def spans(field: _core.Field, names: Sequence[str]) -> tuple[Spans, Spans]:
    """The domain of a field along each of its dims, and what of it no halo reaches: a stencil as
    wide as the halo stays within.
    """
    domain, core = [], []
    for dim, n, (low, high) in zip(
        field.dims, field.shape, field.halo or ((0, 0),) * field.ndim, strict=True
    ):
        domain.append((low, n - high))
        if dim in names:
            first = min(2 * low, n - high)
            core.append((first, max(first, n - 2 * high)))
        else:
            core.append((low, n - high))
    return domain, core


def cut_out(field: _core.Field, box: Spans) -> _core.Field:
    part: _core.Field = field[tuple(slice(*span) for span in box)]
    return part


def around(field: _core.Field, names: Sequence[str]) -> Iterator[_core.Field]:
    """The domain without its core, in slabs that do not overlap; none without points."""
    domain, core = spans(field, names)
    box = list(domain)
    for axis, (first, last) in enumerate(core):
        for span in ((box[axis][0], first), (last, box[axis][1])):
            part = [*box[:axis], span, *box[axis + 1 :]]
            if all(start < stop for start, stop in part):
                yield cut_out(field, part)
        box[axis] = first, last


def coordinates(
    field: _core.Field, block: Block, names: Sequence[str]
) -> dict[str, NDArray[np.int64]]:
    """The index on the grid of every point along each dim, halo included: below 0 and beyond the
    end they go on.
    """
    found = {}
    for dim, n, (low, _) in zip(
        field.dims, field.shape, field.halo or ((0, 0),) * field.ndim, strict=True
    ):
        start = block.start[names.index(dim)] if dim in names else 0
        found[dim] = np.arange(start - low, start - low + n)
    return found
