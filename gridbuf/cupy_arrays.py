"""cupy arrays over gridbuf's device memory. Importing this module needs cupy."""

from typing import Any

try:
    import cupy
except ImportError as error:
    raise ImportError(
        "device: arrays on the GPU are cupy's, which is not installed (pip install cupy-cuda13x, or"
        " the one for your CUDA); gridbuf.Field.empty(..., device='gpu') needs no cupy, and"
        " device='cpu' gives the same layout on the host"
    ) from error

_array, _memory, _pointer = cupy.ndarray, cupy.cuda.UnownedMemory, cupy.cuda.MemoryPointer


def array_over(
    owner: Any,
    address: int,
    before: int,
    after: int,
    device: int,
    shape: tuple[int, ...],
    dtype: Any,
    strides: tuple[int, ...],
) -> Any:
    """A cupy.ndarray whose first element is at address; its memory reaches from `before` bytes
    below to `after` above.
    """
    memory = _memory(address - before, before + after, owner, device)
    return _array(shape, dtype, _pointer(memory, before), strides)


def stream_of(device: int) -> int:
    """The handle of cupy's current stream; 0 is the default stream, on which cupy works unless told
    otherwise.
    """
    try:
        return int(cupy.cuda.get_current_stream(device).ptr)
    except cupy.cuda.runtime.CUDARuntimeError:  # no driver, no streams
        return 0
