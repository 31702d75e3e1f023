"""What wheels are built for: one file for each machine, with the oldest glibc that both Go's
runtime and the compiler can serve.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILT = ROOT / "wheelhouse"
GLIBC = (2, 17)
GO_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}  # Go's names
MACHINES = tuple(GO_ARCHITECTURES)
LARGEST = 3_000_000  # bytes of a wheel


def tag(machine: str) -> str:
    """The platform tag of a machine's wheel."""
    return f"manylinux_{GLIBC[0]}_{GLIBC[1]}_{machine}"


def wheel(machine: str) -> Path:
    """The built wheel of a machine; ends the program where there is none."""
    found = sorted(BUILT.glob(f"gridbuf-*-{tag(machine)}.whl"))
    if len(found) != 1:
        sys.exit(
            f"gridbuf: {len(found)} wheels for {machine} in {BUILT}; build them with 'make wheels'"
        )
    return found[0]
