"""What may be summed, as arrays and Fields that the kernels read."""

from typing import Any

import numpy as np

from gridbuf._core import Field, host_array

ALLOWED = "bool, integers, float16, float32, float64, complex64 and complex128"


def kind_of(dtype: np.dtype[Any], argument: str) -> str:
    """`"i"` for bools and integers, `"f"` or `"c"`; TypeError for what is not summed."""
    if dtype.kind in "biu":
        return "i"
    if dtype.char in "efd":
        return "f"
    if dtype.char in "FD":
        return "c"
    raise TypeError(
        f"{argument}: elements of dtype {dtype} are not summed exactly; allowed are {ALLOWED}"
    )


def operand(x: Any, argument: str) -> Any:
    """A Field, or an array over the memory of x; numbers and lists become arrays. In this machine's
    byte order.
    """
    if type(x) is not np.ndarray and not isinstance(x, Field):
        try:
            x = (
                np.asarray(x)
                if isinstance(x, list | tuple | int | float | complex | np.generic)
                else host_array(x)
            )
        except TypeError as error:
            raise TypeError(f"{argument}: {error}") from None
    kind_of(x.dtype, argument)
    return x if x.dtype.isnative else np.asarray(x).astype(x.dtype.newbyteorder("="))


def parts(x: Any, kind: str) -> tuple[Any, ...]:
    """The real numbers that x consists of: itself, or real and imaginary parts."""
    if kind != "c":
        return (x,)
    array = np.asarray(x)
    return (array.real, array.imag)


def pair(x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands of one shape, y's axes in x's order where both have names."""
    x, y = operand(x, "x"), operand(y, "y")
    if isinstance(x, Field) and isinstance(y, Field) and x.dims != y.dims:
        if sorted(x.dims) != sorted(y.dims):
            raise ValueError(f"y: dims {y.dims}; x has {x.dims}")
        y = y.transpose(*x.dims)
    if x.shape != y.shape:
        raise ValueError(f"y: shape {y.shape}; x has {x.shape}")
    x_whole, y_whole = (kind_of(a.dtype, "x") == "i" for a in (x, y))
    if x_whole != y_whole:  # small integers are doubles
        if x_whole:
            x = _floats(x, "x", y.dtype)
        else:
            y = _floats(y, "y", x.dtype)
    return x, y


def _floats(a: Any, argument: str, other: np.dtype[Any]) -> Any:
    if a.dtype.itemsize > 4:
        raise TypeError(
            f"{argument}: not every {a.dtype} is a float64, so its products with {other} would not"
            " be exact; convert it"
        )
    return np.asarray(a).astype(np.float64)
