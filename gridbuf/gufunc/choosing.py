"""Answers to C, once for each new kind of call or reduction: keywords, the kernel, numbers in its
types, core sizes.
"""

import operator
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gridbuf import _core
from gridbuf.gufunc.errors import SignatureError
from gridbuf.gufunc.kernels import Kernel
from gridbuf.gufunc.operands import (
    DTYPES,
    Input,
    cell,
    identity_bytes,
    number_of,
    parse_types,
    read_input,
    uniform_value,
    weak,
)
from gridbuf.wrapping import naming

if TYPE_CHECKING:
    from inspect import Signature

# ---- keywords ----


KEYWORDS = {
    "out": None, "where": True, "axes": None, "axis": None, "keepdims": False,
    "casting": "same_kind", "dtype": None,
    "signature": None, "errors": "raise", "workers": None,
}  # fmt: skip
_NUMPYS = {"order", "subok", "sig", "extobj"}


def _parameters(nin: int, uniforms: list[str]) -> list[tuple[str, Any, bool]]:
    """Name, default (... for none) and whether it is positional, of what a call takes."""
    inputs = ["x"] if nin == 1 else [f"x{i + 1}" for i in range(nin)]
    positional = [(name, ..., True) for name in inputs]
    return (
        positional
        + [(n, ..., False) for n in uniforms]
        + [(n, d, False) for n, d in KEYWORDS.items()]
    )


def call_text(nin: int, uniforms: list[str]) -> str:
    """The parameters of a call as text: "(x1, x2, /, *, out=None, ...)"."""
    parts = [
        name if default is ... else f"{name}={default!r}"
        for name, default, _ in _parameters(nin, uniforms)
    ]
    parts[nin:nin] = ["/", "*"] if nin else ["*"]
    return f"({', '.join(parts)})"


def signature_of(nin: int, uniforms: list[str]) -> "Signature":
    """The parameters of a call for inspect.signature."""
    from inspect import Parameter, Signature

    kinds = {True: Parameter.POSITIONAL_ONLY, False: Parameter.KEYWORD_ONLY}
    return Signature(
        [
            Parameter(n, kinds[p], default=Parameter.empty if d is ... else d)
            for n, d, p in _parameters(nin, uniforms)
        ]
    )


def refuse_keyword(name: str, uniforms: list[str], keyword: str) -> None:
    """TypeError for a keyword that no call of the gufunc has."""
    more = f", and the uniform parameters {', '.join(uniforms)}" if uniforms else ""
    numpys = f" ({keyword}= of NumPy's ufuncs is none of them)" if keyword in _NUMPYS else ""
    raise TypeError(
        f"{keyword}: neither a keyword nor a uniform parameter of {name}; the keywords of a call"
        f" are {', '.join(KEYWORDS)}{more}{numpys}"
    )


# ---- calls ----


KernelGenerator = Callable[[str, tuple[str, ...]], Kernel]
OutputDims = Callable[[dict[str, int | None]], dict[str, int]]


class Choosing(_core.GUFunc):
    """The part of a GUFunc that answers C: kernels, numbers in their types, core sizes."""

    name: str
    signature: str
    identity: Any
    nin: int
    nout: int
    nargs: int
    types: Any
    _register: Callable[[Kernel, int], int]
    _generator: KernelGenerator | None
    _output_dims: OutputDims | None
    _dim_names: list[str]
    _dims: list[tuple[int, bool, bool]]
    _cores: list[tuple[int, ...]]
    _uniform_names: list[str]
    _uniform_types: bytes
    _generated: dict[str, int]  # kernels by the types that the generator was asked for
    _lock: threading.RLock
    _owners: list[Kernel]
    _states: list[tuple[int, str]]  # numbers and types of the kernels with a state
    _reorderable: bool

    def _refuse(self, keyword: str) -> None:
        refuse_keyword(self.name, self._uniform_names, keyword)

    def _uniform(self, i: int, value: Any) -> Any:
        return uniform_value(self._uniform_names[i], DTYPES[self._uniform_types[i]].kind, value)

    def _choose(
        self,
        inputs: tuple[Any, ...],
        outs: tuple[Any, ...],
        dtype: Any,
        signature: Any,
        casting: str,
    ) -> int:
        """The number of the kernel for these inputs, arrays or Python numbers."""
        operands = [read_input(x, i) for i, x in enumerate(inputs)]
        kernel = self._kernel(operands, dtype, signature, casting)
        self._check_casts(operands, outs, self._types(kernel), casting)
        return kernel

    def _kernel(self, inputs: list[Input], dtype: Any, signature: Any, casting: str) -> int:
        wanted = (
            b"" if dtype is None and signature is None else bytes(self._wanted(dtype, signature))
        )
        try:
            return self._find_kernel(inputs, wanted, casting)
        except SignatureError:
            if self._generator is None:
                raise
            types = "".join(
                DTYPES[w or o.number].char
                for o, w in zip(inputs, wanted or bytes(self.nin), strict=False)
            )
            found = self._generate(types, tuple(o.layout for o in inputs))
            if not all(w in (0, t) for w, t in zip(wanted, self._types(found), strict=False)):
                raise
        return found

    def _find_kernel(self, inputs: list[Input], wanted: bytes, casting: str) -> int:
        """The registered kernel for inputs of these types; wanted: the types asked for, b"" for
        none.
        """
        types = bytes(o.number | (0 if o.array.dtype.isnative else _core.SWAPPED) for o in inputs)
        return self._select(types, bytes(o.weak for o in inputs), wanted, casting)

    def _generate(self, types: str, layouts: tuple[str, ...]) -> int:
        """The generator's kernel for these types and no others; asked once, also by two threads."""
        with self._lock:
            if types not in self._generated:
                self._generated[types] = self._ask_generator(types, layouts)
        return self._generated[types]

    def _ask_generator(self, types: str, layouts: tuple[str, ...]) -> int:
        assert self._generator is not None
        kernel = self._generator(types, layouts)
        if not isinstance(kernel, Kernel):
            raise SignatureError(
                f"generator: it returned {type(kernel).__name__} for the types {types!r}, a kernel"
                " is needed"
            )
        takes = parse_types(kernel.types, self.nin, self.nout)[: self.nin]
        if not all(
            np.can_cast(np.dtype(c), DTYPES[t], "safe") for c, t in zip(types, takes, strict=True)
        ):
            raise SignatureError(
                f"generator: asked for the types {types!r}, it returned a kernel for"
                f" {kernel.types!r}"
            )
        return self._register(kernel, _core.GENERATED)

    def _folded_type(self, array: int, dtype: int, out: int) -> int:
        """The type in which a reduction of elements of a type is done."""
        if dtype or out:
            return dtype or out
        kernel = int(self._select(bytes([array, array]), bytes(2), b"", "safe"))
        return int(self._types(kernel)[2])

    def _folding_kernel(self, array: int, dtype: int, out: int) -> int:
        """The kernel that folds elements of a type, or SignatureError."""
        try:
            number = self._folded_type(array, dtype, out)
            for n, owner in enumerate(self._owners):
                of_generator = n in self._generated.values()
                if (
                    not of_generator
                    and self._types(n) == bytes([number] * 3)
                    and owner.go_name is None
                ):
                    return n
        except SignatureError:
            if self._generator is None:
                raise
        if self._generator is not None:
            n = self._generate(DTYPES[dtype or out or array].char * 2, ("strided", "strided"))
            types = self._types(n)
            if (
                types == types[:1] * 3
                and (dtype or out) in (0, types[0])
                and self._owners[n].go_name is None
            ):
                return n
        raise SignatureError(
            f"{self.name}: reducing needs a C kernel with one type for its operands; its kernels"
            f" are {', '.join(self.types)}"
        )

    def _identity_of(self, dtype: "np.dtype[Any]") -> bytes | None:
        return identity_bytes(self.identity, dtype)

    def _wanted(self, dtype: Any, signature: Any) -> list[int]:
        """The type of each operand that dtype= or signature= asks for; 0: any."""
        if dtype is not None and signature is not None:
            raise SignatureError("dtype: it cannot be given together with signature")
        if dtype is not None:
            return [0] * self.nin + [_number(dtype, "dtype")] * self.nout
        parts = list(signature.replace("->", "")) if isinstance(signature, str) else signature
        if not isinstance(parts, (list, tuple)) or len(parts) != self.nargs:
            raise SignatureError(
                f"signature: {signature!r} does not fit {self.nin} inputs and {self.nout} outputs"
            )
        return [0 if p is None else _number(p, "signature") for p in parts]

    def _check_casts(
        self, inputs: list[Input], outs: tuple[Any, ...], types: bytes, casting: str
    ) -> None:
        for i, (o, number) in enumerate(zip(inputs, types, strict=False)):
            self._check_cast(f"input {i}", _kind_of(o, DTYPES[number]), DTYPES[number], casting)
        for i, (out, number) in enumerate(zip(outs, types[self.nin :], strict=True)):
            if out is not None:
                self._check_cast(
                    "out" if self.nout == 1 else f"out[{i}]", DTYPES[number], out.dtype, casting
                )

    def _check_cast(self, what: str, source: Any, target: Any, casting: str) -> None:
        if not np.can_cast(source, target, casting):  # type: ignore[arg-type]
            raise SignatureError(
                f"{self.name}: {what} cannot be cast from {source} to {target} with"
                f" casting={casting!r}"
            )

    def _numbers(self, values: tuple[Any, ...], types: bytes) -> tuple[Any, ...]:
        """Python numbers in the types of the kernel, or other numbers with which to look for a
        kernel again.
        """
        return tuple(
            None if v is None else weak(v, DTYPES[t]) for v, t in zip(values, types, strict=True)
        )

    def _sizes(self, shapes: tuple[Any, ...], kernel: int) -> tuple[int, ...]:
        """The sizes of the core dimensions, -1 where the operands tell."""
        if self._output_dims is None:
            return ()
        known = self._known(shapes)
        filled = self._output_dims(dict(known))
        if not isinstance(filled, dict) or set(filled) != set(known):
            raise SignatureError(
                f"output_dims: expected a dict with sizes of {list(known)}, got {filled!r}"
            )
        try:
            return tuple(operator.index(filled[n]) if filled[n] is not None else -1 for n in known)
        except TypeError:
            raise SignatureError(f"output_dims: expected ints as sizes, got {filled!r}") from None

    def _known(self, shapes: tuple[Any, ...]) -> dict[str, int | None]:
        """The core sizes that the signature and the operands give."""
        known: dict[str, int | None] = {
            n: d[0] if d[0] >= 0 else None for n, d in zip(self._dim_names, self._dims, strict=True)
        }
        for shape, core in zip(shapes, self._cores, strict=True):
            if shape is not None and core and len(shape) >= len(core):
                for k, size in zip(core, shape[-len(core) :], strict=True):
                    known[self._dim_names[k]] = size
        return known


def _number(dtype: Any, argument: str) -> int:
    """The engine's number of a dtype that the caller asked for."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        raise SignatureError(f"{argument}: {dtype!r} is no dtype") from None
    number = number_of(found)
    if not number:
        raise SignatureError(f"{argument}: no kernel has the type {found}")
    return number


def _kind_of(operand: Input, target: "np.dtype[Any]") -> "np.dtype[Any]":
    """An input's dtype for the question whether it may be cast; a Python number adapts to types of
    its kind and above.
    """
    if not operand.weak:
        found: np.dtype[Any] = operand.array.dtype
        return found
    rank = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}[target.kind]
    return target if operand.weak <= rank else np.dtype("ldD"[operand.weak - 1])


# ---- reductions ----


# Kernel, has a state, sequential, type, identity
Choice = tuple[int, bool, bool, int, bytes | None]


def choose_reduction(
    g: Choosing, array: int, dtype: int, out: int, ordered: bool, extras: bool
) -> Choice:
    """The kernel that folds elements of a type; dtype and out are 0 where they are not given."""
    if g._states:
        return _choose_state(g, array, ordered, extras or dtype != 0)
    if g.nin != 2 or g.nout != 1 or any(g._cores) or g._uniform_names:
        raise SignatureError(
            f"{g.name}: only two inputs and one output without core dimensions reduce, or a"
            f" StateKernel; this is {g.signature}"
        )
    n = g._folding_kernel(array, dtype, out)
    number = g._types(n)[0]
    return n, False, bool(ordered or not g._reorderable), number, g._identity_of(DTYPES[number])


def _choose_state(g: Choosing, array: int, ordered: bool, extras: bool) -> Choice:
    for n, types in g._states:
        if np.can_cast(DTYPES[array], np.dtype(types[0]), "safe"):
            if extras:
                raise SignatureError(f"{g.name}: a StateKernel takes no where, initial or dtype")
            return n, True, bool(ordered), number_of(np.dtype(types[0])), None
    takes = " and ".join(types[0] for _, types in g._states)
    raise SignatureError(f"array: {g.name} reduces elements of type {takes}, not {DTYPES[array]}")


def initial_value(initial: Any, number: int) -> bytes:
    """The bytes of initial= in the type of the reduction, by NumPy's rules."""
    dtype = DTYPES[number]
    with naming("initial"):
        initial = _core.values(initial)
    # Elements are not quoted: the bytes of a foreign array may be no text
    if isinstance(initial, np.ndarray) and (initial.ndim or initial.dtype.kind in "SUV"):
        raise TypeError(
            f"initial: expected one number, got an array of shape {initial.shape} and dtype"
            f" {initial.dtype}"
        )
    if isinstance(initial, (str, bytes)) or np.ndim(initial):
        raise TypeError(f"initial: expected one number, got {initial!r}")
    if dtype.kind != "c" and np.iscomplexobj(initial):
        raise TypeError(
            f"initial: {initial!r} is complex, the reduction's type is {dtype}; give dtype= as well"
        )
    return cell(initial, dtype, "initial")
