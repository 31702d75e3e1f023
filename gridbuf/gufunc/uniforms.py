"""Uniform parameters that are no plain Python numbers; C puts the values into the struct that
kernels get as data.
"""

import operator
from typing import Any

import numpy as np

from gridbuf.gufunc.errors import SignatureError


def exact(name: str, kind: str, value: Any) -> bool | int | float:
    """The value as what a parameter of NumPy's kind takes: a bool, an int, or a float."""
    try:
        if kind == "b":
            if not isinstance(value, (bool, np.bool_)):
                raise TypeError
            return bool(value)
        if isinstance(value, bool) or (
            kind == "f" and (isinstance(value, (str, bytes)) or np.ndim(value))
        ):
            raise TypeError
        return float(value) if kind == "f" else operator.index(value)
    except (TypeError, ValueError):
        raise SignatureError(
            f"{name}: {value!r} is no single value of this uniform parameter's type"
        ) from None
    except OverflowError:
        raise OverflowError(
            f"{name}: {value!r} does not fit this uniform parameter's type"
        ) from None
