"""The gufunc object: its kernels, its calls now and later, and what it shows of itself."""

import concurrent.futures
import os
import threading
from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from gridbuf.gufunc.choosing import (
    KEYWORDS,
    Choosing,
    KernelGenerator,
    OutputDims,
    call_text,
    signature_of,
)
from gridbuf.gufunc.errors import SignatureError
from gridbuf.gufunc.kernels import Kernel, StateKernel, check_state
from gridbuf.gufunc.operands import DTYPES, captured, parse_types, types_text
from gridbuf.names import own_dims

# ---- calls that run while the caller goes on ----


_pool: concurrent.futures.ThreadPoolExecutor | None = None
_lock = threading.Lock()
_pending: dict[int, "Future"] = {}


class Future(concurrent.futures.Future[Any]):
    """The result of a call that was submitted: a `concurrent.futures.Future`, which can be awaited
    as well.

    It can be cancelled as long as its call has not begun. In a forked child a call that
    was not done when the process was forked raises RuntimeError, for its threads are not there.
    """

    def __await__(self) -> Generator[Any, None, Any]:
        import asyncio

        return asyncio.wrap_future(self).__await__()


def _work(future: Future, run: Callable[[], Any]) -> None:
    try:
        if not future.set_running_or_notify_cancel():
            return
        try:
            result = run()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)
    finally:
        _pending.pop(id(future), None)


def start_future(run: Callable[[], Any]) -> Future:
    """Run on a thread of the pool."""
    global _pool
    if _forked:
        raise RuntimeError(
            "submit: a forked child has no threads to run this; call the gufunc, or start processes"
            " with 'spawn'"
        )
    with _lock:
        if _pool is None:
            _pool = concurrent.futures.ThreadPoolExecutor(2, "gridbuf-gufunc")
    future = Future()
    _pending[id(future)] = future
    _pool.submit(_work, future, run)
    return future


_forked = False


def _after_fork() -> None:
    """Fail the pending calls: no thread of the child finishes them, their locks may be held, and
    their callbacks are the parent's.
    """
    global _forked
    _forked = True
    for future in _pending.values():
        future._condition = threading.Condition()
        vars(future).update(_waiters=[], _done_callbacks=[])
        if not future.done():
            future._state = "RUNNING"
            future.set_exception(
                RuntimeError(
                    "submit: this process was forked before the call was done; its threads are the"
                    " parent's"
                )
            )
    _pending.clear()


os.register_at_fork(after_in_child=_after_fork)


# ---- calls that are resolved and not run ----


class Output(NamedTuple):
    """An output: as it would be made, or as it was given (`given`)."""

    shape: tuple[int, ...]
    dtype: "np.dtype[Any]"
    strides: tuple[int, ...]
    dims: tuple[str, ...] | None
    given: bool


class Resolution(NamedTuple):
    """A call that was resolved and not run.

    Attributes
    ----------
    kernel : str
        The types of the kernel, as in `GUFunc.types`.
    dtypes : tuple of dtype
        The same as dtypes: what the inputs are cast to, and what the outputs are cast from.
    outer_shape, nelements : tuple of int, int
        The shape of the stack of elements, and their number.
    core : dict
        The size of each core dimension.
    chunks : int
        The most calls of the kernel that the work may be cut into.
    outputs : tuple of Output
    """

    kernel: str
    dtypes: tuple["np.dtype[Any]", ...]
    outer_shape: tuple[int, ...]
    nelements: int
    core: dict[str, int]
    chunks: int
    outputs: tuple[Output, ...]


def resolution_of(g: Choosing, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Resolution:
    """The resolution of a call with these arguments."""
    _, types, outer, elements, chunks, _, core, outs = g._resolve(args, kwargs)
    given = args[g.nin :] or kwargs.get("out")
    given = (*given, *[None] * g.nout) if isinstance(given, tuple) else (given, *[None] * g.nout)
    outputs = []
    for out, number, old in zip(outs, types[g.nin :], given, strict=False):
        if out is None:
            array = np.asarray(old)
            outputs.append(Output(array.shape, array.dtype, array.strides, own_dims(old), True))
        else:
            outputs.append(Output(out[0], DTYPES[number], out[1], out[2], False))
    return Resolution(
        types_text(types, g.nin), tuple(DTYPES[t] for t in types), outer, elements,
        dict(zip(g._dim_names, core, strict=True)), chunks, tuple(outputs),
    )  # fmt: skip


# ---- the gufunc ----


FLAGS = {"invalid": 1, "divide": 2, "overflow": 4}


class GUFunc(Choosing):
    """A function on the elements of a stack, from kernels for several types.

    A gufunc is called as NumPy's are: ``g(x, y, out=None, where=True, axes=None, axis=None,
    keepdims=False, casting="same_kind", dtype=None, signature=None, errors="raise",
    workers=None)``, and its uniform parameters are keywords besides. `errors` is "raise", "return",
    "warn" or "ignore"; `workers` is how many threads may share the work; `axis` may be a
    dimension's name where the operands have names.

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
        ``generator(types, layouts) -> Kernel``, called when no kernel fits, once for each set of
        types; its kernel serves these types alone.
    output_dims : callable, optional
        Gets the dict of known core sizes (unknown ones are None) and returns it filled in. It is
        asked once for each set of shapes.
    flags : sequence of str
        Which floating-point exceptions make an element fail.
    identity : scalar, optional
        The result of a reduction without elements; None: an error.

    Raises
    ------
    SignatureError
        When the signature cannot be read, or a kernel does not fit it; the message shows the place.
    TypeError, ValueError
        When name is no str, generator or output_dims no function, or flags names another exception.

    Examples
    --------
    >>> import ctypes, numpy as np
    >>> from gridbuf import gufunc
    >>> hypot = ctypes.cast(ctypes.CDLL("libm.so.6").hypot, ctypes.c_void_p).value
    >>> distance = gufunc.GUFunc("(),()->()", gufunc.scalar(hypot, "dd->d"), name="distance")
    >>> distance(np.array([3.0, 5.0]), 4.0, dtype="d").round(3)
    array([5.   , 6.403])
    """

    def __new__(
        cls,
        signature: str,
        kernels: "Kernel | StateKernel | Sequence[Kernel | StateKernel]" = (),
        name: str = "gufunc",
        doc: str | None = None,
        generator: KernelGenerator | None = None,
        output_dims: OutputDims | None = None,
        flags: Sequence[str] = tuple(FLAGS),
        identity: Any = None,
    ) -> Self:
        if not isinstance(signature, str):
            raise SignatureError(
                f"signature: expected a str such as '(n),(n)->()', got {signature!r}"
            )
        if not isinstance(name, str):
            raise TypeError(f"name: expected a str, got {name!r}")
        if not (doc is None or isinstance(doc, str)):
            raise TypeError(f"doc: expected a str or None, got {doc!r}")
        listed = isinstance(flags, list | tuple | set | frozenset)
        unknown = (
            [f for f in flags if not isinstance(f, str) or f not in FLAGS] if listed else flags
        )
        if not listed or unknown:
            raise ValueError(f"flags: {unknown!r} is none of {list(FLAGS)}; give a list of them")
        g = super().__new__(cls, name, signature, sum(FLAGS[f] for f in set(flags)))
        g._set_up(signature, name, doc, generator, output_dims, identity)
        if isinstance(kernels, (Kernel, StateKernel)):
            kernels = (kernels,)
        try:
            given = tuple(kernels)
        except TypeError:
            raise SignatureError(
                f"kernels: expected a sequence of kernels, got {kernels!r}"
            ) from None
        for kernel in given:
            g.register(kernel)
        return g

    def _set_up(
        self,
        signature: str,
        name: str,
        doc: str | None,
        generator: KernelGenerator | None = None,
        output_dims: OutputDims | None = None,
        identity: Any = None,
    ) -> None:
        for argument, value in (("generator", generator), ("output_dims", output_dims)):
            if value is not None and not callable(value):
                raise TypeError(f"{argument}: expected a function, got {value!r}")
        self.signature, self.name, self.identity = signature, name, identity
        self._generator, self._output_dims = generator, output_dims
        self._owners: list[Kernel] = []
        self.nin, self.nout, _, text, self._uniform_types = self._describe()
        self.nargs = self.nin + self.nout
        lines = text.split("\n")[:-1]
        uniforms = len(self._uniform_types)
        n = (len(lines) - uniforms - self.nargs) // 2
        self._dim_names, self._uniform_names = lines[:n], lines[n : n + uniforms]
        self._dims = [
            (int(size.rstrip("c?")), "c" in size, "?" in size)
            for size in lines[n + uniforms : 2 * n + uniforms]
        ]
        self._cores = [tuple(map(int, core.split())) for core in lines[2 * n + uniforms :]]
        if clash := KEYWORDS.keys() & set(self._uniform_names):
            raise SignatureError(
                f"signature: {min(clash)} is a keyword of every call; name the uniform parameter"
                " differently"
            )
        self.__name__ = name
        self.__doc__ = f"{name}{call_text(self.nin, self._uniform_names)}\n\n{doc or ''}".rstrip()
        self._generated, self._lock = {}, threading.RLock()
        self._states: list[tuple[int, str]] = []  # numbers and types
        self._kept: list[StateKernel] = []  # keeps their owners alive
        self._reorderable = identity is not None
        if output_dims is not None:
            self._ask_sizes()

    def register(self, kernel: Kernel | StateKernel) -> int:
        """Add a kernel.

        Parameters
        ----------
        kernel : Kernel or StateKernel
            Considered after the kernels added before.

        Returns
        -------
        int
            Its number; a StateKernel's counts apart.

        Raises
        ------
        SignatureError
            When it is no kernel, or its types do not fit the signature.

        Examples
        --------
        >>> import ctypes
        >>> from gridbuf import gufunc
        >>> g = gufunc.GUFunc("()->()")
        >>> libm = ctypes.CDLL("libm.so.6")
        >>> g.register(gufunc.scalar(libm.cbrt, "d->d"))
        0
        >>> g.register(gufunc.scalar(libm.cbrtf, "f->f"))
        1
        """
        if isinstance(kernel, StateKernel):
            check_state(kernel, self.nin, self.nout)
            number = self._add_state(
                kernel.step,
                kernel.merge,
                kernel.final,
                kernel.init,
                parse_types(kernel.types, self.nin, self.nout),
                kernel.any_order,
            )
            self._states.append((int(number), kernel.types))
            self._kept.append(kernel)
            return int(number)
        if not isinstance(kernel, Kernel):
            raise SignatureError(
                "kernel: expected what numpy_loop, status_loop, scalar or go returns, got"
                f" {type(kernel).__name__}"
            )
        return self._register(kernel, 0)

    def _register(self, kernel: Kernel, flags: int) -> int:
        types = parse_types(kernel.types, self.nin, self.nout)
        number = self._add(
            kernel.form, kernel.address, kernel.data, kernel.go_name, types, kernel.flags | flags
        )
        self._owners.append(kernel)
        return int(number)

    @property
    def types(self) -> list[str]:
        """The types of the kernels, as NumPy's characters."""
        return [types_text(self._types(n), self.nin) for n in range(self._describe()[2])]

    # ---- what it is, and copies of it ----

    def __repr__(self) -> str:
        return f"<gufunc {self.name!r} {self.signature}>"

    def __getattr__(self, name: str) -> Any:
        # Asked for by inspect.signature alone, which costs milliseconds to load
        if name != "__signature__":
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self
            )
        return signature_of(self.nin, self._uniform_names)

    def __copy__(self) -> "GUFunc":
        return self

    def __deepcopy__(self, memo: Any) -> "GUFunc":
        return self

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{self!r} cannot be pickled: its kernels are addresses in this process; make it again"
            " where it is needed, for instance at the top of a module"
        )

    # ---- a call ----

    def submit(self, *args: Any, errors: str = "raise", **kwargs: Any) -> Future:
        """Start a call and return at once.

        The operands are held until the call is done; change none of them before.

        Parameters
        ----------
        *args
            The arguments of a call.
        errors : {'raise', 'return', 'warn', 'ignore'}, optional
            As in a call; the future raises.
        **kwargs
            The keywords of a call.

        Returns
        -------
        Future
            A `concurrent.futures.Future`, which can be awaited as well.

        Raises
        ------
        TypeError, ValueError
            When the arguments do not fit.
        RuntimeError
            In a forked child, which has no threads to run it.

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
        return start_future(run)

    def _prepare(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], errors: str
    ) -> tuple[Callable[[], Any], Callable[[], Any]]:
        """A call that is ready to run, and one that only checks whether it can."""
        held = captured(args, self.nin)
        options = {**kwargs, "errors": errors}
        return lambda: self(*held, **options), lambda: self._resolve(held, options)

    def resolve(self, *args: Any, **kwargs: Any) -> Resolution:
        """Resolve a call with these arguments, without running it.

        Parameters
        ----------
        *args, **kwargs
            The arguments of a call.

        Returns
        -------
        Resolution
            The kernel, the dtypes it works in, the outer shape and the outputs: their shape, dtype,
            strides and dims.

        Raises
        ------
        SignatureError, TypeError, ValueError
            As the call itself.

        Examples
        --------
        >>> import numpy as np
        >>> from gridbuf import gufunc
        >>> plan = gufunc.from_ufunc(np.add).resolve(np.ones((3, 1), "f4"), np.ones(5))
        >>> plan.kernel, plan.outer_shape, plan.outputs[0].dtype
        ('dd->d', (3, 5), dtype('float64'))
        """
        return resolution_of(self, args, kwargs)
