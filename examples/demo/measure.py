"""One stencil on several kinds of arrays, taking turns, so that a disturbance meets all of them;
and the table of results.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import cycle, groupby, permutations
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

import gridbuf as gb
from demo.stencils import COEFFICIENT, HALO
from gridbuf.strides import boundary

GRIDBUF, GT4PY, PLAIN = "gridbuf Field", "gt4py.storage", "plain C order"
ROUNDS = 20


@dataclass
class Contender:
    """Two buffers of one kind that a stencil swaps between, and what it took.

    `keywords` is what the stencil call must be told about these arrays: nothing for a Field.
    """

    kind: str
    now: Any
    after: Any
    keywords: dict[str, Any] = field(default_factory=dict)
    round_seconds: list[float] = field(default_factory=list)

    def run(self, stencil: Callable[..., None], steps: int) -> None:
        """Take some steps."""
        for _ in range(steps):
            stencil(self.now, self.after, COEFFICIENT, **self.keywords)
            self.now, self.after = self.after, self.now

    def warm_up(self, stencil: Callable[..., None]) -> None:
        """Touch every page and load all code without changing a value: a step with coefficient zero
        is a copy.
        """
        for _ in range(2):
            stencil(self.now, self.after, 0.0, **self.keywords)
            stencil(self.after, self.now, 0.0, **self.keywords)


@dataclass(frozen=True)
class Score:
    """How one kind of array did on one backend.

    Attributes
    ----------
    plan : gridbuf.Plan
        Read back from the array.
    alignment : int
        The largest power of two that divides the address of the domain's first element.
    ms_per_step, speedup : float
        The median over the rounds of the time, and of the plain array's time over this one's
        in the same round.
    unrest : float
        The median over the best round: 1 on an idle machine.
    error : float
        Against the NumPy reference, at the worst point.
    """

    backend: str
    kind: str
    plan: Any
    alignment: int
    ms_per_step: float
    speedup: float
    unrest: float
    error: float


def contenders(values: NDArray[np.float64], backend: str) -> list[Contender]:
    """Each kind of array with the same values, laid out for a backend where the kind can be."""
    from gt4py import storage

    origin = (HALO, HALO, 0)
    ours = gb.Field.from_array(values, np.float64, dims="IJK", halo=origin, backend=backend)
    theirs = [
        storage.from_array(values, dtype=values.dtype, backend=backend, aligned_index=origin)
        for _ in range(2)
    ]
    told = {"origin": origin}
    return [
        Contender(GRIDBUF, ours, ours.copy()),
        Contender(GT4PY, theirs[0], theirs[1], told),
        Contender(PLAIN, values.copy(), values.copy(), told),
    ]


def race(
    stencil: Callable[..., None],
    entered: Sequence[Contender],
    steps: int,
    *,
    advance: Callable[[int], Any],
) -> None:
    """Let each contender take `steps` steps, in rounds of every order: no contender alone follows a
    slow one, which leaves the caches cold.
    """
    for contender in entered:
        contender.warm_up(stencil)
    done = 0
    orders = cycle(permutations(entered))
    for number in range(min(ROUNDS, steps)):
        target = steps * (number + 1) // min(ROUNDS, steps)
        for contender in next(orders):
            start = perf_counter()
            contender.run(stencil, target - done)
            contender.round_seconds.append((perf_counter() - start) / (target - done))
            advance(target - done)
        done = target


def score(
    backend: str, entered: Sequence[Contender], error_of: Callable[[NDArray[Any]], float]
) -> list[Score]:
    """What a race says of each contender; `error_of` compares a result with the reference."""
    plain = next(c for c in entered if c.kind == PLAIN)
    scores = []
    for contender in entered:
        array = gb.as_numpy(contender.now, "IJK")
        own = contender.round_seconds
        ratios = [p / o for p, o in zip(plain.round_seconds, own, strict=True)]
        scores.append(
            Score(
                backend,
                contender.kind,
                gb.Plan.of(contender.now),
                boundary(array[HALO:, HALO:].ctypes.data),
                1e3 * median(own),
                median(ratios),
                median(own) / min(own),
                error_of(array),
            )
        )
    return scores


# ---- the table ----


def table(scores: Sequence[Score], shape: Sequence[int], steps: int) -> Table:
    """One row per backend and kind of array."""
    size = " x ".join(str(n) for n in shape)
    grid = Table(
        title=f"{steps} diffusion steps on {size} points (I, J, K), float64",
        title_style="bold",
        title_justify="left",
    )
    grid.add_column("backend", no_wrap=True)
    grid.add_column("array", no_wrap=True)
    grid.add_column("order in memory\nslow to fast", justify="center")
    grid.add_column("strides in bytes\nI, J, K", justify="right", no_wrap=True)
    grid.add_column("domain\naligned to", justify="right", no_wrap=True)
    grid.add_column("ms\nper step", justify="right", no_wrap=True)
    grid.add_column("speed against\nplain array", justify="right", no_wrap=True)
    grid.add_column("max error\nin K", justify="right", no_wrap=True)
    for backend, rows in groupby(scores, key=lambda s: s.backend):
        for number, row in enumerate(rows):
            grid.add_row(
                backend if number == 0 else "",
                *_cells(row),
                style="bold" if row.kind == GRIDBUF else None,
            )
        grid.add_section()
    return grid


def disturbed(scores: Sequence[Score], limit: float = 1.3) -> list[str]:
    """The backends whose rounds differ so much that something else must have been running."""
    return list(dict.fromkeys(s.backend for s in scores if s.unrest > limit))


def memory_order(plan: object) -> str:
    """The names of the indices, largest stride first."""
    dims, layout = plan.dims, plan.layout  # type: ignore[attr-defined]
    return " ".join(dims[i] for i in sorted(range(len(dims)), key=lambda i: layout[i]))


def _cells(row: Score) -> list[str]:
    ratio = f"{row.speedup:.2f} x"
    colored = (
        f"[green]{ratio}[/]"
        if row.speedup > 1.1
        else f"[red]{ratio}[/]"
        if row.speedup < 0.9
        else ratio
    )
    return [
        row.kind,
        memory_order(row.plan),
        ", ".join(f"{s}" for s in row.plan.strides),
        f"{row.alignment} B" if row.alignment < 4096 else "a page",
        f"{row.ms_per_step:.2f}",
        "1" if row.kind == PLAIN else colored,
        f"{row.error:.1e}" if row.error else "0",
    ]
