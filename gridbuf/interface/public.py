"""The names of gridbuf.interface, loaded together when the first of them is asked for."""

from gridbuf.interface.acquiring import LayoutWarning, acquired
from gridbuf.interface.domains import DomainWarning, resolve_origins
from gridbuf.interface.operand import CopyWarning
from gridbuf.interface.reading import read
from gridbuf.interface.stencil import StencilCall, stencil_call
from gridbuf.names import as_cupy, as_numpy, get_dims, get_origin

__all__ = [
    "CopyWarning", "DomainWarning", "LayoutWarning", "StencilCall", "acquired", "as_cupy",
    "as_numpy", "get_dims", "get_origin",
    "read", "resolve_origins", "stencil_call",
]  # fmt: skip
