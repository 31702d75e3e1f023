"""Numba takes its device memory from gridbuf's pool: an External Memory Management plugin.

Examples
--------
>>> from numba import cuda  # doctest: +SKIP
>>> import gridbuf.interop.numba_cuda  # doctest: +SKIP
>>> cuda.set_memory_manager(gridbuf.interop.numba_cuda.MemoryManager)  # doctest: +SKIP

or `NUMBA_CUDA_MEMORY_MANAGER=gridbuf.interop.numba_cuda`.
"""

import ctypes
from collections.abc import Callable
from typing import Any

from numba import cuda

from gridbuf import _core
from gridbuf.cuda import pool_allocate, pool_release

__all__ = ["MemoryManager"]


class MemoryManager(cuda.GetIpcHandleMixin, cuda.HostOnlyCUDAMemoryManager):
    """Device memory from gridbuf; what Numba pins stays Numba's own."""

    @property
    def interface_version(self) -> int:
        return 1

    def initialize(self) -> None:
        """Nothing: gridbuf opens the driver by itself."""

    def memalloc(self, size: int) -> Any:
        """Device memory, on Numba's default stream."""
        device = int(self.context.device.id)
        address = pool_allocate(size, device)
        self.allocations[address] = size
        pointer = address if _plain_pointers() else ctypes.c_uint64(address)
        return cuda.MemoryPointer(
            self.context,
            pointer,
            size,
            finalizer=_finalizer(self.allocations, address, size, device),
        )

    def get_memory_info(self) -> Any:
        """The memory that the driver calls free, and gridbuf's cache, which Numba can have too."""
        device = int(self.context.device.id)
        info = _core.cuda_devices()[device]
        cached = _core.memory_stats(_core.MEMORY_DEVICE, device)["cached_bytes"]
        return cuda.MemoryInfo(free=info["free_bytes"] + cached, total=info["total_bytes"])

    def reset(self) -> None:
        """Numba closes its context; gridbuf's blocks are given back by their own finalizers."""
        super().reset()


def _plain_pointers() -> bool:
    """numba-cuda keeps addresses as ints; the Numba of old wrapped them for ctypes."""
    return cuda.__file__ is not None and "numba_cuda" in cuda.__file__


def _finalizer(allocations: Any, address: int, size: int, device: int) -> Callable[[], None]:
    def release() -> None:
        allocations.pop(address, None)
        pool_release(address, size, device)

    return release


_numba_memory_manager = MemoryManager
