"""Install and run the built wheels, this machine's and the other one's: `make test-wheels`. The
end says how many tests passed where.

python wheels/tests.py oldest   only with each Python's oldest NumPy, as `make test` does
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import emulated
import interpreters
from emulated import SECONDS
from targets import ROOT, wheel

# Under emulation a test takes ten times as long and more: what needs no compiler for that machine.
EMULATED = ["array/test_ownership.py", "exchange/test_wrapping.py", "exchange/test_dlpack.py"]
# Tests that a NumPy or a Python can break: constructors, exchange, views, copies, operators, the C
# API, threads and forks.
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


def installed(ends: Sequence[str]) -> Iterator[Outcome]:
    found = dict(interpreters.found())
    for version in interpreters.VERSIONS:
        if version not in found:
            print(f"gridbuf: no Python {version} here, the wheel is not tested on it")
            continue
        for end in ends:
            yield run(os.uname().machine, environment(version, found[version], end), INSTALLED, {})


def main(ends: list[str]) -> None:
    if unknown := set(ends) - set(ENDS):
        sys.exit(f"gridbuf: {sorted(unknown)} is not in {ENDS}")
    found = list(installed(ends or ENDS))
    if os.uname().machine == "x86_64" and (python := emulated.python()):
        found.append(
            run("aarch64 (emulated)", python, EMULATED, emulated.environment(python, PACKAGES))
        )
    print("\n== the wheels: core tests per platform", *found, sep="\n", flush=True)
    if any(outcome.failed for outcome in found):
        sys.exit("gridbuf: a wheel does not pass its core tests")


if __name__ == "__main__":
    main(sys.argv[1:])
