"""Operators of storages: what other libraries' arrays do with a storage is left to them, everything else is the ufunc's."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from gridbuf.storage import operands
from gridbuf.storage.base import Storage
from gridbuf.wrapping import CAPSULE, shaped

_BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "matmul": np.matmul, "truediv": np.true_divide,
    "floordiv": np.floor_divide, "mod": np.remainder, "divmod": np.divmod, "pow": np.power, "lshift": np.left_shift,
    "rshift": np.right_shift, "and": np.bitwise_and, "xor": np.bitwise_xor, "or": np.bitwise_or,
}  # fmt: skip
_COMPARING = {
    "lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
_QUICK = frozenset({float, int, bool, complex, np.ndarray, np.float64, np.float32, np.int64})  # that storages take for certain


def _has_operators(other: Any) -> bool:
    """Whether an object is an array of another library, whose own operator comes next."""
    return getattr(type(other), "__array_ufunc__", None) is not None


def _takes(other: Any) -> bool:
    if type(other) in _QUICK:
        return True
    if type(other) is CAPSULE:
        shaped(other)  # says what to do
    return operands.takes(other)


def _forward(ufunc: Any) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        return ufunc(self, other) if _takes(other) else NotImplemented

    return method


def _reflected(ufunc: Any) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        return ufunc(other, self) if _takes(other) else NotImplemented

    return method


def _compared(ufunc: Any) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if _takes(other):
            return ufunc(self, other)
        if not _has_operators(other) and ufunc in (np.equal, np.not_equal):  # else Python would compare identities, and say False
            raise TypeError(
                f"{ufunc.__name__}: a storage is compared with numbers and arrays, element by element, not with "
                f"{type(other).__name__}; `is` compares identities"
            )
        return NotImplemented

    return method


def _in_place(ufunc: Any) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if not _takes(other):  # Python would go on with `self = self + other`, and the storage keep its old values
            raise TypeError(
                f"{ufunc.__name__}: a storage does not take a {type(other).__name__} into its memory; "
                "gridbuf.storage.storage(other) or numpy.asarray(other) gives its values"
            )
        return ufunc(self, other, out=(self,))

    return method


for _name, _ufunc in _BINARY.items():
    setattr(Storage, f"__{_name}__", _forward(_ufunc))
    setattr(Storage, f"__r{_name}__", _reflected(_ufunc))
    if _name != "divmod":
        setattr(Storage, f"__i{_name}__", _in_place(_ufunc))
for _name, _ufunc in _COMPARING.items():
    setattr(Storage, f"__{_name}__", _compared(_ufunc))


def _contains(self: Storage, value: Any) -> bool:
    return bool(np.any(np.equal(self, value)))


def _iter(self: Storage) -> Any:
    if not self.ndim:
        raise TypeError("iteration over a storage without axes")
    return map(self.__getitem__, range(self.shape[0]))


def _index(self: Storage) -> int:
    if self.ndim or self.dtype.kind not in "iu":
        raise TypeError("only an integer storage without axes can be an index")
    return operator.index(self._scalar())


def _round(self: Storage, ndigits: int | None = None) -> Any:
    """Of a storage without axes as of a number; else np.round."""
    if self.ndim:
        return np.round(self, 0 if ndigits is None else ndigits)  # type: ignore[call-overload]
    return round(self._scalar().item(), ndigits) if ndigits is None else round(self._scalar(), ndigits)


for _name, _function in {"__contains__": _contains, "__iter__": _iter, "__index__": _index, "__round__": _round}.items():
    setattr(Storage, _name, _function)
