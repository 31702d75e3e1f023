"""The stencils that benches time; gt4py reads its source, so it lives in a file."""

import numpy as np
from gt4py.cartesian import gtscript
from gt4py.cartesian.gtscript import PARALLEL, computation, interval

_Field = gtscript.Field[np.float64]


def diffuse(inp: gtscript.Field[np.float64], out: gtscript.Field[np.float64]) -> None:
    with computation(PARALLEL), interval(...):
        out = inp + 0.1 * (inp[1, 0, 0] + inp[-1, 0, 0] + inp[0, 1, 0] + inp[0, -1, 0] - 4.0 * inp)  # noqa: F841


def five(a: _Field, b: _Field, c: _Field, d: _Field, e: _Field) -> None:
    with computation(PARALLEL), interval(...):
        e = a[1, 0, 0] + b + c + d[0, -1, 0]  # noqa: F841
