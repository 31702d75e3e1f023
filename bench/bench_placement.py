"""Stencils on arrays, Fields and fields allocated in between others, against gt4py.storage's
arrays: where blocks begin decides.

GRIDBUF_PLACEMENT=packed shows what the choice of places gains, OMP_NUM_THREADS the number of
threads.
"""

from measure import Case

SETUP = """
import numpy as np, gridbuf as gb, gt4py.storage
from gt4py.cartesian import gtscript
import stencils

backend, shape, halo, n = "{backend}", {shape}, (2, 2, 0), {fields}
domain = (shape[0] - 4, shape[1] - 4, shape[2])
stencil = gtscript.stencil(backend=backend, definition=stencils.{stencil})
between = []
def ours():
    if "{way}" == "mixed":
        between.append(gb.empty((len(between) * 700_001 % 5_000_000 + 1,)))
    empty = gb.Field.empty if "{way}" == "Fields" else gb.empty
    return empty(shape, backend=backend, halo=halo)
def filled(make):
    fields = [make() for _ in range(n)]
    for x in fields:
        np.asarray(x)[...] = 1.0
    return fields
mine = filled(ours)
theirs = filled(lambda: gt4py.storage.empty(shape, backend=backend, aligned_index=halo))
"""
SHAPES = [
    (512, 128, 60),
    (256, 256, 60),
    (1024, 64, 60),
    (256, 256, 80),
    (250, 250, 60),
    (134, 134, 80),
    (128, 128, 80),
    (96, 96, 60),
]
STENCILS = {"diffuse": 2, "hdiff": 3, "vadv": 5, "many": 8}
BACKENDS = ["gt:cpu_ifirst", "gt:cpu_kfirst", "dace:cpu"]


def _case(shape: tuple[int, ...], stencil: str, backend: str, way: str) -> Case:
    call = "stencil(*{}, origin=halo, domain=domain)"
    setup = SETUP.format(
        backend=backend, shape=shape, fields=STENCILS[stencil], stencil=stencil, way=way
    )
    name = f"{backend} {stencil} {' x '.join(map(str, shape))}: gt4py.storage / {way}"
    return Case(
        name,
        call.format("mine"),
        call.format("theirs"),
        setup,
        0.95,
        faster=True,
        rounds=15,
        number=1,
    )


CASES = [
    _case(s, t, b, w)
    for b in BACKENDS
    for t in STENCILS
    for s in SHAPES
    for w in ("arrays", "Fields", "mixed")
]
