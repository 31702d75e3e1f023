"""Calls of gt4py.cartesian's stencils: every class of a stencil is made by a generated module, and wrapped when it is."""

import inspect
from typing import Any

from gridbuf import _core
from gridbuf.watch.book import Book, Stencil, clock
from gridbuf.watch.imports import Undo, from_import_on, put, together
from gridbuf.watch.layouts import facts, orders, wanted_alignment, wanted_order
from gridbuf.watch.lines import defined
from gridbuf.watch.measuring import compare
from gridbuf.watch.numpy_copies import unwatched
from gridbuf.watch.stencils import Described, measured_beside, note_layouts, timed

PACKAGE = "gt4py.cartesian.stencil_object"


def install(book: Book, *, measure: bool = False) -> Undo:
    """Watch stencils that are made from now on, and those there are; the result leaves them alone again."""

    def begin(undo: list[Undo]) -> None:
        from gt4py.cartesian import stencil_object
        from gt4py.cartesian.utils import field
        from gt4py.storage.cartesian import utils

        plain = unwatched()
        undo.extend(put(module, "np", plain) for module in (field, utils))  # they convert every field of every call
        StencilObject: Any = stencil_object.StencilObject

        def __init_subclass__(cls: Any, /, **keywords: Any) -> None:
            super(StencilObject, cls).__init_subclass__(**keywords)
            undo.append(wrap(cls, book, measure=measure))

        undo.append(put(StencilObject, "__init_subclass__", classmethod(__init_subclass__)))
        undo.extend(wrap(cls, book, measure=measure) for cls in _all_subclasses(StencilObject))

    return from_import_on(PACKAGE, begin)


def _all_subclasses(cls: Any) -> list[Any]:
    direct: list[Any] = cls.__subclasses__()
    return direct + [each for found in direct for each in _all_subclasses(found)]


def wrap(cls: Any, book: Book, *, measure: bool) -> Undo:
    """Put ours in the place of `run` and `__call__` of one class, where it has its own."""
    own = {name: vars(cls)[name] for name in ("run", "__call__") if inspect.isfunction(vars(cls).get(name))}
    ways = {"run": lambda plain: _run(plain, book, measure), "__call__": lambda plain: _call(plain, book)}
    return together(
        [put(cls, name, _core.watch_method(plain, ways[name](plain), cls, name == "run")) for name, plain in own.items()]
    )


def _record(book: Book, stencil: Any) -> Stencil:
    function = getattr(stencil, "definition_func", None)
    record = Stencil("gt4py.cartesian", stencil.options["name"], stencil.backend, defined(function))
    return book.stencils.setdefault(stencil.__class__, record)


def _call(plain: Any, book: Book) -> Any:
    """The whole call: gt4py's own checks, and the run."""
    names = list(inspect.signature(plain).parameters)[1:]

    def fields(stencil: Any, args: Any, kwargs: dict[str, Any]) -> list[tuple[str, Any]]:
        given = (*zip(names, args, strict=False), *kwargs.items())
        return [(name, value) for name, value in given if name in stencil.field_info]

    def __call__(counted: Any, self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if not book.on:
            return plain(self, *args, **kwargs)
        record = book.stencils.get(self.__class__) or _record(book, self)
        return timed(book, record, plain, self, args, kwargs, fields, counted)

    return __call__


def _run(plain: Any, book: Book, measure: bool) -> Any:
    """What is compiled: here the arrays have their indices in I, J, K order."""

    def fields(stencil: Any, args: Any, kwargs: dict[str, Any]) -> list[tuple[str, Any]]:
        return [(name, kwargs.get(name)) for name in stencil.field_info]

    def run(counted: Any, self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if not book.on:
            return plain(self, *args, **kwargs)
        record = book.stencils.get(self.__class__) or _record(book, self)
        key: Any = _core.watch_strides(kwargs)
        if key is None:  # not NumPy's arrays
            key = tuple([getattr(kwargs.get(name), "strides", None) for name in self.field_info])
        known, wrong = record.combinations.get(key), False
        if known is not None:
            known.calls += 1
        else:
            began = clock()
            wrong = note_layouts(record, key, _described(self, kwargs))
            seconds = clock() - began
            book.own += seconds
            _core.watch_apart(seconds)
        if counted is not None:
            record.take(counted, key)
        whole = _core.watch_depth()  # __call__ is timed as a whole; a FrozenStencil calls run with what it was given
        result = plain(self, *args, **kwargs) if whole else timed(book, record, plain, self, args, kwargs, fields, counted)
        if wrong and measure:
            measured_beside(book, record, key, lambda: _measured(self, plain, args, kwargs))
        return result

    return run


def _measured(stencil: Any, plain: Any, args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    arrays, relaid = {}, {}
    for name, info in stencil.field_info.items():
        array = kwargs.get(name)
        if array is None:
            continue
        dims = _dims(info)
        layout = wanted_order(stencil.backend, dims)
        if layout is None:
            return {"why": f"nobody knows the layout of {stencil.backend}"}
        arrays[name] = array
        order, wanted = orders(array.shape, array.strides, dims, layout)
        if order != wanted or not array.flags.aligned:
            relaid[name] = layout
    asked = {**kwargs, "exec_info": None} if "exec_info" in kwargs else kwargs  # its times are the program's
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
        described = facts(
            array, dims, wanted_order(stencil.backend, dims), wanted_alignment(stencil.backend, array.dtype.itemsize), origin
        )
        described["dims"] = list(dims)
        if info.dtype != array.dtype:
            described["wants_dtype"] = str(info.dtype)
        yield name, array, described
