"""Exact sums against NumPy's, which round at every step: one thread and all, each type."""

from measure import Case

SETUP = """
import numpy as np, gridbuf as gb
from gridbuf import exact
r = np.random.default_rng(0)
n = 10**7
x, y = r.standard_normal(n), r.standard_normal(n)
gb.set_num_threads({threads})
"""
WIDE = SETUP + "x = np.exp(10 * x)\n"


def _case(
    name: str,
    ours: str,
    peer: str,
    target: float,
    threads: str,
    setup: str = SETUP,
    number: int = 1,
) -> Case:
    return Case(name, ours, peer, setup.format(threads=threads), target, rounds=11, number=number)


ALL = "len(__import__('os').sched_getaffinity(0))"
CASES = [
    _case("exact.sum of 1e7 float64, one thread / np.sum", "exact.sum(x)", "x.sum()", 3, "1"),
    _case("exact.sum of 1e7 float64, all threads / np.sum", "exact.sum(x)", "x.sum()", 1.5, ALL),
    _case(
        "the same of 130 binary orders of magnitude, one thread",
        "exact.sum(x)",
        "x.sum()",
        6,
        "1",
        WIDE,
    ),
    *(
        _case(
            f"exact.sum of 1e7 {t}, one thread / np.sum",
            "exact.sum(x)",
            "x.sum()",
            3,
            "1",
            SETUP + f"x = (100 * x).astype('{t}')\n",
        )
        for t in ("f4", "f2", "i8", "i4")
    ),
    _case(
        "exact.sum of 1e7 float32, all threads / np.sum",
        "exact.sum(x)",
        "x.sum()",
        1.5,
        ALL,
        SETUP + "x = x.astype('f4')\n",
    ),
    _case(
        "exact.dot of 1e7 float64, one thread / np.einsum",
        "exact.dot(x, y)",
        "np.einsum('i,i', x, y)",
        3,
        "1",
    ),
    _case(
        "exact.dot of 1e7 float64, all threads / np.einsum",
        "exact.dot(x, y)",
        "np.einsum('i,i', x, y)",
        2,
        ALL,
    ),
    _case(
        "exact.sum of 10 float64 / math.fsum",
        "exact.sum(x)",
        "math.fsum(x)",
        40,
        "1",
        SETUP + "import math; x = x[:10].copy()\n",
        1000,
    ),
]
