"""The child of `watch --apply`: run a program, and write down its time outside of imports.

    python -m gridbuf.watch.stopwatch TIMES none|NAMES program ...

Imports of libraries take seconds that no memory changes, and differ from run to run. So the clocks
stand still in them. Both children run under this file, with the same hook, and differ in nothing
but what is installed.
"""

import atexit
import builtins
import importlib
import json
import resource
import sys
import sysconfig
import time
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from gridbuf import commands, startup

_LIBRARIES = tuple(
    {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
)


class Stopwatch:
    """Wall time, processor time and page faults since it was made, but those of the outermost
    imports of libraries.
    """

    def __init__(self, times: Path) -> None:
        self.times = times
        self.depth = 0
        self.apart = [0.0, 0.0, 0.0]
        self.began = _now()

    def watch_imports(self) -> None:
        plain, plain_module = builtins.__import__, importlib.import_module

        def __import__(name: str, *args: Any, **kwargs: Any) -> Any:
            relative = args[3] if len(args) > 3 else kwargs.get("level", 0)
            if relative or self.depth or name in sys.modules or not _is_library(name):
                return plain(name, *args, **kwargs)
            return self._apart(plain, name, *args, **kwargs)

        def import_module(name: str, package: Any = None) -> Any:
            if name[:1] == "." or self.depth or name in sys.modules or not _is_library(name):
                return plain_module(name, package)
            return self._apart(plain_module, name, package)

        builtins.__import__ = __import__
        importlib.import_module = import_module

    def _apart(self, call: Any, *args: Any, **kwargs: Any) -> Any:
        began = _now()
        self.depth += 1
        try:
            return call(*args, **kwargs)
        finally:
            self.depth -= 1
            self.apart = [
                apart + end - start
                for apart, start, end in zip(self.apart, began, _now(), strict=True)
            ]

    def write(self) -> None:
        """At exit: after the program's own exit handlers."""
        seconds, cpu, faults = (
            now - began - apart
            for now, began, apart in zip(_now(), self.began, self.apart, strict=True)
        )
        found = {"seconds": seconds, "cpu": cpu, "page_faults": faults, "importing": self.apart[0]}
        self.times.write_text(json.dumps(found))


def _now() -> list[float]:
    return [
        time.perf_counter(),
        time.process_time(),
        float(resource.getrusage(resource.RUSAGE_SELF).ru_minflt),
    ]


def _is_library(name: str) -> bool:
    """Whether a module that is not loaded yet is installed, and not the program's."""
    top = name.partition(".")[0]
    module = sys.modules.get(top)
    if module is not None:
        return str(getattr(module, "__file__", None) or "").startswith(_LIBRARIES)
    try:
        spec = PathFinder.find_spec(top)
    except Exception:
        return False
    return spec is not None and str(spec.origin or "").startswith(_LIBRARIES)


def main() -> Any:
    """Run the program that the arguments name; its exit status."""
    times, names, *words = sys.argv[1:]
    way = {"-m": "module", "-c": "code"}.get(words[0], "file")
    if way != "file":
        del words[0]
    if names != "none":
        startup.install(startup.parts(names))
        startup.let_children_know(startup.parts(names))
    stopwatch = Stopwatch(Path(times))
    atexit.register(stopwatch.write)
    stopwatch.watch_imports()
    return commands.execute(words, way=way)


if __name__ == "__main__":
    sys.exit(main())
