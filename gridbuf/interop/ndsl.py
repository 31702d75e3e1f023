"""NDSL (the middle layer of Pace and GEOS): its quantities, its storages and its NumPy arrays in
gridbuf's memory.

NDSL allocates quantities and storages by `gt4py.storage`, buffers of halo exchanges and grid arrays
by NumPy.

Examples
--------
>>> import gridbuf.interop.ndsl  # doctest: +SKIP
>>> gridbuf.interop.ndsl.install()  # doctest: +SKIP
"""

from gridbuf.interop.exchanging import Installation, Installed
from gridbuf.interop.gt4py_install import with_numpy

__all__ = ["install", "installed", "uninstall"]

_installation = Installation(with_numpy)


def install() -> Installed:
    """Let NDSL allocate host memory from gridbuf.

    This is `gridbuf.interop.gt4py.install` with `gridbuf.interop.numpy.enable`, for this thread and
    those started later. NDSL's arrays stay NumPy arrays with the strides that it asks for, so that
    its `Quantity` takes them as its own. What copies such an array by NumPy's rules (copy.deepcopy
    of a Quantity, pickle) packs it, as it does without gridbuf.

    Returns
    -------
    Installed
        As a context, it undoes this at the end.

    Examples
    --------
    >>> import gridbuf as gb, numpy as np, gridbuf.interop.ndsl as gbn
    >>> with gbn.install():
    ...     a = np.zeros(10)
    >>> gb.memory.buffer_id(a) is not None, gbn.installed()
    (True, False)
    """
    return _installation.on()


def uninstall() -> None:
    """Undo `install`.

    Examples
    --------
    >>> import gridbuf.interop.ndsl as gbn
    >>> gbn.uninstall()
    """
    _installation.off()


def installed() -> bool:
    """Whether `install` is in force.

    Returns
    -------
    bool

    Examples
    --------
    >>> import gridbuf.interop.ndsl as gbn
    >>> gbn.installed()
    False
    """
    return _installation.is_on
