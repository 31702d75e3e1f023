"""Copy programs of one entry, and boxes of any strides to try them on."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gridbuf._core import CopyProgram

SIGN, ADD, CLEAR = CopyProgram.SIGN, CopyProgram.ADD, CopyProgram.CLEAR
FLOATS = ["e", "f", "d", "g", "F", "D", "G"]
NUMBERS = "?bBhHiIlLqQefdFD"  # that copies convert, by their letters in NumPy
ITEMS = [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 40, 64, 100]


def slot(name: str, array: Any, writable: bool = True) -> tuple[Any, ...]:
    return (name, array.dtype, array.shape, array.strides, writable)


def place(view: np.ndarray, base: np.ndarray) -> int:
    """The byte offset of a view's element 0 from its base's."""
    return int(view.__array_interface__["data"][0]) - int(base.__array_interface__["data"][0])


def entry(
    to: int,
    dst: np.ndarray,
    dst_base: np.ndarray,
    by: int,
    src: np.ndarray,
    src_base: np.ndarray,
    mode: int = 0,
) -> tuple[Any, ...]:
    strides = tuple(0 if n == 1 else s for n, s in zip(dst.shape, src.strides, strict=True))
    return (
        to,
        place(dst, dst_base),
        dst.strides,
        by,
        place(src, src_base),
        strides,
        dst.shape,
        dst.dtype,
        mode,
    )


def copy(
    dst: np.ndarray, dst_base: np.ndarray, src: np.ndarray, src_base: np.ndarray, mode: int = 0
) -> CopyProgram:
    program = CopyProgram(
        [slot("to", dst_base), slot("from", src_base)],
        [entry(0, dst, dst_base, 1, src, src_base, mode)],
    )
    program.run(dst_base, src_base)
    return program


def random_bytes(rng: np.random.Generator, shape: Sequence[int], dtype: Any) -> np.ndarray:
    """Memory of the shape with random bits, in an order of its own."""
    dtype = np.dtype(dtype)
    order = rng.permutation(len(shape))
    room = [int(n) for n in np.asarray(shape, dtype=int)[order]]
    if dtype.kind == "b":
        flat = rng.integers(0, 2, size=room).astype(bool)
    else:
        flat = (
            np.frombuffer(bytearray(rng.bytes(int(np.prod(room)) * dtype.itemsize)), dtype=np.uint8)
            .view(dtype)
            .reshape(room)
        )
    return flat.transpose(np.argsort(order))


def random_key(
    rng: np.random.Generator, room: Sequence[int], shape: Sequence[int]
) -> tuple[slice, ...]:
    """A box of the shape: any start, step and direction along each axis."""
    key = []
    for n, size in zip(shape, room, strict=True):
        step = int(rng.integers(1, size // n + 1)) if n else 1
        start = int(rng.integers(0, size - (n - 1) * step)) if n else 0
        last = start + (n - 1) * step
        if rng.integers(2) or n == 0:
            key.append(slice(start, last + 1 if n else start, step))
        else:
            key.append(slice(last, start - 1 if start else None, -step))
    return tuple(key)


def random_case(
    rng: np.random.Generator, dtype: Any, sizes: Sequence[int] = (0, 1, 2, 3, 5, 8, 17, 40)
) -> tuple[np.ndarray, ...]:
    """Target, its box, source, its box."""
    weights = np.array([0.1, 1, 1, 2, 2, 1, 1, 1][: len(sizes)])
    shape = [
        int(n) for n in rng.choice(sizes, size=int(rng.integers(0, 5)), p=weights / weights.sum())
    ]
    while np.prod(shape) > 20_000:
        shape.pop()
    sides = []
    for _ in range(2):
        room = [n * int(rng.integers(1, 3)) + int(rng.integers(0, 3)) for n in shape]
        base = random_bytes(rng, room, dtype)
        sides += [base, base[(*random_key(rng, room, shape), ...)]]
    return tuple(sides)


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.tobytes() == b.tobytes()


def expected(to: np.ndarray, dst: np.ndarray, values: np.ndarray) -> np.ndarray:
    """What the target becomes, and nothing outside the box."""
    root = to
    while isinstance(root.base, np.ndarray):
        root = root.base
    memory = np.ndarray(to.shape, to.dtype, root.copy(), strides=to.strides)
    if dst.size:
        np.ndarray(dst.shape, dst.dtype, memory.base, place(dst, to), dst.strides)[...] = values
    return memory
