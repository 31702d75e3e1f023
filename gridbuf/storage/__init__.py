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

# ruff: noqa: F403, F405 - type checkers see the names of _public, which are loaded when first asked for
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gridbuf.storage._public import *

__all__ = [
    "CPUStorage", "CUDAManagedGPUStorage", "CUDASyncedGPUStorage", "CudaManagedGPUStorage", "GPUStorage", "GT4PySyncedGPUStorage",
    "GTNoSuchBufferError", "SoftwareManagedGPUStorage", "Storage", "SyncState", "as_storage", "empty", "empty_like", "full",
    "full_like", "ones", "ones_like", "storage", "zeros", "zeros_like",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gridbuf.storage import _public

    globals().update({each: getattr(_public, each) for each in __all__})
    return globals()[name]
