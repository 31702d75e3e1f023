"""Gufuncs of existing loops: those of a ufunc object, and those that come with gridbuf."""

from collections.abc import Sequence
from functools import cache
from typing import Any, Self

import numpy as np

from gridbuf import _core
from gridbuf._core import FOLDS, MEASURED, NUMPY_LOOP, ONE_WORKER, PURE, RAISES
from gridbuf.gufunc.call import FLAGS, GUFunc
from gridbuf.gufunc.choosing import OutputDims
from gridbuf.gufunc.errors import SignatureError
from gridbuf.gufunc.kernels import Kernel
from gridbuf.gufunc.operands import (
    DTYPES,
    WEAK,
    Input,
    by_number,
    number_of,
    read_input,
    types_text,
)

# ufuncs without an identity whose order does not matter
_REORDERABLE = (np.maximum, np.minimum, np.fmax, np.fmin)
# For AVX-512 NumPy's loops read a row before they write: its power.reduce([2.0, 3.0, 2.0]) is 4
_READS_AHEAD = (np.power, np.arctan2)
_COMPARING = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)
_PYTHON = {number: kind for kind, number in WEAK.items()}
_BEYOND = 2.0**65  # beyond every integer type, and a float64


class Adopted(GUFunc):
    """A GUFunc with the loops of a numpy.ufunc, which also decides on types."""

    _ufunc: np.ufunc
    _made_of: tuple[Any, ...]

    def __reduce__(self) -> Any:
        return _adopt_again, self._made_of

    def _choose(
        self,
        inputs: tuple[Any, ...],
        outs: tuple[Any, ...],
        dtype: Any,
        signature: Any,
        casting: str,
    ) -> int:
        try:
            return super()._choose(inputs, outs, dtype, signature, casting)
        except SignatureError:
            if casting not in ("no", "equiv", "safe", "same_kind") or not _is_logical(self._ufunc):
                raise
        # NumPy reads the inputs of these as true or false, whatever the casting rule says but of
        # the order of their bytes.
        kernel = super()._choose(inputs, (None,) * self.nout, dtype, signature, "unsafe")
        for i, o in enumerate(map(read_input, inputs, range(self.nin))):
            self._check_cast(f"input {i}", o.array.dtype, o.array.dtype.newbyteorder("="), casting)
        self._check_casts([], outs, self._types(kernel), casting)
        return kernel

    def _find_kernel(self, inputs: list[Input], wanted: bytes, casting: str) -> int:
        return self._resolved(
            _types(inputs), tuple(DTYPES[w] if w else None for w in wanted) or None
        )

    def _resolved(self, types: list[Any], signature: Any) -> int:
        try:
            asked = {} if signature is None else {"signature": signature}
            resolved = self._ufunc.resolve_dtypes(
                (*types, *([None] * self.nout)), casting="unsafe", **asked
            )
        except (TypeError, ValueError) as error:
            raise SignatureError(f"{self.name}: {error}") from None
        wanted = bytes(number_of(d) for d in resolved)
        for n in range(self._describe()[2]):
            if self._types(n) == wanted:
                return n
        chars = ", ".join(str(d) for d in resolved)
        raise SignatureError(
            f"{self.name}: NumPy would use a loop for ({chars}), which cannot be adopted; there are"
            f" {', '.join(self.types)}"
        )

    def _numbers(self, values: tuple[Any, ...], types: bytes) -> tuple[Any, ...]:
        """Python ints beyond the other operand's type compare as less, or greater, than all
        its values.
        """
        if self._ufunc in _COMPARING and all(v is None or type(v) is int for v in values):
            low, high = values[0], values[1]
            if low is not None and high is not None:
                return (low > high) - (low < high), 0
            if any(_beyond(v, DTYPES[t]) for v, t in zip(values, types, strict=True)):
                return tuple(None if v is None else _BEYOND if v > 0 else -_BEYOND for v in values)
        return super()._numbers(values, types)

    def _sizes(self, shapes: tuple[Any, ...], kernel: int) -> tuple[int, ...]:
        """Core sizes that no operand gives: NumPy is called with a stack of no elements."""
        given = super()._sizes(shapes, kernel)
        if given or any(
            len(shape) < len(core)
            for shape, core in zip(shapes[: self.nin], self._cores, strict=False)
        ):
            return given
        known = self._known(shapes)
        if all(known[self._dim_names[k]] is not None for core in self._cores for k in core):
            return ()
        inputs = [
            np.empty((0, *shape[len(shape) - len(core) :]), DTYPES[t])
            for shape, core, t in zip(
                shapes[: self.nin], self._cores, self._types(kernel), strict=False
            )
        ]
        try:
            made = self._ufunc(*inputs)
        except (TypeError, ValueError) as error:
            raise SignatureError(f"{self.name}: {error}") from None
        for out, core in zip(
            made if self.nout > 1 else (made,), self._cores[self.nin :], strict=True
        ):
            known.update(
                {self._dim_names[k]: size for k, size in zip(core, out.shape[1:], strict=True)}
            )
        return tuple(-1 if known[n] is None else known[n] for n in self._dim_names)  # type: ignore[misc]

    def _folded_type(self, array: int, dtype: int, out: int) -> int:
        """The type in which NumPy reduces: small integers are added in wider ones, and a
        given out counts.
        """
        own, asked = DTYPES[array], DTYPES[dtype]
        if (
            not dtype
            and not out
            and self._ufunc in (np.add, np.multiply)
            and own.kind in "biu"
            and own.itemsize < 8
        ):
            asked = np.dtype("L" if own.kind == "u" else "l")
        signature = {} if asked is None else {"signature": (asked, None, None)}
        try:
            types = self._ufunc.resolve_dtypes(
                (DTYPES[out], own, None), casting="unsafe", reduction=True, **signature
            )
        except (TypeError, ValueError) as error:
            raise SignatureError(f"{self.name}: {error}") from None
        numbers = {number_of(t) for t in types}
        if len(numbers) > 1 or 0 in numbers:
            raise SignatureError(
                f"{self.name}: NumPy would reduce with a loop for {types}, which cannot be adopted"
            )
        return numbers.pop()

    def _identity_of(self, dtype: "np.dtype[Any]") -> bytes | None:
        """NumPy's identity for this type: the result of a reduction over no elements."""
        if self.identity is None:
            return None
        return np.asarray(self._ufunc.reduce(np.empty(0, dtype), dtype=dtype)).tobytes()


def _beyond(value: Any, dtype: "np.dtype[Any]") -> bool:
    return (
        value is not None
        and dtype.kind in "iu"
        and not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max
    )


def _is_logical(ufunc: np.ufunc) -> bool:
    return ufunc in (np.logical_and, np.logical_or, np.logical_xor, np.logical_not)


def _types(inputs: list[Input]) -> list[Any]:
    """The types that NumPy resolves. Python numbers alone are its default types: comparing two ints
    has a loop for objects.
    """
    if all(o.weak for o in inputs):
        return [np.dtype(_PYTHON[o.weak]) for o in inputs]
    return [_PYTHON[o.weak] if o.weak else o.array.dtype for o in inputs]


def from_ufunc(
    ufunc: Any, *, flags: Sequence[str] = tuple(FLAGS), output_dims: OutputDims | None = None
) -> GUFunc:
    """A GUFunc with the loops of an existing ufunc: NumPy's, SciPy's, numba's.

    Parameters
    ----------
    ufunc : numpy.ufunc, or numba's DUFunc or GUFunc
        A ufunc or gufunc object whose loops are compiled.
    flags : sequence of str
        Which floating-point exceptions make an element fail.
    output_dims : callable, optional
        As for `GUFunc`, for sizes that no input has. Sizes that NumPy works out by itself, as for
        an SVD, are asked of NumPy.

    Returns
    -------
    GUFunc
        With NumPy's rules for the types of a call.

    Raises
    ------
    TypeError
        When ufunc is no such object.
    SignatureError
        When its loops call Python.

    Examples
    --------
    >>> import numpy as np
    >>> from gridbuf import gufunc
    >>> log = gufunc.from_ufunc(np.log)
    >>> log(np.array([1.0, 0.0]), errors="return")[1]
    ErrorInfo(1 of 2 failed, first at (1,): division by zero)
    """
    inner = ufunc if isinstance(ufunc, np.ufunc) else getattr(ufunc, "ufunc", None)
    if not isinstance(inner, np.ufunc):
        raise TypeError(
            f"ufunc: expected a numpy.ufunc or numba's DUFunc or GUFunc, got {type(ufunc).__name__}"
        )
    name = inner.__name__
    signature = inner.signature or ",".join(["()"] * inner.nin) + "->" + ",".join(
        ["()"] * inner.nout
    )
    g = Adopted(
        signature,
        name=name,
        doc=inner.__doc__,
        output_dims=output_dims,
        flags=flags,
        identity=inner.identity,
    )
    g._ufunc, g._made_of = inner, (ufunc, tuple(flags), output_dims)
    g._reorderable = inner.identity is not None or inner in _REORDERABLE
    inputs = {k for core in g._cores[: g.nin] for k in core}
    if any(
        k not in inputs and g._dims[k][0] < 0 and not g._dims[k][1]
        for core in g._cores[g.nin :]
        for k in core
    ):
        g._ask_sizes()
    foreign, numpys = inner is not ufunc, getattr(np, name, None) is ufunc
    seen = set()
    for raw, function, data in _core.gufunc_loops(inner):
        numbers = bytes(map(by_number, raw))
        if 0 in numbers or numbers in seen:
            continue
        seen.add(numbers)
        how = PURE if inner.signature is None else ONE_WORKER
        # NumPy's own are quick, and made to be called as NumPy's reductions call them; of others
        # nothing is known.
        how |= MEASURED if not numpys else 0 if inner in _READS_AHEAD else FOLDS
        if foreign:
            # numba's loops take the GIL where they raise, as NumPy expects of any loop
            how = MEASURED | RAISES
        elif name == "power" and DTYPES[numbers[0]].kind in "iu":
            how = RAISES | FOLDS
        g.register(
            Kernel(
                NUMPY_LOOP,
                types_text(numbers, g.nin),
                function,
                data,
                flags=how,
                owner=(ufunc, inner),
            )
        )
    if not seen:
        raise SignatureError(f"ufunc: {name} has no compiled loops for numbers; it calls Python")
    return g


adopt = from_ufunc  # an older name


def _adopt_again(ufunc: Any, flags: tuple[str, ...], output_dims: OutputDims | None) -> GUFunc:
    return from_ufunc(ufunc, flags=flags, output_dims=output_dims)


# ---- the gufuncs of gridbuf ----


_LOOPS, _STATES = _core.gufunc_builtins()
_KNOWN = {name: (signature, doc) for name, signature, doc in _LOOPS}
BUILTIN_NAMES = (*_KNOWN, "log", "power")


class Builtin(GUFunc):
    """A gufunc whose kernels are part of gridbuf."""

    def __new__(cls, name: str) -> Self:
        g = _core.GUFunc.__new__(cls, name, None, 0)
        signature, doc = _KNOWN[name]
        g._set_up(signature, name, doc)
        g._states = list(enumerate(types for own, types in _STATES if own == name))
        return g

    def __reduce__(self) -> Any:
        return builtin, (self.name,)


@cache
def builtin(name: str) -> GUFunc:
    """The gufunc of a name, the same one each time."""
    if name in ("log", "power"):
        import numpy as np

        return from_ufunc(getattr(np, name))
    return Builtin(name)
