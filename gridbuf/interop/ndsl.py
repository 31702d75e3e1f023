"""NDSL (the middle layer of Pace and GEOS): its quantities, its storages and its NumPy arrays in
gridbuf's memory, and its halo updates by `gridbuf.distributed`.

NDSL allocates quantities and storages by `gt4py.storage`, buffers of halo exchanges and grid arrays
by NumPy. Its communicator hands out halo updaters, for scalars and for vectors, and synchronises
vectors on interfaces.

Examples
--------
>>> import gridbuf.interop.ndsl  # doctest: +SKIP
>>> gridbuf.interop.ndsl.install()  # doctest: +SKIP
"""

import importlib
from collections.abc import Callable

from gridbuf.importing import forget, when_imported
from gridbuf.interop.exchanging import doors
from gridbuf.interop.gt4py_and_numpy import hold

__all__ = ["install", "installed", "uninstall"]

_COMMUNICATOR = "ndsl.comm.communicator"


def _on() -> Callable[[], None]:
    memory = hold("ndsl")
    put_back: list[Callable[[], None]] = []

    def halos() -> None:
        put_back.append(importlib.import_module("gridbuf.interop.ndsl_halos").on())

    when_imported(_COMMUNICATOR, halos)

    def off() -> None:
        forget(_COMMUNICATOR, halos)
        for call in put_back:
            call()
        memory()

    return off


_, install, uninstall, installed = doors(
    __name__,
    _on,
    "NDSL",
    """This is `gridbuf.interop.gt4py.install` with `gridbuf.interop.numpy.enable`, for this thread
and those started later. NDSL's arrays stay NumPy arrays with the strides that it asks for, so that
its `Quantity` takes them as its own. What copies such an array by NumPy's rules (copy.deepcopy
of a Quantity, pickle) packs it, as it does without gridbuf.

Updaters that NDSL's communicator makes from then on are exchanges of `gridbuf.distributed`: the
same bits in every halo point, all quantities of an updater in one message a neighbour. Updaters of
communicators that are not mpi4py's, and of GPUs, stay NDSL's.""",
    "a = np.zeros(10)",
)
