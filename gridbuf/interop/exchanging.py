"""Another package's functions exchanged for ours: in every module that holds them, and back."""

import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any


def exchange(pairs: Iterable[tuple[Any, Any]]) -> None:
    """Put the second of each pair wherever a module has the first under any name.

    What a module holds is found by identity in its namespace, without asking the module: some load
    themselves when they are asked. Functions that a program has put into a class, a closure or a
    container stay what they are.
    """
    new = {id(old): (old, ours) for old, ours in pairs}
    for module in list(sys.modules.values()):
        try:
            names = object.__getattribute__(module, "__dict__")
        except AttributeError:  # an object in a module's place
            continue
        for name, value in list(names.items()):
            if id(value) in new:
                names[name] = new[id(value)][1]


class Installation:
    """Something that is on or off for the whole process: `install()` returns it, and as a context
    it goes off at the end.

    It is on as long as the user has said so, or another installation that needs it holds it.
    """

    def __init__(self, on: Callable[[], Callable[[], None]]) -> None:
        self._turn_on = on
        self._turn_off: Callable[[], None] | None = None
        self._said, self._holders = False, 0
        self._lock = threading.RLock()

    @property
    def is_on(self) -> bool:
        return self._turn_off is not None

    def on(self) -> "Installed":
        """Turn it on; the result knows whether that was said before."""
        before = self._said
        self._set(True, 0)
        return Installed(self, before)

    def off(self) -> None:
        """Turn it off, unless another holds it."""
        self._set(False, 0)

    def hold(self) -> Callable[[], None]:
        """Turn it on, until the result is called."""
        self._set(None, 1)
        return lambda: self._set(None, -1)

    def _set(self, said: bool | None, holders: int) -> None:
        with self._lock:
            self._said = self._said if said is None else said
            self._holders += holders
            wanted = self._said or self._holders > 0
            if wanted and self._turn_off is None:
                self._turn_off = self._turn_on()
            elif not wanted and self._turn_off is not None:
                turn_off, self._turn_off = self._turn_off, None
                turn_off()


class Installed:
    """The result of `install()`: leaving it as a context undoes that, unless it was said
    before.
    """

    def __init__(self, what: Installation, before: bool) -> None:
        self._what, self._before = what, before

    def __enter__(self) -> "Installed":
        return self

    def __exit__(self, *error: Any) -> None:
        if not self._before:
            self._what.off()


def doors(
    module: str, on: Callable[[], Callable[[], None]], user: str, effect: str, example: str
) -> tuple[Installation, Callable[[], Installed], Callable[[], None], Callable[[], bool]]:
    """The installation of a module, and its public `install`, `uninstall` and `installed`.

    Parameters
    ----------
    module : str
        The module that has them.
    on : callable
        Turns it on; the result turns it off again.
    user : str
        The package that allocates, as docstrings name it.
    effect : str
        What `install` does beside its first line.
    example : str
        The line inside of `with door.install():` that makes an array `a`.
    """
    installation = Installation(on)

    def install() -> Installed:
        return installation.on()

    def uninstall() -> None:
        installation.off()

    def installed() -> bool:
        return installation.is_on

    install.__doc__ = f"""Let {user} allocate host memory from gridbuf.

{effect}

Returns
-------
Installed
    As a context, it undoes this at the end.

Examples
--------
>>> import gridbuf as gb, numpy as np, {module} as door
>>> with door.install():
...     {example}
>>> gb.memory.buffer_id(a) is not None, door.installed()
(True, False)
"""
    uninstall.__doc__ = f"""Undo `install`. Arrays that live stay as they are.

Examples
--------
>>> import {module} as door
>>> door.uninstall()
"""
    installed.__doc__ = f"""Whether `install` is in force.

Returns
-------
bool

Examples
--------
>>> import {module} as door
>>> door.installed()
False
"""
    functions = install, uninstall, installed
    for function in functions:
        function.__module__, function.__qualname__ = module, function.__name__
    return installation, *functions
