"""ctypes: arrays over our memory, and Fields over ctypes' arrays."""

import ctypes
from typing import Any, ClassVar

import numpy as np

from gridbuf import _core
from gridbuf.consumers.consumer import Absent, Cannot, Cell, Consumer, Refusals, values

GAPS = Cannot(
    "C order without gaps only",
    "not C contiguous",
    "pass pointer and strides: `field.numpy().ctypes`",
)
NO_TYPE = Cannot(
    "ctypes has no such type", "ctypes has no type for", "`c_void_p(field.numpy().ctypes.data)`"
)
ONLY_C = Absent("a ctypes array has C order and no gaps")


class Ctypes(Consumer):
    """A ctypes array has one element type and C order; memory in another layout goes as pointer and
    strides.
    """

    takes, gives = "(c_double * 6 * 5 * 4).from_buffer(field)", "gb.Field(array)"
    refuses: ClassVar[Refusals] = {
        **{("take", layout): GAPS for layout in ("F", "permuted", "padded", "sliced", "reversed")},
        **{
            ("give", layout): ONLY_C
            for layout in ("F", "permuted", "padded", "sliced", "reversed", "read-only")
        },
        **{
            ("take", dtype): NO_TYPE for dtype in ("float16", "bfloat16", "complex64", "complex128")
        },
        **{
            ("give", dtype): Absent("ctypes has no such type")
            for dtype in ("float16", "bfloat16", "complex64", "complex128")
        },
        ("take", "read-only"): Cannot(
            "no read-only arrays",
            "not writable",
            "`field.copy()`, or `c_void_p(field.numpy().ctypes.data)`",
        ),
    }

    def take(self, field: _core.Field) -> Any:
        return _type(field.dtype, field.shape).from_buffer(field)

    def make(self, cell: Cell) -> Any:
        wanted = values(cell.layout, cell.dtype)
        array = _type(wanted.dtype, wanted.shape)()
        np.asarray(array)[...] = wanted
        return array

    def address(self, theirs: Any) -> int:
        return ctypes.addressof(theirs)

    def write(self, theirs: Any, index: tuple[int, ...], value: Any) -> None:
        for i in index[:-1]:
            theirs = theirs[i]
        if index:
            theirs[index[-1]] = value.item()
        else:
            theirs.value = value.item()


def _type(dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
    try:
        found: Any = np.ctypeslib.as_ctypes_type(dtype)
    except (KeyError, NotImplementedError) as error:
        raise TypeError(f"ctypes has no type for {dtype!r}") from error
    for n in reversed(shape):
        found = found * n
    return found


consumer = Ctypes
