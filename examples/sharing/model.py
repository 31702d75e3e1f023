"""A model that works on the memory of a service in Go (main.go): diffusion by a gt4py stencil.

go run ./examples/sharing unix:/tmp/ocean        # in one terminal
python examples/sharing/model.py unix:/tmp/ocean # in another
"""

import sys

import numpy as np
from gt4py.cartesian import gtscript
from gt4py.cartesian.gtscript import PARALLEL, Field, computation, interval

import gridbuf as gb

BACKEND = "gt:cpu_ifirst"  # for which the service lays out its memory


@gtscript.stencil(backend=BACKEND)
def diffuse(u: Field[np.float64], out: Field[np.float64], c: float):
    with computation(PARALLEL), interval(...):
        out = u + c * (u[1, 0, 0] + u[-1, 0, 0] + u[0, 1, 0] + u[0, -1, 0] - 4.0 * u)  # noqa: F841


def main(address: str) -> None:
    heat = gb.attach(address, "heat", writable=True)
    print(f"attached {''.join(heat.dims)} {heat.shape}, halo {heat.halo}")
    out = gb.zeros_like(heat)
    for _ in range(10):
        diffuse(heat, out, 0.1, domain=heat.gt_domain)
        diffuse(out, heat, 0.1, domain=heat.gt_domain)
    print(f"largest value: {float(heat.domain.max()):.3f}")


if __name__ == "__main__":
    main(sys.argv[1])
