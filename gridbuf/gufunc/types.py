"""Element types: the engine's numbers and NumPy's dtypes."""

import contextlib
from typing import Any

import numpy as np

from gridbuf._core import TYPE_CHARS
from gridbuf.gufunc.errors import SignatureError
from gridbuf.wrapping import naming

_CHARS = TYPE_CHARS  # of NumPy, each at the engine's number of the type; a space: it has none
_NUMBERS: dict[int, int] = {np.dtype(c).num: number for number, c in enumerate(_CHARS) if c != " "}
_NUMBERS[np.dtype("q").num], _NUMBERS[np.dtype("Q").num] = _CHARS.index("l"), _CHARS.index("L")
DTYPES: list[Any] = [None if c == " " else np.dtype(c) for c in _CHARS]
DATETIME = _CHARS.index("M")


def number_of(dtype: "np.dtype[Any]") -> int:
    """The engine's number of a dtype; 0: no kernel can have it."""
    return by_number(dtype.num)


def by_number(num: int) -> int:
    """The same of the number that NumPy has for a dtype."""
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
