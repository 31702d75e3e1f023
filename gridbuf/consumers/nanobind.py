"""nanobind: a small extension that takes `nb::ndarray` and gives arrays that C++ owns."""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from gridbuf import _core
from gridbuf.consumers.compiled import PEERS, extension, memory_of
from gridbuf.consumers.consumer import Absent, Cannot, Cell, Consumer, Refusals, numpy_dtype

# DLDataTypeCode by NumPy's kind; ml_dtypes' bfloat16 has kind V
CODES = {"i": 0, "u": 1, "f": 2, "V": 4, "c": 5, "b": 6}
LETTERS = {code: letter for letter, code in CODES.items()}


class Nanobind(Consumer):
    """`nb::ndarray<>` is DLPack: any strides; an argument without `nb::ro` refuses read-only
    memory.
    """

    package, modules = "nanobind", ("nanobind",)
    takes = "f(field) with `void f(nb::ndarray<nb::device::cpu>)`"
    gives = "gb.Field(a returned nb::ndarray<nb::array_api>)"
    refuses: ClassVar[Refusals] = {
        ("take", ">f8"): Cannot(
            "native byte order only", "incompatible function arguments", "`field.to(dtype='f8')`"
        ),
        ("give", ">f8"): Absent("native byte order only"),
    }

    def start(self) -> None:
        super().start()
        import nanobind

        home = Path(nanobind.source_dir()).parent
        sources = (str(PEERS / "nanobind_peer.cpp"), str(home / "src" / "nb_combined.cpp"))
        includes = (
            f"-I{home / 'include'}",
            f"-I{home / 'ext' / 'robin_map' / 'include'}",
            "-fno-strict-aliasing",
            "-DNDEBUG",
        )
        self.peer = extension("nanobind_peer", sources, includes)

    def take(self, field: _core.Field) -> Any:
        return self.peer.ReadOnly(field) if field.readonly else self.peer.Writable(field)

    def make(self, cell: Cell) -> Any:
        memory, first, array = memory_of(cell)
        if not array.dtype.isnative:
            raise ValueError("DLPack has native byte order only")
        make = self.peer.make if array.flags.writeable else self.peer.make_readonly
        strides = [stride // array.itemsize for stride in array.strides]
        return make(
            memory, first, CODES[array.dtype.kind], 8 * array.itemsize, list(array.shape), strides
        )

    def _held(self, theirs: Any) -> Any:
        return (
            theirs
            if isinstance(theirs, (self.peer.ReadOnly, self.peer.Writable))
            else self.peer.ReadOnly(theirs)
        )

    def address(self, theirs: Any) -> int:
        return int(self._held(theirs).address)

    def strides(self, theirs: Any) -> tuple[int, ...]:
        held = self._held(theirs)
        return tuple(stride * (held.code[1] // 8) for stride in held.strides)

    def values(self, theirs: Any) -> np.ndarray[Any, Any]:
        held = self._held(theirs)
        code, bits = held.code
        dtype = (
            np.dtype(bool)
            if code == 6
            else numpy_dtype("bfloat16")
            if code == 4
            else np.dtype(f"{LETTERS[code]}{bits // 8}")
        )
        return np.frombuffer(held.values(), dtype).reshape(held.shape)

    def write(self, theirs: Any, index: tuple[int, ...], value: Any) -> None:
        held = (
            theirs
            if isinstance(theirs, (self.peer.ReadOnly, self.peer.Writable))
            else self.peer.Writable(theirs)
        )
        held.write(list(index), value.tobytes())

    def readonly(self, theirs: Any) -> bool:
        if isinstance(theirs, (self.peer.ReadOnly, self.peer.Writable)):
            return isinstance(theirs, self.peer.ReadOnly)
        try:
            self.peer.Writable(theirs)
        except TypeError:
            return True
        return False


consumer = Nanobind
