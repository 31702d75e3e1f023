"""GRIDBUF_INSTALL=numpy,gt4py python program.py: parts of gridbuf for an unedited
program, put in place before its first line runs.

Wheels have a copy of this file and of importing.py beside the package, which `gridbuf.pth` has
Python import at its start where the variable is set. So they import nothing of gridbuf, and NumPy
not either: each part waits until the program itself has imported the package that it is for.
"""

import importlib
import os
import sys
import warnings
from collections.abc import Sequence

if __name__ == "_gridbuf_startup":  # the copies beside the package
    from _gridbuf_importing import when_imported
else:
    from gridbuf.importing import when_imported

VARIABLE = "GRIDBUF_INSTALL"
USUAL = "numpy,gt4py"  # the default of `run --install`

# Parts by name: the package whose import is waited for, our module, and its function.
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
        raise ValueError(
            f"{unknown[0]!r} is not known; allowed are {', '.join(PARTS)}, with commas between them"
        )
    return names


def install(names: Sequence[str]) -> None:
    """Have each part put in place as soon as its package is there."""
    for name in names:
        package, module, function = PARTS[name]

        def put(name: str = name, module: str = module, function: str = function) -> None:
            try:
                getattr(importlib.import_module(module), function)()
            except Exception as error:  # the program runs as it would have without us
                warnings.warn(
                    f"{VARIABLE}: {name}: {type(error).__name__}: {error}",
                    RuntimeWarning,
                    stacklevel=2,
                )

        when_imported(package, put)


def let_children_know(names: Sequence[str]) -> None:
    """Processes that the program starts install the same, where gridbuf is installed from a
    wheel.
    """
    os.environ[VARIABLE] = ",".join(names)


def from_environment() -> None:
    """Install the parts that the variable names; a wrong one is a warning, because the program is
    not about us.
    """
    try:
        install(parts(os.environ.get(VARIABLE, "")))
    except ValueError as error:
        print(f"gridbuf: {VARIABLE}: {error}", file=sys.stderr)


if __name__ == "_gridbuf_startup":
    from_environment()
