"""Calls that run once a package has been imported. Wheels have a copy of this file beside the
package (startup.py): it imports nothing of gridbuf.
"""

import sys
from collections.abc import Callable
from typing import Any


def when_imported(package: str, call: Callable[[], Any]) -> None:
    """Call once, now if the package is imported, else when it has been."""
    module = sys.modules.get(package)
    if module is not None and not getattr(
        getattr(module, "__spec__", None), "_initializing", False
    ):
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
    """A finder that asks the other finders, and wraps the loader that they give."""

    def __init__(self) -> None:
        self.calls: dict[str, list[Callable[[], Any]]] = {}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if not self.calls.get(name):
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = None if find is None else find(name, path, target)
            if spec is not None:
                self._wrap_loader(name, spec.loader)
                return spec
        return None

    def _wrap_loader(self, name: str, loader: Any) -> None:
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
