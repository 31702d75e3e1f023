"""NumPy through the buffer protocol: `np.asarray`."""

from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.consumers.consumer import Consumer


class Asarray(Consumer):
    """NumPy reads the buffer protocol first, and `__array__` for what that has no format for."""

    package, modules = "numpy", ("numpy",)
    takes, gives = "np.asarray(field)", "gb.Field(array)"

    def take(self, field: _core.Field) -> Any:
        return np.asarray(field)


consumer = Asarray
