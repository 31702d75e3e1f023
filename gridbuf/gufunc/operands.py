"""Operands: anything that exports memory, Python numbers, and what goes back."""

from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf._wrap import host_array
from gridbuf.gufunc.errors import SignatureError
from gridbuf.gufunc.types import number_of
from gridbuf.names import get_dims

_WEAK = {int: 1, float: 2, complex: 3}


class Operand:
    """An operand as the engine needs it; array is None for an output to allocate."""

    __slots__ = ("array", "dims", "given", "names", "number", "weak")

    def __init__(self, given: Any, array: Any, names: tuple[str, ...] | None, weak: int = 0) -> None:
        self.given, self.array, self.names, self.weak = given, array, names, weak
        self.dims = names
        self.number = 0 if array is None else number_of(array.dtype)

    @property
    def layout(self) -> str:
        """C, F or strided, for generators."""
        flags = self.array.flags
        return "C" if flags.c_contiguous else "F" if flags.f_contiguous else "strided"

    def handed(self, named: bool) -> Any:
        """What _execute takes."""
        return (self.array, self.dims) if named and self.dims is not None else self.array


def _names(given: Any) -> tuple[str, ...] | None:
    dims = getattr(given, "__gt_dims__", None)
    return None if dims is None else get_dims(given)


def read_input(given: Any, i: int) -> Operand:
    """An input: an ndarray, a Field, a Python number, or anything with memory; lists are copied."""
    if type(given) in _WEAK:
        return Operand(given, np.asarray(given), None, _WEAK[type(given)])
    values = isinstance(given, (list, tuple, bool, np.generic))
    array = np.asarray(given) if values else host_array(given)
    operand = Operand(given, array, _names(given))
    if not operand.number:
        raise SignatureError(f"input {i}: no kernel takes elements of type {array.dtype}")
    return operand


def read_mask(given: Any) -> Operand:
    """The mask where=, broadcast by name when it has names."""
    values = isinstance(given, (list, tuple, bool, np.generic))
    operand = Operand(given, np.asarray(given) if values else host_array(given), _names(given))
    if operand.array.dtype != bool:
        raise TypeError(f"where: expected bools, got {operand.array.dtype}")
    return operand


def weak(value: Any, dtype: "np.dtype[Any]") -> "np.ndarray[Any, Any]":
    """A Python number in the type of a kernel; an int that does not fit is an OverflowError (NumPy 1 would wrap it)."""
    if dtype.kind in "iu" and isinstance(value, int) and not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
        raise OverflowError(f"Python integer {value} out of bounds for {dtype}")
    return np.asarray(value, dtype)


def read_output(given: Any) -> Operand:
    """An output: memory that may be written, or None."""
    if given is None:
        return Operand(None, None, None)
    array = host_array(given)
    if not array.flags.writeable:
        raise ValueError("out: it is read-only")
    operand = Operand(given, array, _names(given))
    if not operand.number:
        raise SignatureError(f"out: no kernel gives elements of type {array.dtype}")
    return operand


def wrap(result: Any, output: Operand, dims: tuple[str, ...] | None, finish: Any) -> Any:
    """A result as the caller sees it: what was given, a Field when names are known, a scalar for 0-d."""
    if output.given is not None:
        return output.given
    if finish is not None:
        result, dims = finish(result, dims)
    if isinstance(result, np.ndarray) and dims is not None and result.ndim:
        return _core.Field(result, dims=dims)
    return result[()] if isinstance(result, np.ndarray) and result.ndim == 0 else result
