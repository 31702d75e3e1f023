"""nanobind: arguments and results of type `nb::ndarray`, in an extension that is compiled when it is tried."""

from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from gridbuf import _core
from gridbuf.consumers import _compiled
from gridbuf.consumers.cell import LAYOUTS, Cell, numpy_dtype, values
from gridbuf.consumers.consumer import Absent, Cannot, Consumer, Refusals

_CODES = {"i": 0, "u": 1, "f": 2, "V": 4, "c": 5, "b": 6}  # of DLPack; V is bfloat16's kind
_NAMES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}


class Nanobind(Consumer):
    """Any strides through DLPack; read-only memory goes to arguments that are annotated so."""

    package, modules = "nanobind", ("nanobind",)
    takes, gives = "f(field) with f(nb::ndarray<>)", "gb.Field(array) of nb::ndarray<nb::array_api>"
    refuses: ClassVar[Refusals] = {
        ("take", ">f8"): Cannot("native byte order only", "incompatible function arguments", "`field.to(dtype='f8')`"),
        ("give", ">f8"): Absent("native byte order only"),
    }

    def start(self) -> None:
        super().start()
        self.module = extension()

    def take(self, field: _core.Field) -> Any:
        return self.module.hold(field)

    def make(self, cell: Cell) -> Any:
        dtype = numpy_dtype(cell.dtype)
        nbytes, start, shape, strides = _compiled.lie(cell)
        steps = [n // dtype.itemsize for n in strides]
        made = self.module.make(nbytes, start, shape, steps, _CODES[dtype.kind], 8 * dtype.itemsize)
        held, wanted = self.module.hold(made), values(cell.layout, cell.dtype)
        for index in np.ndindex(wanted.shape):
            held.set(index, wanted[index].tobytes())
        return self.module.constant(made) if LAYOUTS[cell.layout].readonly else made

    def _held(self, theirs: Any) -> Any:
        """What the extension sees of its own or of our memory."""
        return self.module.hold(theirs) if type(theirs).__name__ == "nb_ndarray" else theirs

    def address(self, theirs: Any) -> int:
        return int(self._held(theirs).address)

    def strides(self, theirs: Any) -> tuple[int, ...]:
        return tuple(self._held(theirs).strides)

    def values(self, theirs: Any) -> np.ndarray[Any, Any]:
        held = self._held(theirs)
        code, bits = held.dtype
        dtype = numpy_dtype(_NAMES[code] + ("" if code == 6 else str(bits)))
        found = np.empty(tuple(held.shape), dtype)
        for index in np.ndindex(found.shape):
            found[index] = np.frombuffer(held.element(index), dtype)[0]
        return found

    def readonly(self, theirs: Any) -> bool:
        return not hasattr(self._held(theirs), "set")

    def write(self, theirs: Any, index: tuple[int, ...], value: Any) -> None:
        self._held(theirs).set(index, value.tobytes())


def extension() -> ModuleType:
    """The compiled extension; nanobind's own sources are part of it."""
    import nanobind

    include = Path(nanobind.include_dir())
    sources = [Path(nanobind.source_dir()) / "nb_combined.cpp", _compiled.source("nanobind.cpp")]
    return _compiled.extension("gridbuf_nanobind", sources, [str(include), str(include.parent / "ext" / "robin_map" / "include")])


consumer = Nanobind
