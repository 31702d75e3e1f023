"""Operators of storages: what other libraries' arrays do with a storage is left to them, everything else is the ufunc's."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.storage import operands
from gridbuf.storage.base import Storage
from gridbuf.wrapping import CAPSULE, shaped

_BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "matmul": np.matmul, "truediv": np.true_divide,
    "floordiv": np.floor_divide, "mod": np.remainder, "divmod": np.divmod, "pow": np.power, "lshift": np.left_shift,
    "rshift": np.right_shift, "and": np.bitwise_and, "xor": np.bitwise_xor, "or": np.bitwise_or,
}  # fmt: skip
_UNARY = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}
_COMPARING = {
    "lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip


def _has_operators(other: Any) -> bool:
    """Whether an object is an array of another library, whose own operator comes next."""
    return getattr(type(other), "__array_ufunc__", None) is not None


def _takes(other: Any) -> bool:
    if type(other) is CAPSULE:
        shaped(other)  # says what to do
    return operands.takes(other)


def _as_it_was(ufunc: Any, *operands: Any) -> Any:
    return NotImplemented


def _quick(ufunc: Any) -> Any:
    """What is asked first: C's answer for host storages, arrays and numbers, which needs no search for who computes."""
    return _core.storage_ufunc if ufunc.nout == 1 and ufunc.signature is None else _as_it_was


def _unary(ufunc: Any) -> Callable[[Any], Any]:
    def method(self: Any) -> Any:
        found = _core.storage_ufunc(ufunc, self, None)
        return ufunc(self) if found is NotImplemented else found

    return method


def _forward(ufunc: Any) -> Callable[[Any, Any], Any]:
    quick = _quick(ufunc)

    def method(self: Any, other: Any) -> Any:
        found = quick(ufunc, self, other, None)
        if found is not NotImplemented:
            return found
        return ufunc(self, other) if _takes(other) else NotImplemented

    return method


def _reflected(ufunc: Any) -> Callable[[Any, Any], Any]:
    quick = _quick(ufunc)

    def method(self: Any, other: Any) -> Any:
        found = quick(ufunc, other, self, None)
        if found is not NotImplemented:
            return found
        return ufunc(other, self) if _takes(other) else NotImplemented

    return method


def _compared(ufunc: Any) -> Callable[[Any, Any], Any]:
    quick = _quick(ufunc)

    def method(self: Any, other: Any) -> Any:
        found = quick(ufunc, self, other, None)
        if found is not NotImplemented:
            return found
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
    quick = _quick(ufunc)

    def method(self: Any, other: Any) -> Any:
        found = quick(ufunc, self, other, self)
        if found is not NotImplemented:
            return found
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
_power, _power_in_place = _forward(np.power), _in_place(np.power)


def _as_square_or_root(self: Storage, exponent: Any) -> Any:
    """The ufunc that `**` is for some exponents, as for ndarrays; None for the others."""
    exact = type(exponent)
    if exponent == 2 if exact is int or (exact is float and self.dtype.kind in "fc") else False:
        return np.square
    return np.sqrt if exact is float and exponent == 0.5 and self.dtype.kind in "fc" else None


def _pow(self: Any, exponent: Any) -> Any:
    ufunc = _as_square_or_root(self, exponent)
    return _power(self, exponent) if ufunc is None else ufunc(self)


def _ipow(self: Any, exponent: Any) -> Any:
    ufunc = _as_square_or_root(self, exponent)
    return _power_in_place(self, exponent) if ufunc is None else ufunc(self, out=(self,))


Storage.__pow__, Storage.__ipow__ = _pow, _ipow  # type: ignore[method-assign]
for _name, _ufunc in _COMPARING.items():
    setattr(Storage, f"__{_name}__", _compared(_ufunc))
for _name, _ufunc in _UNARY.items():
    setattr(Storage, f"__{_name}__", _unary(_ufunc))


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


def _round(self: Storage, ndigits: int | None = None) -> Any:
    """Of a storage without axes as of a number; else np.round."""
    if self.ndim:
        return np.round(self, 0 if ndigits is None else ndigits)  # type: ignore[call-overload]
    return round(self._scalar().item(), ndigits) if ndigits is None else round(self._scalar(), ndigits)


for _name, _function in {"__contains__": _contains, "__iter__": _iter, "__index__": _index, "__round__": _round}.items():
    setattr(Storage, _name, _function)
