"""gt4py stencils on our arrays and Fields against gt4py.storage's arrays, and against C-ordered
ones of np.zeros.
"""

from measure import Case

SETUP = """
import warnings, numpy as np, gridbuf as gb, gt4py.storage
from gt4py.cartesian import gtscript
from stencils import diffuse

backend, shape, halo = "{backend}", (130, 130, 80), (1, 1, 0)
stencil = gtscript.stencil(backend=backend, definition=diffuse)
def arrays(make):
    pair = [make(), make()]
    for x in pair:
        np.asarray(x)[...] = 1.0
    return pair
field_in, field_out = arrays(lambda: gb.Field.empty(shape, backend=backend, dims="IJK", halo=halo))
array_in, array_out = arrays(lambda: gb.empty(shape, backend=backend, halo=halo))
their_in, their_out = arrays(
    lambda: gt4py.storage.empty(shape, backend=backend, aligned_index=halo))
plain_in, plain_out = arrays(lambda: np.zeros(shape))
warnings.simplefilter("ignore")  # gt4py says of plain_in that C order is not what it wants
domain = (128, 128, 80)
"""
PEER = "stencil(their_in, their_out, origin=halo, domain=domain)"
PLAIN = "stencil(plain_in, plain_out, origin=halo, domain=domain)"


def _cases(backend: str, plain: float) -> list[Case]:
    setup = SETUP.format(backend=backend)
    fields = "stencil(field_in, field_out, domain=domain)"
    ours = "stencil(array_in, array_out, origin=halo, domain=domain)"
    return [
        Case(f"{backend}: np.zeros / Field", fields, PLAIN, setup, plain, faster=True, rounds=15),
        Case(
            f"{backend}: gt4py.storage / Field", fields, PEER, setup, 0.97, faster=True, rounds=15
        ),
        Case(
            f"{backend}: gt4py.storage / gb.empty", ours, PEER, setup, 0.97, faster=True, rounds=15
        ),
    ]


# C order is what gt:cpu_kfirst wants
CASES = [*_cases("gt:cpu_ifirst", 2.0), *_cases("gt:cpu_kfirst", 0.97)]
