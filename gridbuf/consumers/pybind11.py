"""pybind11: arguments of type `py::buffer`, and classes with the buffer protocol, in an extension compiled when it is tried."""

from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from gridbuf import _core
from gridbuf.consumers import _compiled
from gridbuf.consumers.cell import LAYOUTS, Cell, numpy_dtype, values
from gridbuf.consumers.consumer import Absent, Cannot, Consumer, Refusals


class Pybind11(Consumer):
    """Any strides and any format of the buffer protocol; `py::array_t` takes `field.numpy()`, or copies what does not fit."""

    package, modules = "pybind11", ("pybind11",)
    takes, gives = "f(field) with f(py::buffer)", "gb.Field(object) of a class with py::buffer_protocol"
    refuses: ClassVar[Refusals] = {
        ("take", "bfloat16"): Cannot("PEP 3118 has no bfloat16", "no buffer format", "`field.numpy().view('u2')`"),
        ("give", "bfloat16"): Absent("PEP 3118 has no bfloat16"),
    }

    def start(self) -> None:
        super().start()
        self.module = extension()

    def take(self, field: _core.Field) -> Any:
        return self.module.hold(field)

    def make(self, cell: Cell) -> Any:
        dtype = numpy_dtype(cell.dtype)
        nbytes, start, shape, strides = _compiled.lie(cell)
        form = memoryview(np.empty((), dtype)).format
        made = self.module.Memory(nbytes, start, dtype.itemsize, form, shape, strides, LAYOUTS[cell.layout].readonly)
        wanted = values(cell.layout, cell.dtype)
        for index in np.ndindex(wanted.shape):
            made.fill(sum(i * n for i, n in zip(index, strides, strict=True)), np.asarray(wanted[index], dtype).tobytes())
        return made

    def _held(self, theirs: Any) -> Any:
        """What the extension sees of its own or of our memory."""
        return theirs if isinstance(theirs, self.module.Held) else self.module.hold(theirs)

    def address(self, theirs: Any) -> int:
        return int(self._held(theirs).address)

    def strides(self, theirs: Any) -> tuple[int, ...]:
        return tuple(self._held(theirs).strides)

    def values(self, theirs: Any) -> np.ndarray[Any, Any]:
        held = self._held(theirs)
        shape = tuple(held.shape)
        elements = b"".join(held.element(index) for index in np.ndindex(shape))
        dtype = {"Zf": "c8", "Zd": "c16"}.get(held.format, held.format)
        return np.frombuffer(elements, np.dtype(dtype)).reshape(shape) if elements else np.empty(shape, dtype)

    def readonly(self, theirs: Any) -> bool:
        return bool(self._held(theirs).readonly)

    def write(self, theirs: Any, index: tuple[int, ...], value: Any) -> None:
        dtype = np.asarray(theirs).dtype if isinstance(theirs, self.module.Memory) else value.dtype
        self._held(theirs).set(index, np.asarray(value, dtype).tobytes())


def extension() -> ModuleType:
    """The compiled extension."""
    import pybind11

    return _compiled.extension("gridbuf_pybind11", [_compiled.source("pybind11.cpp")], [pybind11.get_include()])


consumer = Pybind11
