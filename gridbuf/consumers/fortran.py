"""Fortran: assumed-shape arguments of procedures that gfortran compiles, and Fields over memory
that it allocates.
"""

import ctypes
import shutil
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from gridbuf import _core
from gridbuf.consumers.compiled import PEERS, folder, run
from gridbuf.consumers.consumer import (
    LAYOUTS,
    Absent,
    Cannot,
    Cell,
    Consumer,
    Missing,
    Refusals,
    numpy_dtype,
    viewed,
)

KINDS = {
    "bool": "logical(c_bool)", "int8": "integer(c_int8_t)", "int16": "integer(c_int16_t)",
    "int32": "integer(c_int32_t)",
    "int64": "integer(c_int64_t)", "float32": "real(c_float)", "float64": "real(c_double)",
    "complex64": "complex(c_float_complex)", "complex128": "complex(c_double_complex)",
}  # fmt: skip
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
NO_UNSIGNED = Cannot(
    "no unsigned integers",
    "no unsigned integers such as",
    "the same bits, for uint32: `gb.Field(field.numpy().view('i4'))`",
)


@cache
def library() -> ctypes.CDLL:
    """The procedures of the peer, for each kind."""
    if shutil.which("gfortran") is None:
        raise Missing("gfortran is not on PATH")
    template = (PEERS / "fortran_peer.f90").read_text()
    source, target = Path(folder().name, "fortran_peer.f90"), Path(folder().name, "fortran_peer.so")
    source.write_text(
        "\n".join(
            template.replace("NAME", name).replace("TYPE", kind) for name, kind in KINDS.items()
        )
    )
    run(["gfortran", "-O1", "-w", "-shared", "-fPIC", str(source), "-o", str(target)])
    return ctypes.CDLL(str(target))


class Fortran(Consumer):
    """A descriptor has any strides; it does not know that memory is read-only, so that the caller
    says `intent(in)`.
    """

    takes = "procedure(gridbuf.interop.fortran.descriptor(field))"
    gives = "gridbuf.interop.fortran.from_descriptor(pointer)"
    refuses: ClassVar[Refusals] = {
        ("take", "read-only"): Cannot("procedures may write", "writable=False where",
        "`descriptor(field, writable=False)` for `intent(in)`"),
        **{("take", dtype): NO_UNSIGNED for dtype in UNSIGNED},
        **{("give", dtype): Absent("no unsigned integers") for dtype in UNSIGNED},
        **{("take", dtype): Cannot("no such type", "no Fortran type has the bits of",
        "`field.to(dtype='float32')`") for dtype in ("float16", "bfloat16")},
        **{("give", dtype): Absent("no such type") for dtype in ("float16", "bfloat16")},
        ("take", ">f8"): Cannot("native byte order only", "not in native byte order",
        "`field.to(dtype='f8')`"),
        ("give", ">f8"): Absent("native byte order only"),
        ("give", "read-only"): Absent("no read-only memory"),
    }  # fmt: skip

    def version(self) -> str:
        return "(gfortran)"

    def start(self) -> None:
        library()

    def take(self, field: _core.Field) -> Any:
        from gridbuf.interop import fortran

        return fortran.descriptor(field)

    def make(self, cell: Cell) -> Any:
        """Memory that Fortran allocates, and a descriptor of it in the cell's layout."""
        from gridbuf.interop import fortran

        dtype = numpy_dtype(cell.dtype)
        pointer = fortran.receiver(1, KINDS[cell.dtype])
        self._call("make", dtype, pointer, max(1, int(np.prod(LAYOUTS[cell.layout].base))))
        flat = fortran.from_descriptor(
            pointer, release=lambda: self._call("unmake", dtype, pointer)
        )
        return fortran.descriptor(viewed(flat.numpy().view("u1"), cell))

    def give(self, theirs: Any) -> _core.Field:
        from gridbuf.interop import fortran

        return fortran.from_descriptor(theirs, owner=theirs)

    def address(self, theirs: Any) -> int:
        if not theirs.memory.ndim:
            return int(theirs.structure.base_addr)
        procedure = getattr(library(), f"address_{theirs.memory.dtype.name}")
        procedure.restype = ctypes.c_ssize_t
        return int(procedure(theirs))

    def strides(self, theirs: Any) -> tuple[int, ...]:
        return tuple(dim.sm for dim in theirs.structure.dim)

    def values(self, theirs: Any) -> np.ndarray[Any, Any]:
        shape, dtype = tuple(dim.extent for dim in theirs.structure.dim), theirs.memory.dtype
        found = np.zeros(shape, dtype, order="F")
        if shape:
            self._call("copy", dtype, theirs, found.ctypes)
        else:
            self._call(
                "copy_scalar", dtype, ctypes.c_void_p(theirs.structure.base_addr), found.ctypes
            )
        return found

    def write(self, theirs: Any, index: tuple[int, ...], value: Any) -> None:
        number = np.array(value, theirs.memory.dtype)
        if index:
            self._call("put", number.dtype, theirs, *index, number.ctypes)
        else:
            self._call(
                "copy_scalar",
                number.dtype,
                number.ctypes,
                ctypes.c_void_p(theirs.structure.base_addr),
            )

    def readonly(self, theirs: Any) -> bool:
        return not theirs.memory.flags.writeable

    def _call(self, name: str, dtype: np.dtype[Any], *arguments: Any) -> None:
        getattr(library(), f"{name}_{dtype.name}")(*arguments)


consumer = Fortran
