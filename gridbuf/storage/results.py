"""What a result is: its axes, shape, halo and aligned index, for everything that makes a storage
from storages.

The domain of a result is where the domains of all operands meet. An axis that goes, or comes, or
along which elements are only counted, has no halo; an axis that keeps its elements keeps its halo.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from gridbuf.joining import intersected
from gridbuf.storage.axes import LETTERS, positions
from gridbuf.storage.halo import Halo
from gridbuf.storage.meta import Meta, meta_of

Left = tuple[tuple[int, ...], tuple[int, ...], Meta]


def joined(
    storages: list[tuple[tuple[int, ...], Meta]],
    axes: str,
    shape: tuple[int, ...],
    fields: Sequence[tuple[str, tuple[int, ...], Halo]] = (),
) -> Meta:
    """GDP-3's parameters of what storages (their shapes and metadata) broadcast to.

    `fields`: axes, shape and halo of the Fields among them, which count as the storages that share
    their memory.
    """
    operands = [(m.axes, own, m.halo, m.aligned_index) for own, m in storages]
    operands += [
        (own_axes, own, pairs, tuple(low for low, _ in pairs)) for own_axes, own, pairs in fields
    ]
    halo, aligned = [], []
    for name, size in zip(axes, shape, strict=True):
        having = [(o, o[0].index(name)) for o in operands if name in o[0]]
        # An input that is broadcast along the axis says nothing of where the domain lies.
        halo.append(
            intersected([pairs[i] for (_, own, pairs, _), i in having if own[i] == size], size)
        )
        aligned.append(max((points[i] for (*_, points), i in having), default=0))
    alignment = math.lcm(*(m.alignment for _, m in storages))
    return meta_of(axes, storages[0][1].layout, tuple(halo), tuple(aligned), alignment)


@lru_cache(maxsize=1024, typed=True)  # typed: 1.0 is no axis, and equals 1
def reduced(meta: Meta, shape: tuple[int, ...], axis: Any, keepdims: bool) -> Left:
    """The indices that go in a reduction, and shape and metadata of what is left."""
    every = axis is None or (
        not shape and axis in (0, -1)
    )  # of no axes these are all, as NumPy has it
    over = tuple(range(len(shape))) if every else positions(axis, meta.axes)
    kept = tuple(i for i in range(len(shape)) if keepdims or i not in over)
    left = meta.selected(
        kept,
        halo=tuple((0, 0) if i in over else meta.halo[i] for i in kept),
        aligned_index=tuple(0 if i in over else meta.aligned_index[i] for i in kept),
    )
    return over, tuple(1 if i in over else shape[i] for i in kept), left


def concatenated(
    parts: list[tuple[tuple[int, ...], Meta]], axis: str
) -> tuple[tuple[int, ...], Meta]:
    """Parts one after the other along an axis: the domain begins where the first part's does and
    ends where the last one's does.
    """
    axes = parts[0][1].axes
    at = axes.index(axis)
    shape = tuple(
        sum(own[m.axes.index(axis)] for own, m in parts) if i == at else n
        for i, n in enumerate(parts[0][0])
    )
    whole = joined(parts, axes, tuple(n if i != at else 1 for i, n in enumerate(shape)))
    first, last = parts[0][1], parts[-1][1]
    ends = intersected(
        [(first.halo[at][0], 0), (0, last.halo[last.axes.index(axis)][1])], shape[at]
    )
    return shape, whole.replaced(
        halo=tuple(ends if i == at else pair for i, pair in enumerate(whole.halo)),
        aligned_index=tuple(
            first.aligned_index[at] if i == at else n for i, n in enumerate(whole.aligned_index)
        ),
    )


def with_axis(
    meta: Meta, shape: tuple[int, ...], name: str, size: int
) -> tuple[tuple[int, ...], Meta]:
    """An axis more: where it stands in the order I, J, K, without a halo."""
    before = [i for i, own in enumerate(meta.axes) if LETTERS.index(own) < LETTERS.index(name)]
    at = max(before, default=-1) + 1
    return (*shape[:at], size, *shape[at:]), meta.replaced(
        axes=meta.axes[:at] + name + meta.axes[at:],
        halo=(*meta.halo[:at], (0, 0), *meta.halo[at:]),
        aligned_index=(*meta.aligned_index[:at], 0, *meta.aligned_index[at:]),
    )
