"""CFI_cdesc_t of Fortran 2018, as gfortran lays it out: built for a Field, and read with checks."""

import ctypes
from typing import Any, Literal

import numpy as np

from gridbuf import _core

Attribute = Literal["pointer", "allocatable", "other"]
VERSION = 1  # CFI_VERSION of gfortran since 9; other compilers have other numbers, and other layouts
MAX_RANK = 15
ATTRIBUTES: tuple[Attribute, ...] = ("pointer", "allocatable", "other")
TYPES = {1: "integer", 2: "logical", 3: "real", 4: "complex", 5: "character"}  # the kind is in the byte above
_OF_DTYPE = {"i": "integer", "b": "logical", "f": "real", "c": "complex", "S": "character"}
STRUCT = 6


class CfiDim(ctypes.Structure):
    """CFI_dim_t."""

    _fields_ = (("lower_bound", ctypes.c_ssize_t), ("extent", ctypes.c_ssize_t), ("sm", ctypes.c_ssize_t))


class CfiDesc(ctypes.Structure):
    """CFI_cdesc_t with room for any rank."""

    _fields_ = (
        ("base_addr", ctypes.c_void_p),
        ("elem_len", ctypes.c_size_t),
        ("version", ctypes.c_int),
        ("rank", ctypes.c_int8),
        ("attribute", ctypes.c_int8),
        ("type", ctypes.c_int16),
        ("dim", CfiDim * MAX_RANK),
    )


class Descriptor:
    """A CFI_cdesc_t to pass by reference, and the Field whose memory it describes.

    ctypes takes it as it is; for others, `address` is where the structure lies. It keeps the Field: hold it for as long
    as Fortran may use the memory.

    Attributes
    ----------
    address : int
    field : Field or None
        None where Fortran sets what it describes.
    """

    def __init__(self, cdesc: CfiDesc, field: _core.Field | None) -> None:
        self.cdesc = cdesc
        self.field = field
        self._as_parameter_ = ctypes.byref(cdesc)

    @property
    def address(self) -> int:
        """Where the CFI_cdesc_t lies."""
        return ctypes.addressof(self.cdesc)

    def __repr__(self) -> str:
        d = self.cdesc
        bounds = ", ".join(f"{x.lower_bound}:{x.lower_bound + x.extent - 1}" for x in d.dim[: d.rank])
        return f"<CFI_cdesc_t {ATTRIBUTES[d.attribute]} ({bounds}) at {self.address:#x}>"


def type_code(dtype: np.dtype[Any], name: str | None = None) -> int:
    """gfortran's CFI_type_t of a dtype that `declared` has let pass, or of an intrinsic type of that size."""
    if dtype.names is not None:
        return STRUCT
    kind = dtype.itemsize // (2 if dtype.kind == "c" else 1)
    if kind == 16 and np.finfo(np.longdouble).nmant == 63:
        kind = 10  # the x87's, by its name
    name = _OF_DTYPE[dtype.kind] if name is None else name
    return next(code for code, known in TYPES.items() if known == name) + (kind << 8)


def blank(dtype: np.dtype[Any], name: str | None, rank: int, attribute: Attribute) -> CfiDesc:
    """A descriptor of nothing yet."""
    if not 0 <= rank <= MAX_RANK:
        raise ValueError(f"rank: {rank}; Fortran's arrays have 0 to {MAX_RANK} indices")
    if attribute not in ATTRIBUTES:
        raise ValueError(f"attribute: {attribute!r} is none of {', '.join(map(repr, ATTRIBUTES))}")
    return CfiDesc(None, dtype.itemsize, VERSION, rank, ATTRIBUTES.index(attribute), type_code(dtype, name))


def read(source: Any) -> CfiDesc:
    """The structure at an address, copied; ValueError for what gfortran has not made."""
    if isinstance(source, Descriptor):
        return source.cdesc
    where = pointer_value(source, "descriptor")
    if not where:
        raise ValueError("descriptor: it is NULL")
    head_size = CfiDesc.dim.offset  # beyond it there are as many dims as the rank says, and memory of others behind them
    found = CfiDesc()
    ctypes.memmove(ctypes.addressof(found), where, head_size)
    if found.version != VERSION:
        raise ValueError(
            f"descriptor: its version is {found.version}, gfortran's is {VERSION}: each compiler has its own layout of CFI_cdesc_t. "
            "From another one pass c_loc and the shape (from_pointer)"
        )
    if not 0 <= found.rank <= MAX_RANK:
        raise ValueError(f"descriptor: its rank is {found.rank}; there are 0 to {MAX_RANK}")
    if not 0 <= found.attribute < len(ATTRIBUTES):
        raise ValueError(f"descriptor: its attribute is {found.attribute}; gfortran has 0, 1 and 2")
    ctypes.memmove(ctypes.addressof(found) + head_size, where + head_size, found.rank * ctypes.sizeof(CfiDim))
    return found


def pointer_value(source: Any, argument: str) -> int:
    """The address in an int, a c_void_p or any pointer of ctypes."""
    if isinstance(source, (int, np.integer)) and not isinstance(source, bool):
        if source < 0:
            raise ValueError(f"{argument}: {source} is no address")
        return int(source)
    if source is None:
        return 0
    if isinstance(source, ctypes.Structure):
        return ctypes.addressof(source)
    try:
        if isinstance(source, (str, bytes)):  # cast would point at the text
            raise TypeError
        return ctypes.cast(source, ctypes.c_void_p).value or 0
    except (TypeError, ctypes.ArgumentError):
        raise TypeError(f"{argument}: expected an address (an int or a pointer of ctypes), got {type(source).__name__}") from None
