"""The names of gridbuf.gufunc, loaded together when the first of them is asked for."""

from typing import Any

from gridbuf.gufunc import adopted
from gridbuf.gufunc.adopted import adopt, from_ufunc
from gridbuf.gufunc.call import GUFunc
from gridbuf.gufunc.errors import (
    ErrorInfo,
    GufuncError,
    PartialSuccess,
    SignatureError,
    TotalFailure,
)
from gridbuf.gufunc.kernels import (
    Kernel,
    StateKernel,
    go,
    numpy_loop,
    registered,
    scalar,
    status_loop,
)

__all__ = [
    "ErrorInfo", "GUFunc", "GufuncError", "Kernel", "PartialSuccess", "SignatureError",
    "StateKernel", "TotalFailure",
    "adopt", "from_ufunc", "go", "numpy_loop", "registered", "scalar", "status_loop",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in adopted.BUILTIN_NAMES:
        raise AttributeError(name)
    return adopted.builtin(name)


def __dir__() -> list[str]:
    return [*__all__, *adopted.BUILTIN_NAMES]
