"""Operands: anything that exports memory, Python numbers, lists; and what they are called."""

import contextlib
import numbers
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gridbuf import _core
from gridbuf.gufunc.errors import SignatureError
from gridbuf.gufunc.types import number_of
from gridbuf.names import get_dims
from gridbuf.wrapping import host_array, naming, values

WEAK = {int: _core.WEAK_INT, float: _core.WEAK_FLOAT, complex: _core.WEAK_COMPLEX}  # Python numbers
_VALUES = (list, tuple, *WEAK, np.generic)


class Input(NamedTuple):
    """An input as the search for a kernel needs it: its array, the engine's number of its type, and
    what Python number it is.
    """

    array: "np.ndarray[Any, Any]"
    number: int
    weak: int = 0

    @property
    def layout(self) -> str:
        """C, F or strided, for generators."""
        flags = self.array.flags
        return "C" if flags.c_contiguous else "F" if flags.f_contiguous else "strided"


def target(given: Any) -> "np.ndarray[Any, Any]":
    """The memory to write into; a storage with memory on two sides hears of it."""
    found = host_array(given)
    if isinstance(given, _core.StorageBase):
        given.set_host_modified()  # type: ignore[attr-defined]
    return found


def _array(given: Any, what: str) -> "np.ndarray[Any, Any]":
    """The memory of an operand, or for an input the values of what has none, as NumPy reads
    them.
    """
    with naming(what):
        if what[:3] == "out":
            return target(given)
        read = _core.values(given)
        if isinstance(given, _VALUES):
            return np.asarray(read)
        try:
            return host_array(read)
        except (TypeError, ValueError, BufferError):
            if read is given and isinstance(given, (numbers.Number, Sequence)):
                with contextlib.suppress(TypeError, ValueError):
                    return np.asarray(given)
            raise


def normal(given: Any, what: str) -> Any:
    """An operand as an ndarray, or as a Field when it has names; `what` is its name for errors."""
    array, names = _array(given, what), get_dims(given)
    if names is None or len(names) != array.ndim:
        return array
    halo, origin = getattr(given, "halo", None), getattr(given, "origin", None)
    halo, origin = (
        x if isinstance(x, tuple) and len(x) == array.ndim else None for x in (halo, origin)
    )
    return _core.Field(array, dims=names, halo=halo, origin=origin)


def read_input(given: Any, i: int) -> Input:
    """An input: an ndarray, a Field, a Python number, or anything with memory; lists are copied."""
    array = _array(given, f"input {i}")
    number = number_of(array.dtype)
    weak = WEAK.get(type(given), 0)
    if not number and not weak:
        raise SignatureError(f"input {i}: no kernel takes elements of type {array.dtype}")
    return Input(array, number, weak)


def weak(value: Any, dtype: "np.dtype[Any]") -> "np.ndarray[Any, Any]":
    """A Python number in the type of a kernel; an int that does not fit is an OverflowError (NumPy
    1 would wrap it).
    """
    if (
        dtype.kind in "iu"
        and isinstance(value, int)
        and not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max
    ):
        raise OverflowError(f"Python integer {value} out of bounds for {dtype}")
    return (
        np.asarray(value).astype(dtype) if isinstance(value, complex) else np.asarray(value, dtype)
    )


def captured(args: tuple[Any, ...], nin: int) -> tuple[Any, ...]:
    """The operands of a call that runs later: lists are read now, memory is shared."""
    return tuple(
        values(a) if i < nin and isinstance(a, (list, tuple)) else a for i, a in enumerate(args)
    )
