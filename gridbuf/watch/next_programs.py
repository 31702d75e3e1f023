"""Calls of gt4py.next's programs and field operators."""

import functools
import inspect
from collections.abc import Sequence
from typing import Any

from gridbuf.watch.book import Book
from gridbuf.watch.imports import Undo, from_import_on
from gridbuf.watch.methods import Kind, Operand, watch_method

PACKAGE = "gt4py.next.ffront.decorator"


def install(book: Book, *, measure: bool = False) -> Undo:
    """Watch them from the import of gt4py.next on."""

    def begin(undo: list[Undo]) -> None:
        from gt4py.next.ffront import decorator

        tops = [
            getattr(decorator, name, None)
            for name in ("Program", "ProgramWithBoundArgs", "FieldOperator", "FieldOperatorFromFoast")
        ]
        classes = {base for top in tops if top is not None for base in top.__mro__ if "__call__" in vars(base)}
        kind = _Next()
        undo.extend(
            watch_method(cls, book, kind, measure=measure) for cls in classes if cls.__module__.startswith("gt4py.next.ffront")
        )

    return from_import_on(PACKAGE, begin)


class _Next(Kind):
    def key(self, called: Any) -> Any:
        return id(called.definition_stage), id(called.backend)

    def named(self, called: Any) -> tuple[str, str, str, Any]:
        function = _function(called)
        backend = "embedded" if called.backend is None else called.backend.name
        return "gt4py.next", getattr(function, "__name__", type(called).__name__), backend, function

    def fields(self, called: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[tuple[str, Any]]:
        names = _names(_function(called))
        named = [(names[i] if i < len(names) else str(i), value) for i, value in enumerate(args)]
        given = [each for name, value in (*named, *kwargs.items()) if name != "offset_provider" for each in _flat(name, value)]
        return [(name, value) for name, value in given if hasattr(value, "domain") and hasattr(value, "ndarray")]

    def arrays(self, called: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[tuple[str, Any]]:
        return [(name, field.ndarray) for name, field in self.fields(called, args, kwargs)]

    def operands(self, called: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Operand]:
        allocator = _allocator(called.backend)
        made = []
        for name, field in self.fields(called, args, kwargs):
            dims = field.domain.dims
            mapper = getattr(allocator, "layout_mapper", None)
            layout = None if mapper is None else tuple(mapper(dims))
            alignment = max(getattr(allocator, "byte_alignment", 1) or 1, field.ndarray.dtype.itemsize)
            made.append(Operand(name, field.ndarray, tuple(dim.value for dim in dims), layout, alignment))
        return made

    def again(self, plain: Any, called: Any, args: Any, kwargs: Any, arrays: dict[str, Any]) -> Any:
        from gt4py.next import common

        names = _names(_function(called))

        def other(name: str, value: Any) -> Any:
            if isinstance(value, (tuple, list)):
                return type(value)(other(f"{name}[{i}]", part) for i, part in enumerate(value))
            return common._field(arrays[name], domain=value.domain) if name in arrays else value

        replaced = [other(names[i] if i < len(names) else str(i), value) for i, value in enumerate(args)]
        return plain(called, *replaced, **{name: other(name, value) for name, value in kwargs.items()})


def _function(called: Any) -> Any:
    return getattr(called.definition_stage, "definition", None)


@functools.lru_cache(maxsize=1024)
def _names(function: Any) -> list[str]:
    """The names of a function's parameters; none where it does not say."""
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def _flat(name: str, value: Any) -> list[tuple[str, Any]]:
    """Tuples of fields are their fields, with a number each."""
    if isinstance(value, (tuple, list)):
        return [each for i, part in enumerate(value) for each in _flat(f"{name}[{i}]", part)]
    return [(name, value)]


def _allocator(backend: Any) -> Any:
    from gt4py._core import definitions
    from gt4py.next import custom_layout_allocators

    found = getattr(backend, "allocator", None)
    return found if found is not None else custom_layout_allocators.device_allocators[definitions.DeviceType.CPU]
