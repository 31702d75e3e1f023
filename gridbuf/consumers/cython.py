"""Cython: typed memoryviews, in a module that is compiled when it is tried."""

import sys
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from gridbuf import _core
from gridbuf.consumers import _compiled
from gridbuf.consumers.cell import LAYOUTS, Cell, numpy_dtype, values
from gridbuf.consumers.consumer import Absent, Cannot, Consumer, Refusals

NONE = "No matching signature found"
TURNED = Absent("a memoryview turns all indices round (`.T`) or none")


class Cython(Consumer):
    """Any strides; the element type and the number of indices are part of the declaration, and so is `const`."""

    package, modules = "Cython", ("Cython",)
    takes, gives = "f(field) with f(double[:, :, :])", "gb.Field(view) of cython.view.array and slices of it"
    refuses: ClassVar[Refusals] = {
        ("take", "0-d"): Cannot("memoryviews have indices", NONE, "pass the number, `field[()]`"),
        ("take", "float16"): Cannot("no such element type", NONE, "`field.numpy().view('u2')`"),
        ("take", "bfloat16"): Cannot("no such element type", f"{NONE}|no buffer format", "`field.numpy().view('u2')`"),
        ("take", ">f8"): Cannot("native byte order only", NONE, "`field.to(dtype='f8')`"),
        ("give", "permuted"): TURNED,
        ("give", "read-only"): Absent("its own arrays are writable"),
        ("give", "0-d"): Absent("memoryviews have indices"),
        ("give", "size 0"): Absent("its own arrays have elements"),
        ("give", "float16"): Absent("no such element type"),
        ("give", "bfloat16"): Absent("no such element type"),
        ("give", ">f8"): Absent("native byte order only"),
    }

    def start(self) -> None:
        super().start()
        self.module = extension()

    def take(self, field: _core.Field) -> Any:
        return (self.module.constant if field.readonly else self.module.view)(field)

    def make(self, cell: Cell) -> Any:
        layout, dtype = LAYOUTS[cell.layout], numpy_dtype(cell.dtype)
        shape, mode = (layout.base[::-1], "fortran") if cell.layout == "F" else (layout.base, "c")
        made = self.module.make(shape, dtype.itemsize, dtype.char if dtype.kind != "c" else f"Z{dtype.char.lower()}", mode)
        made = self.module.view(made) if layout.slices is None else self.module.view(made)[layout.slices]
        wanted = values(cell.layout, cell.dtype)
        for index in np.ndindex(wanted.shape):
            self.write(made, index, wanted[index])
        return made

    def address(self, theirs: Any) -> int:
        return int(self.module.address(theirs))

    def strides(self, theirs: Any) -> tuple[int, ...]:
        return tuple(self.module.strides(theirs))

    def values(self, theirs: Any) -> np.ndarray[Any, Any]:
        shape = tuple(theirs.shape)
        found = np.empty(shape, np.asarray(theirs).dtype)
        for index in np.ndindex(shape):
            found[index] = self.module.get(theirs, *index)
        return found

    def write(self, theirs: Any, index: tuple[int, ...], value: Any) -> None:
        self.module.set(theirs, *index, value.item())


def extension() -> ModuleType:
    """The compiled module."""
    translated = _compiled.folder() / "gridbuf_cython.c"
    if not translated.exists():
        source = str(_compiled.source("cython.pyx"))
        _compiled.run([sys.executable, "-m", "cython", source, "-o", str(translated), "--module-name", "gridbuf_cython"])
    return _compiled.extension("gridbuf_cython", [translated], [], ["-x", "c", "-std=gnu11"])


consumer = Cython
