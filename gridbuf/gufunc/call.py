"""The gufunc object: its kernels, and what a call that was not seen before has to find out."""

import operator
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.gufunc.errors import ErrorInfo, PartialSuccess, SignatureError, TotalFailure
from gridbuf.gufunc.futures import Future, start
from gridbuf.gufunc.kernels import GENERATED, Kernel
from gridbuf.gufunc.operands import Operand, captured, read_input, weak
from gridbuf.gufunc.reduction import MISSING, reduce
from gridbuf.gufunc.resolution import Resolution, describe
from gridbuf.gufunc.states import StateKernel, check
from gridbuf.gufunc.types import DTYPES, number_of, parse_types, types_text
from gridbuf.gufunc.uniforms import pack

FLAGS = {"invalid": 1, "divide": 2, "overflow": 4}
KEYWORDS = {
    "out": None, "where": True, "axes": None, "axis": None, "keepdims": False, "casting": "same_kind", "dtype": None,
    "signature": None, "errors": "raise", "workers": None,
}  # fmt: skip
_ERRORS = ("raise", "return", "warn", "ignore")
_NUMPYS = {"order", "subok", "sig", "extobj"}
Generator = Callable[[str, tuple[str, ...]], Kernel]
OutputDims = Callable[[dict[str, int | None]], dict[str, int]]


class GUFunc(_core.GUFunc):
    """A function on the elements of a stack, from kernels for several types.

    A gufunc is called as NumPy's are: ``g(x, y, out=None, where=True, axes=None, axis=None, keepdims=False,
    casting="same_kind", dtype=None, signature=None, errors="raise", workers=None)``, and its uniform parameters
    are keywords besides. `errors` is "raise", "return", "warn" or "ignore"; `workers` is how many threads may share
    the work; `axis` may be a dimension's name where the operands have names.

    Parameters
    ----------
    signature : str
        As NumPy's, for instance ``"(m,n),(n)->(m)"``; also fixed sizes, ``n?``, ``n|1``,
        computed sizes such as ``(m),(n)->(m+n-1)`` and uniform parameters, ``; tol:f64``.
    kernels : Kernel or sequence of Kernel
        From `numpy_loop`, `status_loop` or `go`; the first whose inputs can be
        reached by safe casts is taken.
    name, doc : str, optional
    generator : callable, optional
        ``generator(types, layouts) -> Kernel``, asked when no kernel fits, once for each set of types; what it
        returns serves these types and no others.
    output_dims : callable, optional
        Gets the dict of known core sizes (unknown ones are None) and returns it filled in. It is asked once for each
        set of shapes.
    flags : sequence of str
        Which floating-point exceptions make an element fail.
    identity : scalar, optional
        What a reduction of nothing gives; None: it is an error.
    """

    def __new__(
        cls,
        signature: str,
        kernels: "Kernel | StateKernel | Sequence[Kernel | StateKernel]" = (),
        name: str = "gufunc",
        doc: str | None = None,
        generator: Generator | None = None,
        output_dims: OutputDims | None = None,
        flags: Sequence[str] = tuple(FLAGS),
        identity: Any = None,
    ) -> "GUFunc":
        if not isinstance(signature, str):
            raise SignatureError(f"signature: expected a str such as '(n),(n)->()', got {signature!r}")
        if not isinstance(name, str):
            raise TypeError(f"name: expected a str, got {name!r}")
        if isinstance(flags, str) or (unknown := [f for f in flags if f not in FLAGS]):
            raise ValueError(
                f"flags: {flags if isinstance(flags, str) else unknown} is none of {list(FLAGS)}; give a list of them"
            )
        return super().__new__(cls, name, signature, sum(FLAGS[f] for f in set(flags)))

    def __init__(
        self,
        signature: str,
        kernels: "Kernel | StateKernel | Sequence[Kernel | StateKernel]" = (),
        name: str = "gufunc",
        doc: str | None = None,
        generator: Generator | None = None,
        output_dims: OutputDims | None = None,
        flags: Sequence[str] = tuple(FLAGS),
        identity: Any = None,
    ) -> None:
        for argument, value in (("generator", generator), ("output_dims", output_dims)):
            if value is not None and not callable(value):
                raise TypeError(f"{argument}: expected a function, got {value!r}")
        self.signature, self.name, self.identity = signature, name, identity
        self._generator, self._output_dims = generator, output_dims
        self._owners: list[Kernel] = []
        self.nin, self.nout, _, _, names, self._dims, self._cores, self._uniform_types = self._describe()
        self.nargs = self.nin + self.nout
        words = names.split("\n")[:-1]
        self._dim_names, self._uniform_names = words[: len(self._dims)], words[len(self._dims) :]
        if clash := KEYWORDS.keys() & set(self._uniform_names):
            raise SignatureError(f"signature: {min(clash)} is a keyword of every call; name the uniform parameter differently")
        self.__name__, self.__doc__ = name, f"{name}{self._call_text()}\n\n{doc or ''}".rstrip()
        self._selected: dict[Any, int] = {}
        self._generated: set[int] = set()
        self._lock = threading.RLock()
        self._states: list[StateKernel] = []
        self._reorderable, self._widens, self._adds = identity is not None, False, False
        if output_dims is not None:
            self._ask_sizes()
        if isinstance(kernels, (Kernel, StateKernel)):
            kernels = (kernels,)
        try:
            given = tuple(kernels)
        except TypeError:
            raise SignatureError(f"kernels: expected a sequence of kernels, got {kernels!r}") from None
        for kernel in given:
            self.register(kernel)

    def register(self, kernel: Kernel | StateKernel) -> int:
        """Add a kernel; returns its number (a StateKernel's counts apart)."""
        if isinstance(kernel, StateKernel):
            check(kernel, self.nin, self.nout)
            self._states.append(kernel)
            return len(self._states) - 1
        if not isinstance(kernel, Kernel):
            raise SignatureError(
                f"kernels: expected what numpy_loop, status_loop, scalar or go returns, got {type(kernel).__name__}"
            )
        self._selected.clear()  # it may serve what others served, or generators were asked for
        return self._register(kernel, 0)

    def _register(self, kernel: Kernel, flags: int) -> int:
        types = parse_types(kernel.types, self.nin, self.nout)
        number = self._add(kernel.form, kernel.address, kernel.data, kernel.go_name, types, kernel.flags | flags)
        self._owners.append(kernel)
        return int(number)

    @property
    def _reduced(self) -> int:
        return self.nout

    def reduce(
        self,
        array: Any,
        axis: int | tuple[int, ...] | None = 0,
        *,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = MISSING,
        where: Any = True,
        ordered: bool = False,
        errors: str = "raise",
        workers: int | None = None,
    ) -> Any:
        """Fold an array along axes, as NumPy's ufuncs do.

        The result does not depend on `workers`. A kernel without an identity, or
        ``ordered=True``, is folded from left to right. An output fails when something that
        went into it did.

        Examples
        --------
        >>> import numpy as np
        >>> from gridbuf import gufunc
        >>> gufunc.adopt(np.add).reduce(np.ones((3, 4)), axis=1)
        array([4., 4., 4.])
        """
        self._check_errors(errors, workers)
        return reduce(self, array, axis, dtype, out, keepdims, initial, where, ordered, errors, workers)

    @staticmethod
    def _check_errors(errors: str, workers: int | None) -> None:
        if errors not in _ERRORS:
            raise ValueError(f"errors: {errors!r} is none of {_ERRORS}")
        if workers is None:
            return
        try:
            number = operator.index(workers)
        except TypeError:
            raise TypeError(f"workers: expected an int (at most so many threads) or None, got {workers!r}") from None
        if number < 1:
            raise ValueError(f"workers: expected 1 or more, got {workers}")

    @property
    def types(self) -> list[str]:
        """The types of the kernels, as NumPy's characters."""
        return [types_text(self._types(n), self.nin) for n in range(self._describe()[3])]

    # ---- what it is, and copies of it ----

    def __repr__(self) -> str:
        return f"<gufunc {self.name!r} {self.signature}>"

    def _parameters(self) -> list[tuple[str, Any, bool]]:
        """Name, default (... for none) and whether it is positional, of what a call takes."""
        inputs = ["x"] if self.nin == 1 else [f"x{i + 1}" for i in range(self.nin)]
        positional = [(name, ..., True) for name in inputs]
        return positional + [(n, ..., False) for n in self._uniform_names] + [(n, d, False) for n, d in KEYWORDS.items()]

    def _call_text(self) -> str:
        parts = [name if default is ... else f"{name}={default!r}" for name, default, _ in self._parameters()]
        parts[self.nin : self.nin] = ["/", "*"] if self.nin else ["*"]
        return f"({', '.join(parts)})"

    def __getattr__(self, name: str) -> Any:
        if name != "__signature__":  # asked for by inspect.signature alone, which costs milliseconds to load
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        from inspect import Parameter, Signature

        kinds = {True: Parameter.POSITIONAL_ONLY, False: Parameter.KEYWORD_ONLY}
        return Signature([Parameter(n, kinds[p], default=Parameter.empty if d is ... else d) for n, d, p in self._parameters()])

    def __copy__(self) -> "GUFunc":
        return self

    def __deepcopy__(self, memo: Any) -> "GUFunc":
        return self

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{self!r} cannot be pickled: its kernels are addresses in this process; make it again where it is needed, "
            "for instance at the top of a module"
        )

    # ---- a call ----

    def submit(self, *args: Any, errors: str = "raise", **kwargs: Any) -> Future:
        """Start a call and return at once.

        Takes what a call takes; what is wrong with the arguments is raised here. The
        operands are held until the call is done; change none of them before.

        Examples
        --------
        >>> import numpy as np
        >>> from gridbuf import gufunc
        >>> future = gufunc.sqrt.submit(np.array([4.0, 9.0]))
        >>> future.result()
        array([2., 3.])
        """
        run, check = self._prepare(args, kwargs, errors)
        check()
        return start(run)

    def _prepare(self, args: tuple[Any, ...], kwargs: dict[str, Any], errors: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
        """A call that is ready to run, and one that only checks whether it can."""
        held = captured(args, self.nin)
        options = {**kwargs, "errors": errors}
        return lambda: self(*held, **options), lambda: self._check(held, options)

    def resolve(self, *args: Any, **kwargs: Any) -> Resolution:
        """What a call with these arguments would give, without running it.

        Returns
        -------
        Resolution
            The kernel, the dtypes it works in, the outer shape and the outputs: their shape, dtype, strides and dims.

        Examples
        --------
        >>> import numpy as np
        >>> from gridbuf import gufunc
        >>> plan = gufunc.adopt(np.add).resolve(np.ones((3, 1), "f4"), np.ones(5))
        >>> plan.kernel, plan.outer_shape, plan.outputs[0].dtype
        ('dd->d', (3, 5), dtype('float64'))
        """
        return describe(self, args, kwargs)

    # ---- asked by the C side, once for each new kind of call ----

    def _refuse(self, keyword: str) -> None:
        more = f", and the uniform parameters {', '.join(self._uniform_names)}" if self._uniform_names else ""
        numpys = f" ({keyword}= of NumPy's ufuncs is none of them)" if keyword in _NUMPYS else ""
        raise TypeError(
            f"{keyword}: neither a keyword nor a uniform parameter of {self.name}; "
            f"the keywords of a call are {', '.join(KEYWORDS)}{more}{numpys}"
        )

    def _pack(self, given: dict[str, Any]) -> bytes:
        return pack(self._uniform_names, self._uniform_types, given)

    def _choose(self, inputs: tuple[Any, ...], outs: tuple[Any, ...], dtype: Any, signature: Any, casting: str) -> int:
        """The number of the kernel for these inputs, arrays or Python numbers."""
        operands = [read_input(x, i) for i, x in enumerate(inputs)]
        kernel = self._kernel(operands, dtype, signature, casting)
        self._check_casts(operands, outs, self._types(kernel), casting)
        return kernel

    def _kernel(self, inputs: list[Operand], dtype: Any, signature: Any, casting: str) -> int:
        if dtype is not None or signature is not None:
            return self._asked_kernel(inputs, dtype, signature, casting)
        key = tuple((o.number, o.weak) for o in inputs)
        if key not in self._selected:
            with self._lock:  # a generator is asked once, also by two threads
                if key not in self._selected:
                    self._selected[key] = self._find_kernel(inputs, casting)
        return self._selected[key]

    def _find_kernel(self, inputs: list[Operand], casting: str) -> int:
        try:
            return int(self._select(bytes(o.number for o in inputs), bytes(o.weak for o in inputs)))
        except SignatureError:
            if self._generator is None:
                raise
        return self._generate("".join(DTYPES[o.number].char for o in inputs), inputs)

    def _generate(self, types: str, inputs: list[Operand]) -> int:
        """A kernel for these types and no others."""
        assert self._generator is not None
        kernel = self._generator(types, tuple(o.layout for o in inputs))
        if not isinstance(kernel, Kernel):
            raise SignatureError(f"generator: it returned {type(kernel).__name__} for the types {types!r}, a kernel is needed")
        takes = parse_types(kernel.types, self.nin, self.nout)[: self.nin]
        if not all(np.can_cast(np.dtype(c), DTYPES[t], "safe") for c, t in zip(types, takes, strict=True)):
            raise SignatureError(f"generator: asked for the types {types!r}, it returned a kernel for {kernel.types!r}")
        number = self._register(kernel, GENERATED)
        self._generated.add(number)
        return number

    def _asked_kernel(self, inputs: list[Operand], dtype: Any, signature: Any, casting: str) -> int:
        wanted = self._wanted(dtype, signature)
        fitting = [n for n in self._registered() if all(w in (0, t) for w, t in zip(wanted, self._types(n), strict=True))]
        for n in fitting:
            strong = [(o.array.dtype, DTYPES[t]) for o, t in zip(inputs, self._types(n), strict=False) if not o.weak]
            if all(np.can_cast(source, target, casting) for source, target in strong):  # type: ignore[arg-type]
                return n
        if fitting:
            return fitting[0]  # whose casts are refused, by name
        if self._generator is not None:
            types = "".join(DTYPES[w or o.number].char for o, w in zip(inputs, wanted, strict=False))
            key = ("asked", types)
            with self._lock:
                if key not in self._selected:
                    self._selected[key] = self._generate(types, inputs)
            found = self._selected[key]
            if all(w in (0, t) for w, t in zip(wanted, self._types(found), strict=True)):
                return found
        raise SignatureError(f"{self.name}: no kernel has the types asked for; its kernels are {', '.join(self.types)}")

    def _registered(self) -> list[int]:
        """The kernels that serve whatever they can, which generated ones do not."""
        return [n for n in range(self._describe()[3]) if n not in self._generated]

    def _wanted(self, dtype: Any, signature: Any) -> list[int]:
        """The type of each operand that dtype= or signature= asks for; 0: any."""
        if dtype is not None and signature is not None:
            raise SignatureError("dtype: it cannot be given together with signature")
        if dtype is not None:
            return [0] * self.nin + [_number(dtype, "dtype")] * self.nout
        parts = list(signature.replace("->", "")) if isinstance(signature, str) else signature
        if not isinstance(parts, (list, tuple)) or len(parts) != self.nargs:
            raise SignatureError(f"signature: {signature!r} does not fit {self.nin} inputs and {self.nout} outputs")
        return [0 if p is None else _number(p, "signature") for p in parts]

    def _check_casts(self, inputs: list[Operand], outs: tuple[Any, ...], types: bytes, casting: str) -> None:
        for i, (o, number) in enumerate(zip(inputs, types, strict=False)):
            self._check_cast(f"input {i}", _kind_of(o, DTYPES[number]), DTYPES[number], casting)
        for i, (out, number) in enumerate(zip(outs, types[self.nin :], strict=True)):
            if out is not None:
                self._check_cast("out" if self.nout == 1 else f"out[{i}]", DTYPES[number], out.dtype, casting)

    def _check_cast(self, what: str, source: Any, target: Any, casting: str) -> None:
        if not np.can_cast(source, target, casting):  # type: ignore[arg-type]
            raise SignatureError(f"{self.name}: {what} cannot be cast from {source} to {target} with casting={casting!r}")

    def _numbers(self, values: tuple[Any, ...], types: bytes) -> tuple[Any, ...]:
        """Python numbers in the types of the kernel, or other numbers with which to look for a kernel again."""
        return tuple(None if v is None else weak(v, DTYPES[t]) for v, t in zip(values, types, strict=True))

    def _sizes(self, shapes: tuple[Any, ...], kernel: int) -> tuple[int, ...]:
        """The sizes of the core dimensions, -1 where the operands tell."""
        known = self._known(shapes)
        if self._output_dims is None:
            return ()
        filled = self._output_dims(dict(known))
        if not isinstance(filled, dict) or set(filled) != set(known):
            raise SignatureError(f"output_dims: expected a dict with sizes of {list(known)}, got {filled!r}")
        try:
            return tuple(operator.index(filled[n]) if filled[n] is not None else -1 for n in known)
        except TypeError:
            raise SignatureError(f"output_dims: expected ints as sizes, got {filled!r}") from None

    def _known(self, shapes: tuple[Any, ...]) -> dict[str, int | None]:
        """What the signature and the operands say of core sizes."""
        known: dict[str, int | None] = {
            n: (d[0] if d[0] >= 0 else None) for n, d in zip(self._dim_names, self._dims, strict=True)
        }
        for shape, core in zip(shapes, self._cores, strict=True):
            if shape is not None and core and len(shape) >= len(core):
                for k, size in zip(core, shape[-len(core) :], strict=True):
                    known[self._dim_names[k]] = size
        return known

    # ---- the outcomes ----

    def _failed(self, result: Any, codes: Any, failed: int, selected: int, warn: bool) -> Any:
        return self._conclude(result, codes, failed, selected, "warn" if warn else "raise", level=3)

    def _conclude(
        self,
        result: Any,
        codes: Any,
        failed: int,
        selected: int,
        errors: str,
        outer: tuple[int, ...] | None = None,
        level: int = 4,
    ) -> Any:
        if errors == "return":
            if codes is None:
                codes = np.zeros(self._outer(result) if outer is None else outer, np.uint8)
            return result, ErrorInfo(codes, failed, selected)
        if not failed or errors == "ignore":
            return result
        info = ErrorInfo(codes, failed, selected)
        message = f"{self.name}: {failed} of {selected} elements failed, the first at {info.first}"
        if errors == "warn":
            warnings.warn(message, RuntimeWarning, stacklevel=level)
            return result
        raise (TotalFailure if failed == selected else PartialSuccess)(message, result, info)

    def _outer(self, result: Any) -> tuple[int, ...]:
        first = np.shape(result[0] if self.nout > 1 else result)
        core = len(self._cores[self.nin])
        return tuple(first[: len(first) - core])


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


def _kind_of(operand: Operand, target: "np.dtype[Any]") -> "np.dtype[Any]":
    """An input's dtype for the question whether it may be cast; a Python number has that of its kind, if it needs one."""
    if not operand.weak:
        found: np.dtype[Any] = operand.array.dtype
        return found
    rank = {"b": 1, "i": 1, "u": 1, "f": 2, "c": 3}[target.kind]
    return target if operand.weak <= rank else np.dtype("dD"[operand.weak - 2])
