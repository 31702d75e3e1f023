"""Large blocks: zero pages, filling again and again, and temporaries that come and go."""

from measure import Case

SETUP = """
import numpy as np, gridbuf as gb
from gridbuf.interop.numpy import memory

n = (256, 256, 80)   # 42 MB of float64
big = (512, 512, 80)   # 168 MB

def ours(shape=n):
    a = gb.empty(shape)
    a[...] = 1.5

def numpys(shape=n):
    a = np.empty(shape)
    a[...] = 1.5

@memory()
def handled(shape=n):
    a = np.empty(shape)
    a[...] = 1.5

def expression(a=np.ones(n)):
    return ((a + 1.0) * 0.5 - a).ravel()[0]

in_our_memory = memory()(expression)
"""

CASES = [
    Case("zeros 42 MB, untouched / np.zeros", "gb.zeros(n)", "np.zeros(n)", SETUP, 1.2),
    Case(
        "np.ones / ones 42 MB",
        "gb.ones(n)",
        "np.ones(n)",
        SETUP,
        3.0,
        faster=True,
        rounds=9,
        number=1,
    ),
    Case(
        "np.full / full 168 MB",
        "gb.full(big, 2.5)",
        "np.full(big, 2.5)",
        SETUP,
        3.0,
        faster=True,
        rounds=7,
        number=1,
    ),
    Case(
        "np.empty, write, drop / gb.empty 42 MB",
        "ours()",
        "numpys()",
        SETUP,
        2.0,
        faster=True,
        rounds=9,
        number=1,
    ),
    Case(
        "the same, NumPy's handler / ours",
        "handled()",
        "numpys()",
        SETUP,
        2.0,
        faster=True,
        rounds=9,
        number=1,
    ),
    Case(
        "(a + 1) * 0.5 - a, NumPy's handler / ours",
        "in_our_memory()",
        "expression()",
        SETUP,
        1.5,
        faster=True,
        rounds=9,
        number=1,
    ),
    Case(
        "zeros 42 MB of a used block, then written / np",
        "gb.zeros(n)[...] = 1.5",
        "np.zeros(n)[...] = 1.5",
        SETUP,
        1.2,
        rounds=9,
        number=1,
    ),
]
