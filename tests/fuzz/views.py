"""Arrays of any dtype, strides and place within a block of bytes, and how a case says them."""

import random
from typing import Any

import numpy as np
from numpy.typing import NDArray

PLAIN = ["?", "b", "B", "h", "H", "i", "I", "q", "Q", "e", "f", "d", "g", "F", "D", "G"]
SWAPPED = [">h", ">H", ">i", ">I", ">q", ">Q", ">e", ">f", ">d", ">F", ">D"]
OTHER = ["S3", "U2", ">U2", "V7", "M8[s]", "m8[us]", ">M8[D]", "V1", "V16"]
STRUCTURED = [
    [["a", "<i4"], ["b", ">f8"]],
    [["x", "u1"], ["y", "(2,)<i2"], ["z", "S3"]],
    [["p", [["q", "<f4"], ["r", "?"]]], ["s", "<c8"]],
]
View = dict[str, Any]


def dtype_of(said: Any) -> np.dtype[Any]:
    if isinstance(said, str):
        return np.dtype(said)
    return np.dtype([(name, dtype_of(part)) for name, part in said])


def draw_shape(rng: random.Random, most: int = 4, elements: int = 3000) -> list[int]:
    """Small, but at times long enough for whole tiles, and at times empty."""
    ndim = rng.choice([0, 1, 1, 2, 2, 3, 3, 4, 5][: 2 * most + 1])
    shape, room = [], elements
    for _ in range(ndim):
        n = (
            rng.choice([0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 65])
            if rng.random() < 0.9
            else rng.randrange(300)
        )
        shape.append(min(n, room) if rng.random() < 0.98 else 0)
        room = max(room // max(shape[-1], 1), 1)
    rng.shuffle(shape)
    return shape


def draw_view(rng: random.Random, shape: list[int], dtype: Any, writable: bool) -> View:
    """Strides in any order, with gaps, backwards; and for what is only read, zero or
    overlapping.
    """
    item = dtype_of(dtype).itemsize
    strides, reach = [0] * len(shape), item
    order = list(range(len(shape)))
    if rng.random() < 0.5:
        rng.shuffle(order)
    for axis in reversed(order):
        step = reach
        if rng.random() < 0.25:
            step += item * rng.randrange(1, 4)
        if rng.random() < 0.08:
            step += rng.randrange(1, 8)  # elements that are not aligned
        reach = max(reach, step * max(shape[axis], 1))
        if not writable and rng.random() < 0.1:
            step = 0 if rng.random() < 0.7 else item
        strides[axis] = -step if rng.random() < 0.2 else step
    low = sum(min(s * (n - 1), 0) for s, n in zip(strides, shape, strict=True) if n)
    high = sum(max(s * (n - 1), 0) for s, n in zip(strides, shape, strict=True) if n) + item
    return {
        "dtype": dtype,
        "shape": shape,
        "strides": strides,
        "offset": -low,
        "nbytes": high - low,
    }


def place(rng: random.Random, views: list[View], apart: bool) -> int:
    """Put views into one block, one behind the other or overlapping: how many bytes it needs."""
    at, most = 0, 0
    for view in views:
        gap = rng.choice([0, 0, 16, 64, rng.randrange(1, 16)])
        start = at + gap if apart else rng.choice([0, gap, rng.randrange(view["nbytes"] + 1)])
        view["offset"] += start
        at = start + view["nbytes"]
        most = max(most, at)
    return most + rng.choice([0, 8, 64])


def array(memory: NDArray[np.uint8], view: View) -> NDArray[Any]:
    return np.ndarray(
        tuple(view["shape"]),
        dtype_of(view["dtype"]),
        memory,
        view["offset"],
        tuple(view["strides"]),
    )


def alone(view: View, a: NDArray[Any] | None = None) -> bool:
    """Whether no two elements have a byte in common."""
    shape, strides = (view["shape"], view["strides"]) if a is None else (a.shape, a.strides)
    places = np.zeros(1, np.int64)
    for n, stride in zip(shape, strides, strict=True):
        places = np.add.outer(places, np.arange(n) * stride).reshape(-1)
    places.sort()
    return bool((np.diff(places) >= dtype_of(view["dtype"]).itemsize).all())


def values(
    rng: np.random.Generator, dtype: np.dtype[Any], shape: tuple[int, ...], wild: bool = False
) -> NDArray[Any]:
    """Values that every number type holds, so that no cast is undefined; wild ones, if asked, where
    the type has them.
    """
    made = np.empty(shape, dtype)
    if dtype.names is not None:
        for name in dtype.names:
            part = made[name]
            part[...] = values(rng, part.dtype, part.shape, wild)
        return made
    if dtype.kind == "V":
        made[...] = rng.integers(0, 256, (*shape, dtype.itemsize), np.uint8).view(
            f"V{dtype.itemsize}"
        )[..., 0]
        return made
    if dtype.kind in "SU":
        made[...] = rng.integers(0, 100, shape).astype(dtype)
        return made
    made[...] = rng.integers(0, 2 if dtype.kind == "b" else 100, shape).astype(
        dtype.newbyteorder("=")
    )
    if wild and dtype.kind in "fc" and made.size:
        special = np.array(
            [np.nan, np.inf, -np.inf, -0.0, 0.5, -1.25, np.finfo(dtype).max, np.finfo(dtype).tiny],
            dtype,
        )
        put = rng.random(shape) < 0.2
        made[put] = rng.choice(special, int(put.sum()))
    return made


def meaning(memory: NDArray[np.uint8], view: View) -> bytes:
    """All bytes of a block, but for those of a view's long doubles that mean nothing."""
    dtype = dtype_of(view["dtype"])
    if dtype.kind in "fc" and dtype.char in "gG":
        memory = memory.copy()
        parts = array(memory, view)
        for half in (parts.real, parts.imag) if dtype.char == "G" else (parts,):
            half[...] = half + np.longdouble(0)
            step = np.ndarray(
                (*half.shape, 6), np.uint8, memory, offset_in(half, memory) + 10, (*half.strides, 1)
            )
            step[...] = 0
    return memory.tobytes()


def offset_in(part: NDArray[Any], memory: NDArray[np.uint8]) -> int:
    return part.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
