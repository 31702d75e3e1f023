"""Filling and copying host memory."""

import os
from typing import Any

import numpy as np

from gridbuf._wrap import host_array

_threads: int | None = None


def copyto(dst: Any, src: Any, *, casting: str = "same_kind") -> None:
    """Copy values from one buffer into another, whatever the strides.

    Parameters
    ----------
    dst
        A Field, an ndarray or anything with writable host memory.
    src
        Values that broadcast to dst's shape.
    casting : {'no', 'equiv', 'safe', 'same_kind', 'unsafe'}
        Which dtype conversions are allowed, as for np.copyto.

    Raises
    ------
    TypeError
        When the conversion is not allowed, or dst has no memory to write to.
    ValueError
        When src does not broadcast to dst, or dst is read-only.

    Examples
    --------
    >>> import gridbuf as gb
    >>> f = gb.Field.zeros((2, 3))
    >>> gb.copyto(f, [1.0, 2.0, 3.0])
    >>> float(f[1, 2])
    3.0
    """
    source = host_array(src) if isinstance(src, np.ndarray) or hasattr(src, "__gt_origin__") else np.asarray(src)
    np.copyto(host_array(dst), source, casting=casting)  # type: ignore[arg-type]


def fill(dst: Any, value: Any) -> None:
    """Set every element of a Field, an ndarray or other writable host memory to value.

    Examples
    --------
    >>> import gridbuf as gb
    >>> a = gb.empty((2, 2))
    >>> gb.fill(a, 7.0)
    >>> float(a.sum())
    28.0
    """
    host_array(dst)[...] = value


def get_num_threads() -> int:
    """How many threads gridbuf uses: `set_num_threads`, else GRIDBUF_NUM_THREADS, else the cores this process may use."""
    if _threads is not None:
        return _threads
    wanted = os.environ.get("GRIDBUF_NUM_THREADS", "")
    return int(wanted) if wanted.isdecimal() and int(wanted) > 0 else len(os.sched_getaffinity(0))


def set_num_threads(n: int) -> None:
    """Use n threads from now on.

    Raises
    ------
    ValueError
        When n is below 1.
    """
    global _threads
    if not isinstance(n, int):
        raise TypeError(f"n: expected an int, got {n!r}")
    if n < 1:
        raise ValueError(f"n: {n} threads are not possible; give 1 or more")
    _threads = n
