"""gridbuf.gufunc against NumPy, SciPy and numba: whole calls, with out= unless the name says
otherwise.

The rows for SciPy and numba are there when those can be imported.
"""

import importlib.util
import statistics
import threading
import time
import timeit
from collections.abc import Callable
from typing import Any

from measure import Case

SETUP = """
import numpy as np
from gridbuf import gufunc
r = np.random.default_rng(0)
"""


def _case(
    name: str,
    ours: str,
    peer: str,
    setup: str,
    target: float,
    rounds: int = 9,
    faster: bool = True,
    number: int = 1,
) -> Case:
    return Case(
        name, ours, peer, SETUP + setup, target, faster=faster, rounds=rounds, number=number
    )


MATRICES = """
a = r.normal(size=(10**6, 3, 3)); o = np.empty_like(a)
loop = np.linalg._umath_linalg.inv; adopted = gufunc.from_ufunc(loop)
"""
ROWS = "x, y, o = r.normal(size=(10**6, 3)), r.normal(size=(10**6, 3)), np.empty(10**6)\n"
BIG = (
    "x, y, o = np.abs(r.normal(size=10**7)) + .1, np.abs(r.normal(size=10**7)) + .1,"
    " np.empty(10**7)\n"
)
COLUMNS = """
lower, main, upper, right = (r.random((256, 256, 80)) for _ in range(4))
main += 3
o = np.empty_like(right)
"""
NUMBA_DOT = """
import numba
@numba.guvectorize(["(f8[:], f8[:], f8[:])"], "(n),(n)->()", target={target!r}, nopython=True,
    fastmath=True)
def peer(a, b, out):
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i] * b[i]
    out[0] = s
"""
NUMBA_VECTORIZE = """
import math, numba
def formula(x):
    return math.sin(x) / (1.0 + x * x)
x, o = r.random(10**6), np.empty(10**6)
adopted = gufunc.from_ufunc(numba.vectorize(["f8(f8)"], nopython=True)(formula))
compiled = numba.cfunc("f8(f8)", error_model="numpy")(formula)
scalar = gufunc.GUFunc("()->()", [gufunc.scalar(compiled, "d->d")])
"""
NUMBA_THOMAS = """
import numba
@numba.guvectorize(["(f8[:], f8[:], f8[:], f8[:], f8[:])"], "(k),(k),(k),(k)->(k)",
    target="parallel", nopython=True)
def peer(a, b, c, d, x):
    n = len(b)
    cp = np.empty(n)
    cp[0] = c[0] / b[0]; x[0] = d[0] / b[0]
    for i in range(1, n):
        m = 1.0 / (b[i] - a[i] * cp[i - 1])
        cp[i] = c[i] * m
        x[i] = (d[i] - a[i] * x[i - 1]) * m
    for i in range(n - 2, -1, -1):
        x[i] -= cp[i] * x[i + 1]
"""
SCIPY_BANDED = """
from scipy.linalg import solve_banded
bands = np.zeros((256, 256, 3, 80))
bands[:, :, 0, 1:] = upper[..., :-1]; bands[:, :, 1] = main; bands[:, :, 2, :-1] = lower[..., 1:]
def peer():
    for i, j in np.ndindex(256, 256):
        o[i, j] = solve_banded((1, 1), bands[i, j], right[i, j], check_finite=False)
"""


def _elementwise(name: str, target: float) -> Case:
    operands = "x, y" if name in ("power", "arctan2", "add") else "x"
    return _case(
        f"{name} of 1e7",
        f"f({operands}, out=o)",
        f"np.{name}({operands}, out=o)",
        BIG + f"f = gufunc.from_ufunc(np.{name})\n",
        target,
    )


SMALL = """
import gridbuf as gb
x, y, o, m = r.random(3), r.random(3), np.empty(3), np.array([True, False, True])
s = r.random((3, 3))
F, G, O = (gb.Field(a, dims="I") for a in (x, y, o))
full, column = gb.Field.ones((3, 2, 2), dims="IJK", halo=(1, 0, 0)), gb.Field.ones((2,), dims="K")
f, dot = gufunc.from_ufunc(np.add), gufunc.dot
"""


def _small(call: str, target: float) -> Case:
    return _case(
        f"3 elements, {call} / np.add",
        call,
        "np.add(x, y)",
        SMALL,
        target,
        faster=False,
        number=2000,
    )


CASES = [
    *(_small(f"f(x, y{more})", 2) for more in ("", ", o", ", out=o")),
    *(
        _small(f"f(x, y, {k})", 4)
        for k in (
            "errors='return'",
            "where=m",
            "dtype='d'",
            "workers=1",
            "casting='safe'",
            "out=(o,)",
        )
    ),
    *(
        _small(call, 4)
        for call in (
            "f(x, y, signature='dd->d')",
            "dot(s, s, axis=0)",
            "dot(s, s, axes=[0, 0, ()])",
            "dot(s, s, keepdims=True)",
        )
    ),
    *(
        _small(call, 6)
        for call in (
            "f(F, G)",
            "f(F, G, out=O)",
            "f(F, 1.0)",
            "f(full, column)",
            "f(F, G, workers=1, errors='return')",
        )
    ),
    _case(
        "inv of 1e6 3x3 / np.linalg's",
        "gufunc.inv(a, out=o)",
        "loop(a, out=o)",
        MATRICES,
        40,
        rounds=5,
    ),
    _case(
        "the same with its own loop adopted",
        "adopted(a, out=o)",
        "loop(a, out=o)",
        MATRICES,
        0.9,
        rounds=5,
    ),
    _case("row dot (1e6,3) / vecdot", "gufunc.dot(x, y, out=o)", "np.vecdot(x, y, out=o)", ROWS, 3),
    *(_elementwise(name, 1.8) for name in ("sin",)),
    *(_elementwise(name, 1.6) for name in ("power", "arctan2")),
    *(_elementwise(name, 1.2) for name in ("exp", "log", "sqrt")),
    _elementwise("add", 1.3),
    _case(
        "add of 1e7, allocating",
        "f(x, y)",
        "np.add(x, y)",
        BIG + "f = gufunc.from_ufunc(np.add)\n",
        1.6,
    ),
    _case(
        "sum of 1e7",
        "f.reduce(x)",
        "np.sum(x)",
        BIG + "f = gufunc.from_ufunc(np.add)\n",
        1.3,
        rounds=15,
    ),
    _case(
        "f4 inputs to an f8 dot (1e6,3) / vecdot",
        "gufunc.dot(x, y, out=o, dtype='d')",
        "np.vecdot(x, y, out=o, dtype='d')",
        ROWS + "x, y = x.astype('f'), y.astype('f')\n",
        2.5,
    ),
    *(
        _case(
            f"f4 inputs to an f8 add of 1e{digits} / astype first",
            "f(x, y, out=o, dtype='d')",
            "np.add(x.astype('d'), y.astype('d'), out=o)",
            f"n = 10**{digits}; x, y, o = r.random(n, 'f'), r.random(n, 'f'), np.empty(n); f ="
            " gufunc.from_ufunc(np.add)\n",
            2.5,
            number=10 ** (7 - digits),
        )
        for digits in (4, 5, 6, 7)
    ),
    _case(
        "add of 1e6 with a random mask",
        "f(x, y, out=o, where=m)",
        "np.add(x, y, out=o, where=m)",
        "x, y, o, m = r.random(10**6), r.random(10**6), np.empty(10**6), r.random(10**6) < .5; f ="
        " gufunc.from_ufunc(np.add)\n",
        5,
        number=5,
    ),
    _case(
        "overlapping add of 1e7",
        "f(x[:-1], x[:-1], out=x[1:])",
        "np.add(x[:-1], x[:-1], out=x[1:])",
        BIG + "x[:] = 0; f = gufunc.from_ufunc(np.add)\n",
        1.5,
    ),
    _case(
        "the error mask, nothing failing",
        "f(x, out=o)",
        "f(x, out=o, errors='ignore')",
        BIG + "f = gufunc.from_ufunc(np.sqrt)\n",
        1.05,
        faster=False,
        rounds=25,
    ),
]
if importlib.util.find_spec("scipy"):
    CASES.append(
        _case(
            "tridiagonal (256,256,80) / solve_banded in a loop",
            "gufunc.tridiagonal(lower, main, upper, right, out=o)",
            "peer()",
            COLUMNS + SCIPY_BANDED,
            20,
            rounds=3,
        )
    )
if importlib.util.find_spec("numba"):
    CASES += [
        _case(
            f"row dot / numba {target}",
            "gufunc.dot(x, y, out=o)",
            "peer(x, y, o)",
            ROWS + NUMBA_DOT.format(target=target),
            bound,
        )
        for target, bound in (("cpu", 1.3), ("parallel", 1.5))
    ]
    CASES += [
        _case(
            f"numba.vectorize adopted / its cfunc, {words}",
            f"adopted(x, out=o, workers={workers})",
            f"scalar(x, out=o, workers={workers})",
            NUMBA_VECTORIZE,
            1.1,
            faster=False,
        )
        for words, workers in (("one worker", 1), ("all workers", None))
    ]
    CASES.append(
        _case(
            "tridiagonal (256,256,80) / numba parallel",
            "gufunc.tridiagonal(lower, main, upper, right, out=o)",
            "peer(lower, main, upper, right, o)",
            COLUMNS + NUMBA_THOMAS,
            1.2,
        )
    )


def lost_pace() -> float:
    """How much slower a thread counts in Python while a call with one worker runs, in percent:
    median of paired slices.
    """
    scope: dict[str, Any] = {}
    exec(
        SETUP + "f = gufunc.from_ufunc(np.sin); x = r.random(10**6); o = np.empty_like(x)\n", scope
    )
    f, x, o = scope["f"], scope["x"], scope["o"]
    count, done = [0], threading.Event()

    def counting() -> None:
        while not done.is_set():
            for _ in range(1000):
                count[0] += 1

    def pace(work: Callable[[], object]) -> float:
        begin, first = time.perf_counter(), count[0]
        while time.perf_counter() - begin < 0.1:
            work()
        return (count[0] - first) / (time.perf_counter() - begin)

    thread = threading.Thread(target=counting)
    thread.start()
    try:
        pairs = [
            (pace(lambda: f(x, out=o, workers=1)), pace(lambda: time.sleep(0.05)))
            for _ in range(15)
        ]
    finally:
        done.set()
        thread.join()
    return 100 * (1 - statistics.median(busy / idle for busy, idle in pairs))


def facts() -> list[tuple[str, float, float, str]]:
    """What has no peer: a call with one element, and what a call leaves to other threads."""
    scope: dict[str, object] = {}
    exec(SETUP + "f = gufunc.from_ufunc(np.add); x, o = np.ones(1), np.empty(1)\n", scope)
    one = (
        statistics.median(timeit.repeat("f(x, x, out=o)", globals=scope, number=5000, repeat=9))
        / 5000
        * 1e6
    )
    return [
        ("one element", one, 1.5, "us"),
        ("pace that a counting thread loses beside one worker", lost_pace(), 10, "%"),
    ]
