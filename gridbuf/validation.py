"""Arguments that many functions take, read once, and the word that was meant.

A wrong kind is a TypeError, a wrong value a ValueError.
"""

import operator
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from gridbuf import _core


def boolean(given: Any, argument: str, allowed: str = "True or False") -> bool:
    """A bool of Python's or NumPy's; nothing else is true or false."""
    if isinstance(given, bool | np.bool_):
        return bool(given)
    raise TypeError(f"{argument}: expected {allowed}, got {given!r}")


def boolean_or_none(given: Any, argument: str) -> bool | None:
    """The same, or None."""
    return None if given is None else boolean(given, argument, "True, False or None")


def integer(
    given: Any, argument: str, least: int | None = None, allowed: str = "an integer"
) -> int:
    """An integer, by `operator.index`; bools are none."""
    number: Any = None if isinstance(given, bool) else given
    try:
        found = operator.index(number)
    except TypeError:
        raise TypeError(f"{argument}: expected {allowed}, got {given!r}") from None
    if least is not None and found < least:
        raise ValueError(f"{argument}: {found} is less than {least}")
    return found


def mapping(given: Any, argument: str, holds: str) -> Mapping[Any, Any]:
    """A dict or what is like one."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{argument}: expected a dict of {holds}, got {given!r}")
    return given


def as_dtype(dtype: Any) -> np.dtype[Any]:
    """NumPy's; what is none is refused as `empty` does, which knows the names of backends."""
    try:
        found: np.dtype[Any] = np.dtype(dtype)
    except (TypeError, ValueError):
        found = _core.plan((), dtype).dtype
    return found


# Names of the same arguments in other libraries
_OTHER_NAMES = {
    "axes": "dims",
    "axis": "dims",
    "dimensions": "dims",
    "defaults": "backend",
    "default": "backend",
}


def suggestion(word: str, known: Iterable[str]) -> str:
    """An addition to an error: "; did you mean 'x'?", or nothing where no known word is near."""
    from difflib import get_close_matches

    by_lower = {name.lower(): name for name in known}
    begun = sorted(
        (name for name in by_lower if len(word) > 2 and name.startswith(word.lower())), key=len
    )
    near = (
        begun
        or get_close_matches(word.lower(), by_lower, n=1, cutoff=0.7)
        or [_OTHER_NAMES.get(word.lower(), "")]
    )
    return f"; did you mean {by_lower[near[0]]!r}?" if near[0] in by_lower else ""
