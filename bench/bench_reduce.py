"""g.reduce against NumPy's reductions: small arrays, every order of memory, small ints, extremes
and where they are.
"""

from measure import Case

SETUP = """
import numpy as np
from gridbuf import gufunc
r = np.random.default_rng(0)
add, most = gufunc.from_ufunc(np.add), gufunc.from_ufunc(np.maximum)
x3, x100, x1000 = r.random(3), r.random(100), r.random(1000)
fortran = np.asfortranarray(r.random((200, 200, 200)))
cube = r.random((200, 200, 200))
rows = {t: r.random((5000, 1000)).astype(t) for t in "fd"}
ints = {t: r.integers(0, 100, 10**7).astype(t) for t in ("i1", "i2", "i4")}
"""


def _case(name: str, ours: str, peer: str, target: float, number: int = 0, rounds: int = 9) -> Case:
    return Case(name, ours, peer, SETUP, target, rounds=rounds, number=number)


CASES = [
    *(
        _case(
            f"add.reduce of {n} elements / np.add.reduce",
            f"add.reduce(x{n})",
            f"np.add.reduce(x{n})",
            4,
        )
        for n in (3, 100, 1000)
    ),
    _case(
        "add.reduce(axis=None), F order",
        "add.reduce(fortran, axis=None)",
        "np.add.reduce(fortran, axis=None)",
        1.2,
        1,
    ),
    *(
        _case(
            f"maximum.reduce(axis={axis})",
            f"most.reduce(cube, axis={axis})",
            f"np.maximum.reduce(cube, axis={axis})",
            1.2,
            1,
        )
        for axis in (0, 1, 2, None)
    ),
    *(
        _case(
            f"add.reduce of {t}",
            f"add.reduce(ints['{t}'])",
            f"np.add.reduce(ints['{t}'])",
            1.2,
            1,
            rounds=15,
        )
        for t in ("i1", "i2", "i4")
    ),
    *(
        _case(
            f"gufunc.argmax, rows of 1000 {t}",
            f"gufunc.argmax(rows['{t}'])",
            f"rows['{t}'].argmax(axis=1)",
            1.2,
            1,
        )
        for t in "fd"
    ),
]
