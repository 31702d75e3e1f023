"""Operators with a Field on either side: what is not left to the other operand is the ufunc's."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gridbuf.fields.operands import Field, answers, foreign, refuse_names, takes


def _has_operators(other: Any) -> bool:
    """Whether an object is an array of another kind, whose own operator comes first."""
    return isinstance(other, np.ndarray) or hasattr(type(other), "__array_ufunc__")


def _says(other: Any, ufunc: Any) -> bool:
    """Whether a class has an operator: without its own `==` only identities would be compared, and
    those are not meant.
    """
    own: Any = type(other).__eq__
    return ufunc not in (np.equal, np.not_equal) or own is not object.__eq__


def binary(ufunc: Any, a: Any, b: Any) -> Any:
    other = b if isinstance(a, Field) else a
    if other is not None and (
        takes(other) or answers(other) or (foreign(other) and _says(other, ufunc))
    ):
        return ufunc(a, b)
    has_operators = _has_operators(other)
    if has_operators and getattr(type(other), "__array_ufunc__", None) is not None:
        refuse_names(ufunc, (a, b))
    if ufunc in (np.equal, np.not_equal):
        return compared(ufunc, "a Field", a if other is b else b, other, has_operators)
    if not has_operators:
        refuse_sequence(ufunc, "a Field", other)
    return NotImplemented


_OF_SEQUENCES = {np.multiply: ("multiplied by", "by"), np.add: ("added to", "to")}


def refuse_sequence(ufunc: Any, what: str, other: Any) -> None:
    """Python goes on to repeat a sequence, as often as the one integer of an array without indices
    says, or to append its memory to bytes.
    """
    if ufunc in _OF_SEQUENCES and isinstance(other, Sequence):
        does, word = _OF_SEQUENCES[ufunc]
        raise TypeError(
            f"{ufunc.__name__}: {what} is {does} numbers and arrays, not {word}"
            f" {type(other).__name__}"
        )


def compared(ufunc: Any, what: str, ours: Any, other: Any, asked: bool) -> Any:
    """What the other's `==` or `!=`, if it is asked, says of ours; where it says nothing Python
    would compare identities, and answer False.
    """
    found = (
        getattr(type(other), "__eq__" if ufunc is np.equal else "__ne__")(other, ours)
        if asked
        else NotImplemented
    )
    if found is NotImplemented:
        raise TypeError(
            f"{ufunc.__name__}: {what} is compared with numbers and arrays, element by element, not"
            f" with {type(other).__name__}; `is` compares identities"
        )
    return found


def in_place(ufunc: Any, a: Any, *other: Any) -> Any:
    """Into the memory of a, whatever the other is, which a square has not: nothing else may take
    its place.
    """
    if not all(b is not None and (takes(b) or _has_operators(b)) for b in other):
        return NotImplemented
    return ufunc(a, *other, out=(a,))
