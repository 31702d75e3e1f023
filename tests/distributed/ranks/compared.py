"""The grids and fields that ranks exchange and one process exchanges too, to compare what both
leave.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any

import numpy as np

import gridbuf.distributed as gbd

Items = Callable[..., list[Any]]
# A grid, by how it is run; its fields; what is exchanged of them
Compared = tuple[Callable[..., gbd.Grid], list[dict[str, Any]], Items]
LAYOUTS: list[dict[str, Any]] = [
    {},
    {"backend": "gt:cpu_ifirst", "dtype": "f4"},
    {"dims": "KJI", "dtype": "i2", "padding": True},
    {"dims": "IJ", "faces": "I", "sizes": {}},
    {"dims": "JK", "dtype": "c16", "halo": 1},
]


def each(*fields: Any) -> list[Any]:
    return list(fields)


def compared(
    n: int, cuts: Iterable[tuple[int, int]], periodic: Iterable[str]
) -> Iterator[Compared]:
    """For n ranks, the plain grids in these cuts."""
    for blocks, ring, halo in product(sorted(set(cuts)), periodic, (1, ((0, 2), (3, 1)))):
        yield (
            lambda **k: gbd.grid((13, 9), blocks=blocks, periodic=ring, halo=halo, **k),  # noqa: B023
            LAYOUTS,
            each,
        )
    # Halos wider than blocks and the axis
    yield (lambda **k: gbd.grid((3, 5), blocks=(3, 1), periodic="I", halo=4, **k), LAYOUTS, each)
    land = [0, None, n - 1, 0]
    yield (
        lambda **k: gbd.grid(
            (4, 4), blocks=(2, 2), owners=land if k else [0, None, 0, 0], halo=1, **k
        ),
        LAYOUTS[:3],
        each,
    )
    yield lambda **k: gbd.cubed_sphere(6, halo=2, **k), LAYOUTS[:2], each
    yield (
        lambda **k: gbd.cubed_sphere(6, halo=2, blocks=(2, 1), **k),
        [{}, {}],
        lambda u, v: [gbd.vector(u, v)],
    )
    for pivot in "TF":
        yield (
            lambda **k: gbd.tripolar((12, 6), blocks=(n, 2), halo=2, pivot=pivot, **k),  # noqa: B023
            [{}, {"faces": "I"}, {"faces": "J", "backend": "gt:cpu_ifirst"}],
            lambda f, u, v: [gbd.scalar(f, sign=-1), gbd.vector(u, v)],
        )
    ring_of_four = [
        (i, (slice(-1, 0), slice(0, 4)), (i + 1) % 4, (slice(0, 4), slice(0, 1)), ("J", "-I"))
        for i in range(4)
    ]
    yield lambda **k: gbd.links([(4, 4)] * 4, ring_of_four, **k), [{"halo": 1}], each
    rng = np.random.default_rng(1)
    points = [
        (dst, np.arange(8, 12) + 4 * k, src, rng.permutation(8)[:4], rule)
        for dst in range(4)
        for k, src in enumerate(np.delete(np.arange(4), dst).tolist())
        for rule in ({"to": 0, "from": 1, "sign": -1}, {"to": 1, "from": 0})
    ]
    yield (
        lambda **k: gbd.links([(8,)] * 4, points, "I", halo=((0, 12),), **k),
        [{"dims": "IK"}, {"dims": "IK"}, {"dims": "KI", "dtype": "f4"}],
        lambda u, v, f: [gbd.vector(u, v), f],
    )
