"""Whether memory is what a Fortran declaration says: its kind, its order, its gaps; errors name the
index.
"""

from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.interop.fortran.cfi import type_code
from gridbuf.interop.fortran.kinds import dtype_of, has_type
from gridbuf.strides import index_name, packed
from gridbuf.validation import boolean
from gridbuf.wrapping import as_field


def checked(field: Any, kind: Any, writable: bool, argument: str = "field") -> _core.Field:
    """A Field whose elements Fortran has a type for, the declared one if a kind is given, and may
    write to.
    """
    writable, field = boolean(writable, "writable"), as_field(field, argument)
    if (why := has_type(field.dtype)) is not None:
        raise ValueError(f"{argument}: {why}")
    wanted = None if kind is None else dtype_of(kind)
    if wanted is not None and wanted != field.dtype:
        raise ValueError(
            f"{argument}: its dtype is {field.dtype.name}, and {kind!r} is {wanted.name}; "
            f"declare {_declared(field.dtype)}, or pass a copy: field.to(dtype={wanted.name!r})"
        )
    if writable and field.readonly:
        raise ValueError(
            f"{argument}: it is read-only; pass writable=False where the argument is intent(in),"
            " else a copy: field.copy()"
        )
    return field


def _declared(dtype: np.dtype[Any]) -> str:
    name = {"i": "integer", "f": "real", "c": "complex", "b": "logical"}[dtype.kind]
    return f"{name}({type_code(dtype) >> 8})"


def gap(field: _core.Field) -> str | None:
    """Which index is not where Fortran order without gaps has it."""
    wanted = packed(field.shape, field.dtype.itemsize, range(field.ndim)[::-1])
    for i, (n, stride, step) in enumerate(zip(field.shape, field.strides, wanted, strict=True)):
        if field.size and n > 1 and stride != step:
            return (
                f"{index_name(field, i)} has the stride {stride} where Fortran order without gaps"
                f" has {step}"
            )
    return None


def leading(field: _core.Field) -> tuple[tuple[int, ...], str | None]:
    """The extents to declare of every index but the last; or which index cannot be declared so."""
    shape, strides, before = field.shape, field.strides, field.dtype.itemsize
    if not field.size:
        return shape[:-1], None
    if shape and shape[0] > 1 and strides[0] != before:
        return (
            (),
            (
                f"{index_name(field, 0)} has the stride {strides[0]} where Fortran's first index"
                f" has {before}"
            ),
        )
    found = []
    for i in range(1, len(shape)):
        # The stride of a single element says nothing: the next index that has more decides.
        stride = next(
            (strides[j] for j in range(i, len(shape)) if shape[j] > 1), before * shape[i - 1]
        )
        if stride % before or stride // before < shape[i - 1]:
            j = next(j for j in range(i, len(shape)) if shape[j] > 1)
            why = f"a multiple of {before}, and at least {before * shape[i - 1]}"
            return (), f"{index_name(field, j)} has the stride {stride} where Fortran has {why}"
        found.append(stride // before)
        before = stride
    return tuple(found), None


def aligned(field: _core.Field) -> None:
    """Compiled code takes elements to lie on multiples of their size."""
    if field.size and not field.numpy().flags.aligned:
        raise ValueError(
            f"field: it begins at {field.numpy().ctypes.data:#x}, which is no place for"
            f" {field.dtype}; {copies(field)}"
        )


def copies(field: _core.Field) -> str:
    """What to do about strides: the call that makes a proper copy, and ways without one, as far as
    there are any.
    """
    ways = ["pass a copy: field.to(backend='F')"]
    turned = field.transpose(field.dims[::-1])
    if field.ndim > 1 and gap(turned) is None:
        ways.append(f"turn the indices round: field.transpose({field.dims[::-1]!r})")
    if any(n > 1 and stride < 0 for n, stride in zip(field.shape, field.strides, strict=True)):
        ways.append(
            "turn it forwards:"
            f" field[{', '.join('::-1' if stride < 0 else ':' for stride in field.strides)}]"
        )
    elif gap(field) is not None and leading(field)[1] is None:
        ways.append("declare the gaps as leading extents: explicit(field)")
    return ", or ".join(ways)


def refuse(field: _core.Field, wrong: str | None, argument: str = "field") -> None:
    if wrong is not None:
        raise ValueError(f"{argument}: {wrong}; {copies(field)}")
