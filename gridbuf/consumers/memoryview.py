"""memoryview, the buffer protocol in plain Python."""

from typing import Any, ClassVar

from gridbuf.consumers.consumer import Absent, Cannot, Cell, Consumer, Refusals


class Memoryview(Consumer):
    """Any strides; formats are those of the module struct."""

    takes, gives = "memoryview(field)", "gb.Field(view)"
    refuses: ClassVar[Refusals] = {
        ("take", "bfloat16"): Cannot(
            "PEP 3118 has no bfloat16", "no buffer format", "DLPack, or `field.numpy()`"
        ),
        ("give", "bfloat16"): Absent("PEP 3118 has no bfloat16"),
    }

    def take(self, field: Any) -> Any:
        return memoryview(field)

    def make(self, cell: Cell) -> Any:
        return memoryview(super().make(cell))

    def strides(self, theirs: Any) -> tuple[int, ...]:
        return tuple(theirs.strides)

    def readonly(self, theirs: Any) -> bool:
        return bool(theirs.readonly)

    def write(self, theirs: Any, index: tuple[int, ...], value: Any) -> None:
        self.array(theirs)[index] = value  # a memoryview itself knows no complex numbers


consumer = Memoryview
