"""What users of arrays expect of a Field: reductions, conversions and the numbers that it is made of."""

import operator
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from gridbuf import _core


def _on_host(self: _core.Field) -> _core.Field:
    return self.to(device="cpu") if isinstance(self, _core.DeviceField) else self


def _one(self: _core.Field) -> Any:
    """The array of a Field that somebody takes for a number; a GPU's only where it has one element."""
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


def _contains(self: _core.Field, value: Any) -> bool:
    """Whether an element equals the value."""
    return bool(np.any(np.equal(_on_host(self), value)))


def item(self: _core.Field, *args: Any) -> Any:
    """One element as a Python number; its place as for `ndarray.item` where there are several."""
    return _on_host(self).numpy().item(*args)


def tolist(self: _core.Field) -> Any:
    """The elements as nested lists of Python numbers."""
    return _on_host(self).numpy().tolist()


def astype(self: _core.Field, dtype: Any, *, casting: Any = "unsafe", copy: bool = True) -> _core.Field:
    """A Field of another dtype with the same layout, dims, origin and halo; with copy=False this one where it has that dtype.

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.Field.full((2, 2), 1.7, dims="IJ").astype("int32").tolist()
    [[1, 1], [1, 1]]
    """
    wanted = np.dtype(dtype)
    if not copy and wanted == self.dtype:
        return self
    if not np.can_cast(self.dtype, wanted, casting):
        raise TypeError(f"dtype: {self.dtype} does not convert to {wanted} with casting={casting!r}")
    from gridbuf.arrays import empty_like

    made: _core.Field = empty_like(self, wanted)
    _core.copyto(made, self, casting="unsafe")
    return made


def _flags(self: _core.Field) -> Any:
    """NumPy's (or cupy's) flags of the memory."""
    return self.cupy().flags if isinstance(self, _core.DeviceField) else self.numpy().flags


def _without_names(name: str) -> Callable[..., NoReturn]:
    def method(self: _core.Field, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            f"{name}: its result has no names for its indices, which a Field has; field.numpy().{name}(...) is an ndarray"
        )

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"Raises TypeError: the indices of what `{name}` gives have no names."
    return method


def _as_function(name: str, doc: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def method(self: _core.Field, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        return function(self, axis, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = doc
    return method


def _over(what: str) -> str:
    return f"{what} over the indices in `axis`: names, numbers, or all without; what stays keeps its halo. As `numpy`'s."


_REDUCTIONS = {
    "sum": "The sum", "prod": "The product", "mean": "The mean", "std": "The standard deviation", "var": "The variance",
    "min": "The least element", "max": "The greatest element", "any": "Whether any element is true", "all": "Whether all elements are true",
    "argmin": "The place of the least element", "argmax": "The place of the greatest element",
}  # fmt: skip


def clip(self: _core.Field, min: Any = None, max: Any = None, **options: Any) -> Any:
    """The elements, bounded below and above; by name."""
    return np.clip(self, min, max, **options)


METHODS: dict[str, Any] = {
    "__float__": _float, "__int__": _int, "__complex__": _complex, "__index__": _index, "__contains__": _contains,
    "item": item, "tolist": tolist, "astype": astype, "flags": property(_flags), "clip": clip,
    **{name: _without_names(name) for name in ("reshape", "ravel", "flatten", "squeeze")},
    **{name: _as_function(name, _over(what)) for name, what in _REDUCTIONS.items()},
    "cumsum": _as_function("cumsum", "The running sum along one index, named or numbered; the halo stays."),
    "cumprod": _as_function("cumprod", "The running product along one index, named or numbered; the halo stays."),
}  # fmt: skip
