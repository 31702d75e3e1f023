"""Functions and classes of other packages, exchanged while a program is watched and put back
afterwards.
"""

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from gridbuf import _core
from gridbuf.importing import forget, when_imported
from gridbuf.watch.records import Book

Undo = Callable[[], None]


def from_import_on(book: Book, package: str, begin: Callable[[list[Undo]], None]) -> Undo:
    """Call `begin` once the package is imported, with a list for its undoing; the result does that,
    the last first.

    A version that `begin` does not fit is reported as not seen, and the program's import goes on.
    """
    undo: list[Undo] = []

    def call() -> None:
        try:
            begin(undo)
        except Exception as error:
            book.not_seen[
                f"calls of {package} ({_version(package)}): {type(error).__name__}: {error}"
            ] = None

    when_imported(package, call)
    undo.insert(0, lambda: forget(package, call))
    return together(undo)


def _version(package: str) -> str:
    top = package.partition(".")[0]
    try:
        return f"{top} {version(top)}"
    except PackageNotFoundError:
        return "unknown version"


def put(owner: Any, name: str, ours: Any) -> Undo:
    """Set an attribute; the result restores what was there or inherited, unless another one has
    been set since.
    """
    inherits, before = name not in vars(owner), vars(owner).get(name)
    setattr(owner, name, ours)

    def put_back() -> None:
        if vars(owner).get(name) is not ours:
            return
        if inherits:
            delattr(owner, name)
        else:
            setattr(owner, name, before)

    return put_back


def between(owner: Any, name: str, before: Callable[..., Any], after: Callable[..., Any]) -> Undo:
    """Call a function or method of `owner` between two hooks.

    `before` gets the call's arguments and returns a token, or None for nothing more; `after` gets
    the token and the result, or the token alone where the call raised. No frame of ours stands
    between the program and the function.
    """
    plain = vars(owner).get(name) or getattr(owner, name)
    return put(owner, name, _core.watch_stand_in(plain, before, after))


def together(each: list[Undo]) -> Undo:
    """A function that undoes all of them, in reverse order."""

    def uninstall() -> None:
        while each:
            each.pop()()

    return uninstall
