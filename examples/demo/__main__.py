"""The demo: gt4py stencils on real weather data, on gridbuf's arrays and on others.

make demo, or: cd examples && python -m demo --steps 50
"""

import argparse
import functools
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import gridbuf as gb
from gridbuf.commands import UsageError
from gridbuf.machine import cxx_command, cxx_compiler

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from demo.measure import Score


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m demo")
    add_arguments(parser)
    try:
        return run(parser.parse_args(argv))
    except UsageError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.description = (
        "Diffuse a Met Office temperature field with a gt4py stencil on gridbuf Fields, then time"
        " the same on a larger grid for each CPU backend of gt4py: on Fields, on gt4py.storage's"
        " arrays and on plain C-ordered ones; on other shapes, and in NumPy notation, fused or not."
        " In the end the first is done again by several"
        " processes, each with a block of it."
    )
    parser.add_argument(
        "--backend",
        action="append",
        metavar="NAME",
        help="a CPU backend of gt4py; may be repeated (default: all)",
    )
    parser.add_argument(
        "--size",
        type=int,
        nargs=3,
        metavar=("I", "J", "K"),
        default=(256, 256, 80),
        help="the larger grid, halo included (default 256 256 80)",
    )
    parser.add_argument(
        "--steps",
        type=int,
        default=200,
        metavar="N",
        help="diffusion steps (default 200; on the larger grid 60 at most)",
    )
    parser.add_argument(
        "--ranks",
        type=int,
        default=4,
        metavar="N",
        help="processes that do the same in the end; 0: none (default 4)",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("demo-output"),
        metavar="FOLDER",
        help="for the picture and for gt4py's cache (default demo-output)",
    )


# ---- what must be there before anything slow is imported ----


NEEDED = {
    "gt4py": "gt4py",
    "netCDF4": "netCDF4",
    "iris_sample_data": "iris-sample-data",
    "matplotlib": "matplotlib",
    "rich": "rich",
}

MOST_RANKS = 64  # of a field of 98 x 98 points


def check(arguments: argparse.Namespace) -> None:
    """Packages, compiler and numbers, before anything slow is imported."""
    if missing := [package for module, package in NEEDED.items() if find_spec(module) is None]:
        raise UsageError(
            f"not installed: {', '.join(missing)}; get what the demo needs with: pip install"
            " 'gridbuf[demo]'"
        )
    if cxx_compiler() is None:
        raise UsageError(
            f"no C++ compiler: '{cxx_command()}' is not on PATH, and gt4py cannot even be imported"
            " without; install one (g++)"
        )
    if min(arguments.size[:2]) < 3 or arguments.size[2] < 1:
        raise UsageError(
            f"--size: {' '.join(map(str, arguments.size))} leaves no domain inside a halo of 1; at"
            " least 3 3 1"
        )
    if arguments.steps < 1:
        raise UsageError(f"--steps: {arguments.steps} is not a positive number")
    if not 0 <= arguments.ranks <= MOST_RANKS:
        raise UsageError(f"--ranks: {arguments.ranks} is not among 0 to {MOST_RANKS}")


def prepare_folder(folder: Path) -> None:
    """Set the folders of gt4py and DaCe, beneath the output folder, before they are imported."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--output: {error}") from error
    os.environ.setdefault("GT_CACHE_ROOT", str(folder.resolve()))
    os.environ.setdefault("DACE_CONFIG", str(folder.resolve() / ".dace.conf"))


def chosen(wanted: Sequence[str] | None, stencils: Any) -> list[str]:
    """The backends to time: those asked for, or every one that gt4py has for the CPU."""
    known = [name for name in stencils.cpu_backends() if name not in stencils.PURE_PYTHON]
    for name in wanted or ():
        if name in stencils.PURE_PYTHON:
            raise UsageError(
                f"--backend: {name} is a pure Python loop, which is checked on a small grid and"
                f" never timed; choose from {', '.join(known)}"
            )
        if name not in known:
            raise UsageError(
                f"--backend: {name!r} is not a CPU backend of the installed gt4py, which has"
                f" {', '.join(known)}"
            )
    return list(dict.fromkeys(wanted or known))


# ---- load, diffuse, check, compare, draw ----


PREFERRED = "gt:cpu_ifirst"  # the layout least like a plain array's
TIMED_STEPS = 60  # at most, on the larger grid: three in each of 20 rounds
TOLERANCE = 1e-9  # kelvin; rounding over hundreds of steps stays far below


def run(arguments: argparse.Namespace) -> int:
    """Run the demo; 0 when every backend ran and every result agrees with NumPy's."""
    check(arguments)
    prepare_folder(arguments.output)
    from rich.console import Console

    from demo import data, stencils
    from demo.picture import draw, draw_bars

    backends = chosen(arguments.backend, stencils)
    console = Console()
    if not console.is_terminal:
        console = Console(width=130)
    with warnings.catch_warnings():
        # gt4py warns of every array whose layout is not the backend's.
        warnings.simplefilter("ignore")
        weather = data.load()
        with _progress(console) as progress:
            log = arguments.output / "compile.log"
            compiled, failures = stencils.compile_all(backends, log, progress)
        for backend, reason in failures.items():
            if arguments.backend or not compiled:
                raise UsageError(f"{backend}: {reason}")
            console.print(f"[red]left out:[/] {backend}: {reason}", highlight=False, soft_wrap=True)
        main = PREFERRED if PREFERRED in compiled else next(iter(compiled))
        before, after, error = _real_field(console, weather, main, compiled[main], arguments.steps)
        timed = min(arguments.steps, TIMED_STEPS)
        scores = _larger_grid(console, weather, compiled, tuple(arguments.size), timed)
        if not arguments.backend:
            error = max(error, _slow_backends(console, weather, stencils))
            same = _further(console, weather, main, compiled[main])
            error = error if same else float("inf")
        path = arguments.output / "gridbuf-demo.png"
        draw_bars(arguments.output / "gridbuf-demo-steps.png", scores, arguments.size)
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
    from demo import data
    from demo.stencils import COEFFICIENT, HALO, pointers
    from gridbuf import explain

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
    error = data.max_error(result, data.diffuse(before, steps, COEFFICIENT))
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
    from demo import data, measure
    from demo.measure import disturbed, table
    from demo.stencils import COEFFICIENT

    values = data.tile(weather.values, shape)
    scores = []
    with _progress(console) as progress:
        task = progress.add_task("NumPy reference", total=steps)
        expected = data.diffuse(values, steps, COEFFICIENT, advance=lambda: progress.advance(task))
        for backend, stencil in compiled.items():
            entered = measure.contenders(values, backend)
            task = progress.add_task(
                f"{backend} on {len(entered)} kinds of arrays", total=len(entered) * steps
            )
            advance = functools.partial(progress.advance, task)
            measure.race(stencil, entered, steps, advance=advance)
            scores += measure.score(
                backend, entered, lambda result: data.max_error(result, expected)
            )
    console.print(table(scores, shape, steps))
    if names := disturbed(scores):
        console.print(
            f"[yellow]Something else was running during {', '.join(names)}[/]: on an idle machine"
            " the times are lower"
        )
    return scores


def _further(console: "Console", weather: Any, backend: str, stencil: Callable[..., None]) -> bool:
    """The other tables; whether the fused step has the bits of the unfused one."""
    from demo import further

    console.print(further.shapes(weather.values, backend, stencil))
    table, same = further.notation(weather.values, backend, stencil)
    console.print(table)
    if not same:
        console.print("[red]the fused step has other bits than the unfused one[/]")
    return same


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
    from demo import blocks, picture

    outcome = blocks.diffuse_on_processes(
        before, arguments.steps, stencil, backend, arguments.ranks
    )
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
    for line in blocks.text(outcome):
        console.print(f"  {line}", highlight=False, markup=False)
    path = arguments.output / "gridbuf-demo-blocks.png"
    picture.draw_blocks(path, weather, outcome.result, outcome.grid, outcome.how)
    console.print(f"[bold]Picture:[/] {path}", highlight=False, soft_wrap=True)
    return same


def _slow_backends(console: "Console", weather: Any, stencils: Any) -> float:
    """The backends that loop in Python: a few steps on a corner of the field, checked and not
    timed.
    """
    from demo import data

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
        error = data.max_error(now.numpy(), data.diffuse(values, steps, stencils.COEFFICIENT))
        worst = max(worst, error)
        console.print(
            f"{backend} loops in Python and is not timed: {steps} steps on {shape} points, max"
            f" error {error:.1e} {weather.units}",
            highlight=False,
        )
    return worst


if __name__ == "__main__":
    sys.exit(main())
