"""Fused expressions against NumPy, numexpr, jax.jit, numba's one loop by hand, and gt4py, on the
same memory: one step on the interior of a field, into memory that is there.

Ours and a peer run in turns; of each the fastest round counts. One thread is CPU time of the
process, all threads are the time on the wall. Peers that cannot be imported are left out. jax makes
a new result: it cannot write into memory that is there.
"""

import importlib.util
import os
import time
from typing import Any

from measure import Case

OUT, IN = (256, 256, 80), (128, 128, 80)  # of the caches

SETUP = """
import numpy as np, gridbuf as gb, fused_steps as steps
name, backend, threads = {name!r}, {backend!r}, {threads}
gb.set_num_threads(threads)
def made():
    field = gb.Field.empty({shape}, backend=backend, dims="IJK", halo=(1, 1, 0))
    field.numpy()[...] = np.random.default_rng(0).random({shape}) - 0.5
    return field
u, w, out = made(), made(), made()
a, b, inner = u.numpy(), w.numpy(), out.numpy()[1:-1, 1:-1]
step = getattr(steps, name)
ours, into, domain = gb.fused(step), getattr(steps, name + "_into"), out.domain
"""
PEERS = {
    "NumPy": ("into(a, b, inner)", ""),
    "numexpr": (
        "numexpr.evaluate(text, views, {}, out=inner)",
        "import numexpr; numexpr.set_num_threads(threads)\n"
        "text, views = steps.NUMEXPR[name], steps.views(a, b)\n",
    ),
    "jax": (
        "call(x, y).block_until_ready()",
        "import os; os.environ['JAX_ENABLE_X64'] = '1'\n"
        "import jax, inspect\n"
        "space = {**vars(steps), 'np': jax.numpy}\n"
        "exec(inspect.getsource(step), space)\n"
        "call, x, y = jax.jit(space[name]), jax.device_put(a), jax.device_put(b)\n",
    ),
    "numba": (
        "loop(a, b, whole)",
        "order = tuple(int(d) for d in np.argsort(a.strides)[::-1])\n"
        "import numba; numba.set_num_threads(threads)\n"
        "loop = steps.numba_loops(threads > 1, order)[name]; whole = out.numpy()\n",
    ),
    "gt4py": (
        "stencil(u, w, out, domain=out.domain.shape)",
        "import warnings; warnings.simplefilter('ignore')\n"
        "stencil = steps.gt4py_stencils('gt:cpu_ifirst')[name]\n",
    ),
}
# Of section 5: peer / fused for NumPy and numexpr, fused / numba. The others show what is there.
FASTER = {"diffusion": 5.0, "upwind": 6.0, "saturation": 1.7}


def _case(
    step: str, peer: str, shape: tuple[int, int, int], backend: str, threads: int
) -> Case | None:
    package = {"NumPy": "numpy"}.get(peer, peer)
    if importlib.util.find_spec(package) is None or (peer == "gt4py" and backend == "C"):
        return None
    statement, setup = PEERS[peer]
    least = FASTER[step] if shape == OUT else 3.0 if step != "saturation" else 1.0
    target = {"NumPy": least, "numexpr": 4.0 if step == "diffusion" else 1.0}.get(peer, 1.0)
    if step == "saturation" and peer == "NumPy" and threads > 1:
        target = 3.0
    by_hand = peer in ("numba", "gt4py")
    where, how = ("" if shape == OUT else ", in the caches"), ("one thread", "all threads")
    return Case(
        f"{step}, {backend}{where}, {how[threads > 1]}: {'fused / ' if by_hand else ''}{peer}"
        + ("" if by_hand else " / fused"),
        "ours(u, w, out=domain)",
        statement,
        SETUP.format(name=step, backend=backend, threads=threads, shape=shape) + setup,
        1.3 if by_hand else target,
        faster=not by_hand,
        rounds=11,
        number=1 if shape == OUT else 4,
        minima=True,
        clock=time.process_time if threads == 1 else time.perf_counter,
    )


SMALL = """
import numpy as np, gridbuf as gb
def five(a, b):
    return (a + b) * a - b / 2.0 + a
fused = gb.fused(five)
a, b = np.random.default_rng(0).random((2, 10, 10, 10))
"""


def _cases() -> list[Case]:
    cores = len(os.sched_getaffinity(0))
    found = [
        _case(step, peer, shape, backend, threads)
        for step in FASTER
        for shape, threads in ((OUT, 1), (OUT, cores), (IN, 1))
        for backend in ("C", "gt:cpu_ifirst")
        for peer in PEERS
    ]
    small = Case(
        "10 x 10 x 10, five operations, a known trace: fused / NumPy", "fused(a, b)", "five(a, b)",
        SMALL, 1.0, minima=True,
    )  # fmt: skip
    return [case for case in found if case is not None] + [small]


CASES = _cases()


def facts() -> list[tuple[str, float, float, str]]:
    """The scratch memory that a call needs beside its result."""
    space: dict[str, Any] = {}
    exec(SETUP.format(name="saturation", backend="C", threads=1, shape=IN), space)
    room = space["ours"].explain(space["u"], space["w"]).room
    return [("scratch memory of the saturation adjustment, a worker", room / 1e6, 1.0, "MB")]
