"""Build gridbuf/_core.abi3.so, the C of all rooms, and gridbuf/_go.so, their Go and its runtime,
which the extension loads when a call needs it. Flags stand in rules.ninja.

The environment may say: CC, and GOARCH where that compiles for another machine; GRIDBUF_CFLAGS and
GRIDBUF_LDFLAGS; GRIDBUF_GO_MAIN, a Go main package in the place of bridge/archive, and
GRIDBUF_GO_TAGS; GRIDBUF_DEBUG_FILE, where a wheel's symbols go (wheels/build.py).
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import ninja
import numpy
from ninja.ninja_syntax import escape_path
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

sys.path[:0] = ["pyext", "wheels"]
from bill_of_materials import bdist_with_bill  # noqa: E402
from docstrings import header  # noqa: E402

GO_NEEDED = (1, 26)
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))  # without a limited API
LIMITED_API = [] if FREE_THREADED else ["-DPy_LIMITED_API=0x030B0000"]
CC = os.environ.get("CC", "cc")
GO_MAIN = os.environ.get("GRIDBUF_GO_MAIN", "./bridge/archive")
GO_TAGS = os.environ.get("GRIDBUF_GO_TAGS", "")
os.environ["CGO_ENABLED"] = "1"  # Go leaves C out where it compiles for another machine


def run(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"gridbuf: {command[0]} {command[1]} failed: {done.stderr.strip()}")
    return done.stdout.strip()


def check_tools() -> None:
    """End with one line that says what is missing."""
    wanted = f"gridbuf: building needs Go {'.'.join(map(str, GO_NEEDED))} or newer"
    if shutil.which("go") is None:
        sys.exit(f"{wanted} on PATH, and there is no 'go'; install it, or use a wheel")
    found = re.findall(r"\d+", version := run("go", "env", "GOVERSION"))[:2]
    if tuple(map(int, found)) < GO_NEEDED:
        sys.exit(f"{wanted}; this is {version or 'unknown'} ({shutil.which('go')})")
    if shutil.which(shlex.split(CC)[0]) is None:
        sys.exit(f"gridbuf: building needs a C compiler on PATH, and there is no {CC!r}")
    if "musl" in (target := run(*shlex.split(CC), "-dumpmachine")):
        sys.exit(f"gridbuf: needs glibc, and {CC} compiles for {target}: Go is initial-exec")


def sources() -> dict[Path, list[str]]:
    """All C but what includes cgo's own header, each file with the flags of its room."""
    line = '{{if .Module}}{{.Dir}}|{{join .CgoCFLAGS " "}}|{{join .CFiles "|"}}{{end}}'
    command = ["go", "list", "-buildvcs=false", "-deps", f"-tags={GO_TAGS}", "-f", line, GO_MAIN]
    found = {path: [""] for path in Path("pyext").rglob("*.c")}
    for row in filter(None, run(*command).split("\n")):
        folder, flags, *names = row.split("|")
        if Path(folder).is_relative_to(Path.cwd()):  # else a workspace's other module
            room = Path(folder).relative_to(Path.cwd())
            found |= {room / name: [f"-I{room}", flags] for name in names if name}
    return {path: f for path, f in sorted(found.items()) if "_cgo_export.h" not in path.read_text()}


def write(path: Path, text: str) -> None:
    """Write a file that is not so already: ninja makes again what depends on it."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


class build_core(build_ext):
    def finalize_options(self) -> None:
        super().finalize_options()
        self.in_checkout = bool(self.inplace or self.editable_mode)  # run() forgets `inplace`
        if self.editable_mode:  # pip drops the folder that it names
            self.build_temp = f"build/temp.{self.plat_name}-{sys.implementation.cache_tag}"

    def build_extension(self, ext: Extension) -> None:
        check_tools()
        target = Path(self.get_ext_fullpath(ext.name)).resolve()
        work = Path(self.build_temp).resolve()
        work.mkdir(parents=True, exist_ok=True)
        write(work / "docs.h", header(Path("gridbuf/_core.pyi").read_text()))
        write(work / "build.ninja", self.rules(work, target))
        if "GRIDBUF_GO_MAIN" in os.environ:  # ninja does not see its files
            (work / "_go.so").unlink(missing_ok=True)
        command = [Path(ninja.BIN_DIR) / "ninja", "-f", work / "build.ninja"]
        subprocess.run([*command, "-v" if self.verbose else "--quiet"], check=True)
        for folder in {target.parent, *[Path("gridbuf").resolve()] * self.in_checkout}:
            shutil.copy(work / "_go.so", folder)
        if self.in_checkout:  # for clangd
            write(Path("compile_commands.json"), run(*command, "-t", "compdb", "c"))

    def rules(self, work: Path, target: Path) -> str:
        """The text of build.ninja. Paths are relative to the source tree, where ninja runs."""
        files = sources()
        overlay = {"Replace": {str(path.resolve()): "" for path in files}}
        write(work / "overlay.json", json.dumps(overlay, indent=1))
        # NumPy before Python: some systems keep an old numpy/ among Python's headers.
        folders = [work, numpy.get_include(), *map(sysconfig.get_path, ("include", "platinclude"))]
        more, linked = (os.environ.get(f"GRIDBUF_{name}FLAGS", "") for name in ("C", "LD"))
        stripped = not (self.in_checkout or self.debug)
        variables = {
            "builddir": escape_path(str(work)), "cc": CC, "more": more, "root": Path.cwd(),
            "includes": shlex.join([*LIMITED_API, *(f"-isystem{path}" for path in folders)]),
            "main": GO_MAIN, "overlay": work / "overlay.json", "go_strip": "-s -w" * stripped,
            "tags": f"{GO_TAGS},gridbuf_extension",  # without some rooms' Go (bridge/rooms.go)
        }  # fmt: skip
        text = "include rules.ninja\n" + "".join(f"{k} = {v}\n" for k, v in variables.items())
        text += "optimised = -Og -g3 -fno-omit-frame-pointer\n" * bool(self.debug)
        made = []
        for path, room in files.items():
            made.append(escape_path(str(work / path.with_suffix(".o"))))
            binary = " ".join(map(str, path.parent.glob("*.ptx")))  # inputs of .incbin
            text += f"build {made[-1]}: c {path} | {binary}\n  room = {' '.join(room)}\n"
        for_go = sorted(p for p in Path().glob("[a-z]*/**/*.*") if p.suffix in {".go", ".h"})
        needed = " ".join(map(str, ["go.mod", "bridge/exports.map", *for_go]))
        text += f"build {escape_path(str(work / '_go.so'))}: go | {needed}\n"
        symbols = Path(os.environ.get("GRIDBUF_DEBUG_FILE", target)).resolve()  # of the same bytes
        for path, strip in {symbols: "", target: "-s" * stripped}.items():
            text += f"build {escape_path(str(path))}: link {' '.join(made)} | pyext/exports.map\n"
            text += f"  strip = {strip} {linked}\n"
        return text


class build_modules(build_py):
    """Put gridbuf.pth, which Python reads at its start, and what that names beside the package."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            for name in ("startup.py", "importing.py"):
                self.copy_file(f"gridbuf/{name}", f"{self.build_lib}/_gridbuf_{name}")
            self.copy_file("gridbuf/gridbuf.pth", self.build_lib)


setup(
    ext_modules=[Extension("gridbuf._core", sources=[], py_limited_api=not FREE_THREADED)],
    cmdclass={"build_ext": build_core, "build_py": build_modules, "bdist_wheel": bdist_with_bill},
    options={} if FREE_THREADED else {"bdist_wheel": {"py_limited_api": "cp311"}},
)
