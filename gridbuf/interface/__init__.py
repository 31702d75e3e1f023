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

# ruff: noqa: F403, F405 - type checkers see the names of _public, which are loaded when first asked for
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gridbuf.interface._public import *

__all__ = [
    "CopyWarning", "LayoutWarning", "StencilCall", "acquired", "as_cupy", "as_numpy", "get_dims", "get_origin", "read",
    "resolve_origins", "stencil_call",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gridbuf.interface import _public

    globals().update({each: getattr(_public, each) for each in __all__})
    return globals()[name]
