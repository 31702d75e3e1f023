"""How the elements of MPI's derived datatypes lie: as loops over elements, which an array with strides can say."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

MOST = 64  # arrays in the place of one datatype


class Block(NamedTuple):
    """Loops within loops, counts and strides in bytes, the outermost first."""

    start: int
    loops: tuple[tuple[int, int], ...]
    itemsize: int


def arrays(mpi: Any, datatype: Any, count: int, memory: Any, lowest: int) -> list[Any]:
    """All elements of `count` of a datatype, as arrays over bytes whose first is that of number `lowest`; a ValueError where that does not go."""
    made = []
    for start, loops, itemsize in _repeated(_blocks(mpi, datatype), count, datatype.Get_extent()[1]):
        code = {1: "u1", 2: "u2", 4: "u4", 8: "u8"}.get(itemsize)
        if code is None:
            loops, code = (*loops, (itemsize, 1)), "u1"
        shape, strides = [n for n, _ in loops], [stride for _, stride in loops]
        made.append(np.ndarray(shape, code, memory, start - lowest, strides))
    return made


def _blocks(mpi: Any, datatype: Any) -> list[Block]:
    if datatype.is_predefined:
        return [Block(0, (), datatype.Get_size())]
    base, kind, told = datatype.decode()
    inner = told.get("datatypes", [base])
    try:
        found = _derived(mpi, kind, told, [(_blocks(mpi, each), each.Get_extent()[1]) for each in inner])
    finally:
        for each in inner:  # the datatype's own stay: these are references
            if not each.is_predefined:
                each.Free()
    if len(found) > MOST:
        raise ValueError(f"{len(found)} blocks that no loop goes through")
    return found


def _derived(mpi: Any, kind: str, told: dict[str, Any], inner: list[tuple[list[Block], int]]) -> list[Block]:
    base, extent = inner[0]
    unit = 1 if kind[0] == "H" or kind == "STRUCT" else extent  # of strides and displacements
    if kind in ("DUP", "RESIZED"):
        return base
    if kind == "CONTIGUOUS":
        return _repeated(base, told["count"], extent)
    if kind in ("VECTOR", "HVECTOR"):
        return _repeated(_repeated(base, told["blocklength"], extent), told["count"], told["stride"] * unit)
    if kind == "SUBARRAY":
        return _subarray(base, extent, told, fortran=told["order"] == mpi.ORDER_FORTRAN)
    if "displacements" not in told:
        raise ValueError(f"nobody takes a {kind.lower()} apart")
    starts = [d * unit for d in told["displacements"]]
    lengths = told.get("blocklengths", [told.get("blocklength")] * len(starts))
    step = starts[1] - starts[0] if len(starts) > 1 else 0
    if len(inner) == 1 and len(set(lengths)) == 1 and starts == [starts[0] + i * step for i in range(len(starts))]:
        return _moved(_repeated(_repeated(base, lengths[0], extent), len(starts), step), starts[0])
    whole = inner if len(inner) == len(starts) else inner * len(starts)
    return [
        block
        for (each, each_extent), n, start in zip(whole, lengths, starts, strict=True)
        if n
        for block in _moved(_repeated(each, n, each_extent), start)
    ]


def _repeated(found: Sequence[Block], n: int, stride: int) -> list[Block]:
    """Each so many times, neighbouring loops joined where they are one."""
    made = []
    for start, loops, itemsize in found:
        if n != 1:
            length, step = loops[0] if loops else (1, itemsize)
            loops = ((n * length, step), *loops[1:]) if stride == length * step else ((n, stride), *loops)
        made.append(Block(start, loops, itemsize))
    return made


def _moved(found: list[Block], by: int) -> list[Block]:
    return [block._replace(start=block.start + by) for block in found]


def _subarray(base: list[Block], extent: int, told: dict[str, Any], *, fortran: bool) -> list[Block]:
    sizes, parts, starts = ([*told[name]][:: 1 if fortran else -1] for name in ("sizes", "subsizes", "starts"))
    stride, start = extent, 0
    for n, part, first in zip(sizes, parts, starts, strict=True):  # from the innermost on
        base = _repeated(base, part, stride)
        start += first * stride
        stride *= n
    return _moved(base, start)
