"""Running somebody's program unchanged, as `python program.py` would, in this process: what `run` and tools like it are made of."""

import builtins
import os
import runpy
import sys
import types
from collections.abc import Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

from gridbuf.errors import UsageError


def execute(program: str, arguments: Sequence[str] = (), *, module: bool = False) -> int:
    """Run a file, or with module=True what `python -m` runs; the exit status of it.

    The program is `__main__`, with its own sys.argv and sys.path; classes that it defines can be pickled, and spawned children
    find it. An exception that it does not catch is printed without our own frames.
    """
    try:
        if module:
            _module(program, arguments)
        else:
            _file(program, arguments)
    except SystemExit as error:
        return _status(error.code)
    except UsageError:
        raise
    except BaseException as error:
        error.__traceback__ = _from_the_program_on(error.__traceback__)
        _without_watch(error)
        _print(error)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _print(error: BaseException) -> None:
    """By the program's hook; what fails in that is printed as Python does, before the error itself."""
    errors = sys.stderr or sys.__stderr__  # the program's output is none
    if (hook := getattr(sys, "excepthook", None)) is None:
        print("sys.excepthook is missing", file=errors)
        hook = sys.__excepthook__
    try:
        hook(type(error), error, error.__traceback__)
    except Exception as failed:
        failed.__traceback__ = _from_the_program_on(failed.__traceback__)
        failed.__context__ = None
        for words, each in (("Error in sys.excepthook:", failed), ("\nOriginal exception was:", error)):
            print(words, file=errors)
            sys.__excepthook__(type(each), each, each.__traceback__)


def _file(program: str, arguments: Sequence[str]) -> None:
    path = Path(program)
    if path.is_dir() or path.suffix in (".zip", ".pyz"):
        sys.argv = [program, *arguments]
        runpy.run_path(program, run_name="__main__")
        return
    try:
        source = path.read_bytes()
    except OSError as error:
        raise UsageError(f"program: {program}: {error.strerror}") from error
    file, main = os.path.abspath(path), types.ModuleType("__main__")
    vars(main).update(
        __file__=file, __builtins__=builtins, __loader__=SourceFileLoader("__main__", file), __cached__=None, __annotations__={}
    )  # fmt: skip
    sys.argv = [program, *arguments]
    if not sys.flags.safe_path:  # where `python -m gridbuf` has the working directory
        sys.path[0] = str(path.resolve().parent)
    sys.modules["__main__"] = main
    exec(compile(source, file, "exec", dont_inherit=True), vars(main))


def _module(name: str, arguments: Sequence[str]) -> None:
    sys.argv = [name, *arguments]
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _status(code: Any) -> int:
    """What Python makes of SystemExit's argument."""
    if code is None or isinstance(code, int):
        return int(code or 0)
    print(code, file=sys.stderr or sys.__stderr__)
    return 1


_WATCH = os.path.join(os.path.dirname(__file__), "watch", "")


def _from_the_program_on(traceback: Any) -> Any:
    """The traceback from the program's first frame on."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename in (__file__, "<frozen runpy>"):
        traceback = traceback.tb_next
    return traceback


def _without_watch(error: BaseException) -> None:
    """Take the frames of gridbuf.watch, which stand between the program's own, out of an exception and those behind it."""
    chain: list[BaseException | None] = [error]
    for each in chain:
        last = each.__traceback__ if each is not None else None
        while last is not None and last.tb_next is not None:
            if last.tb_next.tb_frame.f_code.co_filename.startswith(_WATCH):
                last.tb_next = last.tb_next.tb_next
            else:
                last = last.tb_next
        if each is not None:
            chain += [other for other in (each.__cause__, each.__context__) if not any(other is one for one in chain)]


def let_children_know(names: Sequence[str]) -> None:
    """Processes that the program starts install the same, where gridbuf is installed from a wheel."""
    os.environ["GRIDBUF_INSTALL"] = ",".join(names)
