"""Burgers' equation in two dimensions, three stages of Runge and Kutta a step, as gt4py's own
notebook: functions of functions, and a copy.
"""

# ruff: noqa: F841
import sys

import gt4py.storage
import numpy as np
from gt4py.cartesian import gtscript
from gt4py.cartesian.gtscript import PARALLEL, Field, computation, interval

BACKEND = sys.argv[1]
N, HALO = 22, 3


@gtscript.function
def advection(dx, dy, u, v, phi):  # type: ignore[no-untyped-def]
    in_x = u[0, 0, 0] / (2.0 * dx) * (phi[1, 0, 0] - phi[-1, 0, 0])
    in_y = v[0, 0, 0] / (2.0 * dy) * (phi[0, 1, 0] - phi[0, -1, 0])
    return in_x + in_y


@gtscript.function
def diffusion(dx, dy, phi):  # type: ignore[no-untyped-def]
    in_x = (phi[1, 0, 0] - 2.0 * phi[0, 0, 0] + phi[-1, 0, 0]) / (dx * dx)
    in_y = (phi[0, 1, 0] - 2.0 * phi[0, 0, 0] + phi[0, -1, 0]) / (dy * dy)
    return in_x + in_y


@gtscript.stencil(backend=BACKEND, externals={"advection": advection, "diffusion": diffusion})
def stage(  # type: ignore[no-untyped-def]
    u_now: Field[np.float64], v_now: Field[np.float64], u: Field[np.float64], v: Field[np.float64],
    u_new: Field[np.float64], v_new: Field[np.float64], *, dt: float, dx: float, dy: float,
    mu: float,
):  # fmt: skip
    from __externals__ import advection, diffusion

    with computation(PARALLEL), interval(...):
        u_new = u_now + dt * (
            mu * diffusion(dx=dx, dy=dy, phi=u) - advection(dx=dx, dy=dy, u=u, v=v, phi=u)
        )
        v_new = v_now + dt * (
            mu * diffusion(dx=dx, dy=dy, phi=v) - advection(dx=dx, dy=dy, u=u, v=v, phi=v)
        )


@gtscript.stencil(backend=BACKEND)
def copy(
    a: Field[np.float64], b: Field[np.float64], to_a: Field[np.float64], to_b: Field[np.float64]
):  # type: ignore[no-untyped-def]
    with computation(PARALLEL), interval(...):
        to_a = a
        to_b = b


dx = 1.0 / N
shape, inner = (N + 2 * HALO, N + 2 * HALO, 1), (slice(HALO, -HALO), slice(HALO, -HALO))
u_now, v_now, u, v, u_new, v_new = (
    gt4py.storage.zeros(shape, np.float64, backend=BACKEND, aligned_index=(HALO, HALO, 0))
    for _ in range(6)
)
x = np.linspace(0, 1, N)
u_now[(*inner, 0)] = np.sin(np.pi * x)[:, None] * np.cos(np.pi * x)
v_now[(*inner, 0)] = np.cos(np.pi * x)[:, None] * np.sin(np.pi * x)
for _ in range(4):
    copy(u_now, v_now, u, v)
    for part in (1 / 3, 1 / 2, 1.0):
        stage(u_now=u_now, v_now=v_now, u=u, v=v, u_new=u_new, v_new=v_new, dt=1e-3 * part, dx=dx,
        dy=dx, mu=0.1,
              origin=(HALO, HALO, 0), domain=(N, N, 1))  # fmt: skip
        copy(a=u_new, b=v_new, to_a=u, to_b=v)
    u_now, v_now, u_new, v_new = u_new, v_new, u_now, v_now
print(f"{np.abs(u_now).sum():.12e} {np.abs(v_now).max():.12e}")
