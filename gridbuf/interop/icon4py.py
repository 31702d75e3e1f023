"""ICON4Py: its fields and its NumPy arrays in gridbuf's memory.

ICON4Py allocates fields by gt4py.next, with the allocator of the chosen backend or the default one,
and the rest by NumPy.

Examples
--------
>>> import gridbuf.interop.icon4py  # doctest: +SKIP
>>> gridbuf.interop.icon4py.install()  # doctest: +SKIP
"""

from gridbuf.interop.exchanging import Installation, Installed
from gridbuf.interop.gt4py_install import with_numpy

__all__ = ["install", "installed", "uninstall"]

_installation = Installation(with_numpy)


def install() -> Installed:
    """Let ICON4Py allocate host memory from gridbuf.

    This is `gridbuf.interop.gt4py.install` with `gridbuf.interop.numpy.enable`, for this thread and
    those started later. Local fields that a granule allocates in every step are where that pays:
    their blocks are used again, and not faulted in anew. It may be called before or after `icon4py`
    and `gt4py.next` are imported, and before or after backends are made.

    Returns
    -------
    Installed
        As a context, it undoes this at the end.

    Examples
    --------
    >>> import gridbuf as gb, numpy as np, gridbuf.interop.icon4py as gbi
    >>> with gbi.install():
    ...     a = np.zeros(10)
    >>> gb.memory.buffer_id(a) is not None, gbi.installed()
    (True, False)
    """
    return _installation.on()


def uninstall() -> None:
    """Undo `install`.

    Examples
    --------
    >>> import gridbuf.interop.icon4py as gbi
    >>> gbi.uninstall()
    """
    _installation.off()


def installed() -> bool:
    """Whether `install` is in force.

    Returns
    -------
    bool

    Examples
    --------
    >>> import gridbuf.interop.icon4py as gbi
    >>> gbi.installed()
    False
    """
    return _installation.is_on
