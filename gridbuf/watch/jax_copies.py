"""Where JAX copied host memory: for alignment, gaps or a dtype, without a word."""

from typing import Any

from gridbuf.strides import boundary
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

        undo.extend(exchange(jnp, name, book, copied, why) for name in ("asarray", "array", "from_dlpack"))
        undo.append(exchange(jax, "device_put", book, copied, why))
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


def why(given: Any, result: Any) -> str | None:
    """What kept JAX from sharing, beside dtype and order."""
    at = address(given)
    return f"aligned to {boundary(at)} of {ALIGNMENT} bytes" if at is not None and at % ALIGNMENT else None
