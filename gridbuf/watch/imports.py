"""What is watched of a package that the program may import later, or never."""

from collections.abc import Callable
from typing import Any

from gridbuf.importing import forget, when_imported

Undo = Callable[[], None]


def from_import_on(package: str, begin: Callable[[list[Undo]], None]) -> Undo:
    """Call `begin` when the package is there, with a list for what undoes it; the result does that, the last first."""
    undo: list[Undo] = []

    def call() -> None:
        begin(undo)

    when_imported(package, call)
    undo.insert(0, lambda: forget(package, call))
    return together(undo)


def put(owner: Any, name: str, ours: Any) -> Undo:
    """Give a module or a class ours; the result gives it back what it had, or what it inherits, unless somebody has put in another."""
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


def together(each: list[Undo]) -> Undo:
    """One that does all of them, the last first."""

    def uninstall() -> None:
        while each:
            each.pop()()

    return uninstall
