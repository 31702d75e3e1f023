"""The memory that a call of mpi4py names: how many bytes, of which datatypes, and how elements with
gaps lie.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

# Methods with one buffer
ONE = ("send", "bsend", "ssend", "rsend", "recv", "bcast", "sendrecv_replace")


class Piece(NamedTuple):
    """Elements with gaps between them. Handles are used again, so all but the datatype tells one
    from another.
    """

    datatype: Any
    receives: bool
    n: int
    size: int  # bytes of one
    extent: int  # from one to the next
    lowest: int  # where the first byte lies
    reach: int  # from there to behind the last byte of one
    name: str


class Buffer(NamedTuple):
    """The memory that one argument of a call names."""

    nbytes: int
    datatypes: tuple[str, ...] = ()
    derived: bool = False
    pieces: tuple[Piece, ...] = ()


NOTHING = Buffer(0)


def buffers(mpi: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Buffer]:
    """The buffers of a call of a communicator or a window; objects, which are pickled, have
    none.
    """
    if name[0].islower() or "arrier" in name:
        return []
    verb = name.removesuffix("_init")
    many = verb[-1] in "vw" and not verb.endswith("ecv")
    found = []
    for i, key, receives in _arguments(verb):
        spec = kwargs[key] if key in kwargs else args[i] if i < len(args) else None
        if key != "target":
            found.append(read(mpi, spec, receives, many))
        elif isinstance(spec, (list, tuple)) and len(spec) == 3:  # bytes by the origin's datatype
            found.append(read(mpi, (None, *spec[1:]), receives, many)._replace(nbytes=0))
    return found


def _arguments(verb: str) -> tuple[tuple[int, str, bool], ...]:
    """Place and name of each argument that names memory, and whether something is received
    there.
    """
    lower = "recv" if verb == "Recv" else verb.lstrip("IR").lower()
    if lower in ("put", "get", "accumulate", "get_accumulate"):
        gets = lower == "get"
        more = (
            ((1, "result", True), (3, "target", False))
            if lower == "get_accumulate"
            else ((2, "target", not gets),)
        )
        return ((0, "origin", gets), *more)
    if lower in ONE:
        return ((0, "buf", lower == "recv"),)
    return (0, "sendbuf", False), (3 if lower == "sendrecv" else 1, "recvbuf", True)


def read(mpi: Any, spec: Any, receives: bool = False, many: bool = True) -> Buffer:
    """An array, or [memory, counts, displacements, datatypes] in any of mpi4py's forms; `many` is
    one for each rank.
    """
    if not isinstance(spec, (list, tuple)) or not spec:
        return _memory(spec)
    whole, (types, counts) = _memory(spec[0]), _split(mpi, spec[1:], many)
    if types is None:
        item = getattr(getattr(spec[0], "dtype", None), "itemsize", 1)
        return whole if counts is None else whole._replace(nbytes=_sum(counts) * item)
    if isinstance(types, (list, tuple)):
        pairs = list(zip(types, [1] * len(types) if counts is None else counts, strict=False))
    else:
        pairs = [(types, None if counts is None else _sum(counts))]
    nbytes, derived, names, pieces = 0, False, [], []
    for datatype, count in pairs:
        size, extent, low, reach, name, made = _described(mpi, datatype)
        count = int(count) if count is not None else whole.nbytes // extent if extent else 0
        nbytes += count * size
        derived |= made
        names.append(name)
        if made and count and (size != reach or (count > 1 and size != extent)):
            pieces.append(Piece(datatype, receives, count, size, extent, low, reach, name))
    return Buffer(nbytes, tuple(names), derived, tuple(pieces))


def _memory(obj: Any) -> Buffer:
    nbytes = getattr(obj, "nbytes", None)
    if isinstance(nbytes, int):
        return Buffer(nbytes, _called(getattr(obj, "dtype", "bytes"))) if nbytes else NOTHING
    try:
        nbytes = memoryview(obj).nbytes
        return Buffer(nbytes, ("bytes",)) if nbytes else NOTHING
    except (TypeError, ValueError):
        # None, MPI.IN_PLACE, memory of a GPU that does not say how much
        return NOTHING


@lru_cache(maxsize=256)
def _called(dtype: Any) -> tuple[str]:
    """A dtype's name, which NumPy makes anew each time."""
    return (str(dtype),)


def _sum(counts: Any) -> int:
    return counts if isinstance(counts, int) else int(np.sum(counts))


def _split(mpi: Any, parts: Any, many: bool) -> tuple[Any, Any]:
    """(datatype or datatypes, count or counts), None where they are not said. Displacements come
    after counts, or in a pair with them.
    """
    kinds, types, numbers = (mpi.Datatype, str), None, []
    for part in parts:
        if isinstance(part, kinds) or (
            isinstance(part, (list, tuple)) and part and isinstance(part[0], kinds)
        ):
            types = part
        else:
            numbers.append(part)
    counts = numbers[0] if numbers else None
    if (
        isinstance(counts, (list, tuple))
        and counts
        and (not many or _paired(counts, len(parts) < 3))
    ):
        counts = counts[0]
    return types, counts


def _paired(counts: Any, alone: bool) -> bool:
    """Whether these are (counts, displacements), each of which may be one number for all ranks, or
    None.
    """
    lists = any(part is None or isinstance(part, (list, tuple, np.ndarray)) for part in counts)
    return len(counts) == 2 and (lists or (alone and isinstance(counts, tuple)))


def _described(mpi: Any, datatype: Any) -> tuple[int, int, int, int, str, bool]:
    """Bytes of its elements, from one to the next, where the first lies, from there to the last,
    its name, and whether it is derived.
    """
    if isinstance(datatype, str):
        size = (
            np.dtype(datatype).itemsize
            if datatype in "bhilqBHILQfdFD?" or datatype[1:].isdigit()
            else 1
        )
        return size, size, 0, size, datatype, False
    size, extent = datatype.Get_size(), datatype.Get_extent()[1]
    if datatype.is_predefined:
        return size, extent, 0, size, datatype.Get_name().removeprefix("MPI_"), False
    return (
        size,
        extent,
        *datatype.Get_true_extent(),
        _combiners(mpi).get(datatype.combiner, "derived"),
        True,
    )


@lru_cache(maxsize=1)
def _combiners(mpi: Any) -> dict[int, str]:
    """MPI's names of the ways in which datatypes are derived."""
    return {
        getattr(mpi, name): name.removeprefix("COMBINER_").lower()
        for name in dir(mpi)
        if name.startswith("COMBINER_")
    }


# ---- the elements of derived datatypes as loops, which an array with strides can say ----

MOST = 64  # arrays in the place of one datatype


class Block(NamedTuple):
    """Loops within loops, counts and strides in bytes, the outermost first."""

    start: int
    loops: tuple[tuple[int, int], ...]
    itemsize: int


def arrays(mpi: Any, datatype: Any, count: int, memory: Any, lowest: int) -> list[Any]:
    """All elements of `count` of a datatype, as arrays over bytes whose first is that of number
    `lowest`; a ValueError where that does not go.
    """
    made = []
    for start, loops, itemsize in _repeated(
        _blocks(mpi, datatype), count, datatype.Get_extent()[1]
    ):
        code = {1: "u1", 2: "u2", 4: "u4", 8: "u8"}.get(itemsize)
        if code is None:
            loops, code = (*loops, (itemsize, 1)), "u1"
        shape, strides = [n for n, _ in loops], [stride for _, stride in loops]
        made.append(np.ndarray(shape, code, memory, start - lowest, strides))
    return made


def _blocks(mpi: Any, datatype: Any) -> list[Block]:
    if datatype.is_predefined:
        return [Block(0, (), datatype.Get_size())]
    base, kind, decoded = datatype.decode()
    inner = decoded.get("datatypes", [base])
    try:
        found = _derived(
            mpi, kind, decoded, [(_blocks(mpi, each), each.Get_extent()[1]) for each in inner]
        )
    finally:
        for each in inner:  # the datatype's own stay: these are references
            if not each.is_predefined:
                each.Free()
    if len(found) > MOST:
        raise ValueError(f"{len(found)} blocks that no loop goes through")
    return found


def _derived(
    mpi: Any, kind: str, decoded: dict[str, Any], inner: list[tuple[list[Block], int]]
) -> list[Block]:
    base, extent = inner[0]
    unit = 1 if kind[0] == "H" or kind == "STRUCT" else extent  # of strides and displacements
    if kind in ("DUP", "RESIZED"):
        return base
    if kind == "CONTIGUOUS":
        return _repeated(base, decoded["count"], extent)
    if kind in ("VECTOR", "HVECTOR"):
        return _repeated(
            _repeated(base, decoded["blocklength"], extent),
            decoded["count"],
            decoded["stride"] * unit,
        )
    if kind == "SUBARRAY":
        return _subarray(base, extent, decoded, fortran=decoded["order"] == mpi.ORDER_FORTRAN)
    if "displacements" not in decoded:
        raise ValueError(f"a {kind.lower()} is not taken apart")
    starts = [d * unit for d in decoded["displacements"]]
    lengths = decoded.get("blocklengths", [decoded.get("blocklength")] * len(starts))
    step = starts[1] - starts[0] if len(starts) > 1 else 0
    if (
        len(inner) == 1
        and len(set(lengths)) == 1
        and starts == [starts[0] + i * step for i in range(len(starts))]
    ):
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
            loops = (
                ((n * length, step), *loops[1:])
                if stride == length * step
                else ((n, stride), *loops)
            )
        made.append(Block(start, loops, itemsize))
    return made


def _moved(found: list[Block], by: int) -> list[Block]:
    return [block._replace(start=block.start + by) for block in found]


def _subarray(
    base: list[Block], extent: int, decoded: dict[str, Any], *, fortran: bool
) -> list[Block]:
    sizes, parts, starts = (
        [*decoded[name]][:: 1 if fortran else -1] for name in ("sizes", "subsizes", "starts")
    )
    stride, start = extent, 0
    for n, part, first in zip(sizes, parts, starts, strict=True):  # from the innermost on
        base = _repeated(base, part, stride)
        start += first * stride
        stride *= n
    return _moved(base, start)
