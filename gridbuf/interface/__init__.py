"""The `__gt_interface__` protocol: what an object says of its buffers, and the calls around their use.

Examples
--------
>>> import gridbuf as gb, gridbuf.interface
>>> f = gb.Field.zeros((2, 3), dims="JI")
>>> gridbuf.interface.read(f)["dims"]
('J', 'I')
>>> with gridbuf.interface.acquired({"f": f}) as buffers:
...     buffers["f"].shape
(3, 2)
"""

from gridbuf.interface.acquiring import CopyWarning, acquired
from gridbuf.interface.layouts import LayoutWarning
from gridbuf.interface.origins import resolve_origins
from gridbuf.interface.reading import read
from gridbuf.interface.stencil import StencilCall, stencil_call
from gridbuf.names import as_cupy, as_numpy, get_dims, get_origin

__all__ = [
    "CopyWarning", "LayoutWarning", "StencilCall", "acquired", "as_cupy", "as_numpy", "get_dims", "get_origin", "read",
    "resolve_origins", "stencil_call",
]  # fmt: skip
