"""PyTorch: `torch.from_dlpack`, through the helper that says what PyTorch would get wrong."""

from typing import Any, ClassVar

import numpy as np

from gridbuf import _core
from gridbuf.consumers.consumer import LAYOUTS, Absent, Cannot, Cell, Consumer, Refusals, values


class Torch(Consumer):
    """Any positive strides, writable memory, native dtypes; both ways through the DLPack exchange
    API.
    """

    package, modules = "torch", ("torch",)
    takes, gives = "gridbuf.interop.torch.to_tensor(field)", "gb.Field(tensor)"
    refuses: ClassVar[Refusals] = {
        ("take", "reversed"): Cannot(
            "no negative strides",
            r"I \(index 0\) has the stride -240.*field\[::-1, :, :\]",
            "turn it round (`field[::-1]`), or `field.copy()`",
        ),
        ("take", "read-only"): Cannot(
            "it would write to it", r"read-only.*pass a copy", "`field.copy()`"
        ),
        ("take", ">f8"): Cannot(
            "native byte order only", "PyTorch cannot hold", "`field.to(dtype='f8')`"
        ),
        ("give", "reversed"): Absent("no negative strides"),
        ("give", "read-only"): Absent("no read-only tensors"),
        ("give", ">f8"): Absent("native byte order only"),
    }

    def take(self, field: _core.Field) -> Any:
        from gridbuf.interop import torch as gbt

        return gbt.to_tensor(field)

    def make(self, cell: Cell) -> Any:
        import torch

        layout, wanted = LAYOUTS[cell.layout], values(cell.layout, cell.dtype)
        tensor = torch.empty(layout.base, dtype=getattr(torch, cell.dtype))
        tensor = tensor if layout.axes is None else tensor.permute(layout.axes)
        tensor = tensor if layout.slices is None else tensor[layout.slices]
        if cell.dtype == "bfloat16":
            wanted = wanted.astype("float32")
        return tensor.copy_(torch.from_numpy(wanted))

    def address(self, theirs: Any) -> int:
        return int(theirs.data_ptr())

    def strides(self, theirs: Any) -> tuple[int, ...]:
        return tuple(n * theirs.element_size() for n in theirs.stride())

    def values(self, theirs: Any) -> np.ndarray[Any, Any]:
        import torch

        if theirs.dtype is torch.bfloat16:
            return theirs.float().numpy().astype("bfloat16")
        return np.array(theirs.numpy())

    def readonly(self, theirs: Any) -> bool:
        return False

    def write(self, theirs: Any, index: tuple[int, ...], value: Any) -> None:
        theirs[index] = complex(value) if value.dtype.kind == "c" else float(value)


consumer = Torch
