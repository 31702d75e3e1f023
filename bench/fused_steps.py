"""The steps that bench_fused.py times: in NumPy notation, as one loop for numba, for numexpr and
for gt4py, which reads its source.
"""

from typing import Any

import numpy as np

I, J = slice(1, -1), slice(1, -1)  # the points whose neighbours are there

# ---- NumPy notation: what gb.fused and jax.jit are given


def diffusion(u: Any, w: Any) -> Any:
    lap = u[2:, J] + u[:-2, J] + u[I, 2:] + u[I, :-2] - 4.0 * u[I, J]
    return u[I, J] + 0.1 * lap


def upwind(u: Any, w: Any) -> Any:
    here, wind = u[I, J], w[I, J]
    return here - 0.1 * wind * np.where(wind > 0, here - u[:-2, J], u[2:, J] - here)


def saturation(u: Any, w: Any) -> Any:
    t, q = u[I, J] + 280.0, w[I, J]
    saturated = 0.0038 * np.exp(17.27 * (t - 273.16) / (t - 35.86))
    excess = np.where(q > saturated, (q - saturated) / (1.0 + 9.4e6 * saturated / (t * t)), 0.0)
    return t + 2490.0 * excess - 0.01 * np.log(t)


# ---- NumPy, whose last operation writes into memory that is there


def diffusion_into(u: Any, w: Any, out: Any) -> None:
    lap = u[2:, J] + u[:-2, J] + u[I, 2:] + u[I, :-2] - 4.0 * u[I, J]
    np.add(u[I, J], 0.1 * lap, out=out)


def upwind_into(u: Any, w: Any, out: Any) -> None:
    here, wind = u[I, J], w[I, J]
    flux = 0.1 * wind * np.where(wind > 0, here - u[:-2, J], u[2:, J] - here)
    np.subtract(here, flux, out=out)


def saturation_into(u: Any, w: Any, out: Any) -> None:
    t, q = u[I, J] + 280.0, w[I, J]
    saturated = 0.0038 * np.exp(17.27 * (t - 273.16) / (t - 35.86))
    excess = np.where(q > saturated, (q - saturated) / (1.0 + 9.4e6 * saturated / (t * t)), 0.0)
    np.subtract(t + 2490.0 * excess, 0.01 * np.log(t), out=out)


# ---- numexpr


def views(u: Any, w: Any) -> dict[str, Any]:
    return {
        "c": u[I, J], "n": u[2:, J], "s": u[:-2, J], "e": u[I, 2:], "o": u[I, :-2], "w": w[I, J],
    }  # fmt: skip


T = "(c + 280.0)"
SATURATED = f"(0.0038 * exp(17.27 * ({T} - 273.16) / ({T} - 35.86)))"
NUMEXPR = {
    "diffusion": "c + 0.1 * (n + s + e + o - 4.0 * c)",
    "upwind": "c - 0.1 * w * where(w > 0, c - s, n - c)",
    "saturation": f"{T} + 2490.0 * where(w > {SATURATED}, (w - {SATURATED}) / (1.0 + 9.4e6 *"
    f" {SATURATED} / ({T} * {T})), 0.0) - 0.01 * log({T})",
}


# ---- numba: one loop by hand. a, b and c are the axes from the slowest to the fastest.


def numba_loops(parallel: bool, axes: tuple[int, int, int]) -> dict[str, Any]:
    """Functions of (u, w, out) for whole fields; `axes` are those of I, J and K, slowest first."""
    import math

    import numba

    compiled = numba.njit(parallel=parallel)
    inline = numba.njit(inline="always")

    @inline
    def diffused(u: Any, w: Any, i: int, j: int, k: int) -> Any:
        lap = u[i + 1, j, k] + u[i - 1, j, k] + u[i, j + 1, k] + u[i, j - 1, k] - 4.0 * u[i, j, k]
        return u[i, j, k] + 0.1 * lap

    @inline
    def blown(u: Any, w: Any, i: int, j: int, k: int) -> Any:
        here, wind = u[i, j, k], w[i, j, k]
        step = here - u[i - 1, j, k] if wind > 0 else u[i + 1, j, k] - here
        return here - 0.1 * wind * step

    @inline
    def adjusted(u: Any, w: Any, i: int, j: int, k: int) -> Any:
        t, q = u[i, j, k] + 280.0, w[i, j, k]
        saturated = 0.0038 * math.exp(17.27 * (t - 273.16) / (t - 35.86))
        excess = (q - saturated) / (1.0 + 9.4e6 * saturated / (t * t)) if q > saturated else 0.0
        return t + 2490.0 * excess - 0.01 * math.log(t)

    def looped(point: Any) -> Any:
        if axes == (0, 1, 2):

            def run(u: Any, w: Any, out: Any) -> None:
                for i in numba.prange(1, u.shape[0] - 1):
                    for j in range(1, u.shape[1] - 1):
                        for k in range(u.shape[2]):
                            out[i, j, k] = point(u, w, i, j, k)

        else:

            def run(u: Any, w: Any, out: Any) -> None:
                for k in numba.prange(u.shape[2]):
                    for j in range(1, u.shape[1] - 1):
                        for i in range(1, u.shape[0] - 1):
                            out[i, j, k] = point(u, w, i, j, k)

        return compiled(run)

    each = {"diffusion": diffused, "upwind": blown, "saturation": adjusted}
    return {name: looped(point) for name, point in each.items()}


# ---- gt4py


def gt4py_stencils(backend: str) -> dict[str, Any]:
    from gt4py.cartesian import gtscript
    from stencils import diffusion_step, saturation_step, upwind_step

    return {
        "diffusion": gtscript.stencil(backend=backend, definition=diffusion_step),
        "upwind": gtscript.stencil(backend=backend, definition=upwind_step),
        "saturation": gtscript.stencil(backend=backend, definition=saturation_step),
    }
