"""Storages (GDP-3): fields with named axes, a halo, and memory on the host, the device or both.

Examples
--------
>>> import numpy as np
>>> import gridbuf.storage as gs
>>> s = gs.zeros((12, 12, 7), defaults="gtmc", halo=(2, 2, 0))
>>> s.domain[...] = gs.storage(np.arange(7.0), axes="K")
>>> np.add.reduce(s, axis="IJ").to_numpy()
array([  0.,  64., 128., 192., 256., 320., 384.])
"""

from gridbuf.storage.base import GTNoSuchBufferError, Storage
from gridbuf.storage.constructors import (
    empty,
    empty_like,
    full,
    full_like,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from gridbuf.storage.cpu import CPUStorage
from gridbuf.storage.gpu import GPUStorage
from gridbuf.storage.managed import (
    CUDAManagedGPUStorage,
    CudaManagedGPUStorage,
    CUDASyncedGPUStorage,
    GT4PySyncedGPUStorage,
    SoftwareManagedGPUStorage,
)
from gridbuf.storage.sync import SyncState
from gridbuf.storage.wrapping import as_storage, storage

__all__ = [
    "CPUStorage", "CUDAManagedGPUStorage", "CUDASyncedGPUStorage", "CudaManagedGPUStorage", "GPUStorage", "GT4PySyncedGPUStorage",
    "GTNoSuchBufferError", "SoftwareManagedGPUStorage", "Storage", "SyncState", "as_storage", "empty", "empty_like", "full",
    "full_like", "ones", "ones_like", "storage", "zeros", "zeros_like",
]  # fmt: skip
