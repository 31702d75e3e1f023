"""What the copying kernels leave to NumPy: sources that are no arrays, and dtypes that are not
plain bytes.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.names import get_dims
from gridbuf.wrapping import host_array, naming, values

Progress = Callable[[float], object] | None


def _plain(dtype: np.dtype[Any]) -> bool:
    return not dtype.hasobject and dtype.itemsize > 0


def apart(target: np.ndarray[Any, Any], source: Any) -> Any:
    """The source, copied where NumPy (up to 2.5) might read of it what it has already
    overwritten.
    """
    return (
        source.copy()
        if isinstance(source, np.ndarray) and np.may_share_memory(target, source)
        else source
    )


def _source(src: Any) -> np.ndarray[Any, Any]:
    return (
        host_array(src) if isinstance(src, np.ndarray) else values(src)
    )  # what is masked would show


def _target(dst: Any) -> np.ndarray[Any, Any]:
    with naming("dst"):
        target = host_array(dst)
    if not target.flags.writeable:
        raise ValueError("dst: it is read-only")
    return target


def _converted(
    source: Any, dtype: "np.dtype[Any]", casting: Any, progress: Progress
) -> np.ndarray[Any, Any]:
    """The values as a new array of the dtype, for memory that only whole items can be moved to."""
    source = values(source)
    array = np.empty_like(source, dtype)
    np.copyto(array, source, casting=casting)
    return array


def _copyto_any(dst: Any, src: Any, casting: Any, progress: Progress) -> None:
    """`gridbuf.copyto` for whatever the kernels did not take."""
    casting = casting or "same_kind"
    if (
        not isinstance(dst, (np.ndarray, _core.Field))
        and get_dims(dst) is not None
        and get_dims(src) is not None
    ):
        _core.copyto(
            _core.Field(dst), src, casting=casting, progress=progress
        )  # both say what their indices mean
        return
    target, number = _target(dst), isinstance(src, (bool, int, float, complex, np.generic))
    with naming("src"):
        source = src if number else _source(src)
    scalar = number or source.ndim == 0
    if scalar and _plain(
        target.dtype
    ):  # Python's numbers take dst's dtype, as NumPy's rules have it
        value = np.empty((), target.dtype)
        with naming("src"):
            np.copyto(value, source, casting=casting)
        _core.fill(target, value, progress=progress)
    elif not scalar and (target is not dst or source is not src):
        _core.copyto(target, source, casting=casting, progress=progress)
    else:
        with naming("src"):
            np.copyto(target, apart(target, source), casting=casting)
        if progress is not None:
            progress(1.0)


def _fill_any(dst: Any, value: Any, progress: Progress) -> None:
    """`gridbuf.fill` for whatever the kernels did not take."""
    target = _target(dst)
    if target is not dst and _plain(target.dtype):
        _core.fill(target, value, progress=progress)
        return
    with naming("value"):
        target[...] = apart(target, _core.values(value))
    if progress is not None:
        progress(1.0)
