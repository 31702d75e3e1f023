"""Another package's functions exchanged for ours: in every module that holds them, and back."""

import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any


def exchange(pairs: Iterable[tuple[Any, Any]]) -> None:
    """Put the second of each pair wherever a module has the first under any name.

    Objects are compared by identity in the namespace of a module, without its `__getattr__`, which
    may load it. Functions that a program has put into a class, a closure or a container stay.
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
    """A switch for the whole process: `install()` turns it on, and its result, as a context,
    off again.

    On as long as the user has it on, or another installation holds it.
    """

    def __init__(self, on: Callable[[], Callable[[], None]]) -> None:
        self._turn_on = on
        self._turn_off: Callable[[], None] | None = None
        self._by_user, self._holders = False, 0
        self._lock = threading.RLock()

    @property
    def is_on(self) -> bool:
        return self._turn_off is not None

    def on(self) -> "Installed":
        """Turn the switch on; the result remembers whether the user had turned it on
        before.
        """
        before = self._by_user
        self._set(True, 0)
        return Installed(self, before)

    def off(self) -> None:
        """Turn the switch off, unless another installation holds it."""
        self._set(False, 0)

    def hold(self) -> Callable[[], None]:
        """Keep the switch on until the result is called."""
        self._set(None, 1)
        return lambda: self._set(None, -1)

    def _set(self, by_user: bool | None, holders: int) -> None:
        with self._lock:
            self._by_user = self._by_user if by_user is None else by_user
            self._holders += holders
            wanted = self._by_user or self._holders > 0
            if wanted and self._turn_off is None:
                self._turn_off = self._turn_on()
            elif not wanted and self._turn_off is not None:
                turn_off, self._turn_off = self._turn_off, None
                turn_off()


class Installed:
    """The result of `install()`: as a context, it undoes the call, unless the switch was on
    before.
    """

    def __init__(self, installation: Installation, before: bool) -> None:
        self._installation, self._before = installation, before

    def __enter__(self) -> "Installed":
        return self

    def __exit__(self, *error: Any) -> None:
        if not self._before:
            self._installation.off()


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
