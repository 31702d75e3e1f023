"""Operands of a call: element types by number, uniform parameters, objects that export memory,
Python numbers and lists.
"""

import contextlib
import numbers
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gridbuf import _core
from gridbuf._core import TYPE_CHARS
from gridbuf.gufunc.errors import SignatureError
from gridbuf.names import get_dims
from gridbuf.wrapping import host_array, naming, values

# ---- element types: the engine's numbers and NumPy's dtypes ----


_CHARS = TYPE_CHARS  # of NumPy, each at the engine's number of the type; a space: it has none
_NUMBERS: dict[int, int] = {np.dtype(c).num: number for number, c in enumerate(_CHARS) if c != " "}
_NUMBERS[np.dtype("q").num], _NUMBERS[np.dtype("Q").num] = _CHARS.index("l"), _CHARS.index("L")
DTYPES: list[Any] = [None if c == " " else np.dtype(c) for c in _CHARS]
DATETIME = _CHARS.index("M")


def number_of(dtype: "np.dtype[Any]") -> int:
    """The engine's number of a dtype; 0: no kernel can have it."""
    return by_number(dtype.num)


def by_number(num: int) -> int:
    """The engine's number for a type number of NumPy's."""
    number = _NUMBERS.get(num, 0)
    return 0 if number >= DATETIME else number


def parse_types(text: str, nin: int, nout: int) -> bytes:
    """Read "dd->d"; the arrow may be left out."""
    if not isinstance(text, str):
        raise SignatureError(f"types: expected a str such as 'dd->d', got {text!r}")
    inputs, arrow, outputs = text.partition("->")
    chars = inputs + outputs
    if (arrow and len(inputs) != nin) or len(chars) != nin + nout:
        raise SignatureError(f"types: {text!r} does not fit {nin} inputs and {nout} outputs")
    numbers = []
    for at, char in enumerate(chars):
        number = 0
        with contextlib.suppress(TypeError):
            number = number_of(np.dtype(char))
        if not number:
            raise SignatureError(
                f"types: {char!r} is no type of a kernel; allowed are NumPy's characters"
                f" {_CHARS[1:DATETIME]}qQ\n    {text}\n   "
                f" {' ' * (at + (2 if arrow and at >= len(inputs) else 0))}^"
            )
        numbers.append(number)
    return bytes(numbers)


def types_text(types: bytes, nin: int) -> str:
    """The reverse of parse_types."""
    chars = "".join(_CHARS[t] for t in types)
    return chars[:nin] + "->" + chars[nin:]


def identity_bytes(value: Any, dtype: "np.dtype[Any]") -> bytes | None:
    """An identity in a type; -1 stands for all bits, as in NumPy."""
    if value is None:
        return None
    if dtype.kind == "u" and isinstance(value, int) and value == -1:
        return bytes([255] * dtype.itemsize)
    return cell(value, dtype, "identity")


def cell(value: Any, dtype: "np.dtype[Any]", argument: str) -> bytes:
    """The bytes of one element."""
    made = np.zeros((), dtype)
    try:
        made[()] = value
    except (TypeError, ValueError, OverflowError):
        with naming(f"{argument}: {value!r} is no value of {dtype}"):
            raise
    return made.tobytes()


# ---- uniform parameters ----


def uniform_value(name: str, kind: str, value: Any) -> bool | int | float:
    """The value as what a parameter of NumPy's kind takes: a bool, an int, or a float."""
    try:
        if kind == "b":
            if not isinstance(value, (bool, np.bool_)):
                raise TypeError
            return bool(value)
        if isinstance(value, bool) or (
            kind == "f" and (isinstance(value, (str, bytes)) or np.ndim(value))
        ):
            raise TypeError
        return float(value) if kind == "f" else operator.index(value)
    except (TypeError, ValueError):
        raise SignatureError(
            f"{name}: {value!r} is no single value of this uniform parameter's type"
        ) from None
    except OverflowError:
        raise OverflowError(
            f"{name}: {value!r} does not fit this uniform parameter's type"
        ) from None


# ---- operands ----


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
