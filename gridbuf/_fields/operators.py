"""Operators with a Field on either side: what is not left to the other operand is the ufunc's."""

from typing import Any

import numpy as np

from gridbuf._fields.operands import Field, takes


def _defers(other: Any) -> bool:
    """Whether the other operand's own operator comes first, as for an ndarray."""
    if takes(other):
        return False
    if getattr(type(other), "__array_ufunc__", False) is None:
        return True
    return isinstance(other, np.ndarray) or not hasattr(type(other), "__array_ufunc__")


def binary(ufunc: Any, a: Any, b: Any) -> Any:
    other = b if isinstance(a, Field) else a
    if other is None or _defers(other):
        compares = ufunc in (np.equal, np.not_equal) and not hasattr(type(other), "__array_ufunc__")
        if compares:  # else Python would compare identities, and answer False
            raise TypeError(
                f"{ufunc.__name__}: a Field is compared with numbers and arrays, element by element, not with "
                f"{type(other).__name__}; `is` compares identities"
            )
        return NotImplemented
    return ufunc(a, b)


def in_place(ufunc: Any, a: Any, b: Any) -> Any:
    if b is None or _defers(b):
        return NotImplemented
    return ufunc(a, b, out=(a,))
