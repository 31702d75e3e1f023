"""The options of the demo; the rest of it is loaded when it runs."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `python -m gridbuf demo`."""
    parser.description = (
        "Diffuse a Met Office temperature field with a gt4py stencil on gridbuf Fields, then time"
        " the same on a larger grid for each CPU backend of gt4py: on Fields, on gt4py.storage's"
        " arrays and on plain C-ordered ones. In the end the first is done again by several"
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
        "--steps", type=int, default=200, metavar="N", help="diffusion steps (default 200)"
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
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from gridbuf.demo.main import run

    return run(arguments)
