"""Uniform parameters, packed as the C struct that kernels get as data."""

import operator
import struct
from typing import Any

import numpy as np

from gridbuf.gufunc.errors import SignatureError
from gridbuf.gufunc.types import UNIFORM_FORMATS


def pack(names: list[str], types: bytes, given: dict[str, Any]) -> bytes:
    """One exact value each, in the order of the signature, aligned as C does."""
    if unknown := [n for n in given if n not in names]:
        raise TypeError(f"{unknown[0]}: neither a keyword nor a uniform parameter; uniform parameters are {names}")
    if missing := [n for n in names if n not in given]:
        raise TypeError(f"{missing[0]}: this uniform parameter needs a value")
    layout, values = "@", []
    for name, number in zip(names, types, strict=True):
        code = UNIFORM_FORMATS[number]
        layout += code
        values.append(_value(name, code, given[name]))
    return struct.pack(layout, *values)


def _value(name: str, code: str, value: Any) -> Any:
    try:
        if code == "?":
            if not isinstance(value, (bool, np.bool_)):
                raise TypeError
            return bool(value)
        if code in "fd":
            if isinstance(value, (bool, str, bytes)) or np.ndim(value):
                raise TypeError
            struct.pack(code, float(value))
            return float(value)
        if isinstance(value, bool):
            raise TypeError
        struct.pack(code, operator.index(value))
        return operator.index(value)
    except (TypeError, ValueError):
        raise SignatureError(f"{name}: {value!r} is no single value of this uniform parameter's type") from None
    except (struct.error, OverflowError):
        raise OverflowError(f"{name}: {value!r} does not fit this uniform parameter's type") from None
