"""CuPy: arrays on the GPU, through `__cuda_array_interface__`."""

from typing import Any, ClassVar

import numpy as np

import gridbuf
from gridbuf import _core
from gridbuf.consumers.consumer import (
    LAYOUTS,
    Absent,
    Cannot,
    Cell,
    Consumer,
    Missing,
    Refusals,
    field,
    numpy_dtype,
    values,
)


class Cupy(Consumer):
    """Device memory on both sides; memory of the host it refuses."""

    package, modules = "cupy", ("cupy",)
    takes, gives = "cupy.asarray(field)", "gb.Field(array)"
    refuses: ClassVar[Refusals] = {
        ("take", "read-only"): Absent("Fields that gridbuf makes on a GPU are writable"),
        ("take", ">f8"): Cannot("native byte order only", "byte-order", "`field.to(dtype='f8')`"),
        ("give", "read-only"): Absent("no read-only arrays"),
        ("give", ">f8"): Absent("native byte order only"),
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

        layout = LAYOUTS[cell.layout]
        base = cupy.empty(layout.base, numpy_dtype(cell.dtype))
        view = base if layout.axes is None else base.transpose(layout.axes)
        view = view if layout.slices is None else view[layout.slices]
        view[...] = cupy.asarray(values(cell.layout, cell.dtype))
        return view

    def array(self, theirs: Any) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = theirs.get()
        return found

    def address(self, theirs: Any) -> int:
        return int(theirs.data.ptr)

    def strides(self, theirs: Any) -> tuple[int, ...]:
        return tuple(theirs.strides)

    def readonly(self, theirs: Any) -> bool:
        return False


consumer = Cupy
