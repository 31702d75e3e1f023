"""The stencils that benches time; gt4py reads its source, so it lives in a file."""

import numpy as np
from gt4py.cartesian import gtscript
from gt4py.cartesian.gtscript import (
    BACKWARD,
    FORWARD,
    PARALLEL,
    computation,
    exp,
    interval,
    log,
)

_Field = gtscript.Field[np.float64]


def diffuse(inp: gtscript.Field[np.float64], out: gtscript.Field[np.float64]) -> None:
    with computation(PARALLEL), interval(...):
        out = inp + 0.1 * (inp[1, 0, 0] + inp[-1, 0, 0] + inp[0, 1, 0] + inp[0, -1, 0] - 4.0 * inp)  # noqa: F841


def five(a: _Field, b: _Field, c: _Field, d: _Field, e: _Field) -> None:
    with computation(PARALLEL), interval(...):
        e = a[1, 0, 0] + b + c + d[0, -1, 0]  # noqa: F841


def fifty(
    f0: _Field, f1: _Field, f2: _Field, f3: _Field, f4: _Field, f5: _Field, f6: _Field,
    f7: _Field, f8: _Field, f9: _Field, f10: _Field, f11: _Field, f12: _Field, f13: _Field,
    f14: _Field, f15: _Field, f16: _Field, f17: _Field, f18: _Field, f19: _Field, f20: _Field,
    f21: _Field, f22: _Field, f23: _Field, f24: _Field, f25: _Field, f26: _Field, f27: _Field,
    f28: _Field, f29: _Field, f30: _Field, f31: _Field, f32: _Field, f33: _Field, f34: _Field,
    f35: _Field, f36: _Field, f37: _Field, f38: _Field, f39: _Field, f40: _Field, f41: _Field,
    f42: _Field, f43: _Field, f44: _Field, f45: _Field, f46: _Field, f47: _Field, f48: _Field,
    out: _Field,
) -> None:  # fmt: skip
    with computation(PARALLEL), interval(...):
        out = f0 + f1 + f2 + f47 + f48  # noqa: F841


def hdiff(inp: _Field, coeff: _Field, out: _Field) -> None:
    with computation(PARALLEL), interval(...):
        lap = 4.0 * inp - (inp[1, 0, 0] + inp[-1, 0, 0] + inp[0, 1, 0] + inp[0, -1, 0])
        flx = lap[1, 0, 0] - lap
        fly = lap[0, 1, 0] - lap
        out = inp - coeff * (flx - flx[-1, 0, 0] + fly - fly[0, -1, 0])  # noqa: F841


def vadv(a: _Field, b: _Field, c: _Field, d: _Field, out: _Field) -> None:
    with computation(FORWARD):
        with interval(0, 1):
            c = c / b
            out = d / b
        with interval(1, None):
            c = c / (b - a * c[0, 0, -1])
            out = (d - a * out[0, 0, -1]) / (b - a * c[0, 0, -1])
    with computation(BACKWARD), interval(0, -1):
        out = out - c * out[0, 0, 1]


def many(
    a: _Field, b: _Field, c: _Field, d: _Field, e: _Field, f: _Field, g: _Field, out: _Field
) -> None:
    with computation(PARALLEL), interval(...):
        out = a[1, 0, 0] + b[-1, 0, 0] + c[0, 1, 0] + d[0, -1, 0] + e * f + g  # noqa: F841


def diffusion_step(u: _Field, w: _Field, out: _Field) -> None:
    with computation(PARALLEL), interval(...):
        out = u + 0.1 * (u[1, 0, 0] + u[-1, 0, 0] + u[0, 1, 0] + u[0, -1, 0] - 4.0 * u)  # noqa: F841


def upwind_step(u: _Field, w: _Field, out: _Field) -> None:
    with computation(PARALLEL), interval(...):
        out = u - 0.1 * w * (u - u[-1, 0, 0] if w > 0 else u[1, 0, 0] - u)  # noqa: F841


def saturation_step(u: _Field, w: _Field, out: _Field) -> None:
    with computation(PARALLEL), interval(...):
        t = u + 280.0
        saturated = 0.0038 * exp(17.27 * (t - 273.16) / (t - 35.86))
        more = w - saturated if w > saturated else 0.0
        out = t + 2490.0 * more / (1.0 + 9.4e6 * saturated / (t * t)) - 0.01 * log(t)  # noqa: F841
