"""gt4py.cartesian: Fields as arguments of stencils, and the arrays of gt4py.storage as Fields."""

from tempfile import mkdtemp
from typing import Any, ClassVar

import numpy as np

from gridbuf import _core
from gridbuf.consumers.consumer import (
    LAYOUTS,
    Absent,
    Cannot,
    Cell,
    Consumer,
    Refusals,
    arranged,
    numpy_dtype,
)

NO_TYPES = ("uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "complex64", "complex128")
NO_TYPE = Cannot("no such dtype in stencils", "Invalid data type", "`field.to(dtype='float64')`")


class Gt4pyCartesian(Consumer):
    """A stencil reads and writes the Field in place, by its dims and origin; it holds nothing after
    the call.
    """

    package, modules = "gt4py", ("gt4py.cartesian.gtscript", "gt4py.storage")
    takes, gives = "stencil(field, out)", "gb.Field(gt4py.storage.empty(...))"
    keeps = False
    refuses: ClassVar[Refusals] = {
        ("take", "0-d"): Cannot(
            "a stencil's fields have indices",
            "index out of range",
            "a scalar parameter: `field[()]`",
        ),
        **{("take", dtype): NO_TYPE for dtype in NO_TYPES},
        ("take", ">f8"): Cannot(
            "native byte order only", "dtype of field 'source' is '>f8'", "`field.to(dtype='f8')`"
        ),
        ("give", "size 0"): Absent("gt4py.storage allocates no empty arrays"),
        ("give", ">f8"): Absent("gt4py.storage allocates in native byte order"),
    }

    def start(self) -> None:
        super().start()
        if not hasattr(self, "stencils"):
            self.stencils: dict[Any, Any] = {}
            self.cache = mkdtemp(prefix="gridbuf-gt4py-")

    def _copy(self, source: Any, target: Any, **where: Any) -> None:
        """The stencil `target = source` on gt4py's backend `numpy`, which needs no compiler."""
        from gt4py.cartesian import config, gtscript

        dtype = target.dtype
        if dtype not in self.stencils:
            before = config.cache_settings["root_path"]
            config.cache_settings["root_path"] = self.cache
            try:
                from gridbuf.consumers.copy_stencil import copy

                stencil: Any = gtscript.stencil
                self.stencils[dtype] = stencil("numpy", copy, dtypes={"T": dtype.type})
            finally:
                config.cache_settings["root_path"] = before
        self.stencils[dtype](source, target, **where)

    def take(self, field: _core.Field) -> Any:
        self._copy(field, np.empty(field.shape, field.dtype))
        return field

    def make(self, cell: Cell) -> Any:
        import gt4py.storage

        base = LAYOUTS[cell.layout].base
        return arranged(gt4py.storage.empty(base, numpy_dtype(cell.dtype), backend="numpy"), cell)

    def array(self, theirs: Any) -> np.ndarray[Any, Any]:
        from gt4py.cartesian.stencil_object import _extract_array_infos

        info = _extract_array_infos({"theirs": theirs}, "cpu")["theirs"]
        assert info is not None
        return np.asarray(info.array)

    def values(self, theirs: Any) -> np.ndarray[Any, Any]:
        if not isinstance(theirs, _core.Field):
            return super().values(theirs)
        found = np.empty(theirs.shape, theirs.dtype)
        self._copy(theirs, found)
        return found

    def write(self, theirs: Any, index: tuple[int, ...], value: Any) -> None:
        if not isinstance(theirs, _core.Field):
            return super().write(theirs, index, value)
        self._copy(np.full(theirs.shape, value), theirs, origin=index, domain=(1,) * len(index))


consumer = Gt4pyCartesian
