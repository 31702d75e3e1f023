"""NumPy's functions that are ufuncs in another dress, for everything that has `__array_ufunc__`."""

from typing import Any

import numpy as np

_umath = getattr(np, "_core", None) or np.core


def clip(
    a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None, **options: Any
) -> Any:
    """`np.clip`, whatever of the four bounds is given."""
    low = min if a_min is None or a_min is np._NoValue else a_min
    high = max if a_max is None or a_max is np._NoValue else a_max
    bounds: list[Any] = [None if bound is np._NoValue else bound for bound in (low, high)]
    low, high = bounds
    if low is None and high is None:
        return np.positive(a, out=out, **options)
    if low is None or high is None:
        return np.minimum(a, high, out=out, **options) if low is None else np.maximum(a, low, out=out, **options)
    return _umath.umath.clip(a, low, high, out=out, **options)
