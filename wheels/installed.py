"""Installs this machine's wheel on every Python that it is for, each with its oldest and its newest
NumPy, and runs core tests.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import interpreters
from core import INSTALLED, PACKAGES, SECONDS, Outcome, run
from targets import ROOT, wheel

# The oldest NumPy that has a wheel for a Python, not older than gridbuf's own oldest.
OLDEST = {"3.11": "1.26.0", "3.12": "1.26.0", "3.13": "2.1.0"}
ENDS = ("oldest", "newest")


def environment(version: str, python: Path, end: str) -> Path:
    """A virtual environment with the wheel, one end of NumPy's versions, and the test tools; the
    Python in it.
    """
    folder = ROOT / ".venvs" / f"wheel-{version}-{end}"
    inside = folder / "bin" / "python"
    if not inside.exists():
        subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
    numpy = [f"numpy=={OLDEST[version]}"] if end == "oldest" else ["--upgrade", "numpy"]
    pip = [
        sys.executable,
        "-m",
        "pip",
        f"--python={inside}",
        "--quiet",
        "--disable-pip-version-check",
    ]
    subprocess.run(
        [*pip, "install", "--no-compile", "--only-binary=:all:", *numpy, *PACKAGES],
        check=True,
        timeout=SECONDS,
    )
    subprocess.run(  # a wheel of the same version may be another one
        [
            *pip,
            "install",
            "--no-compile",
            "--force-reinstall",
            "--no-deps",
            wheel(os.uname().machine),
        ],
        check=True,
        timeout=SECONDS,
    )
    return inside


def outcomes(ends: Sequence[str] = ENDS) -> Iterator[Outcome]:
    found = dict(interpreters.found())
    for version in interpreters.VERSIONS:
        if version not in found:
            print(f"gridbuf: no Python {version} here, the wheel is not tested on it")
            continue
        for end in ends:
            yield run(os.uname().machine, environment(version, found[version], end), INSTALLED, {})
