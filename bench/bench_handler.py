"""A time loop without edits, with NumPy's own memory and with ours
(gridbuf.interop.numpy); and with ours beside glibc's malloc, told by its two variables to keep
large blocks.

Advection and diffusion with gt4py: every step makes its temporaries anew, as model code does
(gt4py.storage and NumPy expressions), and drops them.
"""

import glibc_peer
from measure import Case

SETUP = """
import numpy as np, gt4py.storage
from gt4py.cartesian import gtscript
from gridbuf.interop.numpy import memory
from stencils import diffuse

backend, shape, halo = "{backend}", {shape}, (1, 1, 0)
domain = (shape[0] - 2, shape[1] - 2, shape[2])
stencil = gtscript.stencil(backend=backend, definition=diffuse)
state = gt4py.storage.ones(shape, np.float64, backend=backend, aligned_index=halo)

def loop(steps={steps}):
    now = state
    for _ in range(steps):
        smooth = gt4py.storage.empty(shape, np.float64, backend=backend, aligned_index=halo)
        smooth[...] = now
        stencil(now, smooth, origin=halo, domain=domain)
        flux = smooth - now
        limited = np.clip(flux, -1e-3, 1e-3)
        now = smooth + 0.5 * limited
    return float(now[3, 3, 3])

with_ours = memory()(loop)
assert with_ours() == loop()
"""

CASES = [
    Case(
        f"time loop on {backend}, {'x'.join(map(str, shape))}: without / with",
        "with_ours()",
        "loop()",
        SETUP.format(backend=backend, shape=shape, steps=steps),
        target,
        faster=True,
        rounds=9,
        number=1,
    )
    for backend, shape, steps, target in (
        ("gt:cpu_ifirst", (130, 130, 80), 10, 1.1),
        ("gt:cpu_ifirst", (258, 258, 80), 3, 1.3),
        ("numpy", (130, 130, 80), 6, 1.5),
        ("numpy", (34, 34, 80), 40, 0.95),
    )
]


def facts() -> list[glibc_peer.Fact]:
    return glibc_peer.facts({case.name.removesuffix(": without / with"): case for case in CASES})
