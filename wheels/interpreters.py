"""The Pythons of this machine that gridbuf is for: of each version the first that can make
environments and has a GIL.

python wheels/interpreters.py prints a line for each, version and path, for `make test`.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

VERSIONS = ("3.11", "3.12", "3.13")
# A Python without a GIL has no limited API, which the wheels are made for; pyenv's 3.13t matches
# 3.13*.
SUITS = (
    "import sys, sysconfig, venv, ensurepip; sysconfig.get_config_var('Py_GIL_DISABLED') or"
    " print('%d.%d' % sys.version_info[:2])"
)


def suits(python: str | Path, version: str) -> bool:
    told = subprocess.run([python, "-c", SUITS], capture_output=True, text=True)
    return told.returncode == 0 and told.stdout.split() == [version]


def candidates(version: str) -> Iterator[str | Path]:
    """The one that runs this, those of pyenv, newest first, and the one on PATH."""
    yield getattr(sys, "_base_executable", sys.executable)
    releases = Path.home().glob(f".pyenv/versions/{version}.*/bin/python")
    yield from sorted(
        releases,
        key=lambda path: [int(part) for part in path.parts[-3].split(".") if part.isdigit()],
        reverse=True,
    )
    if on_path := shutil.which(f"python{version}"):
        yield on_path


def found() -> Iterator[tuple[str, Path]]:
    for version in VERSIONS:
        if python := next((each for each in candidates(version) if suits(each, version)), None):
            yield version, Path(python)


if __name__ == "__main__":
    for version, python in found():
        print(version, python)
