"""The type that the `descr` of an array interface describes, field by field.

NumPy is given a list of our own, which nobody changes while it is read, of fields that were found
sound: by itself it would take Python objects over foreign bytes. `arrayinterface/descr.go` has the
same rules for Go programs, and `arrayinterface/testdata/refused.jsonl` holds both to the same
words.
"""

from math import prod
from operator import index
from typing import Any

import numpy as np

from gridbuf import _core

# lists of fields in one another: nobody's go further, and a hostile one must not use up the stack
DEEPEST = 16
LARGEST = 2**63 - 1  # bytes


class _Unsound(Exception):
    """Plain data that describes no memory; the text says why."""


def structured(fields: Any, size: int) -> np.dtype[Any] | str | None:
    """The dtype of items of so many bytes with these fields; why there is none; or None: they say
    no more than the typestr.

    Parameters
    ----------
    fields
        The `descr`, whatever it is. NumPy writes one for plain types too: one entry without a name,
        which says nothing.
    size
        Bytes of an item, as the typestr has them.

    Returns
    -------
    numpy.dtype or str or None
        A text may be empty, where there is nothing more to say than that it is no list of fields.

    Examples
    --------
    >>> structured([("a", "<f8"), ("b", "<i4", (2,))], 16)
    dtype([('a', '<f8'), ('b', '<i4', (2,))])
    >>> structured([("a", "<f8")], 16)
    'the fields take 8 bytes; typestr says 16'
    >>> structured([("", "|V8")], 8)
    """
    if not isinstance(fields, list) or not fields:
        return None
    first = fields[0]
    if (
        len(fields) == 1
        and isinstance(first, tuple)
        and first
        and isinstance(first[0], str)
        and _text(first[0]) == ""
    ):
        return None
    try:
        own, taken = _fields(fields, 0)
    except _Unsound as error:
        return str(error)
    if taken != size:
        return f"the fields take {taken} bytes; typestr says {size}"
    dtype = np.dtype(own)
    return dtype if dtype.itemsize == size and not dtype.hasobject else ""


def _fields(fields: list[Any], depth: int) -> tuple[list[Any], int]:
    """The list once more, and the bytes of its fields."""
    if depth == DEEPEST:
        raise _Unsound(f"more than {DEEPEST} structured types in one another")
    own, taken = [], 0
    for field in tuple(fields):
        if not isinstance(field, tuple) or len(field) not in (2, 3):
            raise _Unsound
        name, kind, size = _name(field[0]), *_type(field[1], depth)
        shape = _shape(field[2]) if len(field) == 3 else ()
        taken += size * prod(shape)
        if (
            max(prod(max(n, 1) for n in (size, *shape)), taken) > LARGEST
        ):  # sizes of 0 count as 1, as in shapes of arrays
            raise _Unsound("the fields are larger than any memory (2^63 bytes)")
        own.append((name, kind, shape) if len(field) == 3 else (name, kind))
    return own, taken


def _text(obj: Any) -> str:
    if not isinstance(obj, str):
        raise _Unsound
    return str.__str__(obj)


def _name(obj: Any) -> str | tuple[str, str]:
    """A name, or (title, name)."""
    return (
        (_text(obj[0]), _text(obj[1])) if isinstance(obj, tuple) and len(obj) == 2 else _text(obj)
    )


def _type(obj: Any, depth: int) -> tuple[Any, int]:
    """A typestr, or the fields of a type in a type; and the bytes of one."""
    if isinstance(obj, list):
        return _fields(obj, depth + 1)
    size = _core.typestr_bytes(_text(obj))
    if isinstance(size, str):
        raise _Unsound(size)
    return _text(obj), size


def _shape(sizes: Any) -> tuple[int, ...]:
    if not isinstance(sizes, (tuple, list)):
        raise _Unsound
    shape = tuple(map(index, sizes))
    if negative := [n for n in shape if n < 0]:
        raise _Unsound(f"shape has a negative entry, {negative[0]}")
    return shape
