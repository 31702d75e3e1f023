"""Fortran's intrinsic types by name, and the dtypes that have the same bits."""

import re
from typing import Any

import numpy as np

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
DEFAULTS = {
    "integer": 4,
    "real": 4,
    "complex": 4,
    "logical": 4,
}  # without a kind, as compilers are by default
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
    if (star := re.fullmatch(r"(\w+) ?\* ?(\d+)", text)) is not None and star[
        1
    ] in NUMBERS:  # the bytes of both parts
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
