"""gridbuf's device pool as functions of Python, for libraries that call back."""

import ctypes
from typing import Any

from gridbuf import _core
from gridbuf.cuda import handle_of

_functions = _core.cuda_exports()
_malloc = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p)(
    _functions["torch_malloc"]
)
_free = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p)(
    _functions["torch_free"]
)


def allocate(nbytes: int, device: int, stream: Any = None) -> int:
    """The address of a new block; MemoryError when there is none to be had."""
    address = _malloc(nbytes, device, handle_of(stream))
    if not address:
        raise MemoryError(
            f"gridbuf has no {nbytes} bytes on GPU {device} (gridbuf.memory.stats(device='gpu')"
            " says who has)"
        )
    return int(address)


def release(address: int, nbytes: int, device: int, stream: Any = None) -> None:
    """Give a block back to the pool."""
    _free(address, nbytes, device, handle_of(stream))
