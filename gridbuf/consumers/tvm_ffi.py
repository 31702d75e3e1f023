"""apache-tvm-ffi: tensors through the DLPack exchange API."""

from typing import Any, ClassVar

import numpy as np

from gridbuf import _core
from gridbuf.consumers.consumer import Absent, Cannot, Cell, Consumer, Refusals, Unprotected


class TvmFfi(Consumer):
    """The tensor that functions get for a Field; strides and devices of any kind."""

    package, modules = "apache-tvm-ffi", ("tvm_ffi",)
    takes, gives = "tvm_ffi.from_dlpack(field)", "gb.Field(tensor)"
    refuses: ClassVar[Refusals] = {
        ("take", "read-only"): Unprotected(
            "a tensor does not know that it is read-only", "pass `field.copy()` to what writes"
        ),
        ("take", ">f8"): Cannot(
            "native byte order only", "DLPack has no type for", "`field.to(dtype='f8')`"
        ),
        ("give", "read-only"): Absent("no read-only tensors"),
        ("give", ">f8"): Absent("native byte order only"),
    }

    def take(self, field: _core.Field) -> Any:
        import tvm_ffi

        return tvm_ffi.from_dlpack(field)

    def make(self, cell: Cell) -> Any:
        import tvm_ffi

        array = super().make(cell)
        # NumPy's DLPack has none
        return tvm_ffi.from_dlpack(_core.Field(array) if cell.dtype == "bfloat16" else array)

    def array(self, theirs: Any) -> np.ndarray[Any, Any]:
        try:
            return np.from_dlpack(theirs)
        except BufferError:  # NumPy's DLPack has no bfloat16
            return _core.Field(theirs).numpy()

    def address(self, theirs: Any) -> int:
        return int(theirs.data_ptr())

    def strides(self, theirs: Any) -> tuple[int, ...]:
        return tuple(n * self.array(theirs).itemsize for n in theirs.strides)

    def write(self, theirs: Any, index: tuple[int, ...], value: Any) -> None:
        self.array(theirs)[index] = value


consumer = TvmFfi
