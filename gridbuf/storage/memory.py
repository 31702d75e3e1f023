"""New host memory for storages: everything here that touches the core."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridbuf import _core
from gridbuf.storage.meta import Meta


def empty(shape: tuple[int, ...], dtype: np.dtype[Any], meta: Meta) -> NDArray[Any]:
    """A host array laid out and aligned as meta says."""
    return _core.empty_elements(
        shape, dtype, meta.ranks, meta.aligned_index, alignment=meta.alignment
    )


def host_plan(shape: tuple[int, ...], dtype: np.dtype[Any], meta: Meta) -> _core.Plan:
    """The plan that `empty` allocates by, for whoever asks again."""
    return _core.plan(
        shape, dtype, layout=meta.ranks, aligned_index=meta.aligned_index, alignment=meta.alignment
    )


def plan(shape: tuple[int, ...], dtype: np.dtype[Any], meta: Meta) -> _core.Plan:
    """The same rule for memory that the core does not allocate: the boundary is the alignment
    alone.
    """
    return _core.plan(
        shape,
        dtype,
        layout=meta.ranks,
        aligned_index=meta.aligned_index,
        byte_alignment=1,
        alignment=meta.alignment,
    )


def preset(name: str) -> tuple[tuple[int, ...], int, Any]:
    """A backend preset: ranks of I, J, K, alignment in elements, device."""
    small = _core.plan((2, 2, 2), np.uint8, backend=name, dimensions="IJK", byte_alignment=1)
    return small.layout, small.byte_alignment, small.device
