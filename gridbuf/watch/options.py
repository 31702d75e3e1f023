"""The options of `python -m gridbuf watch`: apart from the rest, which is loaded when it runs."""

import argparse


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
    parser.add_argument("-m", dest="module", action="store_true", help="the program is a module's name")
    parser.add_argument("program", help="a file, or with -m a module")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the program's own")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from gridbuf.watch.main import run

    return run(arguments)
