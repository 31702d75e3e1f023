"""Readers of the arguments that all grids take: an argument of a wrong kind is a TypeError, one of
a wrong value a ValueError.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from gridbuf.distributed.geometry.boxes import Pairs
from gridbuf.names import name_of, read_names
from gridbuf.validation import integer


def entries(given: Any, what: str, count: int | None = None, of: str = "") -> list[Any]:
    """A sequence of as many entries as there are dims."""
    if isinstance(given, str | bytes | dict | set | frozenset):
        raise TypeError(f"{what}: expected a sequence, got {type(given).__name__}")
    try:
        found = list(given)
    except TypeError:
        raise TypeError(f"{what}: expected a sequence, got {type(given).__name__}") from None
    if count is not None and len(found) != count:
        raise ValueError(f"{what}: {len(found)} entries; {of} {count}")
    return found


def connections(given: Any, what: str, form: str) -> Iterator[tuple[str, list[Any]]]:
    """The seams or links of a list: what errors call each, and its four entries, or five."""
    for i, entry in enumerate(entries(given, what)):
        parts = entries(entry, f"{what}[{i}]")
        if len(parts) not in (4, 5):
            raise ValueError(f"{what}[{i}]: {len(parts)} entries; {form}")
        yield f"{what}[{i}]", parts


def read_dims(dims: Any, ndim: int, of: str) -> tuple[str, ...]:
    names = read_names(dims, "dims:", own_names=True)
    if len(names) != ndim:
        raise ValueError(f"dims: {names} names {len(names)} indices, {of} has {ndim}")
    return names


def read_shape(shape: Any, what: str = "shape") -> tuple[int, ...]:
    given = [shape] if not hasattr(shape, "__iter__") else entries(shape, what)
    found = tuple(integer(n, what, 0) for n in given)
    if not found:
        raise ValueError(f"{what}: it is empty; a grid has at least one dim")
    return found


def read_some_names(given: Any, what: str, dims: Sequence[str]) -> tuple[str, ...]:
    """Some of dims, in any order; a text is one of them, or a letter for each."""
    one = (given,) if isinstance(given, str) and given in dims else given
    return read_names(one, what, ordered=False, own_names=True)


def read_periodic(periodic: Any, dims: Sequence[str]) -> tuple[bool, ...]:
    switches = [*periodic] if isinstance(periodic, list | tuple) else [periodic]
    if any(isinstance(each, bool | np.bool_) for each in switches):
        raise TypeError(f"periodic: expected names of {tuple(dims)}, such as 'I', got {periodic!r}")
    names = read_some_names(periodic, "periodic:", dims)
    for name in names:
        if name not in dims:
            raise ValueError(f"periodic: {name!r} is not among the grid's dims {tuple(dims)}")
    return tuple(name in names for name in dims)


def read_pair(given: Any, what: str) -> tuple[int, int]:
    if isinstance(given, tuple | list):
        if len(given) != 2:
            raise ValueError(f"{what}: {given!r} is not a (low, high) pair")
        return integer(given[0], what, 0), integer(given[1], what, 0)
    return (integer(given, what, 0),) * 2


def read_halo(halo: Any, dims: Sequence[str]) -> Pairs:
    """Pairs (low, high) for each of dims, from an int for all or an int or pair for each."""
    if not hasattr(halo, "__iter__"):
        return (read_pair(halo, "halo"),) * len(dims)
    return tuple(
        read_pair(each, "halo")
        for each in entries(halo, "halo", len(dims), f"dims {tuple(dims)} are")
    )


def read_faces(faces: Any, dims: Sequence[str], grid: Sequence[str]) -> tuple[str, ...]:
    names = read_some_names(faces, "faces:", dims)
    for name in names:
        if name not in dims:
            raise ValueError(f"faces: {name!r} is not among the field's dims {tuple(dims)}")
        if name not in grid:
            raise ValueError(
                f"faces: {name!r} is not among the dims that the grid cuts, {tuple(grid)}"
            )
    return names


def read_sizes(sizes: Any, dims: Sequence[str], grid: Sequence[str]) -> dict[str, int]:
    """The sizes of the dims that the grid does not cut."""
    if not hasattr(sizes, "items"):
        raise TypeError(f"sizes: expected a dict of dims and sizes, got {type(sizes).__name__}")
    given = {name_of(key): integer(n, f"sizes[{name_of(key)!r}]", 0) for key, n in sizes.items()}
    for name in dims:
        if name not in grid and name not in given and name.isdigit():
            raise ValueError(
                f"dims: {tuple(dims)} are names, not sizes; a field has the grid's sizes along"
                f" {tuple(grid)}. An index called {name!r} needs sizes={{{name!r}: n}}"
            )
        if name not in grid and name not in given:
            raise ValueError(
                f"sizes: {name!r} is missing; the grid cuts {tuple(grid)}, so write"
                f" sizes={{{name!r}: n}}"
            )
    return given


def read_switch(variable: str) -> bool | None:
    """The value of an environment variable; None: unset."""
    value = os.environ.get(variable, "")
    if value not in ("", "0", "1"):
        raise ValueError(f"{variable}: {value!r} is neither '0' nor '1'")
    return value == "1" if value else None


def read_timeout(timeout: Any) -> float | None:
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, Real):
        raise TypeError(f"timeout: expected seconds or None, got {type(timeout).__name__}")
    try:
        seconds = float(timeout)
    except OverflowError:
        raise ValueError("timeout: larger than any float; None means no limit") from None
    if not seconds >= 0:
        raise ValueError(f"timeout: {timeout} seconds; 0 or more is allowed")
    return seconds


def some_fields(given: Sequence[Any], call: str) -> None:
    """TypeError for a call without fields. Ranks without blocks give empty lists."""
    if not given:
        raise TypeError(f"fields: none were given; {call} needs one at least")


def refuse_those_of_the_result(
    keywords: Mapping[str, Any],
    source: str,
    names: Sequence[str] = ("dims", "dtype", "sizes", "faces"),
) -> None:
    """Raise TypeError where keywords of new fields name a property that the source decides."""
    for name in names:
        if name in keywords:
            raise TypeError(f"{name}: not allowed here; the result has {source}")
