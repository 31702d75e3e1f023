"""Kernels: the compiled loops of calls, and those of reductions that carry a state."""

import ctypes
import importlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf._core import GO_LOOP, MEASURED, NUMPY_LOOP, STATUS_LOOP
from gridbuf.docstrings import as_in
from gridbuf.gufunc.errors import SignatureError
from gridbuf.gufunc.operands import parse_types
from gridbuf.validation import boolean

_CTYPES: Any = (ctypes.CFUNCTYPE(None).__bases__[0], ctypes.c_void_p)


@dataclass(frozen=True)
class Kernel:
    """A loop for one combination of types, as `numpy_loop`, `status_loop`, `scalar` and `go` make
    it.

    Parameters
    ----------
    form : int
        How it is called: NumPy's way, with a status, or in Go.
    types : str
        NumPy's type characters, such as ``"dd->d"``.
    address, data : int
        Of the compiled function, and of its last argument; 0 for Go, and for no argument.
    go_name : str or None
        The kernel's name in Go.
    flags : int
        What the kernel allows, such as reducing; `from_ufunc` sets most.
    owner : object
        Kept alive as long as the kernel is.
    """

    form: int
    types: str
    address: int = 0
    data: int = 0
    go_name: str | None = None
    flags: int = 0
    owner: Any = field(default=None, repr=False)


def address_of(source: Any, arg: str = "source") -> int:
    """The address of a compiled function: an int, a ctypes or cffi function, a PyCapsule, a numba
    cfunc or a LowLevelCallable.
    """
    if type(source).__name__ == "LowLevelCallable" and isinstance(source, tuple):
        if source.user_data is not None:  # type: ignore[attr-defined]
            raise ValueError(
                f"{arg}: the user_data of a LowLevelCallable belongs to SciPy's callbacks; give"
                " data= instead"
            )
        source = source.function  # type: ignore[attr-defined]
    if isinstance(source, int) and not isinstance(source, bool):
        address = source
    elif isinstance(source, _CTYPES):
        address = ctypes.cast(source, ctypes.c_void_p).value or 0
    elif type(source).__name__ == "PyCapsule":
        address = int(_core.gufunc_capsule(source))
    elif isinstance(getattr(source, "address", None), int):
        address = source.address  # numba's CFunc
    elif type(source).__module__.partition(".")[0] == "_cffi_backend":
        cffi = importlib.import_module("cffi")
        address = int(cffi.FFI().cast("intptr_t", source))
    else:
        jitted = hasattr(source, "py_func") and type(source).__module__.startswith("numba.")
        raise TypeError(
            f"{arg}: a function of numba's njit has no address that C can call; compile it with"
            " numba.cfunc and give that"
            if jitted
            else (
                f"{arg}: expected an address (int), a ctypes or cffi function, a PyCapsule, a numba"
                f" cfunc or a LowLevelCallable, got {type(source).__name__}"
            )
        )
    if not 0 < address < 1 << 64:
        raise ValueError(f"{arg}: the address of a compiled function is not {address}")
    return address


def _loop(form: int, source: Any, types: str, data: Any, owner: Any) -> Kernel:
    address, last = address_of(source), 0 if data is None else address_of(data, "data")
    return Kernel(form, types, address, last, flags=MEASURED, owner=(source, data, owner))


def numpy_loop(source: Any, types: str, data: Any = None, owner: Any = None) -> Kernel:
    """A loop as NumPy's.

    ``void f(char **args, intptr_t const *dims, intptr_t const *steps, void *data)``

    Parameters
    ----------
    source : int, ctypes or cffi function, PyCapsule or numba cfunc
        The compiled function. It must not use Python's API and must be safe to run twice.
    types : str
        NumPy's type characters, such as ``"dd->d"``.
    data : the same kinds as source, optional
        The last argument of the loop.
    owner : object, optional
        Kept alive as long as the kernel is (source itself always is).

    Returns
    -------
    Kernel

    Raises
    ------
    TypeError, ValueError
        When source, or data, is no compiled function.

    Examples
    --------
    >>> import ctypes
    >>> from gridbuf import gufunc
    >>> address = ctypes.cast(ctypes.CDLL(None).memcpy, ctypes.c_void_p).value  # a loop
    >>> gufunc.numpy_loop(address, "dd->d").types
    'dd->d'
    """
    return _loop(NUMPY_LOOP, source, types, data, owner)


@as_in(numpy_loop)
def status_loop(source: Any, types: str, data: Any = None, owner: Any = None) -> Kernel:
    """A loop that says which elements failed.

    As `numpy_loop`, with one argument more, ``uint8_t *status`` (one byte per element, zero at
    first, NULL when not wanted); it returns the number of failed elements as ``intptr_t``.

    Examples
    --------
    >>> import ctypes
    >>> from gridbuf import gufunc
    >>> address = ctypes.cast(ctypes.CDLL(None).memcpy, ctypes.c_void_p).value  # a loop
    >>> gufunc.status_loop(address, "dd->d").types
    'dd->d'
    """
    return _loop(STATUS_LOOP, source, types, data, owner)


def go(name: str) -> Kernel:
    """A kernel that is written in Go and registered in the Go module.

    Parameters
    ----------
    name : str
        One of `registered`.

    Returns
    -------
    Kernel

    Raises
    ------
    SignatureError
        When no kernel in Go has that name.

    Examples
    --------
    >>> from gridbuf import gufunc
    >>> gufunc.go("mine.double")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    SignatureError: ... gridbuf's own extension has none
    """
    _, types = _core.gufunc_go_kernel(name)
    return Kernel(GO_LOOP, types, go_name=name, flags=MEASURED)


@as_in(numpy_loop)
def scalar(source: Any, types: str, owner: Any = None) -> Kernel:
    """A function of up to four numbers, such as ``double f(double, double)``.

    Parameters
    ----------
    source : int, ctypes or cffi function, PyCapsule or numba cfunc
        The compiled function, as for `numpy_loop`.
    types : str
        ``"dd->d"``: all float64 (d), or all float32 (f).

    Raises
    ------
    SignatureError
        When types is not of this form.
    TypeError, ValueError
        When source is no compiled function.

    Examples
    --------
    >>> import ctypes, numpy as np
    >>> from gridbuf import gufunc
    >>> hypot = ctypes.cast(ctypes.CDLL("libm.so.6").hypot, ctypes.c_void_p).value
    >>> g = gufunc.GUFunc("(),()->()", gufunc.scalar(hypot, "dd->d"))
    >>> g(np.array([3.0, 5.0]), np.array([4.0, 12.0]))
    array([ 5., 13.])
    """
    inputs, _, outputs = types.partition("->") if isinstance(types, str) else ("",) * 3
    if (
        not inputs
        or set(types) - set("->") not in ({"d"}, {"f"})
        or len(outputs) != 1
        or not 1 <= len(inputs) <= 4
    ):
        raise SignatureError(
            f"types: {types!r} is no scalar function's; it has one to four inputs and one output,"
            " all 'd' or all 'f'"
        )
    loop = _core.gufunc_scalar_loop(len(inputs), outputs == "f")
    return Kernel(
        NUMPY_LOOP, types, loop, address_of(source), flags=MEASURED, owner=(source, owner)
    )


def registered() -> list[str]:
    """The names of the kernels in Go; gridbuf itself has none.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from gridbuf import gufunc
    >>> gufunc.registered()
    []
    """
    return str(_core.gufunc_go_names()).splitlines()


class StateKernel:
    """A reduction with a state.

    Parameters
    ----------
    init : numpy scalar, 0-d or structured array
        The state before the first element.
    step, merge, final : int, ctypes or cffi function, PyCapsule or numba cfunc
        ``void step(void *state, intptr_t first, intptr_t n, char **args, intptr_t const *steps,
        void *data)`` takes n elements, the first of which has the index first; ``void merge(void
        *state, void const *later, void *data)`` joins a later state; ``int final(void const *state,
        char **outs, void *data)`` writes the results; non-zero: this output failed.
    types : str
        One input and one type per output, such as ``"d->l"``.
    any_order : bool
        The index of an element does not count, so that elements may come as they lie in memory.

    Raises
    ------
    SignatureError
        When init is not one value. Types that do not fit are refused by the GUFunc.
    TypeError, ValueError
        When step, merge or final is no compiled function.

    Examples
    --------
    >>> import ctypes, numpy as np
    >>> from gridbuf import gufunc
    >>> function = ctypes.cast(ctypes.CDLL(None).memcpy, ctypes.c_void_p).value
    >>> gufunc.StateKernel(np.float64(0), function, function, function, "d->d").types
    'd->d'
    """

    def __init__(
        self, init: Any, step: Any, merge: Any, final: Any, types: str, any_order: bool = False
    ) -> None:
        self.init = np.asarray(init).tobytes()
        if np.asarray(init).ndim or not self.init:
            raise SignatureError("init: expected one value, a NumPy scalar or a 0-d array")
        self.step = address_of(step, "step")
        self.merge = address_of(merge, "merge")
        self.final = address_of(final, "final")
        self.types, self.any_order = types, boolean(any_order, "any_order")
        self._owners = (step, merge, final)


def check_state(kernel: StateKernel, nin: int, nout: int) -> None:
    """SignatureError unless the types fit."""
    if nin != 1:
        raise SignatureError("kernels: a StateKernel reduces one input")
    parse_types(kernel.types, 1, nout)
