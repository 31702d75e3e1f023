"""Calls of gt4py.next's programs and field operators, of DaCe's programs, of gufuncs of gridbuf and
Numba, and of gridbuf's fused functions.
"""

import functools
import inspect
import sys
from collections.abc import Sequence
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from gridbuf.watch.patches import Undo, from_import_on, together
from gridbuf.watch.records import Book, Stencil, sorted_ranks
from gridbuf.watch.stencils import Kind, Operand, watch_method, with_strides

# Modules whose import is waited for.
NEXT = "gt4py.next.ffront.decorator"
DACE = "dace.codegen.compiled_sdfg"
# And the class there, and its kind in the table.
GUFUNCS = (
    ("gridbuf.gufunc.call", "GUFunc", "gridbuf gufunc"),
    ("gridbuf.fusing.calls", "Fused", "gridbuf fused"),
    ("numba.np.ufunc.gufunc", "GUFunc", "numba gufunc"),
    ("numba.np.ufunc.dufunc", "DUFunc", "numba ufunc"),
)


def install(book: Book, *, measure: bool = False) -> Undo:
    """Watch each from its import on."""
    gufuncs = [_install_gufunc(book, measure, *names) for names in GUFUNCS]
    return together(
        [_install_next(book, measure=measure), _install_dace(book, measure=measure), *gufuncs]
    )


# ---- gt4py.next ----


def _install_next(book: Book, *, measure: bool = False) -> Undo:
    """Watch them from the import of gt4py.next on."""

    def begin(undo: list[Undo]) -> None:
        from gt4py.next.ffront import decorator

        tops = [
            getattr(decorator, name, None)
            for name in (
                "Program",
                "ProgramWithBoundArgs",
                "FieldOperator",
                "FieldOperatorFromFoast",
            )
        ]
        classes = {
            base
            for top in tops
            if top is not None
            for base in top.__mro__
            if "__call__" in vars(base)
        }
        kind = _Next()
        undo.extend(
            watch_method(cls, book, kind, measure=measure)
            for cls in classes
            if cls.__module__.startswith("gt4py.next.ffront")
        )

    return from_import_on(book, NEXT, begin)


class _Next(Kind):
    def key(self, called: Any) -> Any:
        return id(called.definition_stage), id(called.backend)

    def named(self, called: Any) -> tuple[str, str, str, Any]:
        function = _function(called)
        backend = "embedded" if called.backend is None else called.backend.name
        return "gt4py.next", getattr(function, "__name__", type(called).__name__), backend, function

    def fields(
        self, called: Any, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> list[tuple[str, Any]]:
        names = _names(_function(called))
        named = [(names[i] if i < len(names) else str(i), value) for i, value in enumerate(args)]
        given = [
            each
            for name, value in (*named, *kwargs.items())
            if name != "offset_provider"
            for each in _flat(name, value)
        ]
        return [
            (name, value)
            for name, value in given
            if hasattr(value, "domain") and hasattr(value, "ndarray")
        ]

    def arrays(
        self, called: Any, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> list[tuple[str, Any]]:
        return [(name, field.ndarray) for name, field in self.fields(called, args, kwargs)]

    def operands(self, called: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Operand]:
        allocator = _allocator(called.backend)
        made = []
        for name, field in self.fields(called, args, kwargs):
            dims = field.domain.dims
            mapper = getattr(allocator, "layout_mapper", None)
            layout = None if mapper is None else tuple(mapper(dims))
            alignment = max(
                getattr(allocator, "byte_alignment", 1) or 1, field.ndarray.dtype.itemsize
            )
            made.append(
                Operand(name, field.ndarray, tuple(dim.value for dim in dims), layout, alignment)
            )
        return made

    def again(self, plain: Any, called: Any, args: Any, kwargs: Any, arrays: dict[str, Any]) -> Any:
        from gt4py.next import common

        names = _names(_function(called))

        def other(name: str, value: Any) -> Any:
            if isinstance(value, (tuple, list)):
                return type(value)(other(f"{name}[{i}]", part) for i, part in enumerate(value))
            return common._field(arrays[name], domain=value.domain) if name in arrays else value

        replaced = [
            other(names[i] if i < len(names) else str(i), value) for i, value in enumerate(args)
        ]
        return plain(
            called, *replaced, **{name: other(name, value) for name, value in kwargs.items()}
        )


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
    return (
        found
        if found is not None
        else custom_layout_allocators.device_allocators[definitions.DeviceType.CPU]
    )


# ---- DaCe ----


def _install_dace(book: Book, *, measure: bool = False) -> Undo:
    """Watch them from the import of DaCe on."""

    def begin(undo: list[Undo]) -> None:
        from dace.codegen import compiled_sdfg

        undo.append(watch_method(compiled_sdfg.CompiledSDFG, book, _Dace(), measure=measure))

    return from_import_on(book, DACE, begin)


class _Dace(Kind):
    def named(self, called: Any) -> tuple[str, str, str, Any]:
        return "dace", called.sdfg.name, "dace", None

    def arrays(
        self, called: Any, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> list[tuple[str, Any]]:
        return with_strides(_by_name(called, args, kwargs).items())

    def operands(self, called: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Operand]:
        """Loops run over the last index innermost where strides are symbols; a program compiled for
        numbers wants these.
        """
        made = []
        for name, array in self.arrays(called, args, kwargs):
            strides = _numbers(called.sdfg, name)
            layout = tuple(range(len(array.shape))) if strides is None else sorted_ranks(strides)
            made.append(Operand(name, array, layout=layout, alignment=array.dtype.itemsize))
        return made

    def not_again(self, called: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
        sdfg = called.sdfg
        arrays = dict(self.arrays(called, args, kwargs))
        if any(
            (strides := _numbers(sdfg, name)) and strides != _in_elements(array)
            for name, array in arrays.items()
        ):
            return "compiled for other strides, which it reads"
        if any(name.startswith("__return") for name in sdfg.arrays):
            return "it returns the memory of its last call"
        for each in sdfg.all_sdfgs_recursive():
            if each.callback_mapping:
                return "it calls Python"
            if any(
                one.transient and one.lifetime.name in ("Persistent", "External", "Global")
                for one in each.arrays.values()
            ):
                return "it keeps arrays from one call to the next"
        if any(_does_more(node, state) for node, state in sdfg.all_nodes_recursive()):
            return "it does more than write its arrays"
        return ""

    def again(self, plain: Any, called: Any, args: Any, kwargs: Any, arrays: dict[str, Any]) -> Any:
        from dace import config
        from dace.frontend.python.parser import infer_symbols_from_datadescriptor

        given = _by_name(called, args, kwargs)
        strides = infer_symbols_from_datadescriptor(called.sdfg, arrays)
        with config.set_temporary("compiler", "allow_view_arguments", value=True):
            return plain(
                called,
                **{
                    **given,
                    **arrays,
                    **{name: value for name, value in strides.items() if name in given},
                },
            )


def _by_name(called: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    return {**dict(zip(called.argnames or (), args, strict=False)), **kwargs}


def _numbers(sdfg: Any, name: str) -> tuple[int, ...] | None:
    """The strides in elements that the program was compiled for; None where they are symbols."""
    try:
        return tuple([int(stride) for stride in sdfg.arrays[name].strides])
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _in_elements(array: Any) -> tuple[int, ...]:
    return tuple([stride // array.dtype.itemsize for stride in array.strides])


def _does_more(node: Any, state: Any) -> bool:
    """Whether a node communicates, keeps a state of its own, or says that it does."""
    if getattr(node, "state_fields", None):
        return True
    return bool(
        hasattr(node, "has_side_effects")
        and hasattr(state, "sdfg")
        and node.has_side_effects(state.sdfg)
    )


# ---- gufuncs of gridbuf and Numba, and fused functions ----


def _install_gufunc(book: Book, measure: bool, module: str, name: str, called: str) -> Undo:
    def begin(undo: list[Undo]) -> None:
        undo.append(
            watch_method(getattr(sys.modules[module], name), book, _Gufunc(called), measure=measure)
        )

    return from_import_on(book, module, begin)


class _Gufunc(Kind):
    def __init__(self, called: str) -> None:
        self.called = called

    def record(self, called: Any) -> Stencil:
        record = super().record(called)
        record.saved_before = getattr(called, "saved", 0)
        return record

    def named(self, called: Any) -> tuple[str, str, str, Any]:
        return (
            self.called,
            str(getattr(called, "__name__", None) or getattr(called, "name", "gufunc")),
            self.called,
            _kernel(called),
        )

    def arrays(
        self, called: Any, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> list[tuple[str, Any]]:
        return with_strides([*_inputs(args), *_outputs(kwargs)])

    def operands(self, called: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Operand]:
        """With core dimensions the last index is innermost; without any, all operands are best in
        the order that most bytes have.
        """
        arrays = self.arrays(called, args, kwargs)
        if "axes" in kwargs or "axis" in kwargs:  # the core dimensions are somewhere else
            return [Operand(name, array) for name, array in arrays]
        most = max((len(array.shape) for _, array in arrays), default=0)
        layout: tuple[int, ...] = tuple(range(most))
        if not any(letter.isalnum() for letter in getattr(called, "signature", None) or ""):
            amounts: dict[tuple[int, ...], int] = {}
            for _, array in arrays:
                if len(array.shape) == most:
                    ranks = sorted_ranks(array.strides)
                    amounts[ranks] = amounts.get(ranks, 0) + array.nbytes
            layout = max(amounts, key=lambda ranks: amounts[ranks]) if amounts else layout
        return [
            Operand(name, array, layout=layout if len(array.shape) == most else None)
            for name, array in arrays
        ]

    def not_again(self, called: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
        if any(array.dtype.hasobject for _, array in self.arrays(called, args, kwargs)):
            return "its elements are Python objects"
        kernel = _kernel(called)
        return (
            "" if kernel is None or only_computes(kernel) else "its kernel does more than compute"
        )

    def again(self, plain: Any, called: Any, args: Any, kwargs: Any, arrays: dict[str, Any]) -> Any:
        inputs = [arrays.get(name, value) for name, value in _inputs(args)]
        outs = [arrays.get(name, value) for name, value in _outputs(kwargs)]
        if "out" in kwargs:
            kwargs = {**kwargs, "out": tuple(outs) if isinstance(kwargs["out"], tuple) else outs[0]}
        return plain(called, *inputs, **kwargs)


def _inputs(args: Sequence[Any]) -> list[tuple[str, Any]]:
    return [(f"operand {i}", value) for i, value in enumerate(args)]


def _outputs(kwargs: dict[str, Any]) -> list[tuple[str, Any]]:
    out = kwargs.get("out")
    return (
        [(f"out {i}", each) for i, each in enumerate(out)]
        if isinstance(out, tuple)
        else [("out", out)]
    )


def _kernel(called: Any) -> Any:
    """The Python function that Numba compiled, or that is fused."""
    return (
        getattr(called, "_function", None)
        or getattr(called, "py_func", None)
        or getattr(getattr(called, "gufunc_builder", None), "py_func", None)
        or getattr(getattr(called, "_dispatcher", None), "py_func", None)
    )


_MORE = {"random", "print", "objmode"}  # effects of a compiled function besides its result
# Modules whose functions only compute
_MODULES = {"math", "cmath", "numpy", "numba", "builtins"}


def only_computes(function: Any, seen: frozenset[Any] = frozenset()) -> bool:
    """Whether neither a function nor the functions it calls by name draw random numbers, print or
    go back to Python.
    """
    if not isinstance(function, FunctionType):  # nor Cython's, which have a code without names
        return _is_known(function)
    code = function.__code__
    if code in seen:
        return True
    if not _MORE.isdisjoint(code.co_names):
        return False
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    named = [function.__globals__.get(name) for name in code.co_names]
    return all(
        only_computes(getattr(value, "py_func", value), seen | {code}) for value in (*cells, *named)
    )


def _is_known(value: Any) -> bool:
    """Whether something that is no function of Python's is data, a type, or a function that only
    computes.
    """
    if isinstance(value, ModuleType):
        return value.__name__ in _MODULES
    if isinstance(value, BuiltinFunctionType):
        owner = value.__self__
        return (
            isinstance(owner, ModuleType)
            and owner.__name__ in _MODULES
            and value.__name__ not in _MORE
        )
    if type(value) is type(np.sum):  # NumPy's own, in Python or C
        return value.__module__ in _MODULES
    plain = value is None or isinstance(
        value, int | float | complex | str | bytes | np.ndarray | np.generic | np.ufunc | type
    )
    return (
        plain
        or type(value).__module__.startswith("numba.core.types")
        or (isinstance(value, tuple) and all(map(_is_known, value)))
    )
