"""mpi4py's buffer specifications: how many bytes, of which datatype, and whether MPI has to pack them."""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np


class Buffer(NamedTuple):
    """What one argument of a call says."""

    nbytes: int
    datatype: str
    derived: bool


NOTHING = Buffer(0, "", False)


def read(mpi: Any, spec: Any) -> Buffer:
    """An array, or [memory, count or counts and displacements, datatype] in any of mpi4py's forms."""
    if not isinstance(spec, (list, tuple)):
        return _memory(spec)
    datatype = next((part for part in spec if isinstance(part, (mpi.Datatype, str)) and part is not spec[0]), None)
    counts = next((part for part in spec[1:] if not isinstance(part, (mpi.Datatype, str)) and part is not None), None)
    whole = _memory(spec[0])
    if datatype is None:
        item = getattr(getattr(spec[0], "dtype", None), "itemsize", 1)
        return whole if counts is None else Buffer(_sum(counts) * item, whole.datatype, False)
    size, extent, name, derived = _described(mpi, datatype)
    count = _sum(counts) if counts is not None else (whole.nbytes // extent if extent else 0)
    return Buffer(count * size, name, derived)


def _memory(obj: Any) -> Buffer:
    nbytes = getattr(obj, "nbytes", None)
    if isinstance(nbytes, int):
        return Buffer(nbytes, str(getattr(obj, "dtype", "bytes")), False) if nbytes else NOTHING
    try:
        nbytes = memoryview(obj).nbytes
        return Buffer(nbytes, "bytes", False) if nbytes else NOTHING
    except (TypeError, ValueError):  # None, MPI.IN_PLACE, memory of a GPU that does not say how much
        return NOTHING


def _sum(counts: Any) -> int:
    """A number, numbers, or (numbers, displacements)."""
    if isinstance(counts, (tuple, list)) and counts and isinstance(counts[0], (tuple, list, np.ndarray)):
        counts = counts[0]
    return int(np.sum(counts))


def _described(mpi: Any, datatype: Any) -> tuple[int, int, str, bool]:
    """Bytes of its elements, from its first to its last, its name, and whether MPI gathers it."""
    if isinstance(datatype, str):
        size = np.dtype(datatype).itemsize if datatype in "bhilqBHILQfdFD?" or datatype[1:].isdigit() else 1
        return size, size, datatype, False
    size, extent = datatype.Get_size(), datatype.Get_extent()[1]
    if datatype.is_predefined:
        return size, extent, datatype.Get_name().removeprefix("MPI_"), False
    return size, extent, _combiners(mpi).get(datatype.combiner, "derived"), True


@lru_cache(maxsize=1)
def _combiners(mpi: Any) -> dict[int, str]:
    """What MPI calls the ways in which datatypes are derived."""
    return {getattr(mpi, name): name.removeprefix("COMBINER_").lower() for name in dir(mpi) if name.startswith("COMBINER_")}
