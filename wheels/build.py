"""Builds the sdist, and from it a wheel for each machine, with zig as the compiler: `make wheels`.

zig is clang with the C libraries of every glibc version, from PyPI; neither a container nor an old
system is needed.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from denser import denser
from targets import BUILT, GLIBC, MACHINES, ROOT, tag, wheel


def compiler(machine: str) -> Path:
    """A command that compiles for a machine and its oldest glibc. Without it zig's checks of
    undefined behaviour stay in.

    It lies beside this Python: Go compiles all C of a room again for a compiler of another path.
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


def experiments() -> str:
    """GOEXPERIMENT for Go's older collector, which is 16 kB shorter in a wheel: what Go keeps is
    small. A Go that has no other is asked for nothing.
    """
    wanted = ",".join(filter(None, [os.environ.get("GOEXPERIMENT", ""), "nogreenteagc"]))
    known = subprocess.run(
        ["go", "env", "GOEXPERIMENT"],
        env={**os.environ, "GOEXPERIMENT": wanted},
        capture_output=True,
    )
    return os.environ.get("GOEXPERIMENT", "") if known.returncode else wanted


def main(machines: list[str], sdist: Path | None) -> None:
    shutil.rmtree(BUILT, ignore_errors=True)
    BUILT.mkdir()
    if sdist is None:
        subprocess.run(
            [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", BUILT, ROOT],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    else:
        shutil.copy(sdist, BUILT)
    (source,) = BUILT.glob("gridbuf-*.tar.gz")
    for machine in machines:
        symbols = BUILT / f"{source.name.removesuffix('.tar.gz')}-{tag(machine)}.debug"
        flags = f"{os.environ.get('GRIDBUF_CFLAGS', '')} -Werror"
        environment = {
            "CC": str(compiler(machine)),
            "GRIDBUF_CFLAGS": flags,
            "GRIDBUF_DEBUG_FILE": str(symbols),
            "GOEXPERIMENT": experiments(),
        }
        subprocess.run(
            [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check",
            "--no-deps", "--no-build-isolation",
             f"--config-settings=--build-option=--plat-name={tag(machine)}", "--wheel-dir", BUILT,
             source],
            env={**os.environ, **environment}, check=True,
        )  # fmt: skip
        denser(wheel(machine))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("machines", nargs="*", metavar="MACHINE")
    parser.add_argument("--sdist", type=Path, help="one that is there already, made of this tree")
    asked = parser.parse_args()
    main(asked.machines or list(MACHINES), asked.sdist)
