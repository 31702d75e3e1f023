"""The names of gridbuf.gufunc, loaded together when the first of them is asked for."""

from gridbuf.gufunc.adopted import adopt
from gridbuf.gufunc.builtin import NAMES, make
from gridbuf.gufunc.call import GUFunc
from gridbuf.gufunc.errors import ErrorInfo, GufuncError, PartialSuccess, SignatureError, TotalFailure
from gridbuf.gufunc.kernels import Kernel, go, numpy_loop, registered, scalar, status_loop
from gridbuf.gufunc.states import StateKernel

__all__ = [
    "NAMES", "ErrorInfo", "GUFunc", "GufuncError", "Kernel", "PartialSuccess", "SignatureError", "StateKernel", "TotalFailure",
    "adopt", "go", "make", "numpy_loop", "registered", "scalar", "status_loop",
]  # fmt: skip
