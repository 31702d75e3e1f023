"""A distributed run on paper: `python -m gridbuf distributed`. It needs no MPI and allocates no
field.

This file reads the command line; `report`, which works out what a cut costs and says it, is loaded
when the command runs.
"""

import argparse
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridbuf.commands import UsageError

if TYPE_CHECKING:
    from gridbuf.distributed.geometry.tiles import Topology
    from gridbuf.paper.report import Run

MOST = 1_000_000  # ranks, and blocks of a tile: more take minutes, and the memory of this machine


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.description = (
        "Plan a distributed run without MPI: the cut of the grid, the cost of an exchange of halos,"
        " and cheaper cuts."
    )
    parser.epilog = (
        "example: python -m gridbuf distributed 1024 1024 --levels 80 --halo 3 --fields 8"
        " --ranks 96"
    )
    parser.add_argument(
        "shape",
        type=_positive,
        nargs="+",
        help="points along each index that is cut; of a cubed sphere those of an edge",
    )
    parser.add_argument("--ranks", type=_positive, required=True, metavar="N", help="processes")
    parser.add_argument(
        "--blocks",
        type=_positive,
        nargs="+",
        metavar="N",
        help="along each index (default: the cut that exchanges least)",
    )
    parser.add_argument(
        "--dims",
        default=None,
        metavar="NAMES",
        help="the indices that are cut (default I, IJ or IJK)",
    )
    parser.add_argument(
        "--levels", type=_positive, metavar="N", help="points along an index that is not cut"
    )
    parser.add_argument(
        "--halo",
        type=_width,
        nargs="+",
        default=[1],
        metavar="N|LOW:HIGH",
        help="one for all, or one per index (default 1)",
    )
    parser.add_argument(
        "--fields", type=_positive, default=1, metavar="N", help="exchanged together (default 1)"
    )
    parser.add_argument(
        "--dtype", default="float64", help="anything numpy.dtype takes (default float64)"
    )
    parser.add_argument(
        "--backend",
        help="a preset: gt:cpu_ifirst, dace:cpu, C, ... (default: GRIDBUF_BACKEND, or C)",
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--periodic", default="", metavar="NAMES", help="the indices without ends")
    kind.add_argument(
        "--cubed-sphere", action="store_true", help="six tiles; blocks are those of a tile"
    )
    kind.add_argument(
        "--tripolar",
        nargs="?",
        const="T",
        choices=("T", "F"),
        metavar="T|F",
        help="folded at its north, about T or F points",
    )
    parser.add_argument(
        "--latency",
        type=_number,
        default=2.0,
        metavar="US",
        help="microseconds that a message takes (default 2)",
    )
    parser.add_argument(
        "--bandwidth",
        type=_rate,
        default=12.5,
        metavar="GB/S",
        help="of the network, for each rank (default 12.5)",
    )
    parser.add_argument(
        "--copying", type=_rate, metavar="GB/S", help="of copies in memory (default: measured here)"
    )
    parser.add_argument(
        "--cuts", type=_count, default=6, metavar="N", help="how many cuts to compare (default 6)"
    )
    parser.add_argument(
        "--draw", type=Path, metavar="FILE", help="write an SVG picture of the blocks"
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from gridbuf.distributed.drawing import MOST, paper
    from gridbuf.paper import report

    try:
        run, kind = read(arguments)
        counts = report.chosen(run) if arguments.blocks is None else _blocks(arguments.blocks, run)
        own = report.figures(run, counts)
        compared = report.nearest(run, own) if arguments.cuts else []
    except (TypeError, ValueError, RuntimeError, ImportError) as error:
        raise UsageError(str(error)) from error
    copying = report.copying() if arguments.copying is None else arguments.copying * 1e9
    network = report.Network(arguments.latency * 1e-6, arguments.bandwidth * 1e9, copying)
    if arguments.draw is not None:
        if own.decomposition.number_of_blocks > MOST:
            raise UsageError(
                f"--draw: {own.decomposition.number_of_blocks} blocks are more than the {MOST} that"
                " a picture has room for"
            )
        try:
            arguments.draw.write_text(paper(run.topology, own.decomposition, run.halo))
        except OSError as error:
            raise UsageError(f"--draw: {error}") from error
    print(report.text(run, kind, own, compared, network, arguments.cuts))
    return 0


def read(arguments: argparse.Namespace) -> "tuple[Run, str]":
    """The run to plan, and the name of the grid in errors and in the first line."""
    import numpy as np

    from gridbuf.distributed import arguments as reading
    from gridbuf.paper.report import Run

    for option, n in (("--ranks", arguments.ranks), ("--blocks", prod(arguments.blocks or ()))):
        if n > MOST:
            raise UsageError(f"{option}: {n:,} are more than the {MOST:,} that can be planned")
    shape = _shape(arguments)
    names = reading.read_dims(
        "IJK"[: len(shape)] if arguments.dims is None else arguments.dims, len(shape), "the shape"
    )
    cyclic = reading.read_periodic(arguments.periodic, names)
    halo = reading.read_halo(
        arguments.halo * len(names) if len(arguments.halo) == 1 else arguments.halo, names
    )
    if arguments.levels is not None and len(names) > 2:
        raise UsageError("--levels: all three indices are cut, so that none is left for them")
    try:
        dtype = np.dtype(arguments.dtype)
    except TypeError as error:
        raise UsageError(f"--dtype: {error}") from error
    topology, cyclic, kind = _topology(arguments, shape, names, cyclic)
    run = Run(
        topology,
        cyclic,
        halo,
        arguments.ranks,
        arguments.levels,
        arguments.fields,
        dtype,
        arguments.backend,
        arguments.tripolar or "",
    )
    return run, kind


def _shape(arguments: argparse.Namespace) -> tuple[int, ...]:
    """The points of a tile, one number for each index that is cut."""
    shape = tuple(arguments.shape)
    text = " ".join(map(str, shape))
    if prod(shape) >= 2**60:
        raise UsageError(f"shape: {text}; its points are more than can be counted")
    if arguments.cubed_sphere:
        if len(shape) != 1 and shape != shape[:1] * 2:
            raise UsageError(
                f"shape: {text}; a cubed sphere is given the points along an edge, one number"
            )
        shape = shape[:1] * 2
    if arguments.tripolar is not None and (len(shape) != 2 or shape[0] % 2):
        raise UsageError(f"shape: {text}; a tripolar grid has two numbers, the first even")
    if len(shape) > 3:
        raise UsageError(f"shape: {len(shape)} numbers; a grid is cut along at most 3 indices")
    return shape


def _topology(
    arguments: argparse.Namespace,
    shape: tuple[int, ...],
    names: tuple[str, ...],
    cyclic: tuple[bool, ...],
) -> "tuple[Topology, tuple[bool, ...], str]":
    """Tiles and seams, the periodic indices, and the name of the grid."""
    from gridbuf.distributed.geometry.tiles import Topology, cube, folded, rings

    if arguments.cubed_sphere:
        return Topology((shape,) * 6, cube(shape[0]), names), cyclic, "cubed sphere"
    if arguments.tripolar is not None:
        seams = folded(shape, arguments.tripolar, names)
        return (
            Topology((shape,), seams, names),
            (True, False),
            f"tripolar, pivot {arguments.tripolar}",
        )
    periodic = " ".join(name for name, yes in zip(names, cyclic, strict=True) if yes)
    topology = Topology((shape,), rings(0, shape, cyclic, names), names)
    return topology, cyclic, f"periodic along {periodic}" if periodic else "closed"


def _blocks(given: list[int], run: "Run") -> tuple[int, ...]:
    if len(given) != run.topology.ndim:
        raise UsageError(
            f"--blocks: {len(given)} numbers, the grid has {run.topology.ndim} indices"
        )
    return tuple(given)


# ---- words ----


def _count(word: str) -> int:
    if not word.isdecimal():
        raise argparse.ArgumentTypeError(f"{word!r} is not a whole number of at least 0")
    return int(word)


def _positive(word: str) -> int:
    if not word.isdecimal() or int(word) == 0:
        raise argparse.ArgumentTypeError(f"{word!r} is not a whole number above 0")
    return int(word)


def _width(word: str) -> Any:
    low, colon, high = word.partition(":")
    if not (low.isdecimal() and (high.isdecimal() if colon else True)):
        raise argparse.ArgumentTypeError(f"{word!r} is not a number or a LOW:HIGH pair")
    return (int(low), int(high)) if colon else int(low)


def _number(word: str) -> float:
    try:
        found = float(word)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{word!r} is not a number") from error
    if not 0 <= found < float("inf"):
        raise argparse.ArgumentTypeError(f"{word!r} is not a number of at least 0")
    return found


def _rate(word: str) -> float:
    found = _number(word)
    if not found:
        raise argparse.ArgumentTypeError(f"{word!r} moves nothing; a number above 0 is needed")
    return found
