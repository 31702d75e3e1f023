"""Names of indices: "I", "J" and "K", each at most once, in any order."""

from collections.abc import Sequence
from typing import Any

from gridbuf import joining
from gridbuf.validation import integer

LETTERS = "IJK"
_NO_SEQUENCES = (str, bytes, dict, set, frozenset)
_LEFT = "; a storage has at most the axes I, J and K"


def check_axes(axes: Any) -> str:
    """The axes as a str; TypeError or ValueError naming `axes`."""
    if not isinstance(axes, str):
        if not isinstance(axes, Sequence) or not all(isinstance(name, str) for name in axes):
            raise TypeError(f"axes: expected a str such as 'IJK', got {axes!r}")
        axes = "".join(axes)
    if len(set(axes)) != len(axes) or not set(axes) <= set(LETTERS):
        capitals = " (capitals)" if axes != axes.upper() else ""
        raise ValueError(
            f"axes: {axes!r} is not a permutation of some of the letters I, J, K{capitals}"
        )
    return str(axes)


def default_axes(ndim: int, argument: str) -> str:
    """What `ndim` indices mean when nobody says."""
    if ndim > len(LETTERS):
        raise ValueError(f"{argument}: {ndim} indices" + _LEFT)
    return LETTERS[:ndim]


def sequence(values: Any, expected: str) -> tuple[Any, ...]:
    """The entries of what has some in an order."""
    if (
        isinstance(values, _NO_SEQUENCES)
        or not hasattr(values, "__iter__")
        or getattr(values, "shape", None) == ()
    ):
        raise TypeError(f"{expected}, got {values!r}")
    return tuple(values)


def per_axis(values: Any, axes: str, argument: str) -> tuple[Any, ...]:
    """One entry per axis, in index order.

    Three entries for fewer axes are read as I, J, K and those without an axis ignored.
    """
    entries = sequence(
        values, f"{argument}: expected a sequence with one entry per axis of {axes!r}"
    )
    if len(entries) == len(axes):
        return entries
    if len(entries) == len(LETTERS):
        return tuple(entries[LETTERS.index(name)] for name in axes)
    allowed = "3" if len(axes) == 3 else f"{len(axes)} or 3"
    raise ValueError(
        f"{argument}: {values!r} has {len(entries)} entries, axes {axes!r} need {allowed}"
    )


def non_negative(values: Any, axes: str, argument: str) -> tuple[int, ...]:
    """`per_axis` for sizes and indices: none may be negative."""
    found = tuple(integer(value, argument) for value in per_axis(values, axes, argument))
    if any(value < 0 for value in found):
        raise ValueError(f"{argument}: {values!r} has a negative entry; 0 or more is allowed")
    return found


def positions(axis: Any, axes: str) -> tuple[int, ...]:
    """The indices that an `axis` argument means."""
    return joining.positions(axis, tuple(axes), len(axes))


def union(*several: str) -> str:
    """The first that contains all the others, else all letters in the order I, J, K."""
    return "".join(joining.union(several))
