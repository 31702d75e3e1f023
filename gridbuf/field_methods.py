"""What users of arrays expect of a Field: reductions, conversions and the numbers that it is made
of.
"""

import operator
from collections.abc import Callable
from functools import cache
from typing import Any, NoReturn

import numpy as np

from gridbuf import _core
from gridbuf.validation import as_dtype, integer
from gridbuf.wrapping import array_protocol


def _on_host(self: _core.Field) -> _core.Field:
    return self.to(device="cpu") if isinstance(self, _core.DeviceField) else self


def _one(self: _core.Field) -> Any:
    """The array of a Field that somebody takes for a number; a GPU's only where it has one
    element.
    """
    return (_on_host(self) if self.size == 1 else self).numpy()


def _float(self: _core.Field) -> float:
    """Of a Field without indices; Python itself would read the bytes of the buffer as text."""
    return float(_one(self))


def _int(self: _core.Field) -> int:
    return int(_one(self))


def _complex(self: _core.Field) -> complex:
    return complex(_one(self))


def _index(self: _core.Field) -> int:
    return operator.index(_one(self))


def _array(self: _core.Field, dtype: Any = None, *, copy: bool | None = None) -> Any:
    """NumPy's protocol: for dtypes without a buffer format; it refuses the memory of a GPU."""
    return array_protocol(self.numpy(), dtype, copy)


def _contains(self: _core.Field, value: Any) -> bool:
    """Whether an element equals the value."""
    return bool(np.any(np.equal(_on_host(self), value)))


def to_numpy(self: _core.Field) -> Any:
    """An ndarray over the same memory, as `numpy()`: by this name storages have it, and matplotlib
    asks for it.

    Returns
    -------
    numpy.ndarray

    Raises
    ------
    TypeError
        When the memory lies on a GPU.

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.Field.ones(2, dims="K").to_numpy()
    array([1., 1.])
    """
    return self.numpy()


def item(self: _core.Field, *args: Any) -> Any:
    """One element as a Python number.

    Parameters
    ----------
    *args : int or tuple of int
        Where it is, as for `numpy.ndarray.item`; needed where there are several elements.

    Returns
    -------
    scalar

    Raises
    ------
    ValueError, IndexError
        When there are several elements, or none at that place.

    Examples
    --------
    >>> import gridbuf as gb
    >>> f = gb.Field.from_array([[1.0, 2.0], [3.0, 4.0]], dims="IJ")
    >>> f.item(1, 0)
    3.0
    """
    return _on_host(self).numpy().item(*args)


def tolist(self: _core.Field) -> Any:
    """The elements as Python numbers.

    Returns
    -------
    list, or scalar
        Nested lists; a number where there are no indices.

    Examples
    --------
    >>> import gridbuf as gb
    >>> f = gb.Field.from_array([[1.0, 2.0], [3.0, 4.0]], dims="IJ")
    >>> f.tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    return _on_host(self).numpy().tolist()


def astype(
    self: _core.Field, dtype: Any, *, casting: Any = "unsafe", copy: bool = True
) -> _core.Field:
    """A Field of another dtype with the same layout, dims, origin and halo.

    Parameters
    ----------
    dtype : dtype_like
        Of the result.
    casting : {'no', 'equiv', 'safe', 'same_kind', 'unsafe'}, optional
        Which conversions are allowed, as for `numpy.ndarray.astype`.
    copy : bool, optional
        False: this very Field where it has that dtype.

    Returns
    -------
    Field
        Of the same class.

    Raises
    ------
    TypeError
        When the conversion is not allowed.

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.Field.full((2, 2), 1.7, dims="IJ").astype("int32").tolist()
    [[1, 1], [1, 1]]
    """
    from gridbuf.arrays import empty_like

    wanted = as_dtype(dtype)
    if not copy and wanted == self.dtype:
        return self
    if not np.can_cast(self.dtype, wanted, casting):
        raise TypeError(
            f"dtype: {self.dtype} does not convert to {wanted} with casting={casting!r}"
        )
    made: _core.Field = empty_like(self, wanted)
    _core.copyto(made, self, casting="unsafe")
    return made


def fill(self: _core.Field, value: Any) -> None:
    """Give every element one value.

    Parameters
    ----------
    value : scalar
        Converted as by assignment.

    Examples
    --------
    >>> import gridbuf as gb
    >>> f = gb.Field.zeros((2, 2), dims="IJ")
    >>> f.fill(3.0)
    >>> f.tolist()
    [[3.0, 3.0], [3.0, 3.0]]
    """
    _core.fill(self, value)


def view(self: _core.Field, kind: Any = None) -> Any:
    """The same memory as another kind of array.

    Parameters
    ----------
    kind : type, optional
        `numpy.ndarray`: as `numpy()`; a class of Fields, or nothing: as a Field with the same names
        and halo.

    Returns
    -------
    numpy.ndarray or Field

    Raises
    ------
    TypeError
        When kind is neither; bytes are read as another dtype by `field.numpy().view(dtype)`.

    Examples
    --------
    >>> import gridbuf as gb, numpy as np
    >>> f = gb.Field.zeros((2, 2), dims="IJ")
    >>> type(f.view(np.ndarray)), f.view().dims
    (<class 'numpy.ndarray'>, ('I', 'J'))
    """
    if kind is np.ndarray:
        return self.numpy()
    if kind is None:
        return self[...]
    if isinstance(kind, type) and issubclass(kind, _core.Field):
        return kind(self)
    raise TypeError(
        f"kind: expected numpy.ndarray or a class of Fields, got {kind!r};"
        f" field.numpy().view({kind!r}) reads bytes anew"
    )


def tobytes(self: _core.Field) -> bytes:
    """The values as bytes, in the order of the indices.

    Returns
    -------
    bytes

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.Field.full((2,), 1, "int8", dims="I").tobytes()
    b'\\x01\\x01'
    """
    return _on_host(self).numpy().tobytes()


def round(self: _core.Field, decimals: int = 0) -> _core.Field:
    """The elements rounded, in a Field of the same names and halo.

    Parameters
    ----------
    decimals : int, optional
        How many places behind the point.

    Returns
    -------
    Field

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.Field.full((2,), 1.26, dims="I").round(1).tolist()
    [1.3, 1.3]
    """
    from gridbuf.arrays import empty_like

    found = np.round(
        self.numpy(), integer(decimals, "decimals")
    )  # without an out: NumPy has none for integers
    made: _core.Field = empty_like(self, found.dtype)
    made.numpy()[...] = found
    return made


def _itemsize(self: _core.Field) -> int:
    """Bytes of an element."""
    return int(self.dtype.itemsize)


def _flags(self: _core.Field) -> Any:
    """NumPy's (or cupy's) flags of the memory."""
    return self.cupy().flags if isinstance(self, _core.DeviceField) else self.numpy().flags


def _without_names(name: str) -> Callable[..., NoReturn]:
    def method(self: _core.Field, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            f"{name}: its result has no names for its indices, which a Field has;"
            f" field.numpy().{name}(...) is an ndarray"
        )

    method.__name__ = method.__qualname__ = name
    method.__doc__ = _REFUSED.format(name=name, argument=-1 if name == "reshape" else "")
    return method


_REFUSED = """Refused, because the indices of its result would have no names.

Parameters
----------
*args, **kwargs
    Anything.

Raises
------
TypeError
    Always; the message says what to call instead.

Examples
--------
>>> import gridbuf as gb
>>> gb.Field.zeros((1, 2), dims="IJ").numpy().{name}({argument}).size
2
"""

_ALONG = """{what}, over indices named or numbered.

Parameters
----------
axis : str, int, tuple of them, or None, optional
    Which indices: "I", "IJ", 0, ...; None: all.
*args, **kwargs
    As for `numpy.{name}`.

Returns
-------
Field or scalar
    A Field of the indices that stay, with their halo; a scalar where none does.

Raises
------
TypeError, ValueError
    When axis names no index of the Field.

Examples
--------
>>> import gridbuf as gb
>>> gb.Field.from_array([[1.0, 2.0], [3.0, 4.0]], dims="IJ").{name}("I").tolist()
{example}
"""


def _as_function(name: str, what: str, example: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def method(self: _core.Field, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        try:
            if not args and not kwargs and (whole := _whole().get(function)):
                found = _core.field_reduce(whole, self, axis)
                if found is not NotImplemented:
                    return found
            return function(self, axis, *args, **kwargs)
        except (TypeError, ValueError) as error:
            _blame(error, function, args, kwargs)
            raise

    method.__name__ = method.__qualname__ = name
    method.__doc__ = _ALONG.format(name=name, what=what, example=example)
    return method


@cache
def _whole() -> dict[Any, Any]:
    from gridbuf.numpy_functions import WHOLE

    return WHOLE


def _blame(error: Exception, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    from gridbuf.numpy_functions import POSITIONAL, blame

    names = POSITIONAL.get(
        function, ("dtype", "out") if function in (np.cumsum, np.cumprod) else ("out",)
    )
    blame(error, names, args, kwargs)


_ALONG_INDICES = {
    "sum": ("The sum", "[4.0, 6.0]"), "prod": ("The product", "[3.0, 8.0]"),
    "mean": ("The mean", "[2.0, 3.0]"),
    "std": ("The standard deviation", "[1.0, 1.0]"), "var": ("The variance", "[1.0, 1.0]"),
    "min": ("The least element", "[1.0, 2.0]"), "max": ("The greatest element", "[3.0, 4.0]"),
    "any": ("Whether any element is true", "[True, True]"),
    "all": ("Whether all elements are true", "[True, True]"),
    "argmin": ("The place of the least element", "[0, 0]"),
    "argmax": ("The place of the greatest element", "[1, 1]"),
    "cumsum": ("The running sum", "[[1.0, 2.0], [4.0, 6.0]]"),
    "cumprod": ("The running product", "[[1.0, 2.0], [3.0, 8.0]]"),
}  # fmt: skip


def clip(self: _core.Field, min: Any = None, max: Any = None, **options: Any) -> Any:
    """The elements, bounded below and above.

    Parameters
    ----------
    min, max : scalar or array_like, optional
        The bounds; Fields meet by the names of their indices.
    **options
        As for `numpy.clip`.

    Returns
    -------
    Field

    Raises
    ------
    TypeError, ValueError
        When neither bound is given, or the bounds do not fit.

    Examples
    --------
    >>> import gridbuf as gb
    >>> f = gb.Field.from_array([[1.0, 2.0], [3.0, 4.0]], dims="IJ")
    >>> f.clip(2.0, 3.0).tolist()
    [[2.0, 2.0], [3.0, 3.0]]
    """
    try:
        return np.clip(self, min, max, **options)
    except (TypeError, ValueError) as error:
        _blame(error, np.clip, (), {"min": min, "max": max, **options})
        raise


METHODS: dict[str, Any] = {
    "__float__": _float, "__int__": _int, "__complex__": _complex, "__index__": _index,
    "__contains__": _contains, "__array__": _array,
    "item": item, "to_numpy": to_numpy, "tolist": tolist, "astype": astype,
    "flags": property(_flags),
    "fill": fill, "view": view, "tobytes": tobytes, "round": round, "itemsize": property(_itemsize),
    "clip": clip,
    **{name: _without_names(name) for name in ("reshape", "ravel", "flatten", "squeeze")},
    **{name: _as_function(name, *texts) for name, texts in _ALONG_INDICES.items()},
}  # fmt: skip
