"""ICON4Py: its fields and its NumPy arrays in gridbuf's memory.

ICON4Py allocates fields by gt4py.next, with the allocator of the chosen backend or the default one,
and the rest by NumPy.

Examples
--------
>>> import gridbuf.interop.icon4py  # doctest: +SKIP
>>> gridbuf.interop.icon4py.install()  # doctest: +SKIP
"""

from gridbuf.interop.exchanging import doors
from gridbuf.interop.gt4py_and_numpy import hold

__all__ = ["install", "installed", "uninstall"]

_, install, uninstall, installed = doors(
    __name__,
    lambda: hold("icon4py"),
    "ICON4Py",
    """This is `gridbuf.interop.gt4py.install` with `gridbuf.interop.numpy.enable`, for this thread
and those started later. Local fields that a granule allocates in every step are where that pays:
their blocks are used again, and not faulted in anew. It may be called before or after `icon4py`
and `gt4py.next` are imported, and before or after backends are made.""",
    "a = np.zeros(10)",
)
