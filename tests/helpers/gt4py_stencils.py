"""The stencil of test_gt4py; gt4py reads its source, so it lives in a file of its own."""

from typing import Any

import numpy as np
from gt4py.cartesian import gtscript
from gt4py.cartesian.gtscript import PARALLEL, computation, interval


def laplace(inp: gtscript.Field[np.float64], out: gtscript.Field[np.float64]) -> None:
    with computation(PARALLEL), interval(...):
        out = -4.0 * inp + inp[1, 0, 0] + inp[-1, 0, 0] + inp[0, 1, 0] + inp[0, -1, 0]  # noqa: F841


def compiled(backend: str) -> Any:
    return gtscript.stencil(backend=backend, definition=laplace)
