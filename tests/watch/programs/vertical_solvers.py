"""A tridiagonal solver and implicit vertical advection, as gt4py's own examples: loops up and down,
intervals, two stencils of one model.
"""

import sys

import gt4py.storage
import numpy as np
from gt4py.cartesian import gtscript
from gt4py.cartesian.gtscript import BACKWARD, FORWARD, Field, computation, interval

BACKEND = sys.argv[1]
SHAPE = (16, 12, 30)


@gtscript.stencil(backend=BACKEND)
def tridiagonal(
    low: Field[np.float64],
    mid: Field[np.float64],
    high: Field[np.float64],
    rhs: Field[np.float64],
    out: Field[np.float64],
):  # type: ignore[no-untyped-def]
    with computation(FORWARD):
        with interval(0, 1):
            high = high / mid
            rhs = rhs / mid
        with interval(1, None):
            high = high / (mid - high[0, 0, -1] * low)
            rhs = (rhs - low * rhs[0, 0, -1]) / (mid - high[0, 0, -1] * low)
    with computation(BACKWARD):
        with interval(-1, None):
            out = rhs
        with interval(0, -1):
            out = rhs - high * out[0, 0, 1]


@gtscript.stencil(backend=BACKEND, externals={"WEIGHT": 0.5})
def vertical_advection(
    tendency: Field[np.float64], w: Field[np.float64], u: Field[np.float64], *, dt: float
):  # type: ignore[no-untyped-def]
    from __externals__ import WEIGHT

    with computation(FORWARD):
        with interval(0, 1):
            upper = WEIGHT * w[0, 0, 1]
            diagonal = 1.0 / dt - upper
            c = upper / diagonal
            d = (u / dt + tendency) / diagonal
        with interval(1, -1):
            lower = -WEIGHT * w
            upper = WEIGHT * w[0, 0, 1]
            diagonal = 1.0 / dt - lower - upper - c[0, 0, -1] * lower
            c = upper / diagonal
            d = (u / dt + tendency - d[0, 0, -1] * lower) / diagonal
        with interval(-1, None):
            lower = -WEIGHT * w
            diagonal = 1.0 / dt - lower - c[0, 0, -1] * lower
            d = (u / dt + tendency - d[0, 0, -1] * lower) / diagonal
    with computation(BACKWARD):
        with interval(-1, None):
            x = d
        with interval(0, -1):
            x = d - c * x[0, 0, 1]
    with computation(BACKWARD), interval(...):
        tendency = (x - u) / dt


def storage(values):  # type: ignore[no-untyped-def]
    return gt4py.storage.from_array(values, np.float64, backend=BACKEND, aligned_index=(0, 0, 0))


random = np.random.default_rng(2)
low, high, rhs = (storage(random.random(SHAPE)) for _ in range(3))
mid, out = storage(np.full(SHAPE, 4.0)), gt4py.storage.empty(SHAPE, np.float64, backend=BACKEND)
expected = np.array([np.linalg.solve(np.diag(mid[i, j]) + np.diag(low[i, j, 1:],
-1) + np.diag(high[i, j, :-1], 1), rhs[i, j])
                     for i in range(SHAPE[0]) for j in range(SHAPE[1])]).reshape(SHAPE)  # fmt: skip
tridiagonal(low, mid, high, rhs, out)
u = storage(random.random(SHAPE))
w = storage(0.01 * random.random(SHAPE))
tendency = storage(np.zeros(SHAPE))
for _ in range(3):
    vertical_advection(tendency, w, u, dt=0.1, domain=SHAPE)
    u += 0.1 * tendency
print(f"{np.abs(out - expected).max() < 1e-13} {u.sum():.12e}")
