"""Memory for storages: laid out and aligned as a Meta says, on the host and on a device."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridbuf import _core
from gridbuf.storage import devices
from gridbuf.storage.meta import Meta


def host_empty(shape: tuple[int, ...], dtype: np.dtype[Any], meta: Meta) -> NDArray[Any]:
    """A host array."""
    return _core.empty_elements(
        shape, dtype, meta.ranks, meta.aligned_index, alignment=meta.alignment
    )


def host_plan(shape: tuple[int, ...], dtype: np.dtype[Any], meta: Meta) -> _core.Plan:
    """The plan that `host_empty` allocates by; C keeps it for the next such request."""
    return _core.plan(
        shape, dtype, layout=meta.ranks, aligned_index=meta.aligned_index, alignment=meta.alignment
    )


def request(
    shape: tuple[int, ...], dtype: np.dtype[Any], meta: Meta, device: int
) -> devices.Request:
    """The request for a device: the boundary is the alignment alone."""
    plan = _core.plan(
        shape,
        dtype,
        layout=meta.ranks,
        aligned_index=meta.aligned_index,
        byte_alignment=1,
        alignment=meta.alignment,
    )
    nbytes = plan.offset + dtype.itemsize * math.prod(max(n, 1) for n in plan.padded_shape)
    boundary = meta.alignment * dtype.itemsize
    return devices.Request(shape, dtype, plan.strides, plan.offset, nbytes, boundary, device)


def device_empty(
    shape: tuple[int, ...], dtype: np.dtype[Any], meta: Meta, device: int | None
) -> Any:
    """A device array; `device` None: on the first GPU."""
    return devices.current().empty(request(shape, dtype, meta, device or 0))
