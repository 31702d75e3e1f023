"""adopt: make a GUFunc of an existing ufunc object's loops."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.gufunc.call import FLAGS, GUFunc
from gridbuf.gufunc.errors import SignatureError
from gridbuf.gufunc.kernels import FOLDS, MEASURED, NUMPY_LOOP, ONE_WORKER, PURE, RAISES, Kernel
from gridbuf.gufunc.operands import Operand
from gridbuf.gufunc.types import DTYPES, number_of, types_text

_REORDERABLE = (np.maximum, np.minimum, np.fmax, np.fmin)  # they have no identity, and order does not matter
_PYTHON = {1: int, 2: float, 3: complex}


class Adopted(GUFunc):
    """A GUFunc with the loops of a numpy.ufunc, which also decides on types."""

    _ufunc: np.ufunc

    def _find_kernel(self, inputs: list[Operand]) -> int:
        return self._resolved(_types(inputs), None)

    def _asked_kernel(self, inputs: list[Operand], dtype: Any, signature: Any) -> int:
        if dtype is not None:
            if signature is not None:
                raise SignatureError("dtype: it cannot be given together with signature")
            signature = (None,) * self.nin + (np.dtype(dtype),) * self.nout
        elif isinstance(signature, str):
            signature = tuple(np.dtype(c) for c in signature.replace("->", ""))
        return self._resolved(_types(inputs), signature)

    def _resolved(self, types: list[Any], signature: Any) -> int:
        try:
            asked = {} if signature is None else {"signature": signature}
            resolved = self._ufunc.resolve_dtypes((*types, *([None] * self.nout)), casting="unsafe", **asked)
        except (TypeError, ValueError) as error:
            raise SignatureError(f"{self.name}: {error}") from None
        wanted = bytes(number_of(d) for d in resolved)
        for n in range(self._describe()[3]):
            if self._types(n) == wanted:
                return n
        chars = ", ".join(str(d) for d in resolved)
        raise SignatureError(
            f"{self.name}: NumPy would use a loop for ({chars}), which cannot be adopted; there are {', '.join(self.types)}"
        )

    def _folded_type(self, array: int, dtype: int, out: int) -> int:
        """NumPy decides: small whole numbers are added in wider ones, and a given out counts."""
        own, asked = DTYPES[array], DTYPES[dtype]
        if not dtype and not out and self._ufunc in (np.add, np.multiply) and own.kind in "biu" and own.itemsize < 8:
            asked = np.dtype("L" if own.kind == "u" else "l")
        signature = {} if asked is None else {"signature": (asked, None, None)}
        try:
            types = self._ufunc.resolve_dtypes((DTYPES[out], own, None), casting="unsafe", reduction=True, **signature)
        except (TypeError, ValueError) as error:
            raise SignatureError(f"{self.name}: {error}") from None
        numbers = {number_of(t) for t in types}
        if len(numbers) > 1 or 0 in numbers:
            raise SignatureError(f"{self.name}: NumPy would reduce with a loop for {types}, which cannot be adopted")
        return numbers.pop()

    def _identity_of(self, dtype: "np.dtype[Any]") -> bytes | None:
        """NumPy's own for this type: what a reduction of nothing gives."""
        if self.identity is None:
            return None
        return np.asarray(self._ufunc.reduce(np.empty(0, dtype), dtype=dtype)).tobytes()


def _types(inputs: list[Operand]) -> list[Any]:
    """What NumPy is asked with. Python numbers alone are its default types: comparing two ints has a loop for objects."""
    alone = all(o.weak for o in inputs)
    return [_PYTHON[o.weak] if o.weak and not alone else o.array.dtype for o in inputs]


def adopt(ufunc: Any, *, flags: Sequence[str] = tuple(FLAGS)) -> GUFunc:
    """A GUFunc with the loops of an existing ufunc: NumPy's, SciPy's, numba's.

    Parameters
    ----------
    ufunc : numpy.ufunc, or numba's DUFunc or GUFunc
        A ufunc or gufunc object whose loops are compiled.
    flags : sequence of str
        Which floating-point exceptions make an element fail.

    Examples
    --------
    >>> import numpy as np
    >>> from gridbuf import gufunc
    >>> log = gufunc.adopt(np.log)
    >>> log(np.array([1.0, 0.0]), errors="return")[1]
    ErrorInfo(1 of 2 failed, first at (1,): division by zero)
    """
    inner = ufunc if isinstance(ufunc, np.ufunc) else getattr(ufunc, "ufunc", None)
    if not isinstance(inner, np.ufunc):
        raise TypeError(f"ufunc: expected a numpy.ufunc or numba's DUFunc or GUFunc, got {type(ufunc).__name__}")
    name = inner.__name__
    signature = inner.signature or ",".join(["()"] * inner.nin) + "->" + ",".join(["()"] * inner.nout)
    g = Adopted(signature, name=name, doc=inner.__doc__, flags=flags, identity=inner.identity)
    g._ufunc = inner
    g._reorderable = inner.identity is not None or inner in _REORDERABLE
    foreign = inner is not ufunc
    seen = set()
    for raw, function, data in _core.gufunc_loops(inner):
        numbers = bytes(_by_number(n) for n in raw)
        if 0 in numbers or numbers in seen:
            continue
        seen.add(numbers)
        how = PURE if inner.signature is None else ONE_WORKER
        # NumPy's own are quick, and made to be called as NumPy's reductions call them; of others nothing is known.
        how |= FOLDS if getattr(np, name, None) is inner else MEASURED
        if foreign:
            how = MEASURED | RAISES  # numba's loops take the GIL where they raise, as NumPy expects of any loop
        elif name == "power" and DTYPES[numbers[0]].kind in "iu":
            how = RAISES | FOLDS
        g.register(Kernel(NUMPY_LOOP, types_text(numbers, g.nin), function, data, flags=how, owner=(ufunc, inner)))
    if not seen:
        raise SignatureError(f"ufunc: {name} has no compiled loops for numbers; it calls Python")
    return g


def _by_number(number: int) -> int:
    for dtype in np.sctypeDict.values():
        if np.dtype(dtype).num == number:
            return number_of(np.dtype(dtype))
    return 0
