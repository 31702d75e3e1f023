"""gridbuf: the memory layer for stencil programs.

Plain NumPy arrays with the layout, padding and alignment that a stencil backend
wants, and Fields that also remember what their indices mean and where the halo
ends, exchanged with other libraries without a copy.

Examples
--------
>>> import gridbuf as gb
>>> a = gb.zeros((128, 128, 80), backend="gt:cpu_ifirst", halo=(3, 3, 0))
>>> a.strides
(8, 1024, 131072)
>>> f = gb.Field(a, dims="IJK", halo=(3, 3, 0))
>>> f.domain.shape
(122, 122, 80)
"""

try:
    from gridbuf import _core as _core
except ImportError:
    from importlib.util import find_spec

    if find_spec("gridbuf._core") is not None:
        raise
    raise ImportError(
        f"gridbuf: {__path__[0]} is a source tree whose extension is not built; run `pip install -e"
        " .` in it, or import from another folder what is installed"
    ) from None

from gridbuf import cuda, exact, gufunc, interface, interop, memory, storage
from gridbuf import defaults as _defaults
from gridbuf import field as _field
from gridbuf._core import (
    BackendError,
    DeviceField,
    Field,
    HostField,
    ManagedField,
    Plan,
    backends,
    copyto,
    empty,
    fill,
    from_dlpack,
    full,
    get_num_threads,
    ones,
    plan,
    register_backend,
    set_num_threads,
    zeros,
)
from gridbuf.arrays import copy, empty_like, from_array, full_like, ones_like, zeros_like
from gridbuf.checks import Check, check
from gridbuf.copies import Copy, copy_async
from gridbuf.defaults import default_backend, get_default_backend, set_default_backend
from gridbuf.fusing import fused
from gridbuf.names import as_cupy, as_numpy, get_dims, get_origin
from gridbuf.padding import diff, pad, shift
from gridbuf.sharing import attach, offered

__version__ = "0.3.0"
_field.install()
_defaults.from_environment()

__all__ = [
    "BackendError", "Check", "Copy", "DeviceField", "Field", "HostField", "ManagedField", "Plan",
    "as_cupy", "as_numpy", "attach", "backends", "check", "copy", "copy_async",
    "copyto", "cuda", "default_backend", "diff", "empty", "empty_like", "exact", "fill",
    "from_array", "from_dlpack", "full", "full_like", "fused", "get_default_backend", "get_dims",
    "get_num_threads", "get_origin", "gufunc", "interface", "interop", "memory", "offered", "ones",
    "ones_like", "pad", "plan", "register_backend", "set_default_backend", "set_num_threads",
    "shift", "storage", "zeros", "zeros_like",
]  # fmt: skip
