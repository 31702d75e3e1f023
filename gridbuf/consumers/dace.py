"""DaCe: Fields as arguments of compiled programs, and arrays that DaCe allocates by a
descriptor.
"""

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
    Missing,
    Refusals,
    arranged,
    numpy_dtype,
)


class Dace(Consumer):
    """A compiled program reads and writes the Field in place, by strides that are symbols; it holds
    nothing after the call.
    """

    package, modules = "dace", ("dace", "gridbuf.interop.dace")
    takes, gives = "import gridbuf.interop.dace; program(field)", "gb.Field(program())"
    keeps = False
    refuses: ClassVar[Refusals] = {
        ("take", "reversed"): Cannot(
            "no negative strides",
            r"stride -240.*pass field\[::-1, :, :\]",
            "`field[::-1]` or `field.copy()`",
        ),
        ("take", "read-only"): Cannot(
            "programs may write to any argument", r"read-only.*pass field.copy", "`field.copy()`"
        ),
        ("take", "0-d"): Cannot(
            "single numbers go by value", r"no indices.*pass field\[\(\)\]", "`field[()]`"
        ),
        ("take", "bfloat16"): Cannot(
            "the array interface has no bfloat16",
            r"__array_interface__, which has no bfloat16.*gridbuf.empty",
            "`gb.empty(..., 'bfloat16')`",
        ),
        ("take", ">f8"): Cannot(
            "native byte order only", r"DaCe has no type for.*field.to", "`field.to(dtype='f8')`"
        ),
        ("give", ">f8"): Absent("native byte order only"),
    }

    def start(self) -> None:
        super().start()
        from gridbuf.machine import cxx_command, cxx_compiler

        if cxx_compiler() is None:
            raise Missing(f"no C++ compiler: '{cxx_command()}' is not on PATH")
        if not hasattr(self, "programs"):
            self.programs: dict[Any, Any] = {}
            self.folder = mkdtemp(prefix="gridbuf-dace-")

    def take(self, field: _core.Field) -> Any:
        import dace

        dace.data.create_datadescriptor(field)
        return field

    def make(self, cell: Cell) -> Any:
        import dace

        dtype = numpy_dtype(cell.dtype)
        base = LAYOUTS[cell.layout].base
        typeclass = dace.dtypes.dtype_to_typeclass(dtype.type)
        return arranged(
            dace.data.make_array_from_descriptor(dace.data.Array(typeclass, base)), cell
        )

    def address(self, theirs: Any) -> int | None:
        import dace

        if not isinstance(theirs, _core.Field):
            return super().address(theirs)
        return int(dace.dtypes.array_interface_ptr(theirs, dace.StorageType.Default))

    def strides(self, theirs: Any) -> tuple[int, ...] | None:
        import dace

        if not isinstance(theirs, _core.Field):
            return super().strides(theirs)
        return tuple(
            int(n) * theirs.dtype.itemsize for n in dace.data.create_datadescriptor(theirs).strides
        )

    def values(self, theirs: Any) -> np.ndarray[Any, Any]:
        if not isinstance(theirs, _core.Field):
            return super().values(theirs)
        found = np.zeros(theirs.shape, theirs.dtype)
        self._copy(theirs, found, found.shape)
        return found

    def write(self, theirs: Any, index: tuple[int, ...], value: Any) -> None:
        if not isinstance(theirs, _core.Field):
            return super().write(theirs, index, value)
        self._copy(np.full((1,) * len(index), value), theirs, (1,) * len(index), index)

    def _copy(
        self, source: Any, target: Any, shape: tuple[int, ...], at: tuple[int, ...] = ()
    ) -> None:
        """target[at:] = source, in a program whose strides are symbols, so that there is one for
        each dtype.
        """
        if source.dtype not in self.programs:
            self.programs[source.dtype] = self._compiled(source.dtype)
        at = at or (0,) * len(shape)
        symbols = {f"n{i}": n for i, n in enumerate(shape)} | {f"a{i}": n for i, n in enumerate(at)}
        for name, array in (("s", source), ("t", target)):
            symbols |= {
                f"{name}{i}": n // array.dtype.itemsize for i, n in enumerate(array.strides)
            }
        self.programs[source.dtype](source=source, target=target, **symbols)

    def _compiled(self, dtype: np.dtype[Any]) -> Any:
        import dace

        n, at, s, t = ([dace.symbol(f"{name}{i}") for i in range(3)] for name in "nast")
        typeclass = dace.dtypes.dtype_to_typeclass(dtype.type)
        sdfg = dace.SDFG(f"copy_{dtype.name}")
        sdfg.build_folder = f"{self.folder}/{dtype.name}"
        sdfg.add_array("source", n, typeclass, strides=s, total_size=s[0] * n[0])
        sdfg.add_array(
            "target",
            [a + b for a, b in zip(at, n, strict=True)],
            typeclass,
            strides=t,
            total_size=t[0] * n[0],
        )
        sdfg.add_state().add_mapped_tasklet(
            "copy",
            {"i": "0:n0", "j": "0:n1", "k": "0:n2"},
            {"x": dace.Memlet("source[i, j, k]")},
            "y = x",
            {"y": dace.Memlet("target[a0 + i, a1 + j, a2 + k]")},
            external_edges=True,
        )
        return sdfg.compile()


consumer = Dace
