"""Watching every call of a class's method: for the collectors of programs, gufuncs and compiled graphs."""

import functools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from gridbuf import _core
from gridbuf.watch.book import Book, Stencil, clock
from gridbuf.watch.imports import Undo, put
from gridbuf.watch.layouts import facts
from gridbuf.watch.lines import defined
from gridbuf.watch.measuring import compare
from gridbuf.watch.stencils import Described, measured_beside, note_layouts, timed


class Operand(NamedTuple):
    """An array that is given to a call, and how its callee wants it: `layout` is None where nobody says."""

    name: str
    array: Any
    dims: tuple[str, ...] | None = None
    layout: tuple[int, ...] | None = None
    alignment: int = 1


class Kind:
    """How the calls of one kind are read, and made again."""

    def key(self, called: Any) -> Any:
        """What tells one callee from another, as long as its record keeps it."""
        return id(called)

    def record(self, called: Any) -> Stencil:
        """A new record of it."""
        kind, name, backend, function = self.named(called)
        record = Stencil(kind, name, backend, defined(function))
        record.keeps = called  # its number is not given to another
        return record

    def named(self, called: Any) -> tuple[str, str, str, Any]:
        """Its kind, its name, its backend, and the Python function that it was made of."""
        raise NotImplementedError

    def arrays(self, called: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[tuple[str, Any]]:
        """The arrays by name: asked in every call."""
        raise NotImplementedError

    def operands(self, called: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Operand]:
        """The arrays with what is wanted: asked once for each set of strides."""
        return [Operand(name, array) for name, array in self.arrays(called, args, kwargs)]

    def not_again(self, called: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
        """Why it cannot be called on copies without more being done than the program did; '' where it can."""
        return ""

    def again(self, plain: Any, called: Any, args: Any, kwargs: Any, arrays: dict[str, Any]) -> Any:
        """Call it with other arrays in the place of those of these names."""
        raise NotImplementedError


def with_strides(named: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Those that have indices and memory, and say of what type; a memoryview does not."""
    return [
        (name, value)
        for name, value in named
        if getattr(value, "shape", None) and hasattr(value, "strides") and hasattr(value, "dtype")
    ]


def watch_method(cls: Any, book: Book, kind: Kind, name: str = "__call__", *, measure: bool = False) -> Undo:
    """Put ours in the place of a method; the result puts it back. Calls inside other watched ones are theirs."""
    plain: Any = getattr(cls, name)

    @functools.wraps(plain)
    def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not book.on or _core.watch_depth():
            return plain(self, *args, **kwargs)
        began = clock()
        key = kind.key(self)
        record = book.stencils.get(key)
        if record is None:
            record = book.stencils[key] = kind.record(self)
        arrays = kind.arrays(self, args, kwargs)
        strides = tuple([(each, array.strides, array.dtype) for each, array in arrays])
        known, wrong = record.combinations.get(strides), False
        if known is None:
            wrong = note_layouts(record, strides, _described(kind.operands(self, args, kwargs)))
        else:
            known.calls += 1
        book.own += clock() - began
        result = timed(book, record, plain, self, args, kwargs, kind.arrays)
        if measure and wrong:
            measured_beside(book, record, strides, lambda: _measured(kind, self, plain, args, kwargs))
        return result

    return put(cls, name, watched)


def _measured(kind: Kind, called: Any, plain: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    why = kind.not_again(called, args, kwargs)
    if why:
        return {"why": why}
    operands = kind.operands(called, args, kwargs)
    relaid = {
        operand.name: operand.layout
        for operand, (_, _, found) in zip(operands, _described(operands), strict=True)
        if operand.layout is not None and found["order"] != found["wanted"]
    }
    arrays = {operand.name: operand.array for operand in operands}
    return compare(arrays, relaid, lambda other: kind.again(plain, called, args, kwargs, other))


def _described(operands: list[Operand]) -> Described:
    for operand in operands:
        array = operand.array
        dims = operand.dims if operand.dims is not None else tuple(str(i) for i in range(len(array.shape)))
        yield operand.name, array, facts(array, dims, operand.layout, operand.alignment)
