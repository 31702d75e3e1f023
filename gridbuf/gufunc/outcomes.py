"""What a call or a reduction ends in when elements failed, or with errors="return"."""

import warnings
from typing import Any

import numpy as np

from gridbuf.gufunc.choosing import Choosing
from gridbuf.gufunc.errors import ErrorInfo, PartialSuccess, TotalFailure


def conclude(
    g: Choosing,
    result: Any,
    codes: Any,
    failed: int,
    selected: int,
    errors: str,
    shape: tuple[int, ...] = (),
) -> Any:
    """The result, with or without what went wrong, a warning or an error. Without codes nothing
    failed; shape is theirs.
    """
    info = ErrorInfo(np.zeros(shape, np.uint8) if codes is None else codes, failed, selected)
    if errors == "return":
        return result, info
    if not failed or errors == "ignore":
        return result
    message = f"{g.name}: {failed} of {selected} elements failed, the first at {info.first}"
    if errors == "warn":
        warnings.warn(message, RuntimeWarning, stacklevel=2)
        return result
    raise (TotalFailure if failed == selected else PartialSuccess)(message, result, info)
