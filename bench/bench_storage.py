"""Storages: what a ufunc on them costs more than NumPy on the same data, and whether results stay
fast.

The overhead is the difference of two calls in turns, not of two loops: a sweep over (64,64,80)
takes long enough for the machine's drift to hide microseconds.
"""

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import Case

SHAPES = """
import numpy as np, gridbuf.storage as gs
a, b = (gs.ones((64, 64, 80), defaults="gtmc", halo=(3, 3, 0)) for _ in "ab")
na, nb = a.to_numpy(), b.to_numpy()
out, sums = gs.empty_like(a), np.add.reduce(a, axis="K")
nout, nsums = out.to_numpy(), sums.to_numpy()
"""

BROADCAST = """
import numpy as np, gridbuf.storage as gs
plane = gs.ones((64, 64), axes="IJ", defaults="{defaults}")
column = gs.ones(80, axes="K", defaults="{defaults}")
nplane, ncolumn = plane.to_numpy()[:, :, None], column.to_numpy()[None, None, :]
out = gs.empty((64, 64, 80), defaults="{defaults}")
nout = out.to_numpy()
"""

# One thread: waiting for a second core that others use is no property of a layout.
STENCIL = """
import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np, gridbuf.storage as gs
from gt4py.cartesian import gtscript
from stencils import diffuse

backend, halo = "{backend}", (1, 1, 0)
stencil = gtscript.stencil(backend=backend, definition=diffuse)
def made():
    return gs.ones((130, 130, 80), defaults=backend, halo=halo)
one, profile = made(), gs.ones(80, axes="K", defaults=backend)
result, fresh, out = one + profile, made(), made()
domain = (128, 128, 80)
"""


# The example's model, on storages and on plain arrays of the same memory layout.
PROGRAM = """
import os, sys
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, "{examples}")
import storage_program
data = storage_program.dataset(128, 128, 80)
model = storage_program.on_storages(data, "gt:cpu_ifirst")
arrays = storage_program.on_arrays(model, "gt:cpu_ifirst")
"""


# Short rounds, many of them: a long one is more often interrupted on a shared machine.
SHORT: dict[str, Any] = {"rounds": 301, "number": 3}


def _broadcast(defaults: str) -> list[Case]:
    setup = BROADCAST.format(defaults=defaults)
    return [
        Case(f"{defaults}: np.add(IJ, K, out=IJK) / reshaped arrays",
        "np.add(plane, column, out=out)",
             "np.add(nplane, ncolumn, out=nout)", setup, 1.1, **SHORT),
        Case(f"{defaults}: IJ + K -> IJK / reshaped arrays", "plane + column",
             "nplane + ncolumn", setup, 1.1, **SHORT),
    ]  # fmt: skip


def _stencil(backend: str) -> Case:
    setup = STENCIL.format(backend=backend)
    ours, peer = (f"stencil({name}, out, domain=domain)" for name in ("result", "fresh"))
    return Case(
        f"{backend}: stencil on a result / on a fresh storage", ours, peer, setup, 1.05, **SHORT
    )


FIVE = """
import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np, gridbuf as gb, gridbuf.storage as gs
from gridbuf.interface import stencil_call
from gt4py.cartesian import gtscript
from stencils import five

stencil = gtscript.stencil(backend="gt:cpu_ifirst", definition=five)
fields = [gs.ones((10, 10, 6), defaults="gt:cpu_ifirst", halo=(1, 1, 0)) for _ in range(5)]
named = dict(zip("abcde", fields))
arrays = {name: field.to_numpy() for name, field in named.items()}
frozen = stencil.freeze(origin={name: (1, 1, 0) for name in named}, domain=(8, 8, 6))
called, cold = stencil_call(stencil), stencil_call(frozen)
wrapped = {name: gb.Field(field) for name, field in named.items()}
"""

CASES = [
    Case(
        "stencil_call of 5 fields / the direct call on storages", "called(*fields)",
        "stencil(*fields)", FIVE, 1.0, 1.0, rounds=15
    ),
    Case(
        "stencil_call by keyword / the direct call on storages", "called(**named)",
        "stencil(**named)", FIVE, 1.0, 1.0, rounds=15
    ),
    Case("stencil_call of 5 Fields / the direct call on them", "called(**wrapped)",
    "stencil(**wrapped)", FIVE, 1.0, 1.0, rounds=15),
    Case("stencil_call of a frozen stencil / frozen on arrays", "cold(**named)", "frozen(**arrays)",
    FIVE, 4.0, 4.0, rounds=15),
    Case("a frozen stencil on 5 Fields / on arrays", "frozen(**wrapped)", "frozen(**arrays)", FIVE,
    1.1, 1.1, rounds=15),
    Case("a + b / on the arrays", "a + b", "na + nb", SHAPES, 1.25, **SHORT),
    Case("a += b / on the arrays", "global a; a += b", "global na; na += nb", SHAPES, 1.1, **SHORT),
    *_broadcast("gtx86"),
    *_broadcast("gtmc"),
    *(_stencil(backend) for backend in ("gt:cpu_ifirst", "gt:cpu_kfirst")),
    Case("a step of examples/storage_program.py / on plain arrays", "model.step(0.1)",
    "arrays.step(0.1)",
         PROGRAM.format(examples=Path(__file__).resolve().parents[1] / "examples"), 1.05, rounds=61,
         number=1),
]  # fmt: skip

# name, ours, the peer, microseconds at most
OVERHEADS = [
    ("a + b over na + nb", "a + b", "na + nb", 15.0),
    ("np.add(a, b, out) over NumPy", "np.add(a, b, out=out)", "np.add(na, nb, out=nout)", 15.0),
    ("np.sqrt(a, out) over NumPy", "np.sqrt(a, out=out)", "np.sqrt(na, out=nout)", 15.0),
    (
        "np.add.reduce(a, 'K', out) over NumPy",
        "np.add.reduce(a, axis='K', out=sums)",
        "np.add.reduce(na, axis=2, out=nsums)",
        15.0,
    ),
    ("a += b over na += nb", "global a; a += b", "global na; na += nb", 10.0),
    ("a *= 1.0 over na *= 1.0", "global a; a *= 1.0", "global na; na *= 1.0", 10.0),
]


SMALL = """
import numpy as np, gridbuf as gb, gridbuf.storage as gs, gridbuf.interface as gi
s, a, b = (gs.ones((22, 20, 6), halo=(1, 1, 0)) for _ in range(3))
f, g = (gs.ones((22, 20, 6), defaults="F") for _ in range(2))
p, q = (gs.ones((6, 20, 22), axes="KJI") for _ in range(2))
t, u = (gs.ones((2, 3, 4)) for _ in range(2))
k, row, x = gs.ones(6, axes="K"), gs.ones((20, 6), axes="JK"), np.zeros((22, 20, 6))
field, other = (gb.Field.zeros((22, 20, 6), dims="IJK") for _ in range(2))
def acquire(a=a, b=b, **options):
    with gi.acquired({"a": a, "b": b}, outputs=("b",), **options):
        pass
"""

# What programs write in every step, on arrays so small that only the call counts: statement,
# microseconds at most.
CALLS = [
    ("s[1:-1, 1:-1]", 1.5),
    ("f[1:-1, ..., 2]", 1.5),
    ("s.domain", 1.0),
    ("s[1, 2, 3]", 0.5),
    ("f[-1, 2, 3]", 0.5),
    ("p[1:-1, 1:-1]", 1.5),
    ("p.domain", 1.0),
    ("s[0] = s[-2]", 4.0),
    ("f[:, 0] = f[:, -2]", 4.0),
    ("s[3] = row", 4.0),
    ("s[...] = 1.0", 3.0),
    ("gs.zeros((22, 20, 6))", 3.0),
    ("gs.zeros([22, 20, 6], halo=[1, 1, 0])", 3.0),
    ("gs.full((22, 20, 6), 7.0)", 3.0),
    ("gs.zeros((22, 20, 6), np.float32, defaults='gtmc', halo=(1, 1, 0))", 3.0),
    ("gs.empty((22, 20, 6), defaults='F')", 3.0),
    ("gs.ones((20, 6), axes='JK')", 3.0),
    ("gs.zeros_like(s)", 3.0),
    ("gs.empty_like(f, dtype='int32')", 3.0),
    ("gs.zeros_like(p)", 3.0),
    ("gs.zeros_like(x)", 3.0),
    ("gs.zeros_like(field)", 3.0),
    ("gs.as_storage(field)", 3.0),
    ("gs.as_storage(x)", 3.0),
    ("gs.as_storage(x, halo=(1, 1, 0))", 3.0),
    ("gs.as_storage(s)", 3.0),
    ("a + b", 3.0),
    ("f + g", 3.0),
    ("p + q", 3.0),
    ("t + u", 3.0),
    ("a + x", 3.0),
    ("a * 2.0", 3.0),
    ("a * np.float64(2.0)", 3.0),
    ("a ** 2", 3.0),
    ("np.add(a, b, out=s)", 3.0),
    ("global a; a += b", 3.0),
    ("a + k", 4.0),
    ("global a; a += k", 4.0),
    ("a + p", 4.0),
    ("np.max(s)", 4.0),
    ("s.max()", 4.0),
    ("np.sum(p)", 4.0),
    ("acquire()", 8.0),
    ("acquire(p, f)", 8.0),
    ("acquire(field, other)", 8.0),
    ("acquire(dims={'a': 'KJI', 'b': 'IJK'}, dtypes={'a': 'f8'}, backend='gtx86')", 8.0),
    ("gi.read(s)", 3.0),
    ("gi.read(field)", 3.0),
    ("gi.read(x)", 3.0),
]


def small(statement: str, idle: bool) -> float:
    """Seconds of one call: the median in turns with nothing, hot or after 1 ms of idling."""
    namespace: dict[str, Any] = {}
    exec(SMALL, namespace)
    one, nothing = _once(statement, namespace), _once("pass", namespace)
    for _ in range(100):
        one()
    found = []
    for _ in range(300 if idle else 3000):
        if idle:
            time.sleep(0.001)
        found.append(one() - nothing())
    return statistics.median(found)


def _once(statement: str, namespace: dict[str, Any]) -> Callable[[], float]:
    scope = namespace | {"clock": time.perf_counter}
    declared, _, statement = statement.rpartition("; ")
    exec(f"def once():\n {declared}\n t = clock()\n {statement}\n return clock() - t\n", scope)
    once: Callable[[], float] = scope["once"]
    return once


def overhead(ours: str, peer: str, pairs: int = 1500) -> float:
    """Median of the difference of calls in turns, in seconds."""
    namespace: dict[str, Any] = {}
    exec(SHAPES, namespace)
    one, other = _once(ours, namespace), _once(peer, namespace)
    for _ in range(50):
        one(), other()
    return statistics.median(one() - other() for _ in range(pairs))


def facts() -> list[tuple[str, float, float, str]]:
    """(name, measured, at most, unit): what is not a ratio."""
    found = [(text, overhead(ours, peer) * 1e6, most, "us") for text, ours, peer, most in OVERHEADS]
    for statement, most in CALLS:
        name = statement.rpartition("; ")[2]
        found.append((name, small(statement, idle=False) * 1e6, most, "us"))
        found.append((f"{name} after 1 ms idle", small(statement, idle=True) * 1e6, most * 3, "us"))
    return found
