"""cupy takes its memory from gridbuf: one pool for both, with gridbuf's limits and statistics.

Examples
--------
>>> from gridbuf.interop import cupy as gb_cupy
>>> allocator = gb_cupy.allocator()  # doctest: +SKIP
>>> cupy.cuda.set_allocator(allocator.malloc)  # doctest: +SKIP
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gridbuf import _core
from gridbuf.docstrings import as_in
from gridbuf.validation import boolean

__all__ = ["allocator", "install", "memory", "pinned_allocator", "uninstall"]


def allocator(*, managed: bool = False) -> Any:
    """A `cupy.cuda.memory.CFunctionAllocator` over gridbuf's pool.

    Parameters
    ----------
    managed : bool, optional
        Managed memory instead of device memory.

    Returns
    -------
    cupy.cuda.memory.CFunctionAllocator
        Its `malloc` is for `cupy.cuda.set_allocator` or `cupy.cuda.using_allocator`. No memory is
        `cupy.cuda.memory.OutOfMemoryError`. A block that cupy has freed is used again after the GPU
        has finished all work queued by then, because cupy does not name the stream of its use.

    Raises
    ------
    ImportError
        When cupy is not installed.
    RuntimeError
        When there is no driver or no GPU.

    Examples
    --------
    >>> from gridbuf.interop import cupy as gb_cupy
    >>> cupy.cuda.set_allocator(gb_cupy.allocator(managed=True).malloc)  # doctest: +SKIP
    """
    import cupy

    functions = _core.cuda_exports()
    malloc = functions["cupy_malloc_managed" if boolean(managed, "managed") else "cupy_malloc"]
    return cupy.cuda.memory.CFunctionAllocator(0, malloc, functions["cupy_free"], _core)


def pinned_allocator() -> Callable[[int], Any]:
    """A function for `cupy.cuda.set_pinned_memory_allocator`: pinned memory from gridbuf's pool.

    Returns
    -------
    callable
        Takes a number of bytes and returns a `cupy.cuda.PinnedMemoryPointer`.

    Raises
    ------
    ImportError
        When cupy is not installed.

    Examples
    --------
    >>> from gridbuf.interop.cupy import pinned_allocator
    >>> cupy.cuda.set_pinned_memory_allocator(pinned_allocator())  # doctest: +SKIP
    """
    from cupy.cuda import pinned_memory

    def allocate(nbytes: int) -> Any:
        owner, address = _core.cuda_block(_core.MEMORY_PINNED, 0, nbytes, 512, 0)
        return pinned_memory.PinnedMemoryPointer(_Pinned(owner, address, nbytes), 0)

    return allocate


class _Pinned:
    """Memory as cupy's PinnedMemoryPointer takes it."""

    def __init__(self, owner: Any, address: int, nbytes: int) -> None:
        self.owner, self.ptr, self.size = owner, address, nbytes


@contextmanager
@as_in(allocator)
def memory(*, managed: bool = False) -> Iterator[None]:
    """In the with block, this thread's cupy arrays are made of gridbuf's memory.

    Yields
    ------
    None

    Examples
    --------
    >>> from gridbuf.interop import cupy as gb_cupy
    >>> with gb_cupy.memory():  # doctest: +SKIP
    ...     a = cupy.zeros((100, 100))
    """
    import cupy

    with cupy.cuda.using_allocator(allocator(managed=managed).malloc):
        yield


@as_in(allocator)
def install() -> None:
    """From now on all of cupy's device and pinned memory is gridbuf's.

    Examples
    --------
    >>> from gridbuf.interop import cupy as gb_cupy
    >>> gb_cupy.install()  # doctest: +SKIP
    """
    import cupy

    cupy.cuda.set_allocator(allocator().malloc)
    cupy.cuda.set_pinned_memory_allocator(pinned_allocator())


@as_in(pinned_allocator)
def uninstall() -> None:
    """Give cupy its own pools back.

    Memory that is in use stays where it is.

    Examples
    --------
    >>> from gridbuf.interop import cupy as gb_cupy
    >>> gb_cupy.uninstall()  # doctest: +SKIP
    """
    import cupy

    cupy.cuda.set_allocator(cupy.get_default_memory_pool().malloc)
    cupy.cuda.set_pinned_memory_allocator(cupy.get_default_pinned_memory_pool().malloc)
