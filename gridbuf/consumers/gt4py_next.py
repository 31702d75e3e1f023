"""gt4py.next: fields with a domain over our memory, and Fields over theirs."""

from typing import Any, ClassVar

import numpy as np

from gridbuf import _core
from gridbuf.consumers.consumer import Absent, Cannot, Cell, Consumer, Refusals

NO_TYPE = Cannot("no such dtype", "gt4py.next has no dtype for", "`field.to(dtype='float64')`")


class Gt4pyNext(Consumer):
    """The array of a gt4py.next field is ours; so are fields that it allocates with our
    allocator.
    """

    package, modules = "gt4py", ("gt4py.next",)
    takes = "gridbuf.interop.gt4py.to_next(field, dims)"
    gives = "gridbuf.interop.gt4py.from_next(field, dims)"
    refuses: ClassVar[Refusals] = {
        **{
            ("take", dtype): NO_TYPE for dtype in ("float16", "bfloat16", "complex64", "complex128")
        },
        **{
            ("give", dtype): Absent("no such dtype")
            for dtype in ("float16", "bfloat16", "complex64", "complex128")
        },
    }

    def start(self) -> None:
        super().start()
        from gt4py.next import Dimension

        self.dims = {name: Dimension(name) for name in "IJK"}

    def take(self, field: _core.Field) -> Any:
        from gridbuf.interop.gt4py import to_next

        return to_next(field, self.dims)

    def make(self, cell: Cell) -> Any:
        from gt4py.next import common

        array = super().make(cell)
        dims = list(self.dims.values())[: array.ndim]
        return common._field(array, domain=common.domain(dict(zip(dims, array.shape, strict=True))))

    def give(self, theirs: Any) -> _core.Field:
        from gridbuf.interop.gt4py import from_next

        return from_next(theirs, {dim: name for name, dim in self.dims.items()})

    def array(self, theirs: Any) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = theirs.ndarray
        return found

    def write(self, theirs: Any, index: tuple[int, ...], value: Any) -> None:
        theirs[tuple(slice(i, i + 1) for i in index)] = value


consumer = Gt4pyNext
