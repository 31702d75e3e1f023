"""Operators with a Field or a storage on either side: what is not left to the other operand is the
ufunc's.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gridbuf.named.kinds import FIELDS, Kind, answers, foreign
from gridbuf.named.ufuncs import refuse_names
from gridbuf.wrapping import CAPSULE, shaped


def of_fields(ufunc: Any, a: Any, b: Any) -> Any:
    return binary(FIELDS, ufunc, a, b)


def into_fields(ufunc: Any, a: Any, *other: Any) -> Any:
    return in_place(FIELDS, ufunc, a, *other)


def binary(kind: Kind, ufunc: Any, a: Any, b: Any) -> Any:
    """An operator that C does not know the answer of."""
    other = b if kind.owns(a) else a
    if _computes(kind, ufunc, other):
        return ufunc(a, b)
    has_operators = _has_operators(kind, other)
    if has_operators and kind is FIELDS and foreign(other):
        refuse_names(ufunc, (a, b))
    if ufunc in (np.equal, np.not_equal):
        return _compared(kind, ufunc, a if other is b else b, other, has_operators)
    if not has_operators:
        _refuse_sequence(kind, ufunc, other)
    return NotImplemented


def in_place(kind: Kind, ufunc: Any, a: Any, *other: Any) -> Any:
    """Into the memory of a; `other` is empty for what has one operand. Nothing else may take the
    place of a.
    """
    for each in other:
        # Python would go on with `a = a + other`: a new object, and a keeps its old values.
        if kind is not FIELDS and not _computes(kind, ufunc, each):
            raise TypeError(
                f"{ufunc.__name__}: a storage does not take a {type(each).__name__} into its"
                " memory; gridbuf.storage.storage(other) or numpy.asarray(other) gives its values"
            )
        if each is None or not (kind.is_operand(each) or _has_operators(kind, each)):
            return NotImplemented
    return ufunc(a, *other, out=(a,))


def _computes(kind: Kind, ufunc: Any, other: Any) -> bool:
    """Whether the ufunc is to answer."""
    if other is None:
        return False
    if type(other) is CAPSULE and kind is not FIELDS:
        shaped(other)  # says what to do
    if kind.is_operand(other) or answers(other):
        return True
    return kind is FIELDS and foreign(other) and _says(other, ufunc)


def _has_operators(kind: Kind, other: Any) -> bool:
    """Whether an object is an array of another kind, whose own operator comes first."""
    if kind is FIELDS and isinstance(other, np.ndarray):
        return True
    return hasattr(type(other), "__array_ufunc__")


def _says(other: Any, ufunc: Any) -> bool:
    """Whether a class has an operator: without its own `==` only identities would be compared, and
    those are not meant.
    """
    own: Any = type(other).__eq__
    return ufunc not in (np.equal, np.not_equal) or own is not object.__eq__


_OF_SEQUENCES = {np.multiply: ("multiplied by", "by"), np.add: ("added to", "to")}


def _refuse_sequence(kind: Kind, ufunc: Any, other: Any) -> None:
    """Python goes on to repeat a sequence, as often as the one integer of an array without indices
    says, or to append its memory to bytes.
    """
    if ufunc in _OF_SEQUENCES and isinstance(other, Sequence):
        does, word = _OF_SEQUENCES[ufunc]
        raise TypeError(
            f"{ufunc.__name__}: {kind.one} is {does} numbers and arrays, not {word}"
            f" {type(other).__name__}"
        )


def _compared(kind: Kind, ufunc: Any, ours: Any, other: Any, asked: bool) -> Any:
    """The answer of the other operand's own `==` or `!=`; without one Python would compare
    identities, and answer False.
    """
    name = "__eq__" if ufunc is np.equal else "__ne__"
    found = getattr(type(other), name)(other, ours) if asked else NotImplemented
    if found is NotImplemented:
        raise TypeError(
            f"{ufunc.__name__}: {kind.one} is compared with numbers and arrays, element by element,"
            f" not with {type(other).__name__}; `is` compares identities"
        )
    return found
