"""The part of the suite that says whether a wheel works where it is installed, and how many of its
tests passed there.
"""

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from targets import ROOT

# Under emulation a test takes ten times as long and more: what needs no compiler for that machine.
EMULATED = ["array/test_ownership.py", "exchange/test_wrapping.py", "exchange/test_dlpack.py"]
# What a NumPy or a Python can break: constructors, exchange, views, copies, operators, the C API,
# threads and forks.
INSTALLED = [
    *EMULATED, "array/test_from_array.py", "interop/test_numpy.py", "exchange/test_protocols.py",
    "array/test_require.py", "array/test_scalars.py",
    "array/test_values.py", "array/test_views.py", "fields/test_functions.py",
    "fields/test_manners.py",
    "gufunc/test_calls.py", "gufunc/test_numpys_types.py",
    "gufunc/test_outcomes.py",
    "safety/test_fork.py", "safety/test_threads.py", "storage/test_ufuncs.py",
]  # fmt: skip

PACKAGES = ["pytest>=8", "hypothesis", "ml_dtypes"]
SECONDS = 1800  # far more than it takes: a machine may be busy


@dataclass(frozen=True)
class Outcome:
    """What ran where, and how it ended."""

    platform: str
    python: str
    numpy: str
    passed: int
    failed: int
    skipped: int

    def __str__(self) -> str:
        counts = f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"
        return f"{self.platform:<18} Python {self.python:<8} NumPy {self.numpy:<8} {counts}"


def run(
    platform: str, python: Path, files: Sequence[str], environment: Mapping[str, str]
) -> Outcome:
    """The files on one Python, where gridbuf and the test tools are installed."""
    asked = (
        "import sys, platform, numpy; print(platform.python_version(), numpy.__version__,"
        " platform.machine())"
    )
    everything = {**os.environ, "HYPOTHESIS_PROFILE": "repeatable", **environment}
    place = {"cwd": ROOT / "tests", "env": everything}
    said = subprocess.run(
        [python, "-c", asked], check=True, capture_output=True, text=True, **place
    ).stdout.split()
    if said[2] != platform.split()[0]:
        raise RuntimeError(f"{python} runs on {said[2]}, not on {platform}")
    print(f"\n== {platform}, Python {said[0]}, NumPy {said[1]}: the manylinux wheel", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        options = ["-q", "-rN", "-p", "no:cacheprovider", "-m", "not slow", f"--junitxml={report}"]
        code = subprocess.run(
            [python, "-m", "pytest", *options, *files], timeout=SECONDS, **place
        ).returncode
        if not report.exists():
            raise RuntimeError(f"pytest ends with {code} and without a report")
        suite = ElementTree.parse(report).getroot()[0].attrib
    count = {name: int(suite[name]) for name in ("tests", "failures", "errors", "skipped")}
    failed = count["failures"] + count["errors"]
    if code != 0 and not failed:
        raise RuntimeError(f"pytest ends with {code}")
    return Outcome(
        platform,
        said[0],
        said[1],
        count["tests"] - failed - count["skipped"],
        failed,
        count["skipped"],
    )
