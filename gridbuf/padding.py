"""Fields with a halo around given values, Fields seen from a neighbouring point, and differences
onto faces. Blocks are taken block by block.
"""

from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.like import like_spec, names_in, of_class, prepare, renamed
from gridbuf.names import get_dims
from gridbuf.validation import integer
from gridbuf.wrapping import as_field, check_masks, naming

MODES = "constant", "edge", "wrap", "reflect", "symmetric", "empty"
Pairs = tuple[tuple[int, int], ...]


def pad(x: Any, halo: Any, mode: str = "constant", value: Any = 0, **spec: Any) -> Any:
    """A Field with the values of an array inside and a halo around them.

    Parameters
    ----------
    x : array_like, Field, storage or Blocks
        The values. Of a Field with a halo the domain is padded.
    halo : int or sequence
        The points around the values: an int for each dim of x, or an int or a (low, high) pair for
        each.
    mode : {"constant", "edge", "wrap", "reflect", "symmetric", "empty"}, optional
        The values of the halo, as `numpy.pad` has them: `value`; the outermost point; the points of
        the other end; the mirror image at the outermost point, or beyond it (the wall between it
        and the halo, as `edges="reflect"` of an exchange at centres); none.
    value : scalar, optional
        The constant.
    **spec
        The keywords of `Field.empty`. Of a Field the dims and, without `backend` or `layout`, the
        order of strides stay.

    Returns
    -------
    Field or Blocks
        Over new memory, of the dtype of x.

    Raises
    ------
    TypeError, ValueError
        When an argument is wrong; the message names it.

    Examples
    --------
    >>> import gridbuf as gb
    >>> f = gb.pad([1.0, 2.0, 4.0], 2, "edge", dims="I")
    >>> f.numpy(), f.domain.shape
    (array([1., 1., 1., 2., 4., 4., 4.]), (3,))
    """
    if getattr(type(x), "_knows_names", False):  # Blocks
        return x._mapped(lambda part: pad(part, halo, mode, value, **spec), "pad")
    if not isinstance(mode, str):
        raise TypeError(f"mode: expected a name, got {type(mode).__name__}")
    if mode not in MODES:
        raise ValueError(f"mode: {mode!r} is unknown; allowed are {', '.join(map(repr, MODES))}")
    for name in ("halo", "origin", "shape"):
        if name in spec:
            raise TypeError(f"{name}: not allowed here; the result has the halo of halo=")
    data = inner(x)
    source, spec, dtype = prepare(data, None, spec.pop("dtype", None), spec)
    pairs = read_pairs(halo, len(source.shape))
    shape = tuple(n + low + high for n, (low, high) in zip(source.shape, pairs, strict=True))
    if isinstance(data, _core.Field):
        spec = like_spec(data, {**spec, "halo": pairs})
    try:
        made = _core.Field.empty(shape, dtype, **{**spec, "halo": pairs})
    except TypeError as error:
        raise renamed(error, "pad") from None
    if isinstance(data, _core.Field) and not names_in(spec):
        made._dims_given = data._dims_given
    values = source._values() if isinstance(source, _core.Field) else np.asarray(source)
    _core.copyto(made, _core.Field(around(values, pairs, mode, value, made.dtype), dims=made.dims))
    return of_class(x, made) if isinstance(x, _core.Field) else made


def inner(x: Any) -> Any:
    """The part of an argument to pad: the domain of a Field or a storage, else all of it."""
    if isinstance(x, _core.StorageBase):
        with naming("x"):
            return _core.Field(x, halo=x.halo).domain  # type: ignore[attr-defined]
    return x.domain if isinstance(x, _core.Field) else x


def around(values: Any, pairs: Pairs, mode: str, value: Any, dtype: Any) -> Any:
    """Values with a halo in an array."""
    values = values.astype(dtype, copy=False)
    if mode in ("edge", "wrap", "reflect", "symmetric"):
        for axis, (n, pair) in enumerate(zip(values.shape, pairs, strict=True)):
            if not n and max(pair):
                raise ValueError(f"x: it has no points along axis {axis} for mode {mode!r}")
        return np.pad(values, pairs, mode=mode)  # type: ignore[call-overload]
    shape = [n + low + high for n, (low, high) in zip(values.shape, pairs, strict=True)]
    found = np.empty(shape, dtype) if mode == "empty" else np.full(shape, one(value, dtype))
    middle = tuple(slice(low, low + n) for n, (low, _) in zip(values.shape, pairs, strict=True))
    found[middle] = values
    return found


def one(value: Any, dtype: Any) -> Any:
    """A constant as an element; ValueError where the dtype cannot hold it."""
    check_masks([("value", value)])
    array = np.asarray(value)
    if array.ndim:
        raise TypeError(f"value: expected a scalar, got an array of {array.ndim} dims")
    found = element(array, dtype)
    if found is None:
        raise ValueError(f"value: {value!r} is no {dtype}")
    return found[()]


def element(
    number: np.ndarray[Any, np.dtype[Any]], dtype: np.dtype[Any]
) -> np.ndarray[Any, np.dtype[Any]] | None:
    """A number rounded to a dtype; None where that cannot hold it: an integer, an imaginary part or
    a magnitude would be lost.
    """
    if number.dtype.kind == "c" and dtype.kind != "c":
        return None
    try:
        with np.errstate(all="ignore"):
            found = number.astype(dtype)
        if dtype.kind in "biu":
            return found if bool(found == number) else None
        return found if is_finite(found) or not is_finite(number) else None
    except (TypeError, ValueError, OverflowError):
        return None


def is_finite(number: np.ndarray[Any, np.dtype[Any]]) -> bool:
    """Whether a number is neither infinite nor NaN; what is no number is neither."""
    try:
        return bool(np.isfinite(number))
    except TypeError:
        return True


def read_pairs(halo: Any, ndim: int) -> Pairs:
    """A (low, high) pair for each dim."""
    if not hasattr(halo, "__iter__"):
        return ((integer(halo, "halo", 0),) * 2,) * ndim
    given = list(halo)
    if len(given) != ndim:
        raise ValueError(f"halo: {len(given)} entries for {ndim} dims")
    found = []
    for each in given:
        pair = tuple(each) if hasattr(each, "__iter__") else (each, each)
        if len(pair) != 2:
            raise ValueError(f"halo: {each!r} is not a (low, high) pair")
        found.append((integer(pair[0], "halo", 0), integer(pair[1], "halo", 0)))
    return tuple(found)


def shift(f: Any, /, **offsets: int) -> Any:
    """The Field whose point i is another Field's point i + n: the same data, seen from a neighbour.

    The halo becomes narrower on one side and wider on the other, so that domains keep their shape.

    Parameters
    ----------
    f : Field, storage or Blocks
        With a halo as wide as the offsets.
    **offsets : int
        By the names of dims, in points: `I=1` is the neighbour above, `I=-1` the one below.

    Returns
    -------
    Field or Blocks
        Over the same memory.

    Raises
    ------
    TypeError, ValueError
        When an offset is no integer, names no dim, or reaches beyond the halo.

    Examples
    --------
    >>> import gridbuf as gb
    >>> f = gb.pad([1.0, 2.0, 4.0], 1, "edge", dims="I")
    >>> (gb.shift(f, I=1).domain - f.domain).tolist()
    [1.0, 2.0, 0.0]
    """
    if getattr(type(f), "_knows_names", False):  # Blocks
        return f._mapped(lambda part: shift(part, **offsets), "shift")
    field = as_named(f)
    pairs = [tuple(pair) for pair in field.halo or ((0, 0),) * field.ndim]
    for name, given in offsets.items():
        n = integer(given, name)
        axis = axis_of(field, name, "offsets")
        low, high = pairs[axis]
        if not -low <= n <= high:
            raise ValueError(
                f"{name}: an offset of {n}, and the halo of {low} and {high} points allows"
                f" {-low} to {high}"
            )
        pairs[axis] = low + n, high - n
    return around_same(field, field, pairs)


def diff(f: Any, axis: Any) -> Any:
    """Forward differences along a dim: from centres to the faces above them.

    Parameters
    ----------
    f : Field, storage or Blocks
        With its halo, which counts.
    axis : str or int
        The dim.

    Returns
    -------
    Field or Blocks
        `numpy.diff` of the whole array: one point fewer along the dim, which keeps its name. The
        low halo stays, the high one is a point narrower.

    Raises
    ------
    TypeError, ValueError
        When axis names no dim, or there are no points along it.

    Examples
    --------
    >>> import gridbuf as gb
    >>> f = gb.pad([1.0, 2.0, 4.0], 1, "edge", dims="I")
    >>> d = gb.diff(f, "I")
    >>> d.tolist(), d.halo
    ([0.0, 1.0, 2.0, 0.0], ((1, 0),))
    """
    if getattr(type(f), "_knows_names", False):  # Blocks
        return f._mapped(lambda part: diff(part, axis), "diff")
    field = as_named(f)
    at = axis_of(field, axis, "axis")
    if not field.shape[at]:
        raise ValueError(f"axis: there are no points along {field.dims[at]}")
    pairs = [tuple(pair) for pair in field.halo or ((0, 0),) * field.ndim]
    pairs[at] = pairs[at][0], max(pairs[at][1] - 1, 0)
    if sum(pairs[at]) > field.shape[at] - 1:
        pairs[at] = field.shape[at] - 1, 0
    before = [slice(None)] * field.ndim
    after = list(before)
    after[at], before[at] = slice(1, None), slice(None, -1)
    upper = around_same(field, field[tuple(after)], pairs)
    lower = around_same(field, field[tuple(before)], pairs)
    return np.not_equal(upper, lower) if field.dtype == bool else upper - lower


def as_named(f: Any) -> _core.Field:
    """An argument as a Field; arrays without names have none to be shifted along."""
    if isinstance(f, _core.Field):
        return f
    if isinstance(f, _core.StorageBase):
        return _core.Field(f, halo=f.halo)  # type: ignore[attr-defined]
    if get_dims(f) is None:
        raise TypeError(f"f: expected a Field, a storage or Blocks, got {type(f).__name__}")
    return as_field(f, "f")


def around_same(lead: _core.Field, part: Any, pairs: Any) -> Any:
    """Memory of a Field with another halo."""
    return of_class(lead, _core.Field(part, dims=lead.dims, halo=tuple(pairs)))


def axis_of(field: _core.Field, name: Any, what: str) -> int:
    """The axis of a dim by its name or number."""
    if isinstance(name, str):
        if name not in field.dims:
            raise ValueError(f"{what}: {name!r} is not among the dims {field.dims}")
        return field.dims.index(name)
    n = integer(name, what)
    if not -field.ndim <= n < field.ndim:
        raise ValueError(f"{what}: {n}, and the Field has {field.ndim} dims")
    return n % field.ndim
