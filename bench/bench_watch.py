"""Programs with and without `gridbuf watch`'s collectors: steps of about a millisecond, the worst
that can be watched.

What installing the collectors costs is in it, as it is in a program.
"""

from measure import Case

SETUP = """
import numpy as np
from gridbuf.watch.records import Book
from gridbuf.watch import install

def watched():
    undo = install(Book())
    try:
        return loop()
    finally:
        undo()
"""

NUMPY = """
a = np.random.default_rng(0).random((300, 300))
def loop(steps=400):
    now = a
    for _ in range(steps):                                    # ten blocks of 720 kB, one conversion
        flux = np.diff(now, axis=0, append=0.0)
        limited = np.clip(flux, -1e-3, 1e-3)
        smooth = now + 0.5 * limited - 0.1 * flux
        now = np.asarray(smooth, order="F") * 0.5 + 0.5 * np.ascontiguousarray(now)
    return now
loop(10)
"""

STENCIL = """
import gt4py.storage
from gt4py.cartesian import gtscript
from stencils import diffuse

shape, halo = (66, 66, 28), (1, 1, 0)
stencil = gtscript.stencil(backend="numpy", definition=diffuse)
one, two = (gt4py.storage.ones(shape, np.float64, backend="numpy", aligned_index=halo)
    for _ in range(2))
def loop(steps=300):
    # two calls of two fields, and their temporaries
    for _ in range(steps):
        stencil(one, two, origin=halo, domain=(64, 64, 28))
        stencil(two, one, origin=halo, domain=(64, 64, 28))
loop(10)
"""

FIFTY = """
from gt4py.cartesian import gtscript
from stencils import fifty

stencil = gtscript.stencil(backend="numpy", definition=fifty)
fields = {f"f{i}": np.ones((64, 64, 56)) for i in range(49)} | {"out": np.ones((64, 64, 56))}
def loop(steps=200):
    for _ in range(steps):                                    # a call of fifty fields
        stencil(**fields)
loop(10)
"""

CASES = [
    Case(name, "watched()", "loop()", SETUP + setup, 1.1, rounds=11, number=1)
    for name, setup in (
        ("NumPy: ten temporaries and a conversion a step: watched / not", NUMPY),
        ("gt4py on numpy: two calls a step: watched / not", STENCIL),
        ("gt4py on numpy: fifty fields a call: watched / not", FIFTY),
    )
]
