"""Gufuncs that say which elements failed.

`from_ufunc` takes the loops of an existing ufunc; `GUFunc` builds one from compiled
kernels; `inv`, `solve`, `tridiagonal` and others come with the package.

>>> import numpy as np
>>> from gridbuf import gufunc
>>> inv = gufunc.from_ufunc(np.linalg._umath_linalg.inv)
>>> stack = np.stack([np.eye(2), np.zeros((2, 2))])
>>> try:
...     inv(stack)
... except gufunc.PartialSuccess as error:
...     error.failed
array([False,  True])
"""

from typing import TYPE_CHECKING

from gridbuf.common import on_demand

if TYPE_CHECKING:
    from gridbuf.gufunc.public import *  # noqa: F403

__getattr__, __dir__ = on_demand(__name__)
