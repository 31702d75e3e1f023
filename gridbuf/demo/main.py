"""The demo from the command line: load, diffuse, check, compare, draw."""

import argparse
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import gridbuf as gb

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from gridbuf.demo.measure import Score

NEEDED = {
    "gt4py": "gt4py",
    "netCDF4": "netCDF4",
    "iris_sample_data": "iris-sample-data",
    "matplotlib": "matplotlib",
    "rich": "rich",
}
PREFERRED = "gt:cpu_ifirst"  # the layout least like a plain array's
TOLERANCE = 1e-9  # kelvin; rounding over hundreds of steps stays far below


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `python -m gridbuf demo`."""
    parser.description = (
        "Diffuse a Met Office temperature field with a gt4py stencil on gridbuf Fields, then time the same on a larger "
        "grid for each CPU backend of gt4py: on Fields, on gt4py.storage's arrays and on plain C-ordered ones."
    )
    parser.add_argument(
        "--backend", action="append", metavar="NAME", help="a CPU backend of gt4py; may be repeated (default: all)"
    )
    parser.add_argument(
        "--size",
        type=int,
        nargs=3,
        metavar=("I", "J", "K"),
        default=(256, 256, 80),
        help="the larger grid, halo included (default 256 256 80)",
    )
    parser.add_argument("--steps", type=int, default=200, metavar="N", help="diffusion steps (default 200)")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("demo-output"),
        metavar="FOLDER",
        help="for the picture and for gt4py's cache (default demo-output)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the demo; 0 when every result agrees with NumPy's."""
    _check(arguments)
    _prepare_folder(arguments.output)
    from rich.console import Console

    from gridbuf.demo import data, stencils

    backends = _chosen(arguments.backend, stencils)
    console = Console()
    if not console.is_terminal:
        console = Console(width=130)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gt4py warns of every array whose layout is not the backend's
        weather = data.load()
        with _progress(console) as progress:
            compiled = {name: _compile(name, stencils, progress) for name in backends}
        main = PREFERRED if PREFERRED in backends else backends[0]
        before, after, error = _real_field(console, weather, main, compiled[main], arguments.steps)
        scores = _larger_grid(console, weather, compiled, tuple(arguments.size), arguments.steps)
        if not arguments.backend:
            error = max(error, _slow_backends(console, weather, stencils))
        _picture(console, arguments.output, weather, before, after, scores, arguments)
    worst = max([error, *(s.error for s in scores)])
    if not worst <= TOLERANCE:
        console.print(f"[red]a result differs from NumPy's by {worst:.2e} K, which is more than rounding[/]")
        return 1
    return 0


# ---- before anything runs ----


def _check(arguments: argparse.Namespace) -> None:
    if missing := [package for module, package in NEEDED.items() if find_spec(module) is None]:
        raise _usage(f"not installed: {', '.join(missing)}; get what the demo needs with: pip install 'gridbuf[demo]'")
    if min(arguments.size[:2]) < 3 or arguments.size[2] < 1:
        raise _usage(f"--size: {' '.join(map(str, arguments.size))} leaves no domain inside a halo of 1; at least 3 3 1")
    if arguments.steps < 1:
        raise _usage(f"--steps: {arguments.steps} is not a positive number")


def _prepare_folder(folder: Path) -> None:
    """Everything gt4py and DaCe write goes beneath the output folder; they read this when imported."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _usage(f"--output: {error}") from error
    os.environ.setdefault("GT_CACHE_ROOT", str(folder.resolve()))
    os.environ.setdefault("DACE_CONFIG", str(folder.resolve() / ".dace.conf"))


def _chosen(wanted: Sequence[str] | None, stencils: Any) -> list[str]:
    known = [name for name in stencils.cpu_backends() if name not in stencils.PURE_PYTHON]
    for name in wanted or ():
        if name in stencils.PURE_PYTHON:
            raise _usage(
                f"--backend: {name} is a pure Python loop, which is checked on a small grid and never timed; choose from {', '.join(known)}"
            )
        if name not in known:
            raise _usage(f"--backend: {name!r} is not a CPU backend of the installed gt4py, which has {', '.join(known)}")
    chosen = list(dict.fromkeys(wanted or known))
    from gridbuf.doctor import cxx_command, cxx_compiler

    if cxx_compiler() is None and (needy := [name for name in chosen if stencils.compiles_cxx(name)]):
        raise _usage(
            f"{', '.join(needy)}: no C++ compiler, '{cxx_command()}' is not on PATH; install one (g++), or say --backend numpy"
        )
    return chosen


def _usage(line: str) -> Exception:
    from gridbuf.cli import UsageError

    return UsageError(line)


# ---- the parts ----


@contextmanager
def _progress(console: "Console") -> Iterator["Progress"]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        yield progress


def _compile(backend: str, stencils: Any, progress: "Progress") -> Callable[..., None]:
    task = progress.add_task(f"compiling for {backend}", total=1)
    try:
        stencil: Callable[..., None] = stencils.compiled(backend)
    except Exception as error:  # distutils, CMake and gt4py each have their own
        reason = (str(error).strip() or type(error).__name__).splitlines()[-1]
        raise _usage(f"{backend}: gt4py could not compile the stencil: {reason}") from error
    progress.advance(task)
    return stencil


def _real_field(
    console: "Console", weather: Any, backend: str, stencil: Callable[..., None], steps: int
) -> tuple[Any, Any, float]:
    """The Met Office field itself: into a backend's layout, diffused, checked, and never copied on the way."""
    from gridbuf import explain
    from gridbuf.demo import reference
    from gridbuf.demo.identity import pointers
    from gridbuf.demo.stencils import COEFFICIENT, HALO

    halo = (0, HALO, HALO)
    field = gb.Field.from_array(weather.values, dims="KJI", halo=halo, backend=backend)
    console.print(
        f"\n[bold]{weather.name}[/] in {weather.units}: {weather.values.dtype} {weather.values.shape} from hybrid_height.nc, as a Field for {backend}",
        highlight=False,
    )
    console.print(explain.text(field.plan, halo=halo), highlight=False)
    addresses = pointers(field)
    same = len(set(addresses.values())) == 1
    console.print(
        f"\n[bold]One memory, seen {len(addresses)} ways:[/] {'all pointers are equal' if same else '[red]pointers differ[/]'}"
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
        f"\n[bold]{steps} steps of stencil(now, after, {COEFFICIENT})[/] in {1e3 * seconds:.0f} ms: "
        f"__gt_dims__ = {now.__gt_dims__} and __gt_origin__ = {now.__gt_origin__} say the rest; "
        f"largest difference from NumPy {error:.1e} {weather.units}\n",
        highlight=False,
    )
    return before, result, error if same else float("inf")


def _larger_grid(
    console: "Console", weather: Any, compiled: dict[str, Callable[..., None]], shape: tuple[int, ...], steps: int
) -> list["Score"]:
    from gridbuf.demo import data, measure, reference
    from gridbuf.demo.stencils import COEFFICIENT
    from gridbuf.demo.table import table

    values = data.tile(weather.values, shape)
    scores = []
    with _progress(console) as progress:
        task = progress.add_task("NumPy reference", total=steps)
        expected = reference.diffuse(values, steps, COEFFICIENT, advance=lambda: progress.advance(task))
        for backend, stencil in compiled.items():
            entered = measure.contenders(values, backend)
            task = progress.add_task(f"{backend} on {len(entered)} kinds of arrays", total=len(entered) * steps)
            measure.race(stencil, entered, steps, advance=lambda n, task=task: progress.advance(task, n))  # type: ignore[misc]
            scores += measure.score(backend, entered, lambda result: reference.max_error(result, expected))
    console.print(table(scores, shape, steps))
    return scores


def _slow_backends(console: "Console", weather: Any, stencils: Any) -> float:
    """The backends that loop in Python: a few steps on a corner of the field, checked and not timed."""
    from gridbuf.demo import data, reference

    shape, steps, worst = (12, 12, 4), 3, 0.0
    for backend in (name for name in stencils.cpu_backends() if name in stencils.PURE_PYTHON):
        values, stencil = data.tile(weather.values, shape), stencils.compiled(backend)
        now = gb.Field.from_array(values, dims="IJK", halo=(stencils.HALO, stencils.HALO, 0), backend=backend)
        after = now.copy()
        for _ in range(steps):
            stencil(now, after, stencils.COEFFICIENT)
            now, after = after, now
        error = reference.max_error(now.numpy(), reference.diffuse(values, steps, stencils.COEFFICIENT))
        worst = max(worst, error)
        console.print(
            f"{backend} loops in Python and is not timed: {steps} steps on {shape} points, max error {error:.1e} {weather.units}",
            highlight=False,
        )
    return worst


def _picture(
    console: "Console",
    folder: Path,
    weather: Any,
    before: Any,
    after: Any,
    scores: Sequence["Score"],
    arguments: argparse.Namespace,
) -> None:
    from gridbuf.demo.picture import draw

    path = folder / "gridbuf-demo.png"
    draw(path, weather, before, after, scores, arguments.steps, arguments.size)
    console.print(f"[bold]Picture:[/] {path}", highlight=False)
