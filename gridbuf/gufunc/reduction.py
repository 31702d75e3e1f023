"""What g.reduce asks Python for, once for each combination of types; the rest is C and Go."""

from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.gufunc.choosing import Choosing
from gridbuf.gufunc.errors import SignatureError
from gridbuf.gufunc.types import DTYPES, cell, number_of
from gridbuf.wrapping import naming

Choice = tuple[
    int, bool, bool, int, bytes | None
]  # kernel, has a state, sequential, type, identity


def choose(g: Choosing, array: int, dtype: int, out: int, ordered: bool, extras: bool) -> Choice:
    """The kernel that folds elements of a type; dtype and out are 0 where they are not given."""
    if g._states:
        return _choose_state(g, array, ordered, extras or dtype != 0)
    if g.nin != 2 or g.nout != 1 or any(g._cores) or g._uniform_names:
        raise SignatureError(
            f"{g.name}: only two inputs and one output without core dimensions reduce, or a"
            f" StateKernel; this is {g.signature}"
        )
    n = g._folding_kernel(array, dtype, out)
    number = g._types(n)[0]
    return n, False, bool(ordered or not g._reorderable), number, g._identity_of(DTYPES[number])


def _choose_state(g: Choosing, array: int, ordered: bool, extras: bool) -> Choice:
    for n, types in g._states:
        if np.can_cast(DTYPES[array], np.dtype(types[0]), "safe"):
            if extras:
                raise SignatureError(f"{g.name}: a StateKernel takes no where, initial or dtype")
            return n, True, bool(ordered), number_of(np.dtype(types[0])), None
    takes = " and ".join(types[0] for _, types in g._states)
    raise SignatureError(f"array: {g.name} reduces elements of type {takes}, not {DTYPES[array]}")


def start(initial: Any, number: int) -> bytes:
    """What initial= is in the type of the reduction, by NumPy's rules."""
    dtype = DTYPES[number]
    with naming("initial"):
        initial = _core.values(initial)
    if isinstance(initial, np.ndarray) and (
        initial.ndim or initial.dtype.kind in "SUV"
    ):  # not shown: foreign text may be none
        raise TypeError(
            f"initial: expected one number, got an array of shape {initial.shape} and dtype"
            f" {initial.dtype}"
        )
    if isinstance(initial, (str, bytes)) or np.ndim(initial):
        raise TypeError(f"initial: expected one number, got {initial!r}")
    if dtype.kind != "c" and np.iscomplexobj(initial):
        raise TypeError(
            f"initial: {initial!r} is complex, the reduction's type is {dtype}; give dtype= as well"
        )
    return cell(initial, dtype, "initial")
