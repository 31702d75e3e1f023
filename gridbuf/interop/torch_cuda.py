"""PyTorch takes its CUDA memory from gridbuf's pool.

Examples
--------
>>> import torch, gridbuf.interop.torch_cuda  # doctest: +SKIP
>>> ours = gridbuf.interop.torch_cuda.allocator()  # doctest: +SKIP
>>> torch.cuda.memory.change_current_allocator(ours)  # doctest: +SKIP
"""

from typing import Any

from gridbuf import _core

__all__ = ["allocator"]


def allocator() -> Any:
    """A `torch.cuda.memory.CUDAPluggableAllocator` over gridbuf's pool.

    It is made from the addresses of gridbuf's functions, because gridbuf exports no symbols that
    PyTorch's own class could find by name. Tensors that are used on several streams need
    `record_stream`.

    Returns
    -------
    torch.cuda.memory.CUDAPluggableAllocator

    Raises
    ------
    RuntimeError
        When this PyTorch is built without CUDA.

    Examples
    --------
    >>> from gridbuf.interop.torch_cuda import allocator
    >>> torch.cuda.memory.change_current_allocator(allocator())  # doctest: +SKIP
    """
    import torch

    make: Any = getattr(torch._C, "_cuda_customAllocator", None)
    if make is None:
        raise RuntimeError(
            "torch: this PyTorch is built without CUDA, so that it has no CUDA memory to allocate"
        )
    functions = _core.cuda_exports()

    class Allocator(torch.cuda.memory.CUDAPluggableAllocator):
        def __init__(self) -> None:
            self._allocator = make(functions["torch_malloc"], functions["torch_free"])
            if hasattr(self._allocator, "set_record_stream_fn"):
                self._allocator.set_record_stream_fn(functions["torch_record_stream"])

    return Allocator()
