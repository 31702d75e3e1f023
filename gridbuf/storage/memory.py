"""New host memory for storages: everything here that touches the core."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridbuf import _core
from gridbuf.storage.meta import Meta


def empty(shape: tuple[int, ...], dtype: np.dtype[Any], meta: Meta) -> NDArray[Any]:
    """A host array laid out and aligned as meta says."""
    return _core.empty_elements(shape, dtype, meta.ranks, meta.aligned_index, alignment=meta.alignment)


def geometry(shape: tuple[int, ...], dtype: np.dtype[Any], meta: Meta) -> tuple[tuple[int, ...], int, int]:
    """For memory that the core does not allocate: strides, offset of element 0 from a boundary, bytes in all.

    The allocation rule: rows padded to `alignment` elements, the element at
    `aligned_index` on a boundary of as many.
    """
    a, strides, stride, start = meta.alignment, [0] * len(shape), dtype.itemsize, 0
    for rank in reversed(range(len(shape))):
        index = meta.ranks.index(rank)
        strides[index] = stride
        if rank == len(shape) - 1:
            start = -meta.aligned_index[index] % a
            stride *= max(math.ceil(shape[index] / a) * a, 1)
        else:
            stride *= max(shape[index], 1)
    offset = start * dtype.itemsize
    return tuple(strides), offset, offset + stride


def preset(name: str) -> tuple[tuple[int, ...], int, Any]:
    """A backend preset: ranks of I, J, K, alignment in elements, device."""
    plan = _core.plan((2, 2, 2), np.uint8, backend=name, dimensions="IJK", byte_alignment=1)
    return plan.layout, plan.byte_alignment, plan.device
