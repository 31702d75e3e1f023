"""Fourth-order horizontal diffusion with a limiter, as gt4py's own example: a function,
temporaries, a coefficient of two dimensions.
"""

# ruff: noqa: F841
import sys

import gt4py.storage
import numpy as np
from gt4py.cartesian import gtscript
from gt4py.cartesian.gtscript import PARALLEL, Field, computation, interval

BACKEND = sys.argv[1]
NX, NY, NZ, HALO = 24, 20, 8, 3


@gtscript.function
def laplacian(phi):  # type: ignore[no-untyped-def]
    return 4.0 * phi[0, 0, 0] - (phi[-1, 0, 0] + phi[1, 0, 0] + phi[0, -1, 0] + phi[0, 1, 0])


@gtscript.stencil(backend=BACKEND)
def horizontal_diffusion(
    phi: Field[np.float64], alpha: Field[gtscript.IJ, np.float64], out: Field[np.float64]
):  # type: ignore[no-untyped-def]
    with computation(PARALLEL), interval(...):
        lap = laplacian(phi)
        flux_x = lap[1, 0, 0] - lap
        flux_x = 0.0 if flux_x * (phi[1, 0, 0] - phi) > 0.0 else flux_x
        flux_y = lap[0, 1, 0] - lap
        flux_y = 0.0 if flux_y * (phi[0, 1, 0] - phi) > 0.0 else flux_y
        out = phi - alpha * (flux_x - flux_x[-1, 0, 0] + flux_y - flux_y[0, -1, 0])


shape, origin = (NX + 2 * HALO, NY + 2 * HALO, NZ), (HALO, HALO, 0)
made = np.random.default_rng(1).random(shape)  # C-ordered
phi = gt4py.storage.from_array(made, np.float64, backend=BACKEND, aligned_index=origin)
alpha = gt4py.storage.full(
    shape[:2], 0.05, np.float64, backend=BACKEND, dimensions="IJ", aligned_index=origin[:2]
)
out = gt4py.storage.zeros(shape, np.float64, backend=BACKEND, aligned_index=origin)
for _ in range(5):
    horizontal_diffusion(phi, alpha, out, origin=origin, domain=(NX, NY, NZ))
    phi, out = out, phi
horizontal_diffusion(phi=made, alpha=alpha, out=out, origin=origin, domain=(NX, NY, NZ))  # by NumPy
print(f"{phi[HALO:-HALO, HALO:-HALO].sum():.12e} {out[HALO:-HALO, HALO:-HALO].sum():.12e}")
