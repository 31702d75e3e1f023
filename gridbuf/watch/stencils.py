"""Calls of stencils, programs, gufuncs: the time of each, and once for each set of strides how its
fields lie.
"""

import inspect
import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from gridbuf import _core
from gridbuf.watch.allocations import aside, maker, pass_over_from_now_on
from gridbuf.watch.benchmark import compare
from gridbuf.watch.copies import unwatched
from gridbuf.watch.lines import defined, here
from gridbuf.watch.patches import Undo, between, from_import_on, put, together
from gridbuf.watch.records import (
    Book,
    Combination,
    Layout,
    Stencil,
    address,
    clock,
    layout_facts,
    orders,
    wanted_alignment,
    wanted_order,
)

Described = Iterable[tuple[str, Any, dict[str, Any]]]  # name, array, facts
FIRST = 16  # calls whose lines are looked up, and of those after them
LOOKED_UP = 64  # each 64th; as many sets of arguments
MEASURED = 4  # sets of layouts of one stencil


# ---- notes of a call ----


def end_call(record: Stencil, began: int) -> bool:
    """A call ends that began then by `_core.watch_enter`; whether its lines are to be noted."""
    count = record.times.add(_core.watch_leave(began))
    return count <= FIRST or not count % LOOKED_UP


def note_layouts(record: Stencil, key: Hashable, described: Described) -> bool:
    """Note how the fields of a call lie; `key` is all their strides, which were not seen before.

    The answer: whether any field lies otherwise than the backend wants it.
    """
    known = record.combinations[key] = Combination()
    known.calls = 1
    for name, _, found in described:
        layouts = record.layouts.setdefault(name, {})
        token = tuple(found["strides"]), tuple(found["shape"]), found["dtype"]
        layout = layouts.get(token)
        if layout is None:
            layout = layouts[token] = Layout(found)
        known.layouts.append(layout)
    return any(layout.facts["order"] != layout.facts["wanted"] for layout in known.layouts)


def note_lines(book: Book, record: Stencil, arguments: Sequence[tuple[str, Any]]) -> None:
    """Note the line that calls, and once for each set of arguments the lines that allocated
    them.
    """
    began = clock()
    record.callers.setdefault(here(2))
    key = tuple([id(value) for _, value in arguments])
    if key not in record.seen and len(record.seen) < LOOKED_UP:
        record.seen.add(key)
        for name, value in arguments:
            _note_maker(record.layouts.get(name, {}).values(), value)
    book.own += clock() - began


def _note_maker(layouts: Iterable[Layout], value: Any) -> None:
    at = address(value)
    if at is None:
        return
    line, strides = maker(at), getattr(value, "strides", None)
    for layout in layouts:
        if strides is None or sorted(map(abs, layout.facts["strides"])) == sorted(
            map(abs, strides)
        ):
            layout.lies_at(at)
            if line is not None:
                layout.lines.setdefault(line)


def measured_beside(
    book: Book, record: Stencil, key: Hashable, measure: Callable[[], dict[str, Any]]
) -> None:
    """Measure the cost of layouts after the first call with unwanted ones. A failure in it is not
    the program's.
    """
    if sum("ratio" in found for _, found in record.measured) >= MEASURED:
        return
    with aside(book):
        try:
            found = measure()
        except Exception as error:
            found = {"why": f"{type(error).__name__}: {error}"}
    record.measured.append((record.combinations[key], found))


def measured_of(record: Stencil) -> dict[str, Any] | None:
    """The layouts that took most time; `saves` has the seconds of all calls with layouts that were
    measured.

    Calls with the same layouts may have other domains than the one that was measured, so no more is
    saved than that part of the time of all calls.
    """
    known = [(each.calls, found) for each, found in record.measured if "ratio" in found]
    if not known:
        return record.measured[-1][1] if record.measured else None
    before = sum(calls * found["seconds"] for calls, found in known)
    after = sum(calls * found["relaid_seconds"] for calls, found in known)
    saves = (
        min(before - after, record.times.total * (1 - after / before))
        if after < before
        else before - after
    )
    return {**max(known, key=lambda each: each[0] * each[1]["seconds"])[1], "saves": saves}


# ---- watching every call of a class's method ----


class Operand(NamedTuple):
    """An array that is given to a call, and how its callee wants it: `layout` is None where that is
    not known.
    """

    name: str
    array: Any
    dims: tuple[str, ...] | None = None
    layout: tuple[int, ...] | None = None
    alignment: int = 1


class Kind:
    """How the calls of one kind are read, and made again."""

    def key(self, called: Any) -> Any:
        """Tells one callee from another, as long as its record keeps it."""
        return id(called)

    def record(self, called: Any) -> Stencil:
        """A new record of it."""
        kind, name, backend, function = self.named(called)
        record = Stencil(kind, name, backend, defined(function))
        record.keeps = called  # so its id is not reused
        return record

    def named(self, called: Any) -> tuple[str, str, str, Any]:
        """Its kind, its name, its backend, and the Python function that it was made of."""
        raise NotImplementedError

    def arrays(
        self, called: Any, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> list[tuple[str, Any]]:
        """The arrays by name: asked in every call."""
        raise NotImplementedError

    def operands(self, called: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Operand]:
        """The arrays with their wanted layouts: asked once for each set of strides."""
        return [Operand(name, array) for name, array in self.arrays(called, args, kwargs)]

    def not_again(self, called: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
        """Why a call on copies would do more than the program did; '' where it would not."""
        return ""

    def again(self, plain: Any, called: Any, args: Any, kwargs: Any, arrays: dict[str, Any]) -> Any:
        """Call it with other arrays in the place of those of these names."""
        raise NotImplementedError


class _Call(NamedTuple):
    """A call that runs."""

    record: Stencil
    strides: Any
    wrong: bool  # layouts that were not seen before, and are not the wanted ones
    called: Any
    args: Any
    kwargs: Any
    began: int


def with_strides(named: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The fields that have indices, memory and a dtype; a memoryview has no dtype."""
    return [
        (name, value)
        for name, value in named
        if getattr(value, "shape", None) and hasattr(value, "strides") and hasattr(value, "dtype")
    ]


def watch_method(
    cls: Any, book: Book, kind: Kind, name: str = "__call__", *, measure: bool = False
) -> Undo:
    """Watch the calls of a method. Calls inside other watched ones are part of them."""
    plain: Any = getattr(cls, name)

    def before(called: Any, *args: Any, **kwargs: Any) -> Any:
        if not book.on or _core.watch_depth():
            return None
        began = clock()
        key = kind.key(called)
        record = book.stencils.get(key)
        if record is None:
            record = book.stencils[key] = kind.record(called)
        arrays = kind.arrays(called, args, kwargs)
        strides = tuple([(each, array.strides, array.dtype) for each, array in arrays])
        known, wrong = record.combinations.get(strides), False
        if known is None:
            wrong = note_layouts(record, strides, _described(kind.operands(called, args, kwargs)))
        else:
            known.calls += 1
        book.own += clock() - began
        return _Call(record, strides, wrong, called, args, kwargs, _core.watch_enter())

    def after(call: _Call, *result: Any) -> None:
        record, strides, wrong, called, args, kwargs, began = call
        if end_call(record, began) and result:
            note_lines(book, record, kind.arrays(called, args, kwargs))
        if measure and wrong and result:
            measured_beside(
                book, record, strides, lambda: _measured(kind, called, plain, args, kwargs)
            )

    return between(cls, name, before, after)


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
        dims = (
            operand.dims
            if operand.dims is not None
            else tuple(str(i) for i in range(len(array.shape)))
        )
        yield operand.name, array, layout_facts(array, dims, operand.layout, operand.alignment)


# ---- gt4py.cartesian: each class of a stencil is made by a generated module ----


PACKAGE = "gt4py.cartesian.stencil_object"
GENERATED = "_GT_."  # begins the names of gt4py's generated modules, in a cache folder of any name
# Modules whose `np` converts every field of every call; each version of gt4py has some of them.
CONVERTING = (
    "gt4py.cartesian.utils.field",
    "gt4py.storage.cartesian.utils",
    "gt4py.cartesian.stencil_object",
)


def install_cartesian(book: Book, *, measure: bool = False) -> Undo:
    """Watch stencils that are made from now on, and those there are; the result leaves them alone
    again.
    """

    def begin(undo: list[Undo]) -> None:
        from gt4py.cartesian import stencil_object

        plain = unwatched()
        undo.extend(
            put(module, "np", plain) for module in map(_module, CONVERTING) if hasattr(module, "np")
        )
        StencilObject: Any = stencil_object.StencilObject

        def __init_subclass__(cls: Any, /, **keywords: Any) -> None:
            super(StencilObject, cls).__init_subclass__(**keywords)
            undo.append(watch_class(cls, book, measure=measure))

        undo.append(put(StencilObject, "__init_subclass__", classmethod(__init_subclass__)))
        undo.extend(
            watch_class(cls, book, measure=measure) for cls in _all_subclasses(StencilObject)
        )

    return from_import_on(book, PACKAGE, begin)


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


def _all_subclasses(cls: Any) -> list[Any]:
    direct: list[Any] = cls.__subclasses__()
    return direct + [each for found in direct for each in _all_subclasses(found)]


def watch_class(cls: Any, book: Book, *, measure: bool) -> Undo:
    """Watch `run` and `__call__` of one class, where it has its own; pass over its file, if gt4py
    has generated that.
    """
    own = {
        name: vars(cls)[name]
        for name in ("run", "__call__")
        if inspect.isfunction(vars(cls).get(name))
    }
    watching = {"run": _watch_run, "__call__": _watch_call}
    for plain in own.values():
        if cls.__module__.startswith(GENERATED):
            pass_over_from_now_on(os.path.dirname(plain.__code__.co_filename))
    return together(
        [watching[name](cls, name, plain, book, measure) for name, plain in own.items()]
    )


def _record(book: Book, stencil: Any) -> Stencil:
    record = book.stencils.get(stencil.__class__)
    if record is None:
        function = getattr(stencil, "definition_func", None)
        record = Stencil(
            "gt4py.cartesian", stencil.options["name"], stencil.backend, defined(function)
        )
        book.stencils[stencil.__class__] = record
    return record


def _watch_call(cls: Any, name: str, plain: Any, book: Book, measure: bool) -> Undo:
    """The whole call: gt4py's own checks, and the run."""
    names = list(inspect.signature(plain).parameters)[1:]

    def before(stencil: Any, *args: Any, **kwargs: Any) -> Any:
        return (
            (_record(book, stencil), stencil, args, kwargs, _core.watch_enter())
            if book.on
            else None
        )

    def fields(stencil: Any, args: Any, kwargs: dict[str, Any]) -> list[tuple[str, Any]]:
        given = (*zip(names, args, strict=False), *kwargs.items())
        return [(name, value) for name, value in given if name in stencil.field_info]

    def after(call: Any, *result: Any) -> None:
        record, stencil, args, kwargs, began = call
        if end_call(record, began) and result:
            note_lines(book, record, fields(stencil, args, kwargs))

    return between(cls, name, before, after)


def _watch_run(cls: Any, name: str, plain: Any, book: Book, measure: bool) -> Undo:
    """The compiled part: here the arrays have their indices in I, J, K order. A FrozenStencil calls
    it without `__call__`.
    """

    def before(stencil: Any, *args: Any, **kwargs: Any) -> Any:
        if not book.on:
            return None
        record = _record(book, stencil)
        key = tuple([getattr(value, "strides", None) for value in kwargs.values()])
        known, wrong = record.combinations.get(key), False
        if known is not None:
            known.calls += 1
        else:
            began = clock()
            wrong = note_layouts(record, key, _described_cartesian(stencil, kwargs))
            seconds = clock() - began
            book.own += seconds
            _core.watch_apart(seconds)
        inside = _core.watch_depth() > 0  # of __call__, which is timed as a whole
        if inside and not (wrong and measure):
            return None
        return record, stencil, args, kwargs, key, wrong, None if inside else _core.watch_enter()

    def after(call: Any, *result: Any) -> None:
        record, stencil, args, kwargs, key, wrong, began = call
        if began is not None and end_call(record, began) and result:
            note_lines(book, record, [(name, kwargs.get(name)) for name in stencil.field_info])
        if wrong and measure and result:
            measured_beside(
                book, record, key, lambda: _measured_cartesian(stencil, plain, args, kwargs)
            )

    return between(cls, name, before, after)


def _measured_cartesian(
    stencil: Any, plain: Any, args: Any, kwargs: dict[str, Any]
) -> dict[str, Any]:
    arrays, relaid = {}, {}
    for name, info in stencil.field_info.items():
        array = kwargs.get(name)
        if array is None:
            continue
        dims = _dims(info)
        layout = wanted_order(stencil.backend, dims)
        if layout is None:
            return {"why": f"the layout of {stencil.backend} is not known"}
        arrays[name] = array
        order, wanted = orders(array.shape, array.strides, dims, layout)
        if order != wanted or not array.flags.aligned:
            relaid[name] = layout
    # exec_info collects the program's own times
    asked = {**kwargs, "exec_info": None} if "exec_info" in kwargs else kwargs
    return compare(arrays, relaid, lambda other: plain(stencil, *args, **{**asked, **other}))


def _dims(info: Any) -> tuple[str, ...]:
    """The names of a field's indices; those of its elements are numbers."""
    return (*info.axes, *(str(i) for i in range(len(info.data_dims))))


def _described_cartesian(stencil: Any, arguments: dict[str, Any]) -> Described:
    origins = arguments.get("_origin_") or {}
    for name, info in stencil.field_info.items():
        array = arguments.get(name)
        if array is None or not hasattr(array, "strides"):
            continue
        dims = _dims(info)
        if len(dims) != len(array.shape):
            continue
        origin = origins.get(name) if isinstance(origins, dict) else None
        wanted = wanted_alignment(stencil.backend, array.dtype.itemsize)
        described = layout_facts(array, dims, wanted_order(stencil.backend, dims), wanted, origin)
        described["dims"] = list(dims)
        if info.dtype != array.dtype:
            described["wants_dtype"] = str(info.dtype)
        yield name, array, described
