"""Tools that several rooms share: names loaded on demand, a bounded cache, tables of text, the
debug switch.
"""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar


def on_demand(
    package: str, module: str = "public"
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose names are in `__all__` of this module, which
    the first use of one imports: `import gridbuf` stays quick.
    """
    namespace = vars(sys.modules[package])

    def load() -> Any:
        public = __import__(f"{package}.{module}", fromlist=[module])
        if not {"__all__", *getattr(public, "__all__", ())} <= vars(public).keys():
            raise ImportError(
                f"{package} is being imported, and a signal handler or a tracer that interrupted"
                " the import needs it, too; use it once before the handler is set"
            )
        namespace.update({name: getattr(public, name) for name in ("__all__", *public.__all__)})
        return public

    def find(name: str) -> Any:
        from importlib.util import find_spec

        # Names of tools are none of ours; a file's name is asked for by an import, which then loads
        # that file alone.
        if name == "__all__" or not (name.startswith("_") or find_spec(f"{package}.{name}")):
            public = load()
            if name not in namespace and hasattr(public, name):
                namespace[name] = getattr(public, name)
            if name in namespace:
                return namespace[name]
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names() -> list[str]:
        return sorted({*namespace, *dir(load())})

    return find, names


V = TypeVar("V")


class BoundedCache(dict[Any, V], Generic[V]):
    """A dict that starts anew when it is full."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: Any, value: V) -> None:
        if len(self) >= self._most:
            self.clear()
        super().__setitem__(key, value)


def columns(rows: Sequence[Sequence[str]], right: bool = False) -> list[str]:
    """A line for each row, in aligned columns: flush left, or flush right."""
    widths = [max(map(len, words)) for words in zip(*rows, strict=True)]
    put = str.rjust if right else str.ljust
    return ["  ".join(map(put, row, widths)).rstrip() for row in rows]


def debugging() -> bool:
    """Whether more is checked than a program pays for otherwise."""
    return os.environ.get("GRIDBUF_DEBUG") == "1"
