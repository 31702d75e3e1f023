"""Calls of gridbuf's gufuncs, and of those that Numba makes as Python objects."""

import sys
from collections.abc import Sequence
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from gridbuf.watch.book import Book
from gridbuf.watch.imports import Undo, from_import_on, together
from gridbuf.watch.layouts import sorted_ranks
from gridbuf.watch.methods import Kind, Operand, watch_method, with_strides

# The module whose import is waited for, the class there, and what the table calls them.
CLASSES = (
    ("gridbuf.gufunc.call", "GUFunc", "gridbuf gufunc"),
    ("numba.np.ufunc.gufunc", "GUFunc", "numba gufunc"),
    ("numba.np.ufunc.dufunc", "DUFunc", "numba ufunc"),
)


def install(book: Book, *, measure: bool = False) -> Undo:
    """Watch each from its import on."""
    return together([_install(book, measure, *names) for names in CLASSES])


def _install(book: Book, measure: bool, module: str, name: str, called: str) -> Undo:
    def begin(undo: list[Undo]) -> None:
        undo.append(watch_method(getattr(sys.modules[module], name), book, _Gufunc(called), measure=measure))

    return from_import_on(module, begin)


class _Gufunc(Kind):
    def __init__(self, called: str) -> None:
        self.called = called

    def named(self, called: Any) -> tuple[str, str, str, Any]:
        return (
            self.called,
            str(getattr(called, "__name__", None) or getattr(called, "name", "gufunc")),
            self.called,
            _kernel(called),
        )

    def arrays(self, called: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[tuple[str, Any]]:
        return with_strides([*_inputs(args), *_outputs(kwargs)])

    def operands(self, called: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Operand]:
        """With core dimensions the last index is innermost; without any, all operands are best in the order that most bytes have."""
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
        return [Operand(name, array, layout=layout if len(array.shape) == most else None) for name, array in arrays]

    def not_again(self, called: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
        if any(array.dtype.hasobject for _, array in self.arrays(called, args, kwargs)):
            return "its elements are Python objects"
        kernel = _kernel(called)
        return "" if kernel is None or only_computes(kernel) else "its kernel does more than compute"

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
    return [(f"out {i}", each) for i, each in enumerate(out)] if isinstance(out, tuple) else [("out", out)]


def _kernel(called: Any) -> Any:
    """The Python function that Numba compiled."""
    return (
        getattr(called, "py_func", None)
        or getattr(getattr(called, "gufunc_builder", None), "py_func", None)
        or getattr(getattr(called, "_dispatcher", None), "py_func", None)
    )


_MORE = {"random", "print", "objmode"}  # what a compiled function may do that is seen elsewhere
_MODULES = {"math", "cmath", "numpy", "numba", "builtins"}  # whose functions compute, by other names than those


def only_computes(function: Any, seen: frozenset[Any] = frozenset()) -> bool:
    """Whether neither a function nor what it calls by name draws random numbers, prints or goes back to Python."""
    if not isinstance(function, FunctionType):  # nor Cython's, which have a code without names
        return _is_known(function)
    code = function.__code__
    if code in seen:
        return True
    if not _MORE.isdisjoint(code.co_names):
        return False
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    named = [function.__globals__.get(name) for name in code.co_names]
    return all(only_computes(getattr(value, "py_func", value), seen | {code}) for value in (*cells, *named))


def _is_known(value: Any) -> bool:
    """Whether something that is no function of Python's is data, a type, or what one of these modules computes with."""
    if isinstance(value, ModuleType):
        return value.__name__ in _MODULES
    if isinstance(value, BuiltinFunctionType):
        owner = value.__self__
        return isinstance(owner, ModuleType) and owner.__name__ in _MODULES and value.__name__ not in _MORE
    if type(value) is type(np.sum):  # NumPy's own, in Python or C
        return value.__module__ in _MODULES
    plain = value is None or isinstance(value, int | float | complex | str | bytes | np.ndarray | np.generic | np.ufunc | type)
    return (
        plain
        or type(value).__module__.startswith("numba.core.types")
        or (isinstance(value, tuple) and all(map(_is_known, value)))
    )
