"""GPUs, and the stream that gridbuf's work on them goes to.

Importing this module touches no driver. The first call that needs one opens libcuda.so.1, or the
library that the environment variable GRIDBUF_LIBCUDA names.

Examples
--------
>>> import gridbuf as gb
>>> if gb.cuda.available():
...     f = gb.Field.zeros((128, 128, 80), device="gpu", backend="gt:gpu")
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

from gridbuf import _core

__all__ = ["DeviceInfo", "available", "devices", "stream", "synchronize"]


class DeviceInfo(NamedTuple):
    """The properties of a GPU, from the driver.

    Attributes
    ----------
    number : int
        The n of `device=("gpu", n)`.
    name : str
    driver_version : int
        Of CUDA: 12040 is 12.4.
    compute_capability : tuple of int
        Major and minor.
    memory_pools : bool
        Whether there is `cuMemAllocAsync`.
    managed_memory, concurrent_managed : bool
        Whether there is managed memory, and whether host and GPU may use it at the same time.
    integrated : bool
        Whether the GPU uses the host's memory.
    total_bytes, free_bytes : int
        The memory of the GPU, and how much of it was free at the time of the call.
    """

    number: int
    name: str
    driver_version: int
    compute_capability: tuple[int, int]
    memory_pools: bool
    managed_memory: bool
    concurrent_managed: bool
    integrated: bool
    total_bytes: int
    free_bytes: int


def available() -> bool:
    """Whether there is a driver that works and a GPU.

    Returns
    -------
    bool

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.cuda.available() in (True, False)
    True
    """
    try:
        _core.cuda_start()
    except RuntimeError:
        return False
    return _core.cuda_count() > 0


def devices() -> tuple[DeviceInfo, ...]:
    """The GPUs of this machine.

    Returns
    -------
    tuple of DeviceInfo
        One for each; the n-th is `device=("gpu", n)`.

    Raises
    ------
    RuntimeError
        When there is no driver, it is too old or finds no GPU, or when this is a forked child; the
        message says which.

    Examples
    --------
    >>> import gridbuf as gb
    >>> if gb.cuda.available():
    ...     assert gb.cuda.devices()[0].total_bytes > 0
    """
    return tuple(DeviceInfo(**entry) for entry in _core.cuda_devices())


def synchronize(device: int = 0) -> None:
    """Wait until a GPU has finished all its work.

    Parameters
    ----------
    device : int, optional
        The GPU's number.

    Raises
    ------
    RuntimeError
        When there is no driver or no such GPU, or when work on it has failed.

    Examples
    --------
    >>> import gridbuf as gb
    >>> if gb.cuda.available():
    ...     gb.cuda.synchronize()
    """
    _core.cuda_synchronize(device)


def handle_of(obj: Any) -> int:
    """The handle of a stream: an int, or an object of cupy, torch, numba or `__cuda_stream__`."""
    protocol = getattr(obj, "__cuda_stream__", None)
    if protocol is not None:
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in ("ptr", "cuda_stream", "handle"):
        found = getattr(obj, name, None)
        if found is not None:
            obj = getattr(found, "value", found)
            break
    if obj is None:
        return 0
    if isinstance(obj, bool) or not isinstance(obj, int) or not 0 <= obj < 1 << 64:
        raise TypeError(
            f"stream: expected a handle (int) or a stream of cupy, torch or numba, got {obj!r}"
        )
    return obj


@contextmanager
def stream(handle: Any) -> Iterator[int]:
    """Work of this thread inside the with block goes to a stream.

    Parameters
    ----------
    handle
        0 the legacy default stream, 1 the same, 2 the one per thread, or the handle of a stream of
        this process; or a stream object of cupy, torch or numba, which is kept alive. Every GPU has
        default streams; any other stream belongs to one, and work on another GPU goes to that one's
        default stream.

    Yields
    ------
    int
        The handle.

    Raises
    ------
    TypeError
        When handle is no stream.

    Examples
    --------
    >>> import gridbuf as gb
    >>> with gb.cuda.stream(2):
    ...     pass  # zeros, copies and exports are ordered behind stream 2
    """
    number = handle_of(handle)
    before = _core.cuda_set_stream(number)
    try:
        yield number
    finally:
        _core.cuda_set_stream(before)


# ---- cupy's arrays over gridbuf's device memory ----


def _cupy() -> Any:
    try:
        import cupy
    except ImportError as error:
        raise ImportError(
            "device: arrays on the GPU are cupy's, which is not installed (pip install"
            " cupy-cuda13x, or the one for your CUDA); gridbuf.Field.empty(..., device='gpu')"
            " needs no cupy, and device='cpu' gives the same layout on the host"
        ) from error
    return cupy


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
    cupy = _cupy()
    memory = cupy.cuda.UnownedMemory(address - before, before + after, owner, device)
    return cupy.ndarray(shape, dtype, cupy.cuda.MemoryPointer(memory, before), strides)


def stream_of(device: int) -> int:
    """The handle of cupy's current stream; 0 is the default stream, on which cupy works unless told
    otherwise.
    """
    cupy = _cupy()
    try:
        return int(cupy.cuda.get_current_stream(device).ptr)
    except cupy.cuda.runtime.CUDARuntimeError:  # no driver, no streams
        return 0


# ---- gridbuf's device pool as functions of Python, for libraries that call back ----


@cache
def _pool_functions() -> tuple[Any, Any]:
    import ctypes

    functions = _core.cuda_exports()
    size, number, pointer = ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p
    malloc = ctypes.CFUNCTYPE(pointer, size, number, pointer)
    free = ctypes.CFUNCTYPE(None, pointer, size, number, pointer)
    return malloc(functions["torch_malloc"]), free(functions["torch_free"])


def pool_allocate(nbytes: int, device: int, stream: Any = None) -> int:
    """The address of a new block; MemoryError when there is none to be had."""
    address = _pool_functions()[0](nbytes, device, handle_of(stream))
    if not address:
        raise MemoryError(
            f"gridbuf has no {nbytes} bytes left on GPU {device};"
            " gridbuf.memory.stats(device='gpu') shows the memory in use"
        )
    return int(address)


def pool_release(address: int, nbytes: int, device: int, stream: Any = None) -> None:
    """Give a block back to the pool."""
    _pool_functions()[1](address, nbytes, device, handle_of(stream))
