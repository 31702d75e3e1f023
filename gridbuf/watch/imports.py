"""What is watched of a package that the program may import later, or never."""

from collections.abc import Callable

from gridbuf.startup import forget, when_imported

Undo = Callable[[], None]


def from_import_on(package: str, put: Callable[[list[Undo]], None]) -> Undo:
    """Call `put` when the package is there, with a list for what undoes it; the result does that, the last first."""
    undo: list[Undo] = []

    def begin() -> None:
        put(undo)

    when_imported(package, begin)

    def uninstall() -> None:
        forget(package, begin)
        while undo:
            undo.pop()()

    return uninstall
