"""pybind11: a small extension that takes `py::buffer` and gives memory of a C++ class."""

from typing import Any, ClassVar

import numpy as np

from gridbuf import _core
from gridbuf.consumers.compiled import PEERS, extension, memory_of
from gridbuf.consumers.consumer import Absent, Cannot, Cell, Consumer, Refusals

FORMATS = {"Zf": "c8", "Zd": "c16"}  # formats of PEP 3118 that np.dtype does not read


class Pybind11(Consumer):
    """`py::buffer` is the buffer protocol: any strides and formats, and `request(true)` refuses
    read-only memory.
    """

    package, modules = "pybind11", ("pybind11",)
    takes, gives = "f(field) with `void f(py::buffer)`", "gb.Field(an object with def_buffer)"
    refuses: ClassVar[Refusals] = {
        ("take", "bfloat16"): Cannot(
            "PEP 3118 has no bfloat16", "no buffer format", "DLPack, or `field.numpy()`"
        ),
        ("give", "bfloat16"): Absent("PEP 3118 has no bfloat16"),
    }

    def start(self) -> None:
        super().start()
        import pybind11

        source = str(PEERS / "pybind11_peer.cpp")
        self.peer = extension("pybind11_peer", (source,), (f"-I{pybind11.get_include()}",))

    def take(self, field: _core.Field) -> Any:
        return self.peer.Held(field, not field.readonly)

    def make(self, cell: Cell) -> Any:
        memory, first, array = memory_of(cell)
        # NumPy's own word for a format, since pybind11 has no types but C++'s.
        code = {"c8": "Zf", "c16": "Zd"}.get(array.dtype.str[1:], array.dtype.char)
        code = array.dtype.byteorder.replace("=", "").replace("|", "") + code
        return self.peer.Memory(
            memory,
            first,
            array.itemsize,
            code,
            array.shape,
            array.strides,
            not array.flags.writeable,
        )

    def _held(self, theirs: Any) -> Any:
        return theirs if isinstance(theirs, self.peer.Held) else self.peer.Held(theirs, False)

    def address(self, theirs: Any) -> int:
        return int(self._held(theirs).address)

    def strides(self, theirs: Any) -> tuple[int, ...]:
        return tuple(self._held(theirs).strides)

    def values(self, theirs: Any) -> np.ndarray[Any, Any]:
        held = self._held(theirs)
        return np.frombuffer(held.values(), FORMATS.get(held.format, held.format)).reshape(
            held.shape
        )

    def write(self, theirs: Any, index: tuple[int, ...], value: Any) -> None:
        self._held(theirs).write(index, value.tobytes())

    def readonly(self, theirs: Any) -> bool:
        return bool(self._held(theirs).readonly)


consumer = Pybind11
