"""Fortran's intrinsic types by name, the dtypes that have the same bits, and gfortran's CFI_cdesc_t
(version 9 and newer), written and read; other compilers lay theirs out otherwise.
"""

import ctypes
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

# ---- types ----


NUMBERS = {"integer": "i", "real": "f", "complex": "c", "logical": "l"}
# The kind parameters of ISO_FORTRAN_ENV and ISO_C_BINDING, as bytes; of complex types those of one
# part.
NAMED = {
    **{f"int{8 * n}": n for n in (1, 2, 4, 8)}, **{f"logical{8 * n}": n for n in (1, 2, 4, 8)},
    "real32": 4, "real64": 8, "real128": 16, "c_float": 4, "c_double": 8, "c_long_double": 10,
    "c_float_complex": 4,
    "c_double_complex": 8, "c_long_double_complex": 10, "c_bool": 1, "c_signed_char": 1,
    "c_short": 2, "c_int": 4,
    "c_long": np.dtype("long").itemsize, "c_long_long": 8, "c_size_t": np.dtype(np.intp).itemsize,
    "c_intptr_t": np.dtype(np.intp).itemsize,
    "c_int8_t": 1, "c_int16_t": 2, "c_int32_t": 4, "c_int64_t": 8,
}  # fmt: skip
# Bytes of a type without a kind, by the compilers' default
DEFAULTS = {"integer": 4, "real": 4, "complex": 4, "logical": 4}
SPELLINGS = {"double precision": "real(8)", "double complex": "complex(8)"}
EXAMPLES = "'real(8)', 'real(real32)', 'integer(c_int)', 'logical(4)', 'complex(8)'"


def dtype_of(kind: Any) -> np.dtype[Any]:
    """The dtype of what a Fortran declaration names; a dtype stays as it is.

    Parameters
    ----------
    kind : str or dtype_like
        A type with its kind ("real(8)", "integer(c_int)"), or a named kind that says its type
        ("real64", "c_int"). Logicals of several bytes are integers here, of which 0 is false and 1
        true.
    """
    found = _parsed(kind)
    if found is None:
        try:
            return np.dtype(kind)
        except TypeError:
            raise ValueError(
                f"kind: {kind!r} is neither a Fortran type, such as {EXAMPLES}, nor a dtype"
            ) from None
    family, nbytes = found
    if family in ("real", "complex") and nbytes == long_double():
        return np.dtype(np.longdouble if family == "real" else np.clongdouble)
    sizes = {"integer": (1, 2, 4, 8), "logical": (1, 2, 4, 8), "real": (4, 8), "complex": (4, 8)}[
        family
    ]
    if nbytes not in sizes:
        why = (
            "NumPy has no number of 113 bits of mantissa"
            if nbytes == 16 and family in ("real", "complex")
            else "NumPy has none"
        )
        raise ValueError(
            f"kind: {kind!r} has no dtype: {why}; there are"
            f" {', '.join(f'{family}({n})' for n in sizes)}: convert to one of them in Fortran"
        )
    if family == "logical":
        return np.dtype(bool) if nbytes == 1 else np.dtype(f"i{nbytes}")
    return np.dtype(f"{NUMBERS[family]}{nbytes * (2 if family == 'complex' else 1)}")


def long_double() -> int:
    """The kind of real that C's long double is: 10 on x86, 16 on aarch64, 0 where Fortran has none
    of its format.
    """
    return {63: 10, 112: 16}.get(np.finfo(np.longdouble).nmant, 0)


def is_logical(kind: Any) -> bool:
    """Whether a logical is asked for, whose dtype may be that of an integer."""
    found = _parsed(kind)
    return (
        found[0] == "logical" if found is not None else kind is not None and np.dtype(kind) == bool
    )


def _parsed(kind: Any) -> tuple[str, int] | None:
    """Type and bytes of a Fortran spelling; None for what is a dtype."""
    if not isinstance(kind, str):
        return None
    text = " ".join(kind.lower().split())
    text = SPELLINGS.get(text, text)
    if text in DEFAULTS:
        return text, DEFAULTS[text]
    # complex*16: the bytes of both parts
    if (star := re.fullmatch(r"(\w+) ?\* ?(\d+)", text)) is not None and star[1] in NUMBERS:
        return star[1], int(star[2]) // (2 if star[1] == "complex" else 1)
    match = re.fullmatch(r"(\w+) ?\( ?(?:kind ?= ?)?(\w+) ?\)", text)
    if match is None:
        return (_family(text), NAMED[text]) if text in NAMED and not hasattr(np, text) else None
    family, parameter = match[1], match[2]
    nbytes = int(parameter) if parameter.isdigit() else NAMED.get(parameter)
    if family not in NUMBERS or nbytes is None:
        raise ValueError(f"kind: {kind!r} is no Fortran type with a known kind, such as {EXAMPLES}")
    return family, nbytes


def _family(name: str) -> str:
    """Of a named kind; parts of complex numbers have names of their own in ISO_C_BINDING only."""
    if "complex" in name:
        return "complex"
    if name.startswith(("real", "c_float", "c_double", "c_long_double")):
        return "real"
    return "logical" if name.startswith(("logical", "c_bool")) else "integer"


def has_type(dtype: np.dtype[Any]) -> str | None:
    """Why no Fortran type has these bits, and what to do; None where one has them."""
    if not dtype.isnative:
        return (
            f"{dtype.str!r} is not in native byte order; pass"
            f" field.to(dtype={dtype.newbyteorder('=').name!r})"
        )
    if dtype.kind == "u":
        return (
            f"Fortran has no unsigned integers such as {dtype}; pass"
            f" gridbuf.Field(field.numpy().view({f'i{dtype.itemsize}'!r})), the same bits"
        )
    if dtype.kind not in "bifc" or dtype == np.float16:
        return f"no Fortran type has the bits of {dtype}; pass field.to(dtype='float32')"
    return None


# ---- descriptors ----


VERSION = 1  # CFI_VERSION
MAX_RANK = 15
ATTRIBUTES = {"pointer": 0, "allocatable": 1, "other": 2}
SHIFT = 8  # a type is its family and, above that, the bytes of its kind
FAMILIES = {"i": 1, "b": 2, "f": 3, "c": 4}
LOGICAL = 2


class Dim(ctypes.Structure):
    """An index of a descriptor: lower bound, number of elements, and bytes between them."""

    _fields_ = (
        ("lower_bound", ctypes.c_ssize_t),
        ("extent", ctypes.c_ssize_t),
        ("sm", ctypes.c_ssize_t),
    )


@cache
def structure(rank: int) -> type[ctypes.Structure]:
    """CFI_cdesc_t with so many indices."""
    fields = [
        ("base_addr", ctypes.c_void_p), ("elem_len", ctypes.c_size_t), ("version", ctypes.c_int),
        ("rank", ctypes.c_int8),
        ("attribute", ctypes.c_int8), ("type", ctypes.c_int16), ("dim", Dim * rank),
    ]  # fmt: skip
    return type(f"CFI_cdesc_t_{rank}", (ctypes.Structure,), {"_fields_": fields})


def type_code(dtype: np.dtype[Any], logical: bool = False) -> int:
    """CFI_type_t of a dtype that Fortran has; integers may stand for logicals of several bytes."""
    kind = dtype.itemsize // (2 if dtype.kind == "c" else 1)
    if dtype.kind in "fc" and kind == 16 and np.finfo(dtype).nmant == 63:
        kind = 10  # long double: ten bytes, and six that fill up
    return (LOGICAL if logical else FAMILIES[dtype.kind]) + (kind << SHIFT)


def dtype_of_code(code: int, elem_len: int) -> np.dtype[Any]:
    """The dtype of a CFI_type_t; logicals of several bytes are integers."""
    family, kind = code & ((1 << SHIFT) - 1), code >> SHIFT
    letter = {number: letter for letter, number in FAMILIES.items()}.get(family)
    if letter is None or code < 0:
        raise ValueError(
            f"descriptor: its type {code} is no integer, logical, real or complex number"
        )
    if kind == long_double() and letter in "fc":
        found: np.dtype[Any] = np.dtype(np.longdouble if letter == "f" else np.clongdouble)
    elif kind not in ((4, 8) if letter in "fc" else (1, 2, 4, 8)):
        raise ValueError(
            f"descriptor: NumPy has no dtype for Fortran's type {family} with a kind of {kind}"
            " bytes, as real(16) is on x86"
        )
    else:
        letter = "i" if family == LOGICAL and kind > 1 else letter
        found = (
            np.dtype(bool)
            if letter == "b"
            else np.dtype(f"{letter}{kind * (2 if letter == 'c' else 1)}")
        )
    if found.itemsize != elem_len:
        raise ValueError(
            f"descriptor: its elements have {elem_len} bytes, those of its type {code} have"
            f" {found.itemsize}"
        )
    return found


class Descriptor:
    """A CFI_cdesc_t for a Fortran procedure, which is passed by address; it holds the memory that
    it describes.
    """

    def __init__(
        self, rank: int, code: int, elem_len: int, attribute: str, memory: Any = None
    ) -> None:
        self.structure: Any = structure(rank)(
            None, elem_len, VERSION, rank, ATTRIBUTES[attribute], code
        )
        self.memory = memory

    @property
    def _as_parameter_(self) -> Any:
        """The value that ctypes passes to C and Fortran."""
        return ctypes.byref(self.structure)

    @property
    def address(self) -> int:
        """Where the structure lies; valid for as long as this object."""
        return ctypes.addressof(self.structure)

    def __repr__(self) -> str:
        found = self.structure
        attribute = next(name for name, number in ATTRIBUTES.items() if number == found.attribute)
        dims = (
            ", ".join(f"{d.lower_bound}:{d.lower_bound + d.extent - 1}" for d in found.dim)
            if found.base_addr
            else "none yet"
        )
        return f"Descriptor(rank={found.rank}, type={found.type}, {attribute}, bounds=({dims}))"


def described(
    array: np.ndarray[Any, Any], logical: bool, lower: Sequence[int] | None = None
) -> Descriptor:
    """The descriptor of an array as an assumed-shape argument, whose bounds are the procedure's, or
    as a pointer with these.
    """
    attribute = "other" if lower is None else "pointer"
    made = Descriptor(array.ndim, type_code(array.dtype, logical), array.itemsize, attribute, array)
    made.structure.base_addr = array.ctypes.data
    lower = (0,) * array.ndim if lower is None else lower
    for dim, bound, extent, stride in zip(
        made.structure.dim, lower, array.shape, array.strides, strict=True
    ):
        dim.lower_bound, dim.extent, dim.sm = bound, extent, stride
    return made


def parsed(
    descriptor: Any,
) -> tuple[int, np.dtype[Any], tuple[int, ...], tuple[int, ...], tuple[int, ...] | None]:
    """Address, dtype, shape, strides and lower bounds (None where a descriptor has none) of what
    Fortran describes.
    """
    at = descriptor.address if isinstance(descriptor, Descriptor) else descriptor
    if not isinstance(at, int) or at <= 0:
        raise TypeError(
            f"descriptor: expected a Descriptor or the address of a CFI_cdesc_t, got {descriptor!r}"
        )
    head: Any = structure(0).from_address(at)
    if head.version != VERSION or not 0 <= head.rank <= MAX_RANK:
        raise ValueError(
            f"descriptor: its version {head.version} and rank {head.rank} are not gfortran's"
            f" ({VERSION}, 0 to {MAX_RANK}); pass c_loc(array) and the bounds to"
            " gridbuf.interop.fortran.from_pointer"
        )
    if not head.base_addr:
        raise ValueError(
            "descriptor: base_addr is NULL: the array is not allocated, or the pointer not"
            " associated"
        )
    dims = list(structure(head.rank).from_address(at).dim)
    for i, dim in enumerate(dims):
        if dim.extent < 0:
            raise ValueError(
                f"descriptor: index {i} has the extent {dim.extent}: an assumed-size array, whose"
                " last extent is not known; pass c_loc(array) and the bounds to"
                " gridbuf.interop.fortran.from_pointer"
            )
    lower = (
        None if head.attribute == ATTRIBUTES["other"] else tuple(dim.lower_bound for dim in dims)
    )
    dtype = dtype_of_code(head.type, head.elem_len)
    return (
        int(head.base_addr),
        dtype,
        tuple(d.extent for d in dims),
        tuple(d.sm for d in dims),
        lower,
    )
