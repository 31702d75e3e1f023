"""The options of `python -m gridbuf watch`: apart from the rest, which is loaded when it runs."""

import argparse
from typing import Any

from gridbuf import running


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.description = "Run a Python program as `python program.py` would, and tell what it did with its memory."
    parser.epilog = "example: python -m gridbuf watch --measure model.py --steps 10"
    parser.add_argument(
        "--measure", action="store_true", help="run each stencil a few times on copies of its fields in the backend's layout"
    )
    parser.add_argument(
        "--apply", action="store_true", help="then run it in fresh processes, as it is and by `gridbuf run`: their ratio"
    )
    parser.add_argument("--live", action="store_true", help="the tables while it runs, too")
    parser.add_argument("--html", metavar="FILE", help="a page with pictures")
    parser.add_argument("--json", metavar="FILE", help="everything that was seen")
    running.add_arguments(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> Any:
    from gridbuf.watch.main import run

    return run(arguments)
