"""New storages: memory of the class that device and managed ask for."""

import math
from typing import Any

import numpy as np

from gridbuf.storage import devices, memory
from gridbuf.storage.base import Storage
from gridbuf.storage.cpu import CPUStorage
from gridbuf.storage.gpu import GPUStorage
from gridbuf.storage.managed import CUDAManagedGPUStorage, SoftwareManagedGPUStorage
from gridbuf.storage.meta import Meta
from gridbuf.storage.request import Request
from gridbuf.storage.sync import Pair, SyncState


def class_of(device: int | None, managed: str | None) -> type[Storage]:
    """Which class the two parameters mean."""
    if device is None:
        return CPUStorage
    if managed is None:
        return GPUStorage
    return SoftwareManagedGPUStorage if managed == "gt4py" else CUDAManagedGPUStorage


def _request(shape: tuple[int, ...], dtype: np.dtype[Any], meta: Meta, device: int) -> Request:
    plan = memory.plan(shape, dtype, meta)
    nbytes = plan.offset + dtype.itemsize * math.prod(max(n, 1) for n in plan.padded_shape)
    return Request(
        shape, dtype, plan.strides, plan.offset, nbytes, meta.alignment * dtype.itemsize, device
    )


def device_empty(shape: tuple[int, ...], dtype: np.dtype[Any], meta: Meta, device: int) -> Any:
    """A device array laid out and aligned as meta says."""
    return devices.current().empty(_request(shape, dtype, meta, device))


def new(
    cls: type[Storage],
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    meta: Meta,
    device: int | None = None,
    sync_state: SyncState | None = None,
) -> Storage:
    """An uninitialised storage; a software-managed one is clean unless it is given a state."""
    if issubclass(cls, CPUStorage):
        return cls._of(memory.empty(shape, dtype, meta), None, meta)
    number = 0 if device is None else device
    if issubclass(cls, GPUStorage):
        return cls._of(None, device_empty(shape, dtype, meta, number), meta)
    if issubclass(cls, CUDAManagedGPUStorage):
        host, dev = devices.current().managed(_request(shape, dtype, meta, number))
        return cls._of(host, dev, meta)
    dev = device_empty(shape, dtype, meta, number)
    host = memory.empty(shape, dtype, meta)
    return cls._of(
        host, dev, meta, Pair(host, dev, SyncState() if sync_state is None else sync_state)
    )
