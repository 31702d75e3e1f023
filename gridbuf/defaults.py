"""The default backend: allocations that name neither a backend nor a layout get its
layout.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from gridbuf import _core

_here: ContextVar[str | None] = ContextVar("gridbuf_backend", default=None)
_everywhere: str | None = None
was_set = False  # whether a default was ever set: hot paths read this first
_ask = None  # the function that C asks, once there was a context with a backend of its own


def set_default_backend(name: str | None) -> None:
    """Set the backend of allocations that name neither a backend nor a layout.

    The setting holds for the whole process: for `gridbuf.empty`, `Field.empty` and similar
    functions, for `from_array` and `plan`, and for storages that are made from a shape. The
    `*_like` functions and copies keep the layout of their source. The environment variable
    GRIDBUF_BACKEND sets the same.

    Parameters
    ----------
    name : str or None
        A name from `gridbuf.backends()`; None: C order again.

    Raises
    ------
    BackendError
        When there is no such backend.

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.set_default_backend("gt:cpu_ifirst")
    >>> gb.zeros((4, 5, 6)).strides
    (8, 32, 160)
    >>> gb.set_default_backend(None)
    >>> gb.zeros((4, 5, 6)).strides
    (240, 48, 8)
    """
    global _everywhere, was_set
    _check(name)
    _everywhere, was_set = name, was_set or name is not None
    _core.set_default_backend(name, _ask)


def get_default_backend() -> str:
    """The backend of allocations that name none.

    Returns
    -------
    str

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.get_default_backend()
    'C'
    """
    return _here.get() or _everywhere or "C"


def of_storages() -> str | None:
    """The default backend, if there is one: without one the order of a storage follows its
    axes.
    """
    return _here.get() or _everywhere


@contextmanager
def default_backend(name: str) -> Iterator[None]:
    """As `set_default_backend`, for the code in this block, on this thread or in this asyncio task.

    Also a decorator. Blocks nest.

    Parameters
    ----------
    name : str
        A name from `gridbuf.backends()`.

    Yields
    ------
    None

    Raises
    ------
    BackendError
        When there is no such backend.

    Examples
    --------
    >>> import gridbuf as gb
    >>> with gb.default_backend("F"):
    ...     a = gb.zeros((4, 5))
    >>> a.strides, gb.zeros((4, 5)).strides
    ((8, 32), (40, 8))
    """
    global _ask, was_set
    _check(name)
    was_set = True
    if _ask is None:
        _ask = _here.get
        _core.set_default_backend(_everywhere, _ask)
    before = _here.set(name)
    try:
        yield
    finally:
        _here.reset(before)


def _check(name: str | None) -> None:
    if name is not None:
        _core.preset(name)


def from_environment() -> None:
    """GRIDBUF_BACKEND; a name that is registered later is looked up at the first allocation."""
    global _everywhere, was_set
    name = os.environ.get("GRIDBUF_BACKEND")
    if name:
        _everywhere, was_set = name, True
        _core.set_default_backend(name, None)
