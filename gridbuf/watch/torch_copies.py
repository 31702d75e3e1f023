"""Where PyTorch copied host memory."""

from typing import Any

from gridbuf.watch.book import Book
from gridbuf.watch.copies import exchange
from gridbuf.watch.imports import Undo, from_import_on
from gridbuf.watch.layouts import address


def install(book: Book) -> Undo:
    """Watch torch.tensor, as_tensor, asarray and from_dlpack from the import of PyTorch on."""

    def begin(undo: list[Undo]) -> None:
        import torch

        undo.extend(exchange(torch, name, book, copied) for name in ("tensor", "as_tensor", "asarray", "from_dlpack"))

    return from_import_on("torch", begin)


def copied(given: Any, result: Any, before: int) -> int:
    """The bytes of the result where it lies elsewhere on the host."""
    at = address(given)
    if at is None or result.device.type != "cpu" or result.data_ptr() == at:
        return 0
    return int(result.numel() * result.element_size())
