"""Where JAX and PyTorch copied host memory: for alignment, gaps or a dtype, without a word."""

from types import SimpleNamespace
from typing import Any

from gridbuf.interop.common import XLA_ALIGNMENT
from gridbuf.strides import boundary, packed
from gridbuf.watch import copies
from gridbuf.watch.book import Book
from gridbuf.watch.copies import exchange
from gridbuf.watch.imports import Undo, from_import_on, together
from gridbuf.watch.layouts import address


def install(book: Book) -> Undo:
    """Watch their converting functions from their import on."""

    def jax(undo: list[Undo]) -> None:
        import jax
        import jax.numpy as jnp

        each = (jnp, "asarray", why), (jnp, "from_dlpack", why), (jnp, "array", asked_for), (jax, "device_put", why)
        undo.extend(exchange(module, name, book, copied, reason) for module, name, reason in each)
        book.not_seen["arrays that are arguments of JAX's compiled functions"] = None

    def torch(undo: list[Undo]) -> None:
        import torch

        undo.extend(exchange(torch, name, book, copied) for name in ("tensor", "as_tensor", "asarray", "from_dlpack"))

    return together([from_import_on("jax", jax), from_import_on("torch", torch)])


def copied(given: Any, result: Any, before: int) -> int:
    """The bytes of the result where it lies elsewhere on the host."""
    at, there = address(given), _address(result)
    return 0 if at is None or there is None or at == there else int(result.nbytes)


def _address(result: Any) -> int | None:
    try:
        if hasattr(result, "data_ptr"):
            return int(result.data_ptr()) if result.device.type == "cpu" else None
        if {device.platform for device in result.devices()} != {"cpu"}:
            return None  # to a GPU there is no other way
        return int(result.unsafe_buffer_pointer())
    except Exception:  # a traced value, or one in several parts
        return None


def why(given: Any, result: Any) -> str:
    """What kept JAX, whose arrays are C-ordered, from sharing."""
    strides = packed(result.shape, result.dtype.itemsize)
    told = copies.why(given, SimpleNamespace(dtype=result.dtype, shape=result.shape, strides=strides))
    at = address(given)
    misaligned = told == "same layout" and at is not None and at % XLA_ALIGNMENT
    return f"aligned to {boundary(at)} of {XLA_ALIGNMENT} bytes" if at is not None and misaligned else told


def asked_for(given: Any, result: Any) -> str:
    """What is different in a copy that is made in any case."""
    told = why(given, result)
    return f"asked for, {told}" if told.startswith("aligned") else told
