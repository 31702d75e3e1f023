"""Debian's Python for aarch64, with the wheel, under qemu: the second part of `make test-wheels`.

Nothing is installed on this machine: Debian's packages, of its own and of the other machine, are
unpacked under .venvs/. Where that cannot be had, one line says so, and the wheel stays untested.
"""

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from targets import ROOT, wheel

MACHINE = ROOT / ".venvs" / "aarch64"
SECONDS = 1800  # far more than it takes: a machine may be busy
DEBIAN = ["python3", "libstdc++6"]  # Python and what it needs; NumPy's wheels want the second


class Unavailable(Exception):
    pass


def apt(folder: Path, *arguments: str, architecture: str) -> None:
    """apt-get with lists and downloads of its own."""
    for name in ("state/lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    options = {
        "APT::Architecture": architecture, "APT::Architectures": architecture,
        "Dir::State": folder / "state",
        "Dir::State::status": "/dev/null", "Dir::Cache": folder / "cache", "Debug::NoLocking": "1",
        "APT::Sandbox::User": "root",
    }  # fmt: skip
    command = [
        "apt-get",
        "-qq",
        *(f"-o{name}={value}" for name, value in options.items()),
        *arguments,
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        raise Unavailable(str(error)) from error
    if done.returncode != 0:
        raise Unavailable((done.stderr.strip().splitlines() or ["apt-get fails"])[-1])


def unpacked(name: str, packages: list[str], architecture: str) -> Path:
    """The packages and what they need, for a machine, in a folder that is as its root."""
    folder, root = MACHINE / f"apt-{name}", MACHINE / name
    if root.exists():
        return root
    apt(folder, "update", architecture=architecture)
    apt(
        folder,
        "install",
        "-y",
        "--download-only",
        "--no-install-recommends",
        *packages,
        architecture=architecture,
    )
    fresh = MACHINE / f"{name}.part"
    fresh.mkdir(exist_ok=True)
    for package in sorted((folder / "cache" / "archives").glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", package, fresh], check=True)
    fresh.rename(root)
    return root


def command() -> Path:
    """A command that is Python on that machine: its children are told to run under the emulator
    too, by its own name.
    """
    root = unpacked("root", DEBIAN, "arm64")
    (own,) = (root / "usr" / "bin").glob("python3.[0-9][0-9]")
    emulator = (
        unpacked("qemu", ["qemu-user-static"], "amd64") / "usr" / "bin" / "qemu-aarch64-static"
    )
    path = MACHINE / own.name
    path.write_text(
        f'#!/bin/sh\nPYTHONHOME={root}/usr exec {emulator} -L {root} -0 "$0" {own} "$@"\n'
    )
    path.chmod(0o755)
    return path


def site(python: Path, packages: Sequence[str]) -> Path:
    """NumPy and the test tools for that machine, and the wheel."""
    asked = [python.name, "numpy", *packages]
    folder, kept = MACHINE / "site", MACHINE / "site.json"
    if not kept.exists() or json.loads(kept.read_text()) != asked:
        platforms = [f"--platform=manylinux_2_{minor}_aarch64" for minor in (17, 24, 27, 28)]
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
            "--upgrade", "--no-compile", "--target", folder, *platforms,
             f"--python-version={python.name.removeprefix('python')}", "--only-binary=:all:",
             *asked[1:]],
            check=True, timeout=SECONDS,
        )  # fmt: skip
        kept.write_text(json.dumps(asked))
    for other in folder.glob("gridbuf*/"):  # another run's wheel
        shutil.rmtree(other)
    with zipfile.ZipFile(wheel("aarch64")) as inside:  # needs NumPy alone
        inside.extractall(folder)
    return folder


def python() -> Path | None:
    """The command, or None where Debian's packages cannot be had, and one line that says so."""
    try:
        return command()
    except Unavailable as error:
        print(
            "gridbuf: the aarch64 wheel is not tested: no Python and emulator for it from Debian's"
            f" packages ({error})"
        )
        return None


def environment(python: Path, packages: Sequence[str]) -> dict[str, str]:
    """What finds the wheel, NumPy and the test tools."""
    return {"PYTHONPATH": str(site(python, packages)), "GRIDBUF_NUM_THREADS": "2"}
