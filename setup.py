"""Build gridbuf._core: one c-shared library that holds Go, C and the Python module."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

GO_NEEDED = (1, 26)
# A free-threaded Python has no limited API: the same sources, with the whole API, in a wheel of its own.
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
LIMITED_API = "" if FREE_THREADED else "-DPy_LIMITED_API=0x030B0000"


# CGO_CFLAGS replaces what Go itself would say, "-O2 -g"; warnings, and what a room wants beyond this, stand in its #cgo lines.
OPTIMISED = "-O2 -g"


def stamp() -> str:
    """What the objects depend on that Go's build cache does not look at: headers of other rooms, of NumPy and of Python."""
    known = hashlib.sha256(f"{numpy.__version__} {sys.version}".encode())
    for header in sorted(
        path for path in Path().glob("*/**/*.h") if path.parts[0] not in {"build", "dist"} and path.parts[0][0] != "."
    ):
        known.update(f"{header}\0".encode() + header.read_bytes())
    return known.hexdigest()[:12]


def find_go() -> str:
    """The go command, or one line that says what is missing."""
    go = shutil.which("go")
    wanted = ".".join(map(str, GO_NEEDED))
    if go is None:
        sys.exit(f"gridbuf: building needs Go {wanted} or newer on PATH, and there is no 'go'; install it, or use a wheel")
    if shutil.which(os.environ.get("CC", "gcc").split()[0]) is None and shutil.which("cc") is None:
        sys.exit("gridbuf: building needs a C compiler (gcc or clang) on PATH, and there is none")
    found = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=True).stdout.strip()
    match = re.match(r"go(\d+)\.(\d+)", found)
    if match is None or tuple(map(int, match.groups())) < GO_NEEDED:
        sys.exit(f"gridbuf: building needs Go {wanted} or newer; this is {found or 'unknown'} ({go})")
    return go


class build_go(build_ext):
    """Runs `go build -buildmode=c-shared`; extra tags and flags come from GRIDBUF_GO_TAGS and GRIDBUF_CFLAGS."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.for_checkout = bool(self.inplace)  # run() builds elsewhere first, and forgets

    def build_extension(self, ext: Extension) -> None:
        go = find_go()
        target = Path(self.get_ext_fullpath(ext.name)).resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        work = Path(self.build_temp).resolve()  # the header that Go writes must not join the package
        work.mkdir(parents=True, exist_ok=True)
        library = work / "_core.so"
        exports = Path("pyext/exports.map").resolve()
        # NumPy before Python: some systems keep an old numpy/ among Python's headers.
        includes = [numpy.get_include(), sysconfig.get_path("include"), sysconfig.get_path("platinclude")]
        flags = [
            OPTIMISED,
            *(f"-I{path}" for path in includes),
            LIMITED_API,
            # 70 KB: nothing unwinds through our C, and the linker drops functions that nobody calls.
            "-fno-asynchronous-unwind-tables -ffunction-sections",
            f"-DBUILD_STAMP={stamp()}",
            os.environ.get("GRIDBUF_CFLAGS", ""),
        ]
        env = {**os.environ, "CGO_ENABLED": "1", "CGO_CFLAGS": " ".join(flags)}
        strip = "" if self.for_checkout else "-s -w "  # a checkout keeps its symbols, a wheel is small
        command = [go, "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-tags", f"extension,{os.environ.get('GRIDBUF_GO_TAGS', '')}",
                   f"-ldflags={strip}-extldflags=-Wl,--gc-sections,--version-script={exports}", "-o", str(library), "./pyext"]  # fmt: skip
        subprocess.run(command, check=True, env=env)
        shutil.copy2(library, target)


setup(
    ext_modules=[Extension("gridbuf._core", sources=[], py_limited_api=not FREE_THREADED)],
    cmdclass={"build_ext": build_go},
    options={} if FREE_THREADED else {"bdist_wheel": {"py_limited_api": "cp311"}},
)
