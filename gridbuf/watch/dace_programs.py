"""Calls of programs that DaCe compiled, other than those inside of gt4py's stencils."""

from collections.abc import Sequence
from typing import Any

from gridbuf.watch.book import Book
from gridbuf.watch.imports import Undo, from_import_on
from gridbuf.watch.layouts import sorted_ranks
from gridbuf.watch.methods import Kind, Operand, watch_method, with_strides

PACKAGE = "dace.codegen.compiled_sdfg"


def install(book: Book, *, measure: bool = False) -> Undo:
    """Watch them from the import of DaCe on."""

    def begin(undo: list[Undo]) -> None:
        from dace.codegen import compiled_sdfg

        undo.append(watch_method(compiled_sdfg.CompiledSDFG, book, _Dace(), measure=measure))

    return from_import_on(PACKAGE, begin)


class _Dace(Kind):
    def named(self, called: Any) -> tuple[str, str, str, Any]:
        return "dace", called.sdfg.name, "dace", None

    def arrays(self, called: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[tuple[str, Any]]:
        return with_strides(_given(called, args, kwargs).items())

    def operands(self, called: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Operand]:
        """Loops run over the last index innermost where strides are symbols; what is compiled for numbers wants these."""
        made = []
        for name, array in self.arrays(called, args, kwargs):
            strides = _numbers(called.sdfg, name)
            layout = tuple(range(len(array.shape))) if strides is None else sorted_ranks(strides)
            made.append(Operand(name, array, layout=layout, alignment=array.dtype.itemsize))
        return made

    def not_again(self, called: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
        sdfg = called.sdfg
        arrays = dict(self.arrays(called, args, kwargs))
        if any((strides := _numbers(sdfg, name)) and strides != _in_elements(array) for name, array in arrays.items()):
            return "compiled for other strides, which are what it reads"
        if any(name.startswith("__return") for name in sdfg.arrays):
            return "what it returns is the memory of its last call"
        for each in sdfg.all_sdfgs_recursive():
            if each.callback_mapping:
                return "it calls Python"
            if any(one.transient and one.lifetime.name in ("Persistent", "External", "Global") for one in each.arrays.values()):
                return "it keeps arrays from one call to the next"
        if any(_does_more(node, state) for node, state in sdfg.all_nodes_recursive()):
            return "it does more than write its arrays"
        return ""

    def again(self, plain: Any, called: Any, args: Any, kwargs: Any, arrays: dict[str, Any]) -> Any:
        from dace import config
        from dace.frontend.python.parser import infer_symbols_from_datadescriptor

        given = _given(called, args, kwargs)
        strides = infer_symbols_from_datadescriptor(called.sdfg, arrays)
        with config.set_temporary("compiler", "allow_view_arguments", value=True):
            return plain(called, **{**given, **arrays, **{name: value for name, value in strides.items() if name in given}})


def _given(called: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
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
    return bool(hasattr(node, "has_side_effects") and hasattr(state, "sdfg") and node.has_side_effects(state.sdfg))
