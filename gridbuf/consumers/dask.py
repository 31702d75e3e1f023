"""dask.array: chunks that are views of a Field."""

from typing import Any, ClassVar

import numpy as np

from gridbuf import _core
from gridbuf.consumers.consumer import Cannot, Cell, Consumer, Refusals


class Dask(Consumer):
    """A dask array over a Field holds it, and its chunks are views; a dask array itself has no
    memory yet.
    """

    package, modules = "dask", ("dask.array",)
    takes, gives = "gridbuf.interop.dask.to_dask(field)", "gb.Field(array)"
    refuses: ClassVar[Refusals] = {
        ("give", "size 0"): None,  # nothing to share
        ("give", "*"): Cannot(
            "its values are yet to be computed",
            "hands out a new copy",
            "`gridbuf.interop.dask.from_dask(array)` computes into a Field",
        ),
    }

    def take(self, field: _core.Field) -> Any:
        from gridbuf.interop.dask import to_dask

        return to_dask(field, chunks=-1)

    def make(self, cell: Cell) -> Any:
        import dask.array

        return dask.array.from_array(super().make(cell), chunks=-1)

    def array(self, theirs: Any) -> np.ndarray[Any, Any]:
        # array.compute() copies
        found: np.ndarray[Any, Any] = theirs.to_delayed().item().compute(scheduler="synchronous")
        return found

    def write(self, theirs: Any, index: tuple[int, ...], value: Any) -> None:
        self.array(theirs)[index] = value


consumer = Dask
