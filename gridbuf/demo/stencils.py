# mypy: disable-error-code="valid-type, no-untyped-call, no-untyped-def, index"
# (the annotations of a stencil are gtscript, not Python types)
"""The stencil, and the backends of gt4py that can run it on this machine. Importing this imports
gt4py.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from gt4py.cartesian import gtscript
from gt4py.cartesian.backend import REGISTRY
from gt4py.cartesian.gtscript import PARALLEL, Field, computation, interval

HALO = 1
COEFFICIENT = 0.2  # dt * K / dx**2; stable below 0.25
PURE_PYTHON = frozenset({"debug"})  # a Python loop over every point: for checks on small grids only


def diffusion(inp: Field[np.float64], out: Field[np.float64], coefficient: float):
    """One explicit step of horizontal diffusion, d(theta)/dt = K * laplacian(theta)."""
    with computation(PARALLEL), interval(...):
        out = inp + coefficient * (  # noqa: F841 (gt4py reads the source)
            inp[-1, 0, 0] + inp[1, 0, 0] + inp[0, -1, 0] + inp[0, 1, 0] - 4.0 * inp
        )


def cpu_backends() -> list[str]:
    """What gt4py has registered for the CPU, NumPy first."""
    names = [name for name in REGISTRY.names if REGISTRY[name].storage_info["device"] == "cpu"]
    return sorted(
        names, key=lambda name: (not name.startswith("numpy"), not name.startswith("gt:"), name)
    )


def compiled(backend: str) -> Callable[..., None]:
    """The diffusion stencil for a backend, from gt4py's cache where it is there already."""
    stencil: Callable[..., Any] = gtscript.stencil(backend=backend)(diffusion)
    return stencil
