"""NDSL (the middle layer of Pace and GEOS): its quantities, its storages and its NumPy arrays in
gridbuf's memory.

NDSL allocates quantities and storages by `gt4py.storage`, buffers of halo exchanges and grid arrays
by NumPy.

Examples
--------
>>> import gridbuf.interop.ndsl  # doctest: +SKIP
>>> gridbuf.interop.ndsl.install()  # doctest: +SKIP
"""

from gridbuf.interop.exchanging import doors
from gridbuf.interop.gt4py import with_numpy

__all__ = ["install", "installed", "uninstall"]

_, install, uninstall, installed = doors(
    __name__,
    with_numpy,
    "NDSL",
    """This is `gridbuf.interop.gt4py.install` with `gridbuf.interop.numpy.enable`, for this thread
and those started later. NDSL's arrays stay NumPy arrays with the strides that it asks for, so that
its `Quantity` takes them as its own. What copies such an array by NumPy's rules (copy.deepcopy
of a Quantity, pickle) packs it, as it does without gridbuf.""",
    "a = np.zeros(10)",
)
