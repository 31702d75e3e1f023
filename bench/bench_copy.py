"""Copies and fills: transposed, contiguous, small and converted, against np.copyto."""

import math
from collections.abc import Sequence

from measure import Case, measure

# shape, dtype, the source's axes in the order in which the target's memory has them, what it stands
# for
TRANSPOSED: list[tuple[tuple[int, ...], str, Sequence[int], str]] = [
    ((256, 256, 80), "f8", (2, 1, 0), "a model's field, powers of two"),
    ((250, 260, 80), "f8", (2, 1, 0), "a model's field"),
    ((256, 256, 256), "f8", (2, 1, 0), "every stride a power of two"),
    ((510, 515, 80), "f8", (2, 1, 0), "168 MB"),
    ((64, 64, 64), "f8", (2, 1, 0), "in the cache, powers of two"),
    ((60, 50, 40), "f4", (2, 1, 0), "in the cache"),
    ((256, 128, 64), "f4", (1, 2, 0), "axes rotated"),
    ((300, 200, 100), "i2", (2, 1, 0), "two bytes an element"),
    ((128, 128, 64, 4), "f8", (3, 2, 1, 0), "4-D, powers of two"),
    ((90, 100, 80, 5), "f4", (3, 1, 0, 2), "4-D, axes mixed"),
]

# Larger than the caches of a core
LARGE = [case for case in TRANSPOSED if "in the cache" not in case[3]]

SETUP = """
import numpy as np, gridbuf as gb

def pair(shape, dtype, order, to=None):
    src = np.random.default_rng(0).integers(0, 99, shape).astype(dtype)
    return np.zeros([shape[i] for i in order], to or dtype).transpose(np.argsort(order)), src

# memory that begins so many bytes into a cache line, with the strides of an array
def at(offset, like):
    memory = np.zeros(like.nbytes + 128, np.uint8)
    start = -memory.__array_interface__["data"][0] % 64 + offset
    return np.ndarray(like.shape, like.dtype, memory, start, like.strides)

def flat(nbytes):
    return np.zeros(nbytes // 8), np.ones(nbytes // 8)
"""


def _setup(shape: tuple[int, ...], dtype: str, order: Sequence[int], to: str | None = None) -> str:
    return (
        SETUP
        + f"dst, src = pair({shape}, {dtype!r}, {tuple(order)}, {to!r})\n"
        + "flat_dst, flat_src = flat(src.nbytes)\n"
    )


def _number(shape: tuple[int, ...]) -> int:
    return max(1, 10_000_000 // math.prod(shape) // 4)


def _against(
    peer: str,
    target: float,
    rounds: int,
    cases: list[tuple[tuple[int, ...], str, Sequence[int], str]],
) -> list[Case]:
    return [
        Case(
            f"{'x'.join(map(str, shape))} {dtype} to {''.join(map(str, order))}, {meaning}",
            "gb.copyto(dst, src)",
            peer,
            _setup(shape, dtype, order),
            target,
            faster=True,
            rounds=rounds,
            number=_number(shape),
        )
        for shape, dtype, order, meaning in cases
    ]


def _torch() -> list[Case]:
    """torch on two threads, where it is installed."""
    try:
        import torch  # noqa: F401
    except ImportError:
        return []
    setup = SETUP + "import torch\ndst, src = pair((250, 260, 80), 'f8', (2, 1, 0))\n"
    setup += "t_dst, t_src = torch.from_numpy(dst), torch.from_numpy(src)\n"
    return [
        Case(
            "250x260x80 f8, torch / gb",
            "gb.copyto(dst, src)",
            "t_dst.copy_(t_src)",
            setup,
            1.5,
            faster=True,
            rounds=7,
        )
    ]


CASES = [
    *_against("np.copyto(dst, src)", 3.0, 5, TRANSPOSED),
    Case(
        "256x256x80 f8 to 210, into memory 16 bytes off a cache line / on one",
        "gb.copyto(off, src)",
        "gb.copyto(on, src)",
        _setup((256, 256, 80), "f8", (2, 1, 0)) + "off, on = at(16, dst), at(0, dst)\n",
        1.15,
        number=1,
    ),
    *_torch(),
    Case(
        "contiguous, 42 MB",
        "gb.copyto(flat_dst, flat_src)",
        "np.copyto(flat_dst, flat_src)",
        _setup((256, 256, 80), "f8", (0, 1, 2)),
        1.15,
        faster=True,
        number=1,
    ),
    Case(
        "contiguous, 168 MB",
        "gb.copyto(flat_dst, flat_src)",
        "np.copyto(flat_dst, flat_src)",
        _setup((512, 512, 80), "f8", (0, 1, 2)),
        1.15,
        faster=True,
        rounds=11,
        number=1,
    ),
    Case(
        "(8,8,8) transposed / np.copyto",
        "gb.copyto(dst, src)",
        "np.copyto(dst, src)",
        _setup((8, 8, 8), "f8", (2, 1, 0)),
        1.3,
    ),
    Case(
        "f4 to f8 with relayout, 250x260x80",
        "gb.copyto(dst, src)",
        "np.copyto(dst, src)",
        _setup((250, 260, 80), "f4", (2, 1, 0), "f8"),
        4.0,
        faster=True,
        rounds=5,
        number=1,
    ),
    Case(
        "fill 42 MB, mapped / a[...] =",
        "gb.fill(flat_dst, 1.5)",
        "flat_dst.fill(1.5)",
        _setup((256, 256, 80), "f8", (0, 1, 2)),
        1.15,
        faster=True,
        rounds=11,
        number=1,
    ),
]


def _mean(cases: list[Case]) -> float:
    return math.exp(sum(math.log(measure(case).ratio) for case in cases) / len(cases))


def facts() -> list[tuple[str, float, float, str]]:
    """Geometric means over the transposed cases that are larger than the caches, as parts of the
    peer's time.
    """
    numpy = 1 / _mean(_against("np.copyto(dst, src)", 3.0, 3, LARGE))
    contiguous = 1 / _mean(_against("gb.copyto(flat_dst, flat_src)", 0.7, 7, LARGE))
    return [
        ("transposed, geometric mean of our time / np.copyto's", numpy, 1 / 8, ""),
        (
            "transposed, geometric mean of our time / a contiguous copy's of the same bytes",
            contiguous,
            1 / 0.7,
            "",
        ),
    ]
