"""Cython: typed memoryviews in a small extension, and Fields over memory that Cython owns."""

import sys
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from gridbuf import _core
from gridbuf.consumers.compiled import PEERS, extension, folder, run
from gridbuf.consumers.consumer import (
    LAYOUTS,
    Absent,
    Cannot,
    Cell,
    Consumer,
    Refusals,
    numpy_dtype,
    viewed,
)

NO_INDEX = Cannot(
    "no memoryviews without indices",
    "No matching signature",
    "`field[()]`, or `field.numpy()[None]`",
)


class Cython(Consumer):
    """A memoryview `double[:, :, :]` is the buffer protocol: any strides; read-only memory needs
    `const double[:, :, :]`.
    """

    package, modules = "Cython", ("cython", "Cython")
    takes, gives = "f(field) with `def f(double[:, :, :] a)`", "gb.Field(memoryview)"
    refuses: ClassVar[Refusals] = {
        ("take", "0-d"): NO_INDEX,
        ("take", "float16"): Cannot(
            "no such type", "No matching signature", "`field.to(dtype='float32')`"
        ),
        ("take", "bfloat16"): Cannot(
            "PEP 3118 has no bfloat16", "no buffer format", "`field.to(dtype='float32')`"
        ),
        ("take", ">f8"): Cannot(
            "native byte order only", "No matching signature", "`field.to(dtype='f8')`"
        ),
        ("give", "0-d"): Absent("no memoryviews without indices"),
        ("give", "float16"): Absent("no such type"),
        ("give", "bfloat16"): Absent("PEP 3118 has no bfloat16"),
        ("give", ">f8"): Absent("native byte order only"),
    }

    def start(self) -> None:
        super().start()
        source = Path(folder().name, "cython_peer.cpp")
        if not source.exists():
            run(
                [
                    sys.executable,
                    "-m",
                    "cython",
                    "-3",
                    "--cplus",
                    str(PEERS / "cython_peer.pyx"),
                    "-o",
                    str(source),
                ]
            )
        self.peer = extension("cython_peer", (str(source),))

    def take(self, field: _core.Field) -> Any:
        return self.peer.hold_readonly(field) if field.readonly else self.peer.hold(field)

    def make(self, cell: Cell) -> Any:
        memory = self.peer.memory(
            max(1, int(np.prod(LAYOUTS[cell.layout].base)) * numpy_dtype(cell.dtype).itemsize)
        )
        array = viewed(memory, cell)
        return self.peer.hold(array) if array.flags.writeable else self.peer.hold_readonly(array)

    def address(self, theirs: Any) -> int:
        return int(self.peer.address(theirs))

    def strides(self, theirs: Any) -> tuple[int, ...]:
        return tuple(theirs.strides)

    def values(self, theirs: Any) -> np.ndarray[Any, Any]:
        found = np.empty(theirs.shape, self.array(theirs).dtype)
        self.peer.values(theirs, found)
        return found

    def write(self, theirs: Any, index: tuple[int, ...], value: Any) -> None:
        self.peer.write(theirs, *index, np.full((1, 1, 1), value))

    def readonly(self, theirs: Any) -> bool:
        """As the memoryview says; Cython itself does not look when it is handed one that it
        made.
        """
        return memoryview(theirs).readonly


consumer = Cython
