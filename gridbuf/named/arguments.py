"""The arguments of NumPy's functions: their names and order, what is wrong with them, and the
functions that are reductions by a ufunc.
"""

import inspect
import operator
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from gridbuf.named.broadcasting import WEAK_SCALARS
from gridbuf.validation import as_dtype, boolean, integer
from gridbuf.wrapping import values

_clip: Any = import_module("numpy._core._methods" if WEAK_SCALARS else "numpy.core._methods")._clip


def clip(
    a: Any,
    a_min: Any = None,
    a_max: Any = None,
    out: Any = None,
    *,
    min: Any = None,
    max: Any = None,
    **options: Any,
) -> Any:
    """`np.clip` with any two of the four bounds: NumPy's own leaves out a bound that no integer
    of the dtype exceeds.
    """
    low = min if a_min is None or a_min is np._NoValue else a_min
    high = max if a_max is None or a_max is np._NoValue else a_max
    bounds: list[Any] = [None if bound is np._NoValue else bound for bound in (low, high)]
    return _clip(a if hasattr(a, "dtype") else values(a), *bounds, out=out, **options)


# Arguments after the axis, by position.
_DTYPE_FIRST = ("dtype", "out", "keepdims", "initial", "where")
_SPREAD = ("dtype", "out", "ddof", "keepdims")
_BOUND = ("out", "keepdims", "initial", "where")
_MEDIAN = ("out", "overwrite_input", "keepdims")
POSITIONAL: dict[Any, tuple[str, ...]] = {
    np.sum: _DTYPE_FIRST, np.prod: _DTYPE_FIRST, np.nansum: _DTYPE_FIRST, np.nanprod: _DTYPE_FIRST,
    np.mean: ("dtype", "out", "keepdims"), np.nanmean: ("dtype", "out", "keepdims"),
    np.std: _SPREAD, np.var: _SPREAD, np.nanstd: _SPREAD, np.nanvar: _SPREAD,
    np.max: _BOUND, np.min: _BOUND, np.amax: _BOUND, np.amin: _BOUND, np.nanmax: _BOUND,
    np.nanmin: _BOUND,
    np.all: ("out", "keepdims"), np.any: ("out", "keepdims"), np.median: _MEDIAN,
    np.nanmedian: _MEDIAN,
}  # fmt: skip
# Of all elements: what NumPy's function comes to, called with an array and None for the axis. Of
# Fields and of storages C asks first.
WHOLE = {
    **{function: function for function in POSITIONAL},
    np.sum: np.add.reduce, np.prod: np.multiply.reduce, np.max: np.maximum.reduce,
    np.amax: np.maximum.reduce,
    np.min: np.minimum.reduce, np.amin: np.minimum.reduce,
    **{function: getattr(np.ndarray, function.__name__) for function in (np.all, np.any, np.mean,
    np.std, np.var)},
}  # fmt: skip
_AXIS = ("axis", "axes", "axis1", "axis2", "source", "destination")


def read_keepdims(keepdims: Any) -> bool:
    """The argument `keepdims` as a bool: an int as NumPy's reductions take it, or np._NoValue,
    which NumPy's methods pass on.
    """
    if keepdims is np._NoValue:
        return False
    try:
        return bool(operator.index(keepdims))
    except TypeError:
        return boolean(keepdims, "keepdims")


def _whole(value: Any, argument: str) -> None:
    if value is not None:
        integer(value, argument)


def _of_kind(kinds: str, expected: str) -> Callable[[Any, str], None]:
    def read(value: Any, argument: str) -> None:
        if value is not None and value is not np._NoValue and values(value).dtype.kind not in kinds:
            raise TypeError(f"{argument}: expected {expected}, got {value!r}")

    return read


def check_out(value: Any, argument: str = "out") -> None:
    """Refuse lists as out, which would be written to as copies, and arrays of objects, whose
    references NumPy (2.4, 2.5) miscounts in reductions.
    """
    for each in value if isinstance(value, tuple) else (value,):
        if each is not None and (not hasattr(each, "shape") or isinstance(each, np.generic)):
            raise TypeError(f"{argument}: expected an array, a Field or a storage, got {each!r}")
        if getattr(getattr(each, "dtype", None), "hasobject", False):
            raise TypeError(
                f"{argument}: expected an array of plain elements, got one of Python objects"
            )


_READERS: dict[str, Callable[[Any, str], object]] = {
    "dtype": lambda value, _: as_dtype(value), "keepdims": lambda value, _: read_keepdims(value),
    "out": check_out,
    **dict.fromkeys(("axis", "decimals", "offset"), _whole),
    **dict.fromkeys(("where", "condition"), _of_kind("b", "bools")),
    **dict.fromkeys(("indices", "kth", "repeats"), _of_kind("biu", "integers")),
    **dict.fromkeys(("b", "ddof", "initial", "max", "min", "v", "value", "values"),
    _of_kind("biufc", "numbers")),
}  # fmt: skip


def raise_named(
    error: Exception, names: Sequence[str], args: Sequence[Any], options: dict[str, Any]
) -> None:
    """Raise an error of NumPy's again in the name of the first argument that is not allowed."""
    said = {**dict(zip(names, args, strict=False)), **options}
    for name, value in {} if str(error).partition(":")[0] in said else said.items():
        if name in _READERS and not (name == "axis" and isinstance(value, str | tuple | list)):
            try:
                _READERS[name](value, name)
            except (TypeError, ValueError) as about:
                raise (
                    about if str(about).startswith(name) else type(about)(f"{name}: {about}")
                ) from None


def without_no_values(options: dict[str, Any]) -> dict[str, Any]:
    """The options without those that NumPy marks as not given."""
    return {name: value for name, value in options.items() if value is not np._NoValue}


def averaged(reduce: Callable[..., Any], weights: Any, returned: Any) -> Any:
    """`np.average` by `reduce(function, **options)`, which makes a result of what
    `function(average, array, **options)` finds; for the weights' sum NumPy is not asked again.
    """
    options = {} if weights is None else {"weights": weights}

    def plain(average: Any, *array: Any, **asked: Any) -> Any:
        return average(*array, **asked)

    if not returned:
        return reduce(plain, **options)
    scales: list[Any] = []

    def mean(average: Any, *array: Any, **asked: Any) -> Any:
        found, scale = average(*array, returned=True, **asked)
        scales.append(scale)
        return found

    return reduce(mean, **options), reduce(lambda average, *array, **asked: scales[0])


def inside(obj: Any) -> Iterator[Any]:
    """The arrays in an argument."""
    if isinstance(obj, (list, tuple)):
        for part in obj:
            yield from inside(part)
    elif isinstance(obj, dict):
        for part in obj.values():
            yield from inside(part)
    else:
        yield obj


def numbered(
    func: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    positions: Callable[[Any], tuple[int, ...]],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with the names of axes as the numbers that `positions` gives."""

    def number(value: Any) -> Any:
        if isinstance(value, str):
            found = positions(value)
            return found[0] if len(found) == 1 else found
        return positions(value) if any(isinstance(part, str) for part in inside(value)) else value

    kwargs = {key: number(value) if key in _AXIS else value for key, value in kwargs.items()}
    if any(
        isinstance(part, str)
        for arg in args
        if isinstance(arg, (str, tuple, list))
        for part in inside(arg)
    ):
        names = _parameters(func)
        args = tuple(
            number(arg) if i < len(names) and names[i] in _AXIS else arg
            for i, arg in enumerate(args)
        )
    return args, kwargs


def _parameters(func: Callable[..., Any]) -> list[str]:
    """The names of the arguments that may be given by position, up to the first *args."""
    try:
        parameters = inspect.signature(func).parameters.values()
    except (TypeError, ValueError):
        return []
    names: list[str] = []
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            break
        names.append(parameter.name)
    return names
