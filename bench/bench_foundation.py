"""The small calls: allocation, plans, exports; and what loading gridbuf costs."""

import statistics
import subprocess
import sys
from pathlib import Path

from measure import Case

SETUP = "import numpy as np, gridbuf as gb"
KEYWORDS = 'np.float64, backend="gt:cpu_ifirst", aligned_index=(1, 1, 0)'

CASES = [
    Case("gb.empty / np.empty", f"gb.empty((10, 10, 10), {KEYWORDS})", "np.empty((10, 10, 10))", SETUP, 1.0, 1.5),
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
        4.0,
        rounds=15,
        number=1000,
    ),
    Case("Field.empty / np.empty", f"gb.Field.empty((10, 10, 10), {KEYWORDS})", "np.empty((10, 10, 10))", SETUP, 1.3, 1.5),
    Case(
        "np.from_dlpack(Field) / (ndarray)",
        "np.from_dlpack(f)",
        "np.from_dlpack(a)",
        SETUP + '\na = np.zeros((10, 10, 10))\nf = gb.Field.zeros((10, 10, 10), dims="IJK")',
        1.0,
    ),
    Case(
        "np.asarray(Field) / (memoryview)",
        "np.asarray(f)",
        "np.asarray(memoryview(a))",
        SETUP + '\na = np.zeros((10, 10, 10))\nf = gb.Field.zeros((10, 10, 10), dims="IJK")',
        1.0,
    ),
    Case("gb.plan seen before / np.empty", f"gb.plan((10, 10, 10), {KEYWORDS})", "np.empty((10, 10, 10))", SETUP, 0.8),
]


def _import_seconds(statement: str) -> float:
    code = f"import numpy, time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    here = Path(__file__).parent  # not the source tree, whose gridbuf is not built
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=here) for _ in range(9)]
    return statistics.median(float(r.stdout) for r in runs)


def facts() -> list[tuple[str, float, float, str]]:
    """(name, measured, at most, unit): what is not a ratio."""
    import gridbuf._core

    size = Path(gridbuf._core.__file__).stat().st_size / 1e6
    return [
        ("import gridbuf after NumPy", _import_seconds("import gridbuf") * 1e3, 8.0, "ms"),
        ("shared object", size, 3.0, "MB"),
    ]
