"""Calls of gridbuf's gufuncs, and of those that Numba makes as Python objects."""

import sys
from collections.abc import Sequence
from typing import Any

from gridbuf.watch.book import Book, Stencil
from gridbuf.watch.imports import Undo, from_import_on
from gridbuf.watch.methods import Kind, watch_method

# The module whose import is waited for, the class there, and what the table calls them.
CLASSES = (
    ("gridbuf.gufunc.call", "GUFunc", "gridbuf gufunc"),
    ("numba.np.ufunc.gufunc", "GUFunc", "numba gufunc"),
    ("numba.np.ufunc.dufunc", "DUFunc", "numba ufunc"),
)


def install(book: Book) -> Undo:
    """Watch each from its import on."""
    each = [_install(book, *names) for names in CLASSES]

    def uninstall() -> None:
        for undo in each:
            undo()

    return uninstall


def _install(book: Book, module: str, name: str, called: str) -> Undo:
    def put(undo: list[Undo]) -> None:
        undo.append(watch_method(getattr(sys.modules[module], name), book, _Gufunc(called)))

    return from_import_on(module, put)


class _Gufunc(Kind):
    def __init__(self, called: str) -> None:
        self.called = called

    def key(self, called: Any) -> Any:
        return id(called)

    def record(self, called: Any) -> Stencil:
        function = getattr(called, "py_func", None) or getattr(getattr(called, "gufunc_builder", None), "py_func", None)
        code = getattr(function, "__code__", None)
        record = Stencil(
            self.called, str(getattr(called, "__name__", None) or getattr(called, "name", "gufunc")), self.called,
            None if code is None else (code.co_filename, code.co_firstlineno),
        )  # fmt: skip
        record.keeps = called
        return record

    def arrays(self, called: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[tuple[str, Any]]:
        out = kwargs.get("out")
        outs = [("out", out)] if not isinstance(out, tuple) else [(f"out {i}", each) for i, each in enumerate(out)]
        named = [*((f"operand {i}", value) for i, value in enumerate(args)), *outs]
        return [(name, value) for name, value in named if getattr(value, "shape", None) and hasattr(value, "strides")]
