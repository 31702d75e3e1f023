"""For programs on gt4py that also allocate by NumPy: `gridbuf.interop.gt4py.install` and
`gridbuf.interop.numpy.enable` together.
"""

import importlib
import warnings
from collections.abc import Callable

from gridbuf.interop import numpy as handler


def hold(package: str) -> Callable[[], None]:
    """Both, until the result is called; NumPy's alone, and a warning, where gt4py has not what the
    other needs.
    """
    storage: Callable[[], None] | None = None
    try:
        storage = importlib.import_module("gridbuf.interop.gt4py").hold()
    except (ImportError, AttributeError) as error:
        warnings.warn(
            f"gridbuf.interop.{package}: gt4py's own storages stay its own ({error});"
            " NumPy's arrays are in gridbuf's memory",
            RuntimeWarning,
            stacklevel=2,
        )
    memory = handler.hold()

    def off() -> None:
        memory()
        if storage is not None:
            storage()

    return off
