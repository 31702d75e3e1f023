"""Fortran: Fields as assumed-shape arguments and Fields over arrays that Fortran allocates, compiled by gfortran when tried."""

import ctypes
import shutil
import weakref
from typing import Any, ClassVar

import numpy as np

from gridbuf import _core
from gridbuf.consumers import _compiled
from gridbuf.consumers.cell import LAYOUTS, Cell, numpy_dtype, values
from gridbuf.consumers.consumer import Absent, Cannot, Consumer, Missing, Refusals
from gridbuf.interop import fortran as gbf

KINDS = {
    "bool": "logical(c_bool)", "int8": "integer(c_int8_t)", "int16": "integer(c_int16_t)", "int32": "integer(c_int32_t)",
    "int64": "integer(c_int64_t)", "float32": "real(c_float)", "float64": "real(c_double)", "complex64": "complex(c_float_complex)",
    "complex128": "complex(c_double_complex)",
}  # fmt: skip

# One element, and memory of Fortran's own with a section of it; for each kind.
PROCEDURES = """
subroutine get_{name}(a, i, value) bind(c)
  {kind}, intent(in) :: a(..)
  integer(c_int), intent(in) :: i(3)
  {kind}, intent(out) :: value
  select rank (a)
  rank (0)
    value = a
  rank (3)
    value = a(i(1), i(2), i(3))
  end select
end subroutine
subroutine set_{name}(a, i, value) bind(c)
  {kind}, intent(inout) :: a(..)
  integer(c_int), intent(in) :: i(3)
  {kind}, intent(in) :: value
  select rank (a)
  rank (0)
    a = value
  rank (3)
    a(i(1), i(2), i(3)) = value
  end select
end subroutine
subroutine make_{name}(n, first, last, step, whole, section) bind(c)
  integer(c_int), intent(in) :: n(3), first(3), last(3), step(3)
  {kind}, pointer, intent(out) :: whole(:, :, :), section(:, :, :)
  allocate (whole(n(1), n(2), n(3)))
  section => whole(first(1):last(1):step(1), first(2):last(2):step(2), first(3):last(3):step(3))
end subroutine
subroutine drop_{name}(whole) bind(c)
  {kind}, pointer, intent(inout) :: whole(:, :, :)
  deallocate (whole)
end subroutine
"""
NO_TYPE = Cannot("Fortran has no such type", r"Fortran has no type for .*field.to", "`field.to(dtype='f4')`")
UNSIGNED = Cannot(
    "no unsigned integers", r"no unsigned integers; the same bits as .*array.view", "the same bits: `field.numpy().view('i4')`"
)
_UNSIGNED = ("uint8", "uint16", "uint32", "uint64")


class Fortran(Consumer):
    """Any strides in whole elements, as `a(:, :, :)` of a `bind(c)` procedure."""

    takes, gives = "f(gbf.descriptor(field)) with a(:, :, :)", "gbf.from_descriptor(pointer)"
    refuses: ClassVar[Refusals] = {
        ("take", "read-only"): Cannot(
            "it would write to it",
            r"read-only, and intent\(inout\).*pass intent='in'",
            "`descriptor(field, intent='in')`, or a copy",
        ),
        **{("take", dtype): UNSIGNED for dtype in _UNSIGNED},
        **{("take", dtype): NO_TYPE for dtype in ("float16", "bfloat16")},
        ("take", ">f8"): Cannot("native byte order only", r"native byte order.*field.to", "`field.to(dtype='f8')`"),
        ("give", "read-only"): Absent("no read-only arrays"),
        ("give", "0-d"): Absent("a scalar is no array"),
        **{("give", dtype): Absent("no unsigned integers") for dtype in _UNSIGNED},
        **{("give", dtype): Absent("no such type") for dtype in ("float16", "bfloat16")},
        ("give", ">f8"): Absent("native byte order only"),
    }

    def version(self) -> str:
        return "(gfortran)"

    def start(self) -> None:
        super().start()
        if hasattr(self, "library"):
            return
        compiler = shutil.which("gfortran")
        if compiler is None:
            raise Missing("needs gfortran (Debian: apt install gfortran)")
        source, target = _compiled.folder() / "gridbuf_fortran.f90", _compiled.folder() / "gridbuf_fortran.so"
        procedures = "".join(PROCEDURES.format(name=name, kind=kind) for name, kind in KINDS.items())
        source.write_text(f"module gridbuf_fortran\nuse iso_c_binding\nimplicit none\ncontains\n{procedures}end module\n")
        _compiled.run([compiler, "-shared", "-fPIC", "-O1", "-w", str(source), "-o", str(target)])
        self.library = ctypes.CDLL(str(target))

    def take(self, field: _core.Field) -> Any:
        return gbf.descriptor(field)

    def make(self, cell: Cell) -> Any:
        """An array of Fortran's own, its indices turned round: what is C order here is a(k, j, i) there."""
        layout, kind = LAYOUTS[cell.layout], KINDS[cell.dtype]
        if len(layout.base) != 3:
            raise ValueError("these procedures make arrays of three indices")
        slices = (*(layout.slices or ()), slice(None), slice(None), slice(None))[:3]
        axes = layout.axes or (0, 1, 2)
        placed = [slices[axes.index(i)].indices(n) for i, n in enumerate(layout.base)]  # of the base, as the view slices it
        rows = [(n, start + 1, start + 1 + (len(range(start, stop, step)) - 1) * step, step)
                for n, (start, stop, step) in zip(layout.base, placed, strict=True)][::-1]  # fmt: skip
        bounds = [(ctypes.c_int * 3)(*column) for column in zip(*rows, strict=True)]
        whole, section = gbf.unset(3, kind), gbf.unset(3, kind)
        getattr(self.library, f"make_{cell.dtype}")(*bounds, whole, section)
        weakref.finalize(section, getattr(self.library, f"drop_{cell.dtype}"), whole)
        section.order = tuple(2 - i for i in axes)  # type: ignore[attr-defined] # which of its indices each of the cell's is
        section.wanted = numpy_dtype(cell.dtype)  # type: ignore[attr-defined]
        wanted = values(cell.layout, cell.dtype)
        for index in np.ndindex(wanted.shape):
            self.write(section, index, wanted[index])
        return section

    def give(self, theirs: Any) -> _core.Field:
        """Dims as the cell has them, whatever order Fortran declares them in."""
        return gbf.from_descriptor(theirs, [str(theirs.order.index(i)) for i in range(3)], owner=theirs).transpose("012")

    def _described(self, theirs: Any) -> tuple[Any, tuple[int, ...]]:
        """The dtype of its elements, and which of its indices each of the cell's is."""
        if theirs.field is not None:
            return theirs.field.dtype, tuple(range(theirs.field.ndim))
        return theirs.wanted, theirs.order

    def address(self, theirs: Any) -> int:
        return int(theirs.cdesc.base_addr)

    def strides(self, theirs: Any) -> tuple[int, ...]:
        return tuple(theirs.cdesc.dim[i].sm for i in self._described(theirs)[1])

    def values(self, theirs: Any) -> np.ndarray[Any, Any]:
        dtype, order = self._described(theirs)
        found = np.empty(tuple(theirs.cdesc.dim[i].extent for i in order), dtype)
        for index in np.ndindex(found.shape):
            element = np.empty((), dtype)
            self._call("get", theirs, index, element)
            found[index] = element
        return found

    def write(self, theirs: Any, index: tuple[int, ...], value: Any) -> None:
        self._call("set", theirs, index, np.asarray(value, self._described(theirs)[0]))

    def _call(self, what: str, theirs: Any, index: tuple[int, ...], element: Any) -> None:
        dtype, order = self._described(theirs)
        place = (ctypes.c_int * 3)(1, 1, 1)
        for i, j in zip(order, index, strict=True):
            place[i] = j + 1
        getattr(self.library, f"{what}_{dtype.name}")(theirs, place, ctypes.c_void_p(element.ctypes.data))


consumer = Fortran
