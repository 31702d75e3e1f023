"""The command line: `python -m gridbuf doctor | plan | distributed | run | watch`."""

import argparse
import inspect
import sys
from collections.abc import Sequence
from typing import Any

import gridbuf
from gridbuf import commands, startup
from gridbuf.commands import UsageError, quiet_pipe
from gridbuf.paper import add_arguments as add_distributed_arguments
from gridbuf.watch import add_arguments as add_watch_arguments

PROGRAMS = ("run", "watch")  # ending as the program that they run


def main(argv: Sequence[str] | None = None) -> Any:
    """Run one command and return its exit status, for `sys.exit`.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments after `python -m gridbuf`; default `sys.argv[1:]`.

    Examples
    --------
    >>> from gridbuf.cli import main
    >>> main(["plan", "4", "--dtype", "int8"])  # doctest: +ELLIPSIS
    I (4,) of int8 on cpu
    ...
    0
    """
    parser, commands = _parser()
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:  # the command's own usage; argparse would print that of `gridbuf`
        commands[arguments.command].error(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        if arguments.command in PROGRAMS:
            return arguments.run(arguments)
        with quiet_pipe() as pipe:
            status = int(arguments.run(arguments) or 0)
        return pipe.status or status
    except UsageError as error:
        print(f"{commands[arguments.command].prog}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        if arguments.command in PROGRAMS:
            raise
        print("\ninterrupted", file=sys.stderr)
        return 130


def _parser() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    parser = argparse.ArgumentParser(
        prog="gridbuf", description="The memory layer for stencil programs."
    )
    parser.add_argument("--version", action="version", version=f"gridbuf {gridbuf.__version__}")
    subparsers = parser.add_subparsers(
        dest="command", required=True, metavar="doctor | plan | distributed | run | watch"
    )
    commands = {
        "doctor": subparsers.add_parser(
            "doctor", help="describe this machine, and warn of its limits"
        ),
        "plan": subparsers.add_parser(
            "plan", help="explain strides, padding, bytes and alignment of a request"
        ),
        "distributed": subparsers.add_parser(
            "distributed",
            help="plan a run on many processes, without MPI: cuts, messages, bytes, memory",
        ),
        "run": subparsers.add_parser(
            "run",
            help="run a program unchanged, with NumPy's and gt4py's arrays in gridbuf's memory",
        ),
        "watch": subparsers.add_parser(
            "watch", help="run a program unchanged, and report its use of memory"
        ),
    }
    commands[
        "doctor"
    ].description = "Describe this machine, and warn of limits that affect gridbuf."
    commands["doctor"].add_argument(
        "--consumers",
        nargs="*",
        metavar="NAME",
        help="exchange memory with other packages, all or the ones named (takes minutes)",
    )
    commands["doctor"].set_defaults(run=_doctor)
    _add_plan_arguments(commands["plan"])
    add_distributed_arguments(commands["distributed"])
    _add_run_arguments(commands["run"])
    add_watch_arguments(commands["watch"])
    return parser, commands


def _doctor(arguments: argparse.Namespace) -> int:
    if arguments.consumers is None:
        from gridbuf import doctor

        print(doctor.text())
        return 0
    from gridbuf import consumers
    from gridbuf.consumers.report import report

    known = {name.lower(): name for name in consumers.FILES}
    unknown = [name for name in arguments.consumers if name.lower() not in known]
    if unknown:
        raise UsageError(f"--consumers: {unknown[0]!r} is not among {', '.join(consumers.FILES)}")
    return report([known[name.lower()] for name in arguments.consumers] or list(consumers.FILES))


# ---- run ----


def _add_run_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Run a Python program as `python program.py` would, with gridbuf's memory under it."
    )
    parser.epilog = "example: python -m gridbuf run --install gt4py model.py --steps 10"
    parser.add_argument(
        "--install",
        default=startup.USUAL,
        metavar="NAMES",
        help=f"{', '.join(startup.PARTS)}, or none (default {startup.USUAL})",
    )
    commands.add_arguments(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> Any:
    try:
        names = [] if arguments.install.strip() == "none" else startup.parts(arguments.install)
    except ValueError as error:
        raise UsageError(f"--install: {error}") from error
    startup.install(names)
    startup.let_children_know(names)
    return commands.execute(commands.words_of(arguments), way=arguments.way)


# ---- plan ----


def _add_plan_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Explain the layout that gridbuf.empty would give, without allocating it."
    parser.epilog = (
        "example: python -m gridbuf plan 128 128 80 --backend gt:cpu_ifirst --halo 3 3 0"
    )
    parser.add_argument(
        "shape", type=int, nargs="*", help="elements along each index, before all options"
    )
    parser.add_argument(
        "--backend",
        help="a preset: gt:cpu_ifirst, dace:cpu, C, ... (default: GRIDBUF_BACKEND, or C)",
    )
    parser.add_argument(
        "--dtype", default="float64", help="anything numpy.dtype takes (default float64)"
    )
    parser.add_argument(
        "--dims",
        "--dimensions",
        "--axes",
        dest="dimensions",
        metavar="NAMES",
        help="the indices' names in order, such as KJI",
    )
    parser.add_argument(
        "--halo", type=_halo_entry, nargs="+", metavar="N|LOW:HIGH", help="per index"
    )
    parser.add_argument(
        "--aligned-index", type=int, nargs="+", metavar="N", help="the element on the boundary"
    )
    parser.add_argument(
        "--layout",
        type=_rank,
        nargs="+",
        metavar="NAMES|RANK",
        help="KJI: from the largest stride on; or the rank of each, 0 the largest",
    )
    parser.add_argument("--byte-alignment", type=int, metavar="BYTES", help="a power of two")
    parser.add_argument(
        "--padding",
        type=_padding,
        metavar="yes|no|ITEMS",
        help="pad rows to the alignment, or to a multiple of ITEMS",
    )
    parser.add_argument("--device", type=_device, metavar="cpu|gpu[:N]")
    parser.add_argument("--memory", metavar="pinned|managed")
    told = vars(parser.parse_args([]))
    for name in _keywords():
        if name not in told:  # one that is new takes text, until something else is said of it above
            parser.add_argument(f"--{name.replace('_', '-')}")
    parser.set_defaults(run=_plan, parser=parser)


def _keywords() -> list[str]:
    """The keywords of `gridbuf.empty` but for shape and dtype; of dims and dimensions, which mean
    the same, one.
    """
    return [
        name
        for name in inspect.signature(gridbuf.empty).parameters
        if name not in ("shape", "dtype", "dims")
    ]


def _halo_entry(word: str) -> Any:
    low, colon, high = word.partition(":")
    try:
        return (int(low), int(high)) if colon else int(low)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{word!r} is not a number or a LOW:HIGH pair") from error


def _rank(word: str) -> Any:
    return int(word) if word.isdecimal() else word


def _padding(word: str) -> bool | int:
    if word.isdecimal():
        return int(word)
    if word not in ("yes", "no"):
        raise argparse.ArgumentTypeError(f"{word!r} is not yes, no or a number of items")
    return word == "yes"


def _device(word: str) -> Any:
    name, colon, number = word.partition(":")
    if colon and not number.isdecimal():
        raise argparse.ArgumentTypeError(f"{word!r} is not cpu, gpu or gpu:N")
    return (name, int(number)) if colon else name


def _plan(arguments: argparse.Namespace) -> None:
    from gridbuf import explain

    if not arguments.shape:
        arguments.parser.error(
            "shape: none was given; it goes first, because --halo and others take every number that"
            " follows: plan 128 128 80 --halo 3 3 0"
        )
    spec = {name: value for name in _keywords() if (value := getattr(arguments, name)) is not None}
    if "layout" in spec and any(isinstance(rank, str) for rank in spec["layout"]):
        spec["layout"] = "".join(map(str, spec["layout"]))
    try:
        plan = gridbuf.plan(tuple(arguments.shape), arguments.dtype, **spec)
    except (TypeError, ValueError, RuntimeError, ImportError, MemoryError) as error:
        raise UsageError(str(error)) from error
    print(explain.text(plan, halo=arguments.halo))
