"""Where JAX copied host memory: for alignment, gaps or a dtype, without a word."""

from types import SimpleNamespace
from typing import Any

from gridbuf.strides import boundary, packed
from gridbuf.watch import copies
from gridbuf.watch.book import Book
from gridbuf.watch.copies import exchange
from gridbuf.watch.imports import Undo, from_import_on
from gridbuf.watch.layouts import address

ALIGNMENT = 64  # XLA's CPU client copies from anything less aligned


def install(book: Book) -> Undo:
    """Watch jnp.asarray, jnp.array, jnp.from_dlpack and jax.device_put from the import of JAX on."""

    def begin(undo: list[Undo]) -> None:
        import jax
        import jax.numpy as jnp

        undo.extend(exchange(jnp, name, book, copied, why, compiles=True) for name in ("asarray", "from_dlpack"))
        undo.append(exchange(jnp, "array", book, copied, asked_for, compiles=True))
        undo.append(exchange(jax, "device_put", book, copied, why, compiles=True))
        book.not_seen["arrays that are arguments of JAX's compiled functions"] = None

    return from_import_on("jax", begin)


def copied(given: Any, result: Any, before: int) -> int:
    """The bytes of the result where it lies elsewhere on the host."""
    at, there = address(given), _address(result)
    return 0 if at is None or there is None or at == there else int(result.nbytes)


def _address(result: Any) -> int | None:
    try:
        if {device.platform for device in result.devices()} != {"cpu"}:
            return None  # to a GPU there is no other way
        return int(result.unsafe_buffer_pointer())
    except Exception:  # a traced value, or one in several parts
        return None


def why(given: Any, result: Any) -> str:
    """What kept JAX, whose arrays are C-ordered, from sharing."""
    told = copies.why(
        given, SimpleNamespace(dtype=result.dtype, shape=result.shape, strides=packed(result.shape, result.dtype.itemsize))
    )
    at = address(given)
    return (
        f"aligned to {boundary(at)} of {ALIGNMENT} bytes" if told == "same layout" and at is not None and at % ALIGNMENT else told
    )


def asked_for(given: Any, result: Any) -> str:
    """What is different in a copy that is made in any case."""
    told = why(given, result)
    return f"asked for, {told}" if told.startswith("aligned") else told
