"""The gufunc object: its kernels, and the way from arguments to the engine."""

import operator
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.gufunc import axes as axes_of
from gridbuf.gufunc.errors import ErrorInfo, PartialSuccess, SignatureError, TotalFailure
from gridbuf.gufunc.futures import Future, start
from gridbuf.gufunc.kernels import Kernel
from gridbuf.gufunc.operands import Operand, read_input, read_mask, read_output, weak, wrap
from gridbuf.gufunc.reduction import identity_bytes
from gridbuf.gufunc.states import StateKernel, check
from gridbuf.gufunc.types import DTYPES, number_of, parse_types, types_text
from gridbuf.gufunc.uniforms import pack

FLAGS = {"invalid": 1, "divide": 2, "overflow": 4}
_KEYWORDS = {"out", "where", "axes", "axis", "keepdims", "casting", "dtype", "signature", "errors", "workers"}
_ERRORS = ("raise", "return", "warn", "ignore")
_CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")
_OPTIONS = _KEYWORDS - {"errors"}
Generator = Callable[[str, tuple[str, ...]], Kernel]


@dataclass(slots=True)
class Options:
    """The keywords of a call besides errors and uniform parameters."""

    out: Any = None
    where: Any = True
    axes: Any = None
    axis: int | None = None
    keepdims: bool = False
    casting: str = "same_kind"
    dtype: Any = None
    signature: Any = None
    workers: int | None = None


class GUFunc(_core.GUFunc):
    """A function on the elements of a stack, from kernels for several types.

    Parameters
    ----------
    signature : str
        As NumPy's, for instance ``"(m,n),(n)->(m)"``; also fixed sizes, ``n?``, ``n|1``,
        computed sizes such as ``(m),(n)->(m+n-1)`` and uniform parameters, ``; tol:f64``.
    kernels : sequence of Kernel
        From `numpy_loop`, `status_loop` or `go`; the first whose inputs can be
        reached by safe casts is taken.
    name, doc : str, optional
    generator : callable, optional
        ``generator(types, layouts) -> Kernel``, asked when no kernel fits, once for each set of types.
    output_dims : callable, optional
        Gets the dict of known core sizes (unknown ones are None) and returns it filled in.
    flags : sequence of str
        Which floating-point exceptions make an element fail.
    identity : scalar, optional
        What a reduction of nothing gives; None: it is an error.
    """

    def __new__(
        cls, signature: str, *args: Any, name: str = "gufunc", flags: Sequence[str] = tuple(FLAGS), **kwargs: Any
    ) -> "GUFunc":
        if unknown := set(flags) - set(FLAGS):
            raise ValueError(f"flags: {sorted(unknown)} are none of {list(FLAGS)}")
        return super().__new__(cls, name, signature, sum(FLAGS[f] for f in set(flags)))

    def __init__(
        self,
        signature: str | None,
        kernels: Sequence[Kernel | StateKernel] = (),
        name: str = "gufunc",
        doc: str | None = None,
        generator: Generator | None = None,
        output_dims: Callable[[dict[str, int | None]], dict[str, int]] | None = None,
        flags: Sequence[str] = tuple(FLAGS),
        identity: Any = None,
    ) -> None:
        self.signature, self.name, self.identity = signature, name, identity
        self.__name__, self.__doc__ = name, doc
        self._generator, self._output_dims = generator, output_dims
        self._owners: list[Kernel] = []
        self.nin, self.nout, _, _, names, self._dims, self._cores, self._uniform_types = self._describe()
        self.nargs = self.nin + self.nout
        words = names.split("\n")[:-1]
        self._dim_names, self._uniform_names = words[: len(self._dims)], words[len(self._dims) :]
        if clash := _KEYWORDS.intersection(self._uniform_names):
            raise SignatureError(
                f"signature: {sorted(clash)[0]} is a keyword of every call; name the uniform parameter differently"
            )
        self._selected: dict[Any, int] = {}
        self._lock = threading.RLock()
        self._states: list[tuple[int, StateKernel]] = []  # with their numbers
        self._reorderable = identity is not None
        for kernel in kernels:
            self.register(kernel)

    def register(self, kernel: Kernel | StateKernel) -> int:
        """Add a kernel; returns its number (a StateKernel's counts apart)."""
        if isinstance(kernel, StateKernel):
            check(kernel, self.nin, self.nout)
            number = self._add_state(
                kernel.step,
                kernel.merge,
                kernel.final,
                kernel.init,
                parse_types(kernel.types, self.nin, self.nout),
                kernel.any_order,
            )
            self._states.append((int(number), kernel))
            return int(number)
        if not isinstance(kernel, Kernel):
            raise SignatureError(f"kernels: expected what numpy_loop, status_loop or go returns, got {type(kernel).__name__}")
        types = parse_types(kernel.types, self.nin, self.nout)
        number = self._add(kernel.form, kernel.address, kernel.data, kernel.go_name, types, kernel.flags)
        self._owners.append(kernel)
        return int(number)

    def _folded_type(self, array: int, dtype: int, out: int) -> int:
        """The type in which a reduction of elements of a type is done."""
        if dtype or out:
            return dtype or out
        kernel = int(self._select(bytes([array, array]), bytes(2)))
        return int(self._types(kernel)[2])

    def _identity_of(self, dtype: "np.dtype[Any]") -> bytes | None:
        return identity_bytes(self.identity, dtype)

    @staticmethod
    def _check_errors(errors: str, workers: int | None) -> None:
        if errors not in _ERRORS:
            raise ValueError(f"errors: {errors!r} is none of {_ERRORS}")
        if workers is not None and operator.index(workers) < 1:
            raise ValueError(f"workers: expected 1 or more, got {workers}")

    @property
    def types(self) -> list[str]:
        """The types of the kernels, as NumPy's characters."""
        return [types_text(self._types(n), self.nin) for n in range(self._describe()[3])]

    def __repr__(self) -> str:
        return f"<gufunc {self.name!r} {self.signature}>"

    # ---- a call ----

    def _call(self, *args: Any, errors: str = "raise", **kwargs: Any) -> Any:
        return self._prepare(args, kwargs, errors)[0]()

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
        self._check_errors(errors, kwargs.get("workers"))
        options = Options(**{k: kwargs.pop(k) for k in _OPTIONS.intersection(kwargs)})
        if options.casting not in _CASTINGS:
            raise ValueError(f"casting: {options.casting!r} is none of {_CASTINGS}")
        inputs, outputs = self._operands(args, options.out)
        arranged = axes_of.arrange(self, inputs, outputs, options.axes, options.axis, options.keepdims)
        kernel = self._kernel(inputs, options.dtype, options.signature, options.casting)
        types = self._types(kernel)
        self._convert(inputs, outputs, types, options.casting)
        named = all(i.dims is not None or i.array.ndim == 0 for i in inputs) and any(i.dims is not None for i in inputs)
        mask = None if options.where is True else read_mask(options.where).handed(named)
        packed = pack(self._uniform_names, self._uniform_types, kwargs) if self._uniform_names or kwargs else None
        operands = tuple(o.handed(named) for o in (*inputs, *outputs))
        sizes, ignore = self._sizes(inputs, outputs), errors == "ignore"
        if options.dtype is None and options.signature is None:
            self._remember(inputs, kernel, types)

        def execute(check: bool = False) -> Any:
            return self._execute(kernel, operands, mask, sizes, packed, options.workers or 0, ignore, check)

        def run() -> Any:
            results, dims, codes, failed, selected = execute()
            finished = [wrap(r, o, d if named else None, a) for r, o, d, a in zip(results, outputs, dims, arranged, strict=True)]
            return self._conclude(finished[0] if self.nout == 1 else tuple(finished), codes, failed, selected, errors)

        return run, lambda: execute(check=True)

    def _operands(self, args: tuple[Any, ...], out: Any) -> tuple[list[Operand], list[Operand]]:
        if not self.nin <= len(args) <= self.nargs:
            raise SignatureError(
                f"{self.name}: {len(args)} operands given; {self.signature} takes {self.nin} inputs and up to {self.nout} outputs"
            )
        given = list(args[self.nin :])
        if out is not None:
            if given:
                raise SignatureError("out: outputs are given both by position and as out=")
            given = list(out) if isinstance(out, tuple) else [out]
            if (isinstance(out, tuple) and len(given) != self.nout) or len(given) > self.nout:
                raise SignatureError(f"out: {len(given)} arrays given, {self.signature} has {self.nout} outputs")
        given += [None] * (self.nout - len(given))
        return [read_input(a, i) for i, a in enumerate(args[: self.nin])], [read_output(o) for o in given]

    def _kernel(self, inputs: list[Operand], dtype: Any, signature: Any, casting: str) -> int:
        if dtype is not None or signature is not None:
            return self._asked_kernel(inputs, dtype, signature)
        key = tuple((o.number, o.weak) for o in inputs)
        if key not in self._selected:
            with self._lock:  # a generator is asked once, also by two threads
                if key not in self._selected:
                    self._selected[key] = self._find_kernel(inputs)
        return self._selected[key]

    def _find_kernel(self, inputs: list[Operand]) -> int:
        try:
            return int(self._select(bytes(o.number for o in inputs), bytes(o.weak for o in inputs)))
        except SignatureError:
            if self._generator is None:
                raise
        types = "".join(DTYPES[o.number].char for o in inputs)
        kernel = self._generator(types, tuple(o.layout for o in inputs))
        if not isinstance(kernel, Kernel):
            raise SignatureError(f"generator: it returned {type(kernel).__name__} for the types {types!r}, a kernel is needed")
        return self.register(kernel)

    def _asked_kernel(self, inputs: list[Operand], dtype: Any, signature: Any) -> int:
        wanted: list[int] = [0] * self.nargs
        if dtype is not None:
            wanted[self.nin :] = [number_of(np.dtype(dtype))] * self.nout
        if signature is not None:
            parts = list(signature.replace("->", "")) if isinstance(signature, str) else list(signature)
            if len(parts) != self.nargs:
                raise SignatureError(f"signature: {signature!r} does not fit {self.nin} inputs and {self.nout} outputs")
            wanted = [0 if p is None else number_of(np.dtype(p)) for p in parts]
        for n in range(self._describe()[3]):
            if all(w in (0, t) for w, t in zip(wanted, self._types(n), strict=True)):
                return n
        raise SignatureError(f"{self.name}: no kernel has the types asked for; its kernels are {', '.join(self.types)}")

    def _convert(self, inputs: list[Operand], outputs: list[Operand], types: bytes, casting: str) -> None:
        """Python numbers take the kernel's types; check the casts of the others."""
        for i, (o, number) in enumerate(zip(inputs + outputs, types, strict=True)):
            dtype = DTYPES[number]
            if o.weak:
                o.array = weak(o.given, dtype)
            elif o.array is not None and o.array.dtype != dtype:
                to_kernel = i < self.nin
                source, target = (o.array.dtype, dtype) if to_kernel else (dtype, o.array.dtype)
                if not np.can_cast(source, target, casting):  # type: ignore[arg-type]
                    what = f"input {i}" if to_kernel else f"output {i - self.nin}"
                    raise SignatureError(f"{self.name}: {what} cannot be cast from {source} to {target} with casting={casting!r}")

    def _sizes(self, inputs: list[Operand], outputs: list[Operand]) -> tuple[int, ...] | None:
        if self._output_dims is None:
            return None
        known: dict[str, int | None] = {
            n: (d[0] if d[0] >= 0 else None) for n, d in zip(self._dim_names, self._dims, strict=True)
        }
        for o, core in zip(inputs + outputs, self._cores, strict=True):
            if o.array is not None and core:
                for k, size in zip(core, o.array.shape[-len(core) :], strict=True):
                    known[self._dim_names[k]] = size
        filled = self._output_dims(dict(known))
        if not isinstance(filled, dict) or set(filled) != set(known):
            raise SignatureError(f"output_dims: expected a dict with sizes of {list(known)}, got {filled!r}")
        return tuple(operator.index(filled[n]) if filled[n] is not None else -1 for n in known)

    def _remember(self, inputs: list[Operand], kernel: int, types: bytes) -> None:
        """Calls with these types need not come this way again."""
        if not self._uniform_names and self._output_dims is None:
            self._learn(bytes(0x80 | o.weak if o.weak else o.number for o in inputs), types, kernel)

    # ---- the outcomes ----

    def _failed(self, result: Any, codes: Any, failed: int, selected: int) -> Any:
        return self._conclude(result, codes, failed, selected, "raise")

    def _conclude(
        self, result: Any, codes: Any, failed: int, selected: int, errors: str, outer: tuple[int, ...] | None = None
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
            warnings.warn(message, RuntimeWarning, stacklevel=4)
            return result
        raise (TotalFailure if failed == selected else PartialSuccess)(message, result, info)

    def _outer(self, result: Any) -> tuple[int, ...]:
        first = np.shape(result[0] if self.nout > 1 else result)
        core = len(self._cores[self.nin])
        return tuple(first[: len(first) - core])
