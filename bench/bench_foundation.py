"""The small calls: allocation, plans, exports; and what loading gridbuf costs."""

import os
import subprocess
import sys
from pathlib import Path

from measure import Case

SETUP = "import numpy as np, gridbuf as gb"
KEYWORDS = 'np.float64, backend="gt:cpu_ifirst", aligned_index=(1, 1, 0)'

VARIABLES = (
    "\nn, k = 10, 1\nshape, spec, plain = [10, 10, 10], dict(backend='gt:cpu_ifirst',"
    " aligned_index=(1, 1, 0)), dict(order='C', device='cpu')"
)

CASES = [
    Case(
        "gb.empty / np.empty",
        f"gb.empty((10, 10, 10), {KEYWORDS})",
        "np.empty((10, 10, 10))",
        SETUP,
        0.65,
        1.5,
    ),
    Case(
        "gb.empty(**spec) / np.empty(**spec)",
        "gb.empty((10, 10, 10), np.float64, **spec)",
        "np.empty((10, 10, 10), np.float64, **plain)",
        SETUP + VARIABLES,
        0.75,
    ),
    Case(  # what CPython needs for ** alone is as much as np.empty's whole call
        "gb.empty(**spec) / np.empty written out",
        "gb.empty((10, 10, 10), np.float64, **spec)",
        "np.empty((10, 10, 10))",
        SETUP + VARIABLES,
        2.0,
    ),
    Case(
        "gb.empty((n, n, n)) / np.empty",
        'gb.empty((n, n, n), np.float64, backend="gt:cpu_ifirst", aligned_index=(k, k, 0))',
        "np.empty((n, n, n))",
        SETUP + VARIABLES,
        1.1,
    ),
    Case(
        "gb.empty of a list / np.empty",
        "gb.empty(shape)",
        "np.empty(shape)",
        SETUP + VARIABLES,
        1.2,
    ),
    Case("gb.empty of an int / np.empty", "gb.empty(10)", "np.empty(10)", SETUP, 0.8),
    Case(
        'gb.empty(dtype="f4") / np.empty',
        'gb.empty((10, 10), dtype="f4")',
        'np.empty((10, 10), dtype="f4")',
        SETUP,
        0.6,
    ),
    Case("gb.zeros / np.zeros", "gb.zeros((10, 10, 10))", "np.zeros((10, 10, 10))", SETUP, 0.8),
    Case("gb.ones / np.ones", "gb.ones((10, 10, 10))", "np.ones((10, 10, 10))", SETUP, 0.6),
    Case("gb.full / np.full", "gb.full((10,), 3.0)", "np.full((10,), 3.0)", SETUP, 0.8),
    Case(
        "gb.empty_like / np.empty_like",
        "gb.empty_like(a)",
        "np.empty_like(a)",
        SETUP + "\na = np.zeros((10, 10, 10))",
        0.9,
    ),
    Case(
        "gb.empty_like(Field) / np.empty_like",
        "gb.empty_like(f)",
        "np.empty_like(a)",
        SETUP
        + '\na = np.zeros((10, 10, 10))\nf = gb.Field.zeros((10, 10, 10), dims="IJK", halo=(1,'
        " 1, 0))",
        0.9,
    ),
    Case(
        "gt4py.storage.empty / gb.empty",
        f"gb.empty((10, 10, 10), {KEYWORDS})",
        f"gt4py.storage.empty((10, 10, 10), {KEYWORDS})",
        SETUP + ", gt4py.storage",
        150,
        faster=True,
    ),
    Case(
        "gb.empty of a new shape / np.empty",
        "gb.empty(next(shapes), aligned_index=(1, 1, 0))",
        "np.empty(next(shapes))",
        SETUP + ", itertools, random\n"
        "every = [(a, b, c) for a in range(1, 60) for b in range(1, 60) for c in range(1, 24)]\n"
        "random.Random(1).shuffle(every)\nshapes = iter(every)",
        2.0,
        rounds=15,
        number=1000,
    ),
    Case(
        "Field.empty / np.empty",
        f"gb.Field.empty((10, 10, 10), {KEYWORDS})",
        "np.empty((10, 10, 10))",
        SETUP,
        0.95,
        1.5,
    ),
    Case(
        "np.from_dlpack(Field) / (ndarray)",
        "np.from_dlpack(f)",
        "np.from_dlpack(a)",
        SETUP + '\na = np.zeros((10, 10, 10))\nf = gb.Field.zeros((10, 10, 10), dims="IJK")',
        0.85,
    ),
    Case(
        "np.asarray(Field) / (memoryview)",
        "np.asarray(f)",
        "np.asarray(memoryview(a))",
        SETUP + '\na = np.zeros((10, 10, 10))\nf = gb.Field.zeros((10, 10, 10), dims="IJK")',
        1.0,
    ),
    Case(
        "gb.plan seen before / np.empty",
        f"gb.plan((10, 10, 10), {KEYWORDS})",
        "np.empty((10, 10, 10))",
        SETUP,
        0.8,
    ),
]


PROCESSES = 25


def _import_seconds() -> float:
    """CPU time of an import after NumPy's, the least of several processes: whatever else the
    machine does lengthens it.
    """
    code = (
        "import numpy, time; t = time.process_time(); import gridbuf; print(time.process_time()"
        " - t)"
    )
    here = Path(__file__).parent  # not the source tree, whose gridbuf is not built
    # Threads of NumPy's would be counted, too
    settings = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    settings.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", code]
    runs = [
        subprocess.run(command, capture_output=True, text=True, check=True, cwd=here, env=settings)
        for _ in range(PROCESSES)
    ]
    return min(float(run.stdout) for run in runs)


def facts() -> list[tuple[str, float, float, str]]:
    """(name, measured, at most, unit): what is not a ratio."""
    import gridbuf._core

    extension = Path(gridbuf._core.__file__)
    size = (extension.stat().st_size + extension.with_name("_go.so").stat().st_size) / 1e6
    return [
        ("import gridbuf after NumPy, CPU time", _import_seconds() * 1e3, 5.0, "ms"),
        ("extension and Go's library", size, 4.0, "MB"),
    ]
