"""The names of gridbuf.storage, loaded together when the first of them is asked for."""

from gridbuf.storage.base import Storage
from gridbuf.storage.buffers import GTNoSuchBufferError, SyncState
from gridbuf.storage.classes import (
    CPUStorage,
    CUDAManagedGPUStorage,
    CudaManagedGPUStorage,
    CUDASyncedGPUStorage,
    GPUStorage,
    GT4PySyncedGPUStorage,
    SoftwareManagedGPUStorage,
)
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
from gridbuf.storage.wrapping import as_storage, storage

__all__ = [
    "CPUStorage", "CUDAManagedGPUStorage", "CUDASyncedGPUStorage", "CudaManagedGPUStorage",
    "GPUStorage", "GT4PySyncedGPUStorage",
    "GTNoSuchBufferError", "SoftwareManagedGPUStorage", "Storage", "SyncState", "as_storage",
    "empty", "empty_like", "full",
    "full_like", "ones", "ones_like", "storage", "zeros", "zeros_like",
]  # fmt: skip
