"""The gufuncs that come with gridbuf, made when they are first asked for."""

from functools import cache
from typing import Any

from gridbuf import _core
from gridbuf.gufunc.call import GUFunc
from gridbuf.gufunc.states import shipped as shipped_states

_SIGNATURES = {
    "inv": ("(n,n)->(n,n)", "The inverse of each matrix; singular ones fail."),
    "det": ("(n,n)->()", "The determinant of each matrix."),
    "solve": ("(n,n),(n)->(n)", "Solve a x = b for each matrix a and vector b; singular ones fail."),
    "cholesky": ("(n,n)->(n,n)", "The lower Cholesky factor; matrices that are not positive definite fail."),
    "tridiagonal": ("(k),(k),(k),(k)->(k)", "Solve tridiagonal systems: lower, main and upper diagonal, right-hand side."),
    "dot": ("(n),(n)->()", "The inner product of vectors."),
    "matvec": ("(m,n),(n)->(m)", "Matrix times vector."),
    "sqrt": ("()->()", "The square root; negative numbers fail."),
    "divide": ("(),()->()", "The quotient; a zero divisor fails."),
    "argmin": ("(n)->()", "The index of the least element; rows with a nan or without elements fail."),
    "argmax": ("(n)->()", "The index of the greatest element."),
    "minmax": ("(n)->(),()", "The least and the greatest element in one pass."),
    "moments": ("(n)->(),()", "The mean and the variance in one pass."),
}
NAMES = (*_SIGNATURES, "log", "power")


class Shipped(GUFunc):
    """A gufunc whose kernels are part of gridbuf."""

    def __new__(cls, signature: str, *args: Any, name: str = "", **kwargs: Any) -> "Shipped":
        return _core.GUFunc.__new__(cls, name, None, 0)

    def __reduce__(self) -> Any:
        return make, (self.name,)


@cache
def make(name: str) -> GUFunc:
    """The shipped gufunc of a name, the same one each time."""
    if name in ("log", "power"):
        import numpy as np

        from gridbuf.gufunc.adopted import adopt

        return adopt(getattr(np, name))
    signature, doc = _SIGNATURES[name]
    return Shipped(signature, kernels=shipped_states(name), name=name, doc=doc)
