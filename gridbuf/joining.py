"""Joining by name: which indices, sizes and halos operands have together.

The rules that storages and Fields share. Names come as a str of letters or as a tuple of names.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gridbuf.names import canonical
from gridbuf.validation import integer

Names = Sequence[str]
Pair = tuple[int, int]

# How to bring an array into the common frame: a permutation of its indices and then an
# index that adds the missing ones; None where nothing is to do.
Adapt = tuple[tuple[int, ...] | None, tuple[Any, ...] | None] | None

SCALARS = (bool, int, float, complex)
_WEAK = SCALARS[1:]  # NumPy asks their value, a bool is of its own dtype
WEAK_SCALARS = int(np.__version__.split(".")[0]) >= 2  # NumPy 1 looks at a scalar's value


def is_scalar(obj: Any) -> bool:
    return isinstance(obj, (*SCALARS, np.generic)) or (type(obj) is np.ndarray and obj.ndim == 0)


def union(several: Iterable[Names]) -> Names:
    """The first that contains all the others, else all names in the order I, J, K, 0, 1, ..."""
    several = tuple(several)
    every: set[str] = set().union(*several)
    for names in several:
        if every == set(names):
            return names
    return canonical(every)


def into(names: Names, frame: Names) -> Adapt:
    """From indices `names` to indices `frame`, of which `names` are a part."""
    if names == frame:
        return None
    order = tuple(names.index(name) for name in frame if name in names)
    index = tuple(slice(None) if name in names else None for name in frame)
    return None if order == tuple(range(len(names))) else order, (
        None if len(names) == len(frame) else index
    )


def into_out(operand: Any, frame: Names, shape: tuple[int, ...], word: str) -> Adapt:
    """`into` for an output, of which names and shape come first; `word`: what errors call names.
    None where it was not given, or goes by position.
    """
    if operand is None:
        return None
    names, own, *_ = operand
    if names is not None and sorted(names) != sorted(frame):
        raise ValueError(f"out: the {word} {names!r} and {frame!r} of several outputs differ")
    if names is None and own != shape:
        raise ValueError(f"out: an array of shape {own} was given, the result has {shape}")
    return None if names is None else into(names, frame)


def adapted(array: Any, adapt: Adapt) -> Any:
    """The array's view in the common frame."""
    if adapt is None:
        return array
    order, index = adapt
    if order is not None:
        array = array.transpose(order)
    return array if index is None else array[index]


def lacking(names: Names, target: Names) -> Names:
    """The names that the target does not have."""
    return [name for name in names if name not in target]


def positions(axis: Any, names: Names | None, ndim: int) -> tuple[int, ...]:
    """The indices that an `axis` argument means: numbers, names ("KI" is both), or a tuple of them.
    `names`: None where there are none.
    """
    entries: list[int] = []
    for part in axis if isinstance(axis, (tuple, list)) else (axis,):
        if isinstance(part, str):
            asked = (part,) if names is not None and part in names else tuple(part)
            if names is None or not asked or lacking(asked, names):
                raise ValueError(
                    f"axis: {part!r} names an index that is not there; there are"
                    f" {names or 'no names'}"
                )
            entries.extend(names.index(name) for name in asked)
            continue
        index = integer(part, "axis", allowed="names or numbers of indices")
        if not -ndim <= index < ndim:
            raise np.exceptions.AxisError(index, ndim, "axis")
        entries.append(index % ndim)
    if len(set(entries)) != len(entries):
        raise ValueError(f"axis: {axis!r} names an index twice")
    return tuple(entries)


def sizes(named: Sequence[tuple[Names, tuple[int, ...]]], names: Names) -> tuple[int, ...]:
    """The common size of each index; a size of 1 counts as missing."""
    found = []
    for name in names:
        own = {shape[letters.index(name)] for letters, shape in named if name in letters}
        larger = own - {1}
        if len(larger) > 1:
            raise ValueError(f"operands do not broadcast: sizes {sorted(larger)} along axis {name}")
        found.append(larger.pop() if larger else 1)
    return tuple(found)


def spread(first: int, step: int, count: int) -> range:
    """`count` indices from `first` on."""
    return range(first, first + step * count, step)


def sliced(pair: Pair, size: int, selected: range) -> Pair:
    """How many of the selected points lay in the lower and in the upper halo; reversing swaps
    them.
    """
    backwards = selected.step < 0
    if backwards:
        selected = selected[::-1]
    low = len(range(selected.start, min(selected.stop, pair[0]), selected.step))
    high = len(selected) - len(
        range(selected.start, min(selected.stop, size - pair[1]), selected.step)
    )
    return (high, low) if backwards else (low, high)


def intersected(pairs: Sequence[Pair], size: int) -> Pair:
    """The halo around the points that lie in every domain; where there is none, a domain of
    size 0.
    """
    low = max((pair[0] for pair in pairs), default=0)
    high = max((pair[1] for pair in pairs), default=0)
    low = min(low, size)
    return low, min(high, size - low)


def result_dtypes(
    ufunc: Any, views: Sequence[Any], options: dict[str, Any]
) -> tuple[np.dtype[Any], ...]:
    """The dtypes of a call's results: those that NumPy gives for no elements at all.

    With casting="unsafe" NumPy is asked for them without a call, which would warn of what the
    conversion drops; the call itself does.
    """
    samples = [*map(_sample, views)]
    if options.get("casting") == "unsafe":
        return _resolved(
            ufunc, [type(x) if type(x) in _WEAK else np.asarray(x).dtype for x in samples], options
        )
    made = ufunc(*samples, **{name: value for name, value in options.items() if name != "where"})
    return tuple(result.dtype for result in (made if ufunc.nout > 1 else (made,)))


def _resolved(
    ufunc: np.ufunc, inputs: list[Any], options: dict[str, Any]
) -> tuple[np.dtype[Any], ...]:
    signature = options.get("signature", options.get("sig"))
    if (dtype := options.get("dtype")) is not None:
        signature = (None,) * ufunc.nin + (np.dtype(dtype),) * ufunc.nout
    asked = {} if signature is None else {"signature": signature}
    return ufunc.resolve_dtypes((*inputs, *[None] * ufunc.nout), casting="unsafe", **asked)[
        ufunc.nin :
    ]


def _sample(view: Any) -> Any:
    if isinstance(view, SCALARS) and not isinstance(
        view, np.generic
    ):  # np.float64 is a float, and has a dtype
        # The type alone counts, and of the value NumPy would say that float32 does not hold it.
        return type(view)() if WEAK_SCALARS and type(view) in SCALARS else view
    if view.ndim == 0 and isinstance(view, (np.ndarray, np.generic)) and not WEAK_SCALARS:
        return view
    return np.empty(0, view.dtype)


def accumulated_dtype(
    accumulate: Any, own: np.dtype[Any], dtype: Any, *extra: Any
) -> np.dtype[Any]:
    """The dtype that NumPy gives where one element is accumulated; it is of the dtype asked for, so
    that nothing is said of a conversion.
    """
    found: np.dtype[Any] = accumulate(
        np.ones(1, own if dtype is None else dtype), *extra, dtype=dtype
    ).dtype
    return found
