"""Calls of gt4py.cartesian's stencils: every class of a stencil is made by a generated module, and
watched from then on.
"""

import inspect
import os
from importlib import import_module
from typing import Any

from gridbuf import _core
from gridbuf.watch.allocations import pass_over_from_now_on
from gridbuf.watch.benchmark import compare
from gridbuf.watch.copies import unwatched
from gridbuf.watch.layouts import facts, orders, wanted_alignment, wanted_order
from gridbuf.watch.lines import defined
from gridbuf.watch.patches import Undo, between, from_import_on, put, together
from gridbuf.watch.records import Book, Stencil, clock
from gridbuf.watch.stencils import Described, end_call, measured_beside, note_layouts, note_lines

PACKAGE = "gt4py.cartesian.stencil_object"
GENERATED = "_GT_."  # begins the names of gt4py's generated modules, in a cache folder of any name
# Modules whose `np` converts every field of every call; each version of gt4py has some of them.
CONVERTING = (
    "gt4py.cartesian.utils.field",
    "gt4py.storage.cartesian.utils",
    "gt4py.cartesian.stencil_object",
)


def install(book: Book, *, measure: bool = False) -> Undo:
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
            undo.append(wrap(cls, book, measure=measure))

        undo.append(put(StencilObject, "__init_subclass__", classmethod(__init_subclass__)))
        undo.extend(wrap(cls, book, measure=measure) for cls in _all_subclasses(StencilObject))

    return from_import_on(book, PACKAGE, begin)


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


def _all_subclasses(cls: Any) -> list[Any]:
    direct: list[Any] = cls.__subclasses__()
    return direct + [each for found in direct for each in _all_subclasses(found)]


def wrap(cls: Any, book: Book, *, measure: bool) -> Undo:
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
            wrong = note_layouts(record, key, _described(stencil, kwargs))
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
            measured_beside(book, record, key, lambda: _measured(stencil, plain, args, kwargs))

    return between(cls, name, before, after)


def _measured(stencil: Any, plain: Any, args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
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
    asked = (
        {**kwargs, "exec_info": None} if "exec_info" in kwargs else kwargs
    )  # its times are the program's
    return compare(arrays, relaid, lambda other: plain(stencil, *args, **{**asked, **other}))


def _dims(info: Any) -> tuple[str, ...]:
    """The names of a field's indices; those of its elements are numbers."""
    return (*info.axes, *(str(i) for i in range(len(info.data_dims))))


def _described(stencil: Any, arguments: dict[str, Any]) -> Described:
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
        described = facts(array, dims, wanted_order(stencil.backend, dims), wanted, origin)
        described["dims"] = list(dims)
        if info.dtype != array.dtype:
            described["wants_dtype"] = str(info.dtype)
        yield name, array, described
