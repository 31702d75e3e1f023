"""Fortran's types and kinds, as they are written in a declaration, and the dtypes that hold the same bytes."""

import re
from typing import Any

import numpy as np

from gridbuf import _core

# What a kind is called in iso_fortran_env and iso_c_binding, and its size in bytes; 10 is the x87's, in 16 bytes.
_LONG = {112: 16, 63: 10, 52: 8}.get(np.finfo(np.longdouble).nmant, 0)
_NAMED = {
    "integer": {
        "int8": 1, "int16": 2, "int32": 4, "int64": 8, "c_signed_char": 1, "c_short": 2, "c_int": 4, "c_long": np.dtype("l").itemsize,
        "c_long_long": 8, "c_size_t": 8, "c_intptr_t": 8, "c_ptrdiff_t": 8, "c_int8_t": 1, "c_int16_t": 2, "c_int32_t": 4, "c_int64_t": 8,
    },
    "real": {"real32": 4, "real64": 8, "real128": 16, "c_float": 4, "c_double": 8, "c_long_double": _LONG, "c_float128": 16},
    "complex": {
        "real32": 4, "real64": 8, "real128": 16, "c_float_complex": 4, "c_double_complex": 8, "c_long_double_complex": _LONG,
        "c_float": 4, "c_double": 8, "c_long_double": _LONG,
    },
    "logical": {"c_bool": 1, "logical8": 1, "logical16": 2, "logical32": 4, "logical64": 8},
    "character": {"c_char": 1},
}  # fmt: skip
_DEFAULT = {"integer": 4, "real": 4, "complex": 4, "logical": 4, "character": 1}
_WORDS = {"double precision": ("real", 8), "double complex": ("complex", 8)}
_DTYPES: dict[tuple[str, int], str] = {
    **{("integer", n): f"i{n}" for n in (1, 2, 4, 8)},
    **{("real", n): f"f{n}" for n in (4, 8)},
    **{("complex", n): f"c{2 * n}" for n in (4, 8)},
    **{("logical", n): f"i{n}" for n in (2, 4, 8)},
    ("logical", 1): "?",
    ("character", 1): "S1",
    ("real", _LONG): "f8" if _LONG == 8 else "g",
    ("complex", _LONG): "c16" if _LONG == 8 else "G",
}
_DECLARED = {
    "?": "logical(c_bool)", "b": "integer(c_int8_t)", "h": "integer(c_int16_t)", "f": "real(c_float)", "d": "real(c_double)",
    "g": "real(c_long_double)", "F": "complex(c_float_complex)", "D": "complex(c_double_complex)", "G": "complex(c_long_double_complex)",
}  # fmt: skip
_DECLARATION = re.compile(
    r"(?:(?P<type>integer|real|complex|logical|character)\s*(?:\*\s*(?P<star>\d+)|\(\s*(?:kind\s*=\s*)?(?P<kind>\w+)\s*\))?)"
)


def dtype(kind: Any) -> np.dtype[Any]:
    """The dtype with the bytes of a Fortran type.

    Parameters
    ----------
    kind : str or dtype_like
        A type as a declaration writes it: `"real(real64)"`, `"real(8)"`, `"real*8"`, `"double precision"`,
        `"integer(c_int)"`, `"logical"`, ...; the name of a kind alone: `"real32"`, `"c_double"`; or a dtype.

    Notes
    -----
    A number in parentheses is taken as bytes, as gfortran, Intel's and NVIDIA's compilers do. NumPy's bool is
    `logical(c_bool)`; any other logical comes as integers of its size, in which 0 is `.false.`.

    Examples
    --------
    >>> import gridbuf.interop.fortran as gbf
    >>> gbf.dtype("real(kind=8)"), gbf.dtype("complex*16"), gbf.dtype("logical")
    (dtype('float64'), dtype('complex128'), dtype('int32'))
    >>> gbf.dtype("integer(16)")
    Traceback (most recent call last):
    ...
    ValueError: kind: NumPy has no dtype for integer(16): its integers have up to 8 bytes
    """
    if isinstance(kind, str):
        parsed = _parsed(" ".join(kind.lower().split()))
        if parsed is not None:
            return _of(*parsed)
        if re.search(r"[(*]", kind):
            raise ValueError(
                f"kind: {kind!r} is no type of Fortran that is known here; for example 'real(real64)', 'integer(c_int)'"
            )
    try:
        found: np.dtype[Any] = np.dtype(kind)
    except TypeError as error:
        raise ValueError(f"kind: {kind!r} is neither a type of Fortran, as 'real(real64)' or 'c_double', nor a dtype") from error
    return found


def intrinsic(kind: Any) -> str | None:
    """The intrinsic type that a kind names; None for a dtype. Integers may stand for logicals."""
    parsed = _parsed(" ".join(kind.lower().split())) if isinstance(kind, str) else None
    return parsed[0] if parsed else None


def _parsed(text: str) -> tuple[str, int] | None:
    """The intrinsic type and the kind; None where the text is not Fortran's."""
    if text in _WORDS:
        return _WORDS[text]
    for name, kinds in _NAMED.items():
        if text in kinds:
            return name, kinds[text]
    match = _DECLARATION.fullmatch(text)
    if match is None:
        return None
    name, star, kind = match["type"], match["star"], match["kind"]
    if star is not None:
        return name, int(star) // 2 if name == "complex" else int(star)
    if kind is None:
        return name, _DEFAULT[name]
    if kind.isdigit():
        return name, int(kind)
    if kind not in _NAMED[name]:
        raise ValueError(
            f"kind: {kind!r} is no kind of {name} that is known here; there are {', '.join(_NAMED[name])}, or the number of bytes"
        )
    return name, _NAMED[name][kind]


def _of(name: str, kind: int) -> np.dtype[Any]:
    if (name, kind) in _DTYPES:
        return np.dtype(_DTYPES[name, kind])
    written = f"{name}({kind})"
    if name in ("real", "complex") and kind in (10, 16):
        own = f"real({_LONG})" if _LONG else "no kind of Fortran's"
        raise ValueError(f"kind: NumPy has no dtype for {written}: its longdouble is {own} on this machine; declare real(real64)")
    if name == "integer":
        raise ValueError(f"kind: NumPy has no dtype for {written}: its integers have up to 8 bytes")
    raise ValueError(f"kind: NumPy has no dtype for {written}; there are {', '.join(_written(name))}")


def _written(name: str) -> list[str]:
    return [f"{name}({kind})" for other, kind in _DTYPES if other == name]


def declared(found: np.dtype[Any]) -> str:
    """How Fortran declares such elements; ValueError where it has no such type."""
    if not found.isnative:
        swapped = found.newbyteorder("=").str
        raise ValueError(f"array: Fortran reads native byte order, and this is {found.str}; a copy: field.to(dtype={swapped!r})")
    if found.kind == "i":
        return f"integer(c_int{8 * found.itemsize}_t)"
    if found.kind == "u":
        signed = f"i{found.itemsize}"
        raise ValueError(
            f"array: it holds {found}, and Fortran has no unsigned integers; the same bits as integer(c_int{8 * found.itemsize}_t): "
            f"array.view({signed!r})"
        )
    if found == "S1":
        return "character(c_char)"
    if found.names is not None:
        return "type(...), bind(c)"
    if found.char not in _DECLARED:
        instead = "; a copy: field.to(dtype='f4')" if found.itemsize <= 2 and found.kind in "fV" else ""
        raise ValueError(f"array: Fortran has no type for {found}{instead}")
    return _DECLARED[found.char]


def check(field: _core.Field, kind: Any) -> None:
    """The elements are what Fortran declares; ValueError says what they are."""
    has = declared(field.dtype)
    if kind is None:
        return
    wanted = dtype(kind)
    if field.dtype == wanted:
        return
    instead = f"a copy: field.to(dtype={wanted.str!r})"
    if field.dtype == bool and wanted.kind == "i":
        instead = f"declare logical(c_bool) in Fortran, or pass integers of 0 and 1; {instead}"
    raise ValueError(f"array: its elements are {has} ({field.dtype}), and Fortran expects {kind} ({wanted}); {instead}")
