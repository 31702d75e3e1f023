"""The demo from the command line: load, diffuse, check, compare, draw."""

import argparse
import functools
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any

import gridbuf as gb
from gridbuf.commands import UsageError
from gridbuf.demo import checks
from gridbuf.demo.compiling import compile_all

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from gridbuf.demo.measure import Score

PREFERRED = "gt:cpu_ifirst"  # the layout least like a plain array's
TOLERANCE = 1e-9  # kelvin; rounding over hundreds of steps stays far below


def run(arguments: argparse.Namespace) -> int:
    """Run the demo; 0 when every backend ran and every result agrees with NumPy's."""
    checks.check(arguments)
    checks.prepare_folder(arguments.output)
    from rich.console import Console

    from gridbuf.demo import data, stencils
    from gridbuf.demo.picture import draw

    backends = checks.chosen(arguments.backend, stencils)
    console = Console()
    if not console.is_terminal:
        console = Console(width=130)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # gt4py warns of every array whose layout is not the backend's
        weather = data.load()
        with _progress(console) as progress:
            log = arguments.output / "compile.log"
            compiled, failures = compile_all(backends, stencils.compiled, log, progress)
        for backend, reason in failures.items():
            if arguments.backend or not compiled:
                raise UsageError(f"{backend}: {reason}")
            console.print(f"[red]left out:[/] {backend}: {reason}", highlight=False, soft_wrap=True)
        main = PREFERRED if PREFERRED in compiled else next(iter(compiled))
        before, after, error = _real_field(console, weather, main, compiled[main], arguments.steps)
        scores = _larger_grid(console, weather, compiled, tuple(arguments.size), arguments.steps)
        if not arguments.backend:
            error = max(error, _slow_backends(console, weather, stencils))
        path = arguments.output / "gridbuf-demo.png"
        draw(
            path,
            weather,
            before,
            after,
            scores,
            arguments.size,
            steps=arguments.steps,
            backend=main,
        )
        console.print(f"[bold]Picture:[/] {path}", highlight=False, soft_wrap=True)
        if arguments.ranks:
            same = _processes(console, weather, main, compiled[main], before, after, arguments)
            error = error if same else float("inf")
    worst = max([error, *(s.error for s in scores)])
    if worst == float("inf"):
        return 1  # it was said where
    if not worst <= TOLERANCE:
        console.print(
            f"[red]a result differs from NumPy's by {worst:.2e} K, which is more than rounding[/]"
        )
        return 1
    return 1 if failures else 0


@contextmanager
def _progress(console: "Console") -> Iterator["Progress"]:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield progress


def _real_field(
    console: "Console", weather: Any, backend: str, stencil: Callable[..., None], steps: int
) -> tuple[Any, Any, float]:
    """The Met Office field itself: into a backend's layout, diffused, checked, and never copied on
    the way.
    """
    from gridbuf import explain
    from gridbuf.demo import reference
    from gridbuf.demo.identity import pointers
    from gridbuf.demo.stencils import COEFFICIENT, HALO

    halo = (0, HALO, HALO)
    field = gb.Field.from_array(weather.values, "float64", dims="KJI", halo=halo, backend=backend)
    console.print(
        f"\n[bold]{weather.name}[/] in {weather.units}: {weather.values.dtype}"
        f" {weather.values.shape} from hybrid_height.nc, as a Field for {backend}",
        highlight=False,
    )
    console.print(explain.text(field.plan, halo=halo), highlight=False)
    addresses = pointers(field)
    same = len(set(addresses.values())) == 1
    console.print(
        f"\n[bold]One memory, seen {len(addresses)} ways:[/]"
        f" {'all pointers are equal' if same else '[red]pointers differ[/]'}"
    )
    for way, address in addresses.items():
        console.print(f"  {address:#x}  {way}", highlight=False)

    before = gb.as_numpy(field, "IJK").copy()
    now, after = field, field.copy()
    stencil(now, after, 0.0)  # warm
    start = perf_counter()
    for _ in range(steps):
        stencil(now, after, COEFFICIENT)  # no origin, no order of dimensions: the Fields carry them
        now, after = after, now
    seconds = perf_counter() - start
    result = gb.as_numpy(now, "IJK")
    error = reference.max_error(result, reference.diffuse(before, steps, COEFFICIENT))
    console.print(
        f"\n[bold]{steps} steps of stencil(now, after, {COEFFICIENT})[/] in {1e3 * seconds:.0f} ms:"
        f" __gt_dims__ = {now.__gt_dims__} and __gt_origin__ = {now.__gt_origin__} say the rest;"
        f" largest difference from NumPy {error:.1e} {weather.units}\n",
        highlight=False,
    )
    return before, result, error if same else float("inf")


def _larger_grid(
    console: "Console",
    weather: Any,
    compiled: dict[str, Callable[..., None]],
    shape: tuple[int, ...],
    steps: int,
) -> list["Score"]:
    from gridbuf.demo import data, measure, reference
    from gridbuf.demo.stencils import COEFFICIENT
    from gridbuf.demo.table import disturbed, table

    values = data.tile(weather.values, shape)
    scores = []
    with _progress(console) as progress:
        task = progress.add_task("NumPy reference", total=steps)
        expected = reference.diffuse(
            values, steps, COEFFICIENT, advance=lambda: progress.advance(task)
        )
        for backend, stencil in compiled.items():
            entered = measure.contenders(values, backend)
            task = progress.add_task(
                f"{backend} on {len(entered)} kinds of arrays", total=len(entered) * steps
            )
            advance = functools.partial(progress.advance, task)
            measure.race(stencil, entered, steps, advance=advance)
            scores += measure.score(
                backend, entered, lambda result: reference.max_error(result, expected)
            )
    console.print(table(scores, shape, steps))
    if names := disturbed(scores):
        console.print(
            f"[yellow]Something else was running during {', '.join(names)}[/]: on an idle machine"
            " the times are lower"
        )
    return scores


def _processes(
    console: "Console",
    weather: Any,
    backend: str,
    stencil: Callable[..., None],
    before: Any,
    after: Any,
    arguments: argparse.Namespace,
) -> bool:
    """The field again on several processes: whether every bit is what one process made."""
    from gridbuf.demo import blocks_picture, processes

    outcome = processes.run(before, arguments.steps, stencil, backend, arguments.ranks)
    same = bool(outcome.result.tobytes() == after.tobytes())
    if outcome.why_not:
        console.print(
            f"\n[yellow]One process only:[/] {outcome.why_not}", highlight=False, soft_wrap=True
        )
    console.print(
        f"\n[bold]The same {arguments.steps} steps on {outcome.how}[/] in"
        f" {1e3 * outcome.seconds:.0f} ms, with {outcome.messages}: "
        + (
            "every bit is what one process made"
            if same
            else "[red]bits differ from those of one process[/]"
        ),
        highlight=False,
    )
    for line in processes.text(outcome):
        console.print(f"  {line}", highlight=False, markup=False)
    path = arguments.output / "gridbuf-demo-blocks.png"
    blocks_picture.draw(path, weather, outcome.result, outcome.grid, outcome.how)
    console.print(f"[bold]Picture:[/] {path}", highlight=False, soft_wrap=True)
    return same


def _slow_backends(console: "Console", weather: Any, stencils: Any) -> float:
    """The backends that loop in Python: a few steps on a corner of the field, checked and not
    timed.
    """
    from gridbuf.demo import data, reference

    shape, steps, worst = (12, 12, 4), 3, 0.0
    for backend in (name for name in stencils.cpu_backends() if name in stencils.PURE_PYTHON):
        values, stencil = data.tile(weather.values, shape), stencils.compiled(backend)
        now = gb.Field.from_array(
            values, "float64", dims="IJK", halo=(stencils.HALO, stencils.HALO, 0), backend=backend
        )
        after = now.copy()
        for _ in range(steps):
            stencil(now, after, stencils.COEFFICIENT)
            now, after = after, now
        error = reference.max_error(
            now.numpy(), reference.diffuse(values, steps, stencils.COEFFICIENT)
        )
        worst = max(worst, error)
        console.print(
            f"{backend} loops in Python and is not timed: {steps} steps on {shape} points, max"
            f" error {error:.1e} {weather.units}",
            highlight=False,
        )
    return worst
