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

# ruff: noqa: F403, F405 - type checkers see the names of _public, which are loaded when first asked for
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gridbuf.gufunc._public import *

__all__ = [
    "ErrorInfo", "GUFunc", "GufuncError", "Kernel", "PartialSuccess", "SignatureError", "StateKernel", "TotalFailure",
    "adopt", "go", "numpy_loop", "registered", "scalar", "status_loop",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    unknown = AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name.startswith("_"):
        raise unknown
    from gridbuf.gufunc import _public

    if name in __all__:
        globals().update({each: getattr(_public, each) for each in __all__})
    elif name in _public.NAMES:
        globals()[name] = _public.make(name)
    else:
        raise unknown
    return globals()[name]


def __dir__() -> list[str]:
    from gridbuf.gufunc import _public

    return sorted({*globals(), *__all__, *_public.NAMES})
