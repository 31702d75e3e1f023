"""Watching every call of a class's method: for the collectors of programs, gufuncs and compiled graphs."""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gridbuf.watch.allocations import aside
from gridbuf.watch.book import Book, Stencil, clock
from gridbuf.watch.layouts import facts
from gridbuf.watch.measuring import compare
from gridbuf.watch.stencils import Described, depth, note_layouts, note_lines, timed


class Operand(NamedTuple):
    """An array that is given to a call, and how its callee wants it: `layout` is None where nobody says."""

    name: str
    array: Any
    dims: tuple[str, ...] | None = None
    layout: tuple[int, ...] | None = None
    alignment: int = 1


class Kind:
    """How the calls of one kind are read; `measured` calls again with other arrays in the place of those of these names."""

    def key(self, called: Any) -> Any:
        """What tells one callee from another."""
        return called

    def record(self, called: Any) -> Stencil:
        """A new record of it."""
        raise NotImplementedError

    def arrays(self, called: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[tuple[str, Any]]:
        """The arrays by name: asked in every call."""
        raise NotImplementedError

    def operands(self, called: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Operand]:
        """The arrays with what is wanted: asked once for each set of strides."""
        return [Operand(name, array) for name, array in self.arrays(called, args, kwargs)]

    measured: Callable[..., Any] | None = None


def watch_method(cls: Any, book: Book, kind: Kind, name: str = "__call__", *, measure: bool = False) -> Callable[[], None]:
    """Put ours in the place of a method; the result puts it back. Calls inside other watched ones are theirs."""
    inherited = name not in vars(cls)
    plain: Any = getattr(cls, name)

    @functools.wraps(plain)
    def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not book.on or depth(book):
            return plain(self, *args, **kwargs)
        began = clock()
        key = kind.key(self)
        record = book.stencils.get(key)
        if record is None:
            record = book.stencils[key] = kind.record(self)
        arrays = kind.arrays(self, args, kwargs)
        strides = tuple([(each, array.strides, array.dtype) for each, array in arrays])
        wrong = note_layouts(record, strides, lambda: _described(kind.operands(self, args, kwargs)))
        note_lines(record, arrays, tuple([id(array) for _, array in arrays]))
        book.own += clock() - began
        result = timed(book, record, lambda: plain(self, *args, **kwargs))
        if measure and wrong and kind.measured is not None and not (record.measured and "ratio" in record.measured):
            _measure(book, record, kind, self, plain, args, kwargs)
        return result

    setattr(cls, name, watched)

    def put_back() -> None:
        if vars(cls).get(name) is not watched:
            return
        if inherited:
            delattr(cls, name)
        else:
            setattr(cls, name, plain)

    return put_back


def _measure(book: Book, record: Stencil, kind: Kind, called: Any, plain: Any, args: Any, kwargs: Any) -> None:
    record.measured = {}
    operands = kind.operands(called, args, kwargs)
    arrays = {operand.name: operand.array for operand in operands}
    described = {name: found for name, _, found in _described(operands)}
    relaid = {
        operand.name: operand.layout
        for operand in operands
        if operand.layout is not None and described[operand.name]["order"] != described[operand.name]["wanted"]
    }
    with aside(book):
        record.measured = compare(arrays, relaid, lambda other: kind.measured(plain, called, args, kwargs, other))  # type: ignore[misc]


def _described(operands: list[Operand]) -> Described:
    for operand in operands:
        array = operand.array
        dims = operand.dims if operand.dims is not None else tuple(str(i) for i in range(len(array.shape)))
        yield operand.name, array, facts(array, dims, operand.layout, operand.alignment)


def parameter_names(function: Any) -> list[str]:
    """The names of a function's parameters; none where it does not say."""
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def flat(name: str, value: Any) -> list[tuple[str, Any]]:
    """Tuples of fields are their fields, with a number each."""
    if isinstance(value, (tuple, list)):
        return [each for i, part in enumerate(value) for each in flat(f"{name}[{i}]", part)]
    return [(name, value)]
