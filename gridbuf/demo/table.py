"""The results as one table for the terminal."""

from collections.abc import Sequence
from itertools import groupby

from rich.table import Table

from gridbuf.demo.measure import GRIDBUF, PLAIN, Score


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
