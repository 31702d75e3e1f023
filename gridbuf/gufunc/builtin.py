"""The gufuncs that come with gridbuf, made when they are first asked for."""

from functools import cache
from typing import Any, Self

from gridbuf import _core
from gridbuf.gufunc.call import GUFunc

_LOOPS, _STATES = _core.gufunc_builtins()
_KNOWN = {name: (signature, doc) for name, signature, doc in _LOOPS}
NAMES = (*_KNOWN, "log", "power")


class Builtin(GUFunc):
    """A gufunc whose kernels are part of gridbuf."""

    def __new__(cls, name: str) -> Self:
        g = _core.GUFunc.__new__(cls, name, None, 0)
        signature, doc = _KNOWN[name]
        g._set_up(signature, name, doc)
        g._states = list(enumerate(types for own, types in _STATES if own == name))
        return g

    def __reduce__(self) -> Any:
        return make, (self.name,)


@cache
def make(name: str) -> GUFunc:
    """The gufunc of a name, the same one each time."""
    if name in ("log", "power"):
        import numpy as np

        from gridbuf.gufunc.adopted import from_ufunc

        return from_ufunc(getattr(np, name))
    return Builtin(name)
