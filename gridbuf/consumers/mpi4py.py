"""mpi4py: buffer specifications with derived datatypes, sent from this process to itself."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gridbuf import _core
from gridbuf.consumers.consumer import (
    LAYOUTS,
    Cannot,
    Cell,
    Consumer,
    Refusals,
    numpy_dtype,
    viewed,
)


@dataclass
class Message:
    """The result of `gridbuf.interop.mpi4py.buffer` for a Field, and the shape that MPI does not
    know.
    """

    buffer: list[Any]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class Mpi4py(Consumer):
    """Any layout through derived datatypes; mpi4py alone takes contiguous memory."""

    package, modules = "mpi4py", ("mpi4py", "gridbuf.interop.mpi4py")
    takes = "comm.Send(gridbuf.interop.mpi4py.buffer(field), 1)"
    gives = "gb.Field(np.ndarray(shape, dtype, MPI.buffer.allocate(n)))"
    refuses: ClassVar[Refusals] = {
        ("take", ">f8"): Cannot(
            "MPI would not swap the bytes",
            r"would not swap the bytes.*field.to",
            "`field.to(dtype='f8')`",
        ),
    }

    def take(self, field: _core.Field) -> Any:
        from gridbuf.interop import mpi4py as gbm

        return Message(gbm.buffer(field), field.shape, field.dtype)

    def make(self, cell: Cell) -> Any:
        from mpi4py import MPI

        nbytes = int(np.prod(LAYOUTS[cell.layout].base)) * numpy_dtype(cell.dtype).itemsize
        return viewed(MPI.buffer.allocate(nbytes), cell)

    def address(self, theirs: Any) -> int | None:
        if not isinstance(theirs, Message):
            return super().address(theirs)
        from mpi4py import MPI

        memory, _, datatype = theirs.buffer
        return int(MPI.Get_address(memory)) + _displacement(datatype)

    def strides(self, theirs: Any) -> tuple[int, ...] | None:
        return None if isinstance(theirs, Message) else super().strides(theirs)

    def values(self, theirs: Any) -> np.ndarray[Any, Any]:
        if not isinstance(theirs, Message):
            return super().values(theirs)
        found = np.empty(theirs.shape, theirs.dtype)
        _copy(theirs, self.take(_core.Field(found)))
        return found

    def write(self, theirs: Any, index: tuple[int, ...], value: Any) -> None:
        if not isinstance(theirs, Message):
            return super().write(theirs, index, value)
        changed = self.values(theirs)
        changed[index] = value
        _copy(self.take(_core.Field(changed)), theirs)

    def readonly(self, theirs: Any) -> bool:
        if not isinstance(theirs, Message):
            return super().readonly(theirs)
        try:
            _copy(theirs, theirs)
        except BufferError:
            return True
        return False


def _displacement(datatype: Any) -> int:
    """Where a derived datatype begins to read: only memory with a reversed index begins elsewhere
    than at its lowest byte.
    """
    _, combiner, how = datatype.decode()
    return int(how["displacements"][0]) if combiner == "HINDEXED_BLOCK" else 0


def _copy(source: Message, target: Message) -> None:
    from mpi4py import MPI

    MPI.COMM_SELF.Sendrecv(source.buffer, 0, recvbuf=target.buffer, source=0)


consumer = Mpi4py
