"""Kernels of reductions that carry more than one number."""

from typing import Any

import numpy as np

from gridbuf.gufunc.errors import SignatureError
from gridbuf.gufunc.kernels import address_of
from gridbuf.gufunc.types import parse_types
from gridbuf.validation import boolean


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
    >>> function = ctypes.cast(ctypes.CDLL(None).memcpy, ctypes.c_void_p).value  # stands for functions of yours
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


def check(kernel: StateKernel, nin: int, nout: int) -> None:
    """SignatureError unless the types fit."""
    if nin != 1:
        raise SignatureError("kernels: a StateKernel reduces one input")
    parse_types(kernel.types, 1, nout)
