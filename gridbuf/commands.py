"""Parts that commands share: errors for their users, and running a program unchanged, as `python
program.py` would, in this process.
"""

import argparse
import builtins
import linecache
import os
import runpy
import sys
import types
from collections.abc import Sequence
from contextlib import suppress
from importlib.machinery import BuiltinImporter, SourceFileLoader
from pathlib import Path
from typing import Any


class UsageError(Exception):
    """An error that the user of a command can put right: printed as one line, and the command exits
    with 2.
    """


class quiet_pipe:
    """End a command silently where the reader of its output, such as `head`, has ended; `status`
    is what a shell reports then.
    """

    status = 0

    def __enter__(self) -> "quiet_pipe":
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> bool:
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            kind = BrokenPipeError
        except Exception:  # none, closed, or of the program: Python flushes once more, and says so
            return False
        if kind is None or not issubclass(kind, BrokenPipeError):
            return False
        # Python flushes once more when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        self.status = 141
        return True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that name a program, as `python` takes them; those behind it are the program's,
    `--` included.
    """
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument(
        "-m",
        dest="way",
        action="store_const",
        const="module",
        default="file",
        help="the program is a module's name",
    )
    ways.add_argument(
        "-c", dest="way", action="store_const", const="code", help="the program is code"
    )
    parser.add_argument(
        "program",
        nargs=argparse.PARSER,
        help="a file, a module (-m) or code (-c), then its own arguments",
    )


def words_of(arguments: argparse.Namespace) -> list[str]:
    """The program and its arguments; one `--` may stand before them."""
    return list(arguments.program[arguments.program[0] == "--" :])


def execute(words: Sequence[str], *, way: str = "file") -> Any:
    """Run a file, or with way="module" or "code" what `python -m` or `python -c` run; what
    `sys.exit` is to be given.

    The program is `__main__`, with its own sys.argv and sys.path; classes that it defines can be
    pickled, and spawned children find it. An exception that it does not catch is printed without
    our own frames; a KeyboardInterrupt then goes on, because Python ends by the signal of one.
    """
    try:
        {"file": _file, "module": _module, "code": _code}[way](*words)
    except SystemExit as error:
        return error.code
    except UsageError:
        raise
    except BaseException as error:
        error.__traceback__ = _from_the_program_on(error.__traceback__)
        _without_watch(error)
        _print(error)
        if type(error) is not KeyboardInterrupt:
            return 1
    else:
        return 0
    sys.excepthook = _Printed(sys.excepthook)
    raise KeyboardInterrupt


class _Printed:
    """The hook while an exception goes up that was printed already."""

    def __init__(self, before: Any) -> None:
        self.before = before

    def __call__(self, *error: Any) -> None:
        sys.excepthook = self.before


def _print(error: BaseException) -> None:
    """By the program's hook; what fails in that is printed as Python does, before the error
    itself.
    """
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    vars(sys)["last_exc"] = error
    if (hook := getattr(sys, "excepthook", None)) is None:
        _say("sys.excepthook is missing")
        hook = sys.excepthook = sys.__excepthook__
    try:
        hook(type(error), error, error.__traceback__)
    except Exception as failed:
        failed.__traceback__ = _from_the_program_on(failed.__traceback__)
        failed.__context__ = None
        for words, each in (
            ("Error in sys.excepthook:", failed),
            ("\nOriginal exception was:", error),
        ):
            _say(words)
            sys.__excepthook__(type(each), each, each.__traceback__)


def _say(words: str) -> None:
    """The stream of errors, if there is one: to `print`, None would be the output."""
    stream = sys.__stderr__ if sys.stderr is None else sys.stderr
    if stream is not None:
        with suppress(Exception):
            print(words, file=stream)


def _file(program: str, *arguments: str) -> None:
    path = Path(program)
    if path.is_dir() or path.suffix in (".zip", ".pyz"):
        sys.argv = [program, *arguments]
        runpy.run_path(program, run_name="__main__")
        return
    try:
        source = path.read_bytes()
    except OSError as error:
        raise UsageError(f"program: {program}: {error.strerror}") from error
    file = os.path.abspath(path)
    sys.argv = [program, *arguments]
    if not sys.flags.safe_path:  # where `python -m gridbuf` has the working directory
        sys.path[0] = str(path.resolve().parent)
    _run(
        compile(source, file, "exec", dont_inherit=True),
        __file__=file,
        __loader__=SourceFileLoader("__main__", file),
        __cached__=None,
    )


def _code(source: str, *arguments: str) -> None:
    sys.argv = ["-c", *arguments]
    if not sys.flags.safe_path:
        sys.path[0] = ""
    if sys.version_info >= (3, 13):  # tracebacks show lines of -c
        linecache.cache["<string>"] = (
            len(source),
            None,
            [f"{line}\n" for line in source.splitlines()],
            "<string>",
        )
    _run(compile(source, "<string>", "exec", dont_inherit=True), __loader__=BuiltinImporter)


def _module(name: str, *arguments: str) -> None:
    sys.argv = [name, *arguments]
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _run(code: types.CodeType, **names: Any) -> None:
    """As a module of its own that is `__main__`."""
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    vars(main).update(__builtins__=builtins, __annotations__={}, **names)
    exec(code, vars(main))


_WATCH = os.path.join(os.path.dirname(__file__), "watch", "")


def _from_the_program_on(traceback: Any) -> Any:
    """The traceback from the program's first frame on."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename in (
        __file__,
        "<frozen runpy>",
    ):
        traceback = traceback.tb_next
    return traceback


def _without_watch(error: BaseException) -> None:
    """Take the frames of gridbuf.watch, which stand between the program's own, out of an exception
    and those behind it.
    """
    chain: list[BaseException | None] = [error]
    for each in chain:
        last = each.__traceback__ if each is not None else None
        while last is not None and last.tb_next is not None:
            if last.tb_next.tb_frame.f_code.co_filename.startswith(_WATCH):
                last.tb_next = last.tb_next.tb_next
            else:
                last = last.tb_next
        if each is not None:
            chain += [
                other
                for other in (each.__cause__, each.__context__)
                if not any(other is one for one in chain)
            ]
