"""How many blocks along each axis: as many in all as there are ranks, so that the least is exchanged."""

from collections.abc import Iterator, Sequence
from math import prod


def factors(count: int, ndim: int) -> Iterator[tuple[int, ...]]:
    """Every way to write count as a product of ndim numbers, the largest first number first."""
    if ndim == 1:
        yield (count,)
        return
    for first in sorted({d for k in range(1, int(count**0.5) + 1) if count % k == 0 for d in (k, count // k)}, reverse=True):
        for rest in factors(count // first, ndim - 1):
            yield (first, *rest)


def exchanged(shape: Sequence[int], blocks: Sequence[int], halo: Sequence[tuple[int, int]], periodic: Sequence[bool]) -> int:
    """Points that all blocks together receive from others, corners counted once for each side."""
    total = 0
    for axis, count in enumerate(blocks):
        borders = count - 1 + (periodic[axis] and count > 1)
        total += (
            borders
            * sum(halo[axis])
            * prod(m + (k - 1) * sum(halo[i]) for i, (m, k) in enumerate(zip(shape, blocks, strict=True)) if i != axis)
        )
    return total


def best_cut(shape: Sequence[int], count: int, halo: Sequence[tuple[int, int]], periodic: Sequence[bool]) -> tuple[int, ...]:
    """The cut into `count` blocks that exchanges least; one that leaves a block without points only where there is no other."""
    widths = [pair if any(pair) else (1, 1) for pair in halo]
    return min(
        factors(count, len(shape)),
        key=lambda blocks: (
            sum(k > max(n, 1) for n, k in zip(shape, blocks, strict=True)),
            exchanged(shape, blocks, widths, periodic),
        ),
    )
