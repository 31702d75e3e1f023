"""Numba: Fields as arguments of compiled functions."""

from typing import Any, ClassVar

import numpy as np

from gridbuf import _core
from gridbuf.consumers.consumer import (
    LAYOUTS,
    Absent,
    Cannot,
    Cell,
    Consumer,
    Refusals,
    arranged,
    numpy_dtype,
)


class Numba(Consumer):
    """Inside a function it is an array over the Field's memory; what the function returns holds
    that memory.
    """

    package, modules = "numba", ("numba",)
    takes, gives = "import gridbuf.interop.numba; compiled(field)", "gb.Field(compiled())"
    refuses: ClassVar[Refusals] = {
        ("take", "float16"): Cannot(
            "float16 on GPUs only",
            r"float16 on GPUs only; pass field.to",
            "`field.to(dtype='float32')`",
        ),
        ("take", "bfloat16"): Cannot(
            "no such type", "Numba has no type for", "`field.to(dtype='float32')`"
        ),
        ("take", ">f8"): Cannot(
            "native byte order only", "Numba has no type for", "`field.to(dtype='f8')`"
        ),
        ("give", "float16"): Absent("float16 on GPUs only"),
        ("give", "bfloat16"): Absent("no such type"),
        ("give", ">f8"): Absent("native byte order only"),
    }

    def start(self) -> None:
        super().start()
        if not hasattr(self, "itself"):
            import numba

            import gridbuf.interop.numba  # noqa: F401

            self.itself = numba.njit(lambda array: array)
            self.new = numba.njit(lambda shape, like: np.empty(shape, like.dtype))
            self.set = numba.njit(_set)

    def take(self, field: _core.Field) -> Any:
        return self.itself(field)

    def make(self, cell: Cell) -> Any:
        return arranged(
            self.new(LAYOUTS[cell.layout].base, np.empty(1, numpy_dtype(cell.dtype))), cell
        )

    def write(self, theirs: Any, index: tuple[int, ...], value: Any) -> None:
        self.set(theirs, index, value)


def _set(array: Any, index: Any, value: Any) -> None:
    array[index] = value


consumer = Numba
