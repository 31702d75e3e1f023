"""GRIDBUF_INSTALL=numpy,gt4py python program.py: what to put into a program that nobody edits, before its first line runs.

Wheels have a copy of this file beside the package, which `gridbuf.pth` has Python import at its start where the
variable is set. So it imports nothing of gridbuf, and NumPy not either: each part waits until the program itself has
imported the package that it is for.
"""

import importlib
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

VARIABLE = "GRIDBUF_INSTALL"

# What may be asked for: the package whose import is waited for, our module, and its function.
PARTS = {
    "numpy": ("numpy", "gridbuf.interop.numpy", "enable"),
    "gt4py": ("gt4py.storage", "gridbuf.interop.gt4py", "install"),
    "ndsl": ("gt4py.storage", "gridbuf.interop.ndsl", "install"),
    "icon4py": ("gt4py.storage", "gridbuf.interop.icon4py", "install"),
}


def parts(text: str) -> list[str]:
    """The parts that a list of names asks for."""
    names = [name.strip().lower() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not known; allowed are {', '.join(PARTS)}, with commas between them")
    return names


def install(names: list[str]) -> None:
    """Have each part put in place as soon as its package is there."""
    for name in names:
        package, module, function = PARTS[name]

        def put(name: str = name, module: str = module, function: str = function) -> None:
            try:
                getattr(importlib.import_module(module), function)()
            except Exception as error:  # the program runs as it would have without us
                warnings.warn(f"{VARIABLE}: {name}: {type(error).__name__}: {error}", RuntimeWarning, stacklevel=2)

        when_imported(package, put)


def from_environment() -> None:
    """What the variable asks for; a wrong one is a warning, because the program is not about us."""
    try:
        install(parts(os.environ.get(VARIABLE, "")))
    except ValueError as error:
        print(f"gridbuf: {VARIABLE}: {error}", file=sys.stderr)


# ---- after an import ----


def when_imported(package: str, call: Callable[[], Any]) -> None:
    """Call once, now if the package is imported, else when it has been."""
    module = sys.modules.get(package)
    if module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False):
        call()
        return
    if _waiting not in sys.meta_path:
        sys.meta_path.insert(0, _waiting)
    _waiting.calls.setdefault(package, []).append(call)


def forget(package: str, call: Callable[[], Any]) -> None:
    """Wait no longer."""
    calls = _waiting.calls.get(package, [])
    if call in calls:
        calls.remove(call)


class _Waiting:
    """A finder that finds nothing by itself: it asks the others, and has the loader tell when it is through."""

    def __init__(self) -> None:
        self.calls: dict[str, list[Callable[[], Any]]] = {}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if not self.calls.get(name):
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = None if find is None else find(name, path, target)
            if spec is not None:
                self._tell(name, spec.loader)
                return spec
        return None

    def _tell(self, name: str, loader: Any) -> None:
        run = getattr(loader, "exec_module", None)
        if run is None:  # a package without an __init__.py: nothing that we wait for is one
            return

        def exec_module(module: Any) -> None:
            run(module)
            if module.__name__ == name:  # a loader may serve several modules
                vars(loader).pop("exec_module", None)
                for call in self.calls.pop(name, []):
                    call()

        try:
            loader.exec_module = exec_module
        except AttributeError:  # a loader of builtin modules: neither
            return


_waiting = _Waiting()

if __name__ == "_gridbuf_startup":  # the copy beside the package
    from_environment()
