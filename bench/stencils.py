"""The stencil that bench_stencil times; gt4py reads its source, so it lives in a file."""

import numpy as np
from gt4py.cartesian import gtscript
from gt4py.cartesian.gtscript import PARALLEL, computation, interval


def diffuse(inp: gtscript.Field[np.float64], out: gtscript.Field[np.float64]) -> None:
    with computation(PARALLEL), interval(...):
        out = inp + 0.1 * (inp[1, 0, 0] + inp[-1, 0, 0] + inp[0, 1, 0] + inp[0, -1, 0] - 4.0 * inp)  # noqa: F841
