"""Gufuncs that say which elements failed.

`adopt` takes the loops of an existing ufunc; `GUFunc` builds one from compiled
kernels; `inv`, `solve`, `tridiagonal` and others come with the package.

>>> import numpy as np
>>> from gridbuf import gufunc
>>> inv = gufunc.adopt(np.linalg._umath_linalg.inv)
>>> stack = np.stack([np.eye(2), np.zeros((2, 2))])
>>> try:
...     inv(stack)
... except gufunc.PartialSuccess as error:
...     error.failed
array([False,  True])
"""

from typing import Any

from gridbuf.gufunc.adopted import adopt
from gridbuf.gufunc.call import GUFunc
from gridbuf.gufunc.errors import ErrorInfo, GufuncError, PartialSuccess, SignatureError, TotalFailure
from gridbuf.gufunc.kernels import Kernel, go, numpy_loop, registered, scalar, status_loop
from gridbuf.gufunc.shipped import NAMES, make
from gridbuf.gufunc.states import StateKernel

__all__ = [
    "ErrorInfo", "GUFunc", "GufuncError", "Kernel", "PartialSuccess", "SignatureError", "StateKernel", "TotalFailure",
    "adopt", "go", "numpy_loop", "registered", "scalar", "status_loop",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in NAMES:
        raise AttributeError(f"module 'gridbuf.gufunc' has no attribute {name!r}")
    globals()[name] = make(name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *NAMES})
