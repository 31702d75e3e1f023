"""Numbers of every exponent, and what their sums are by fractions."""

import math
import struct
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

FLOATS = ["float16", "float32", "float64"]
INTEGERS = ["bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))]
any_double = st.floats(allow_nan=False, allow_infinity=False)


def bits(x: float) -> bytes:
    return struct.pack("<d", x)


def rounded(value: Fraction) -> float:
    """To the nearest double, as math.fsum rounds; beyond the range an infinity."""
    try:
        return value.numerator / value.denominator
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def exactly(values: Any) -> float:
    return rounded(sum((Fraction(float(v)) for v in np.asarray(values).ravel()), Fraction()))


def wide(rng: np.random.Generator, shape: Any, low: int = -1074, high: int = 1020) -> np.ndarray:
    """Numbers of every exponent."""
    return np.ldexp(rng.uniform(-1, 1, shape), rng.integers(low, high, shape))


INF, NAN = math.inf, math.nan
