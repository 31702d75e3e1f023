"""Two more comparisons: the step on shapes where the place of a field in memory matters, and the
step in NumPy notation, as it stands and fused.
"""

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

import gridbuf as gb
from demo import data, measure
from demo.stencils import COEFFICIENT, HALO

SHAPES = ((256, 256, 60), (512, 128, 60), (1024, 64, 60))  # 30 MiB of float64 each
ROUNDS = 10
SHORT_ROUNDS = 60  # of steps of some milliseconds, which a neighbour on the machine disturbs more


def shapes(values: NDArray[Any], backend: str, stencil: Callable[..., None]) -> Table:
    """Milliseconds of a step on gt4py.storage's arrays and on Fields, shape by shape."""
    table = Table(
        title=f"A step of {backend} on fields of 30 MiB", title_style="bold", title_justify="left"
    )
    table.add_column("points (I, J, K)", no_wrap=True)
    for kind in (measure.GT4PY, measure.GRIDBUF):
        table.add_column(f"{kind}\nms per step", justify="right")
    table.add_column("the Field is", justify="right")
    for shape in SHAPES:
        entered = [
            contender
            for contender in measure.contenders(data.tile(values, shape), backend)
            if contender.kind != measure.PLAIN
        ]
        for each in entered:
            each.warm_up(stencil)
        best = timed([partial(each.run, stencil, 1) for each in entered], SHORT_ROUNDS)
        ms = {each.kind: 1e3 * seconds for each, seconds in zip(entered, best, strict=True)}
        theirs, ours = ms[measure.GT4PY], ms[measure.GRIDBUF]
        points = " x ".join(map(str, shape))
        table.add_row(points, f"{theirs:.2f}", f"{ours:.2f}", in_words(theirs / ours))
    return table


def in_words(ratio: float) -> str:
    """How a time compares with a peer's, which is ratio times as long."""
    if 0.98 < ratio < 1.02:
        return "as fast"
    return f"{ratio:.2f} times as fast" if ratio > 1 else f"{1 / ratio - 1:.0%} slower"


def diffuse(u: Any, coefficient: float) -> Any:
    """One step in NumPy notation: five operations, each a whole field that is written."""
    i, j = slice(HALO, -HALO), slice(HALO, -HALO)
    around = u[2:, j] + u[:-2, j] + u[i, 2:] + u[i, :-2]
    return u[i, j] + coefficient * (around - 4.0 * u[i, j])


def notation(
    values: NDArray[Any], backend: str, stencil: Callable[..., None]
) -> tuple[Table, bool]:
    """Milliseconds of a step in NumPy notation, fused, and compiled by gt4py, on the same Fields;
    and whether the first two have the same bits.
    """
    made = data.tile(values, SHAPES[0])
    field = gb.Field.from_array(made, "f8", dims="IJK", halo=(HALO, HALO, 0), backend=backend)
    out, fused = field.copy(), gb.fused(diffuse)
    ways: dict[str, Callable[[], Any]] = {
        "NumPy notation": lambda: diffuse(field, COEFFICIENT),
        "the same under gb.fused": lambda: fused(field, COEFFICIENT, out=out.domain),
        f"gt4py, {backend}": lambda: stencil(field, out, COEFFICIENT),
    }
    best = timed(list(ways.values()))
    same = bool(
        np.array_equal(fused(field, COEFFICIENT).numpy(), diffuse(field, COEFFICIENT).numpy())
    )
    table = Table(title="A step without a compiler", title_style="bold", title_justify="left")
    table.add_column("the step is written in", no_wrap=True)
    table.add_column("ms per step", justify="right")
    table.add_column("against NumPy notation", justify="right")
    for name, seconds in zip(ways, best, strict=True):
        said = "" if seconds == best[0] else in_words(best[0] / seconds)
        table.add_row(name, f"{1e3 * seconds:.2f}", said)
    return table, same


def timed(ways: Sequence[Callable[[], Any]], rounds: int = ROUNDS) -> list[float]:
    """The least seconds of each, in turns."""
    best = [float("inf")] * len(ways)
    for _ in range(rounds):
        for number, way in enumerate(ways):
            start = perf_counter()
            way()
            best[number] = min(best[number], perf_counter() - start)
    return best
