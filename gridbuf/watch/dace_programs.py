"""Calls of programs that DaCe compiled, other than those inside of gt4py's stencils."""

from collections.abc import Sequence
from typing import Any

from gridbuf.watch.book import Book, Stencil
from gridbuf.watch.imports import Undo, from_import_on
from gridbuf.watch.layouts import sorted_ranks
from gridbuf.watch.methods import Kind, Operand, watch_method

PACKAGE = "dace.codegen.compiled_sdfg"


def install(book: Book) -> Undo:
    """Watch them from the import of DaCe on."""

    def put(undo: list[Undo]) -> None:
        from dace.codegen import compiled_sdfg

        undo.append(watch_method(compiled_sdfg.CompiledSDFG, book, _Dace()))

    return from_import_on(PACKAGE, put)


class _Dace(Kind):
    def key(self, called: Any) -> Any:
        return id(called)

    def record(self, called: Any) -> Stencil:
        record = Stencil("dace", called.sdfg.name, "dace")
        record.keeps = called
        return record

    def arrays(self, called: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[tuple[str, Any]]:
        given = {**dict(zip(called.argnames or (), args, strict=False)), **kwargs}
        return [(name, value) for name, value in given.items() if getattr(value, "shape", None) and hasattr(value, "strides")]

    def operands(self, called: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Operand]:
        made = []
        for name, array in self.arrays(called, args, kwargs):
            wanted = called.sdfg.arrays.get(name)
            made.append(Operand(name, array, layout=_ranks(wanted), alignment=array.dtype.itemsize))
        return made


def _ranks(wanted: Any) -> tuple[int, ...] | None:
    """Of the strides that the program was compiled for; None where they are symbols."""
    try:
        return sorted_ranks([int(stride) for stride in wanted.strides])
    except (AttributeError, TypeError, ValueError):
        return None
