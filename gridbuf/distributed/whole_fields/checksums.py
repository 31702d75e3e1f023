"""A number of a field's values and places that does not depend on the cut, nor on layouts and
orders of dims.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridbuf import _core
from gridbuf.distributed.dtype_names import dtype_name
from gridbuf.distributed.geometry.blocks import Block
from gridbuf.names import canonical

Words = NDArray[np.uint64]
ODD = np.uint64(0x9E3779B97F4A7C15)


def mixed(words: Words) -> Words:
    """Other words, each bit of which depends on all bits of one: the finalizer of splitmix64."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def header(dims: Sequence[str], dtype: np.dtype[Any]) -> int:
    """What dims and dtype add."""
    text = f"{canonical(dims)} {dtype.str} {dtype_name(dtype) if dtype.names else ''}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def of_block(
    field: _core.Field,
    axes: Sequence[int],
    block: Block,
    head: int,
    owned: Sequence[Sequence[tuple[int, int]]],
    names: Sequence[str],
) -> int:
    """The sum over the points that a block owns: each mixes its place on the grid with its
    bytes.
    """
    total = 0
    dims = canonical(field.dims)
    array = field.domain.transpose(dims).numpy()
    for part in owned:
        index: list[Any] = []
        places = np.full((1,) * max(len(dims), 1), head ^ block.tile, np.uint64)
        for i, dim in enumerate(dims):
            axis = names.index(dim) if dim in names else -1
            start, stop = part[axes.index(axis)] if axis >= 0 else (0, array.shape[i])
            index.append(slice(start, stop))
            first = start + (block.start[axis] if axis >= 0 else 0)
            along = np.arange(first, first + stop - start, dtype=np.uint64)
            places = mixed(places * ODD + along.reshape((-1,) + (1,) * (len(dims) - 1 - i)))
        sums = places
        for word in words_of(array[(*index, ...)]):
            sums = mixed(sums * ODD + word)
        total += int(sums.sum(dtype=np.uint64))
    return total % 2**64


def words_of(values: NDArray[Any]) -> list[Words]:
    """The bytes of each element in words of eight, the last filled up with zeros; of long doubles
    and records those that mean something.
    """
    if values.dtype.names is not None:
        fields = [
            values[name][..., None].reshape((*values.shape, -1))
            for name in values.dtype.names
            if values.size
        ]
        return [
            word
            for field in fields
            for i in range(field.shape[-1])
            for word in words_of(field[..., i])
        ]
    shape, size = values.shape, values.dtype.itemsize
    raw = np.frombuffer(np.ascontiguousarray(values).tobytes(), "u1").reshape((*shape, size))
    if (
        values.dtype.char in "gG" and np.finfo(values.dtype).nmant == 63
    ):  # ten bytes of each sixteen
        raw = raw.reshape((-1, 16))[:, :10].reshape((*shape, size * 5 // 8))
    padded = np.zeros((*shape, -(-raw.shape[-1] // 8) * 8), "u1")
    padded[..., : raw.shape[-1]] = raw
    words = padded.view("<u8")
    return [words[..., i].astype(np.uint64) for i in range(words.shape[-1])]
