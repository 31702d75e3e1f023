"""Shallow water on a plane or on a sphere: run, save, restart on another number of ranks, and draw.

    mpirun -n 4 python examples/shallow_water.py plane --case vortices --hours 48 --plot plane.png
    mpirun -n 4 python examples/shallow_water.py sphere --case mountain --hours 120 --save day5
    mpirun -n 3 python examples/shallow_water.py sphere --restart day5 --hours 360 --plot day15.png

The models are in shallow_water_plane.py and shallow_water_sphere.py. This file has what any model
on gridbuf.distributed needs beside its numerics: a run has the same bits on any number of ranks,
without MPI, and when it was saved and read again in between.
"""

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))  # the models lie beside this file


def communicator() -> Any:
    """MPI's, of all processes; None for one process alone, which needs no mpi4py."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError):  # no mpi4py, or no library of MPI
        return None
    return MPI.COMM_WORLD if MPI.COMM_WORLD.size > 1 else None


def save(model: Any, path: str) -> None:
    model.grid.save(path, **model.fields, attributes={"case": model.case, "steps": model.steps})


def restart(model: Any, path: str) -> None:
    """Go on from fields that any number of ranks has saved."""
    found = model.grid.load(path)
    if found.attributes["case"] != model.case:
        raise ValueError(f"{path} is of the case {found.attributes['case']!r}, not {model.case!r}")
    model.fields, model.steps = dict(found), found.attributes["steps"]


def run(model: Any, hours: float) -> dict[str, Any]:
    """Step until so many hours after the beginning. Every rank gets what became of it."""
    before = model.mass(), model.energy()
    while model.steps * model.dt < hours * 3600:
        model.step()
    mass, energy = model.mass(), model.energy()
    return {
        "steps": model.steps,
        "mass": mass,
        "change of mass": mass - before[0],
        "change of energy": energy / before[1] - 1,
        "error": model.error(),
        "checksum": " ".join(f"{model.grid.checksum(f):016x}" for f in model.fields.values()),
    }


def plot(x: Any, y: Any, values: Any, title: str, path: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot(title=title)
    drawn = axes.tricontourf(x.ravel(), y.ravel(), values.ravel(), levels=24)
    figure.colorbar(drawn, label="height of the surface, m")
    figure.savefig(path)


def main(words: list[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("where", choices=("plane", "sphere"))
    parser.add_argument("n", type=int, nargs="?", default=24, help="cells along an edge (24)")
    parser.add_argument("--case", help="jet or vortices; steady or mountain (the second)")
    parser.add_argument("--hours", type=float, default=24.0, help="since the beginning (24)")
    parser.add_argument("--blocks", type=int, nargs=2, help="of the plane, or of each tile")
    parser.add_argument("--restart", metavar="PATH", help="of the same n and case")
    parser.add_argument("--save", metavar="PATH")
    parser.add_argument("--plot", metavar="FILE")
    options = parser.parse_args(words)
    module = importlib.import_module(f"shallow_water_{options.where}")
    case = options.case or list(module.CASES)[1]
    cut = {"blocks": options.blocks} if options.blocks else {}
    model = module.Model(options.n, case, comm=communicator(), **cut)
    if options.restart:
        restart(model, options.restart)
    found = run(model, options.hours)
    if options.save:
        save(model, options.save)
    picture = model.picture() if options.plot else None
    if model.grid.rank == 0:
        for name, value in found.items():
            print(f"{name}: {value}")
        if picture is not None:
            plot(*picture, f"{options.where}, {case}, {options.hours:g} hours", options.plot)
    return found


if __name__ == "__main__":
    main()
