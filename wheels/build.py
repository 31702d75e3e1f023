"""Build the sdist, and from it a wheel for each machine, with zig as the compiler: `make wheels`.

zig is clang with the C libraries of every glibc version, from PyPI; neither a container nor an old
system is needed.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from targets import BUILT, GLIBC, GO_ARCHITECTURES, MACHINES, ROOT, tag

TOOLS = ROOT / ".venvs" / "wheels"


def compiler(machine: str) -> Path:
    """A command that compiles for a machine and its oldest glibc. Without it zig's checks of
    undefined behaviour stay in.

    It lies beside this Python: Go compiles again for a compiler of another path.
    """
    target = f"{machine}-linux-gnu"
    path = Path(sys.executable).with_name(f"zig-{machine}")
    text = (
        "#!/bin/sh\n"
        f'case "$1" in -dumpmachine) echo {target}; exit ;; esac\n'
        f'exec "{sys.executable}" -m ziglang cc -target {target}.{GLIBC[0]}.{GLIBC[1]}'
        ' -fno-sanitize=undefined "$@"\n'
    )
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
        path.chmod(0o755)
    return path


def headers(machine: str) -> Path:
    """A folder with a pyconfig.h for a machine: Debian's asks for one, and has the running
    Python's only. What the limited API reads of it is the same on every Linux of 64 bits.
    """
    folder = TOOLS / "include"
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for place in (folder / python, folder / f"{machine}-linux-gnu" / python):
        place.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(sysconfig.get_config_h_filename(), place / "pyconfig.h")
    return folder


def build_id(source: Path, machine: str) -> str:
    """A number for what goes into a library, by which a debugger knows its symbols."""
    zig = subprocess.run(
        [sys.executable, "-m", "ziglang", "version"], check=True, capture_output=True
    ).stdout
    number = hashlib.sha1(zig + machine.encode())
    with tarfile.open(source) as files:
        for member in sorted(files.getmembers(), key=lambda member: member.name):
            content = files.extractfile(member)
            number.update(member.name.encode() + (content.read() if content else b""))
    return number.hexdigest()


def time_of_commit() -> str:
    """The time that is written into wheels, so that two of one commit are equal."""
    asked = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True
    )
    return asked.stdout.strip() or "315532800"  # the first that a zip file can say


def main(machines: list[str], sdist: Path | None) -> None:
    shutil.rmtree(BUILT, ignore_errors=True)
    BUILT.mkdir()
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns) as progress:
        step = progress.add_task("source", total=1)
        source = source_of(sdist)
        progress.advance(step)
        for machine in machines:
            step = progress.add_task(f"wheel for {machine}", total=1)
            build(source, machine)
            progress.advance(step)


def source_of(sdist: Path | None) -> Path:
    """The sdist in the folder of what is built: the one given, or one made of this tree."""
    if sdist is None:
        subprocess.run(
            [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", BUILT, ROOT],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    else:
        shutil.copy(sdist, BUILT)
    (source,) = BUILT.glob("gridbuf-*.tar.gz")
    return source


def build(source: Path, machine: str) -> None:
    """A wheel of the sdist for a machine, and its symbols beside it."""
    symbols = BUILT / f"{source.name.removesuffix('.tar.gz')}-{tag(machine)}.debug"
    more = f" -isystem{headers(machine)}" if machine != os.uname().machine else ""
    environment = {
        "SOURCE_DATE_EPOCH": time_of_commit(),
        **os.environ,
        "CC": str(compiler(machine)),
        "GOOS": "linux",
        "GOARCH": GO_ARCHITECTURES[machine],
        "GRIDBUF_CFLAGS": f"{os.environ.get('GRIDBUF_CFLAGS', '')} -Werror{more}",
        "GRIDBUF_LDFLAGS": f"-Wl,--build-id=0x{build_id(source, machine)}",
        "GRIDBUF_DEBUG_FILE": str(symbols),
    }
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check",
         "--no-deps", "--no-build-isolation", "--wheel-dir", BUILT, source,
         f"--config-settings=--build-option=--plat-name={tag(machine)}"],
        env=environment, check=True,
    )  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("machines", nargs="*", metavar="MACHINE")
    parser.add_argument("--sdist", type=Path, help="one that is there already, made of this tree")
    asked = parser.parse_args()
    main(asked.machines or list(MACHINES), asked.sdist)
