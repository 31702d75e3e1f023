"""CuPy: arrays on the GPU, through `__cuda_array_interface__`."""

from typing import Any, ClassVar

import numpy as np

import gridbuf
from gridbuf import _core
from gridbuf.consumers.cell import LAYOUTS, Cell, arranged, field, numpy_dtype
from gridbuf.consumers.consumer import Consumer, Missing, Refusals, Untried


class Cupy(Consumer):
    """Device memory on both sides; memory of the host it refuses."""

    package, modules = "cupy", ("cupy",)
    takes, gives = "cupy.asarray(field)", "gb.Field(array)"
    refuses: ClassVar[Refusals] = {
        (direction, "*"): Untried("nobody has run these cells on a GPU yet") for direction in ("take", "give")
    }

    def start(self) -> None:
        super().start()
        import cupy

        try:
            cupy.cuda.runtime.getDeviceCount()
            gridbuf.empty(1, device="gpu")
        except (cupy.cuda.runtime.CUDARuntimeError, RuntimeError) as error:
            raise Missing(f"no GPU: {error}") from error

    def field(self, cell: Cell) -> _core.Field:
        return field(cell).to(device="gpu")

    def take(self, field: _core.Field) -> Any:
        import cupy

        return cupy.asarray(field)

    def make(self, cell: Cell) -> Any:
        import cupy

        return arranged(cupy.empty(LAYOUTS[cell.layout].base, numpy_dtype(cell.dtype)), cell)

    def array(self, theirs: Any) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = theirs.get()
        return found

    def address(self, theirs: Any) -> int:
        return int(theirs.data.ptr)

    def strides(self, theirs: Any) -> tuple[int, ...]:
        return tuple(theirs.strides)


consumer = Cupy
