"""Operators of storages: what other libraries' arrays do with a storage is left to them, everything
else is the ufunc's.
"""

import operator
from typing import Any

import numpy as np

from gridbuf.fields.operands import answers
from gridbuf.fields.operators import compared, refuse_sequence
from gridbuf.storage import operands
from gridbuf.storage.base import Storage
from gridbuf.wrapping import CAPSULE, shaped


def _has_operators(other: Any) -> bool:
    """Whether an object is an array of another library, or refuses ufuncs: its own operator comes
    next.
    """
    return hasattr(type(other), "__array_ufunc__")


def _takes(other: Any) -> bool:
    if type(other) is CAPSULE:
        shaped(other)  # says what to do
    return operands.takes(other) or answers(other)


def binary(ufunc: Any, a: Any, b: Any) -> Any:
    """An operator with a storage on either side, as far as C does not know the answer
    (pyext/storage/number.c).
    """
    other = b if isinstance(a, Storage) else a
    if _takes(other):
        return ufunc(a, b)
    if ufunc in (np.equal, np.not_equal):
        return compared(ufunc, "a storage", a if other is b else b, other, _has_operators(other))
    if not _has_operators(other):
        refuse_sequence(ufunc, "a storage", other)
    return NotImplemented


def in_place(ufunc: Any, a: Any, *other: Any) -> Any:
    """Into the memory of a; `other` is empty for what has one operand."""
    if not all(
        map(_takes, other)
    ):  # Python would go on with `self = self + other`, and the storage keep its old values
        raise TypeError(
            f"{ufunc.__name__}: a storage does not take a {type(other[0]).__name__} into its"
            " memory; gridbuf.storage.storage(other) or numpy.asarray(other) gives its values"
        )
    return ufunc(a, *other, out=(a,))


def _contains(self: Any, value: Any) -> bool:
    return bool(np.any(np.equal(self, value)))


def _iter(self: Storage) -> Any:
    if not self.ndim:
        raise TypeError("iteration over a storage without axes")
    return map(self.__getitem__, range(self.shape[0]))


def _index(self: Storage) -> int:
    if self.ndim or self.dtype.kind not in "iu":
        raise TypeError("only an integer storage without axes can be an index")
    return operator.index(self._scalar())


def _imatmul(self: Storage, other: Any) -> Any:
    if not self.ndim or np.ndim(other) < 2:  # else a number would be written everywhere
        raise ValueError(
            "matmul: in place, a storage has at least one axis and the other operand at least two"
            " indices"
        )
    return in_place(np.matmul, self, other)


def _round(self: Storage, ndigits: int | None = None) -> Any:
    """Of a storage without axes as of a number; else np.round."""
    if self.ndim:
        return np.round(self, 0 if ndigits is None else ndigits)  # type: ignore[call-overload]
    return (
        round(self._scalar().item(), ndigits) if ndigits is None else round(self._scalar(), ndigits)
    )


for _name, _function in {
    "__contains__": _contains, "__iter__": _iter, "__index__": _index, "__round__": _round,
    "__imatmul__": _imatmul,
}.items():  # fmt: skip
    setattr(Storage, _name, _function)
