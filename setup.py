"""Build gridbuf._core: the C of all rooms, linked with an archive that holds the Go runtime and the rooms' Go."""

import json
import os
import re
import shlex
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
LIMITED_API = [] if FREE_THREADED else ["-DPy_LIMITED_API=0x030B0000"]
GO_ROOMS = [
    "alloc",
    "arrayinterface",
    "bridge",
    "cuda",
    "cudaarrayinterface",
    "dlpack",
    "exact",
    "gufunc",
    "internal",
    "transfer",
]

# CGO_CFLAGS replaces what Go itself would say, "-O2 -g"; warnings, and what a room wants beyond this, stand in its #cgo lines.
# The last two save 70 KB: nothing unwinds through our C, and the linker drops functions that nobody calls.
OPTIMISED = ["-O2", "-g", "-fno-asynchronous-unwind-tables", "-ffunction-sections"]
# `build_ext --debug`: gdb shows lines, variables and macros of our C, and gets through it to what called it.
DEBUG = ["-Og", "-g3", "-fno-omit-frame-pointer", "-fasynchronous-unwind-tables"]
WARNINGS = ["-Wall", "-Wextra", "-Wno-unused-parameter"]

NINJA = """\
rule c
  command = {cc} $cflags -MD -MF $out.d -c $in -o $out
  depfile = $out.d
  deps = gcc
rule go
  command = export CGO_ENABLED=1 CGO_CFLAGS={cgo_cflags}; {go} list -export -deps -buildmode=c-archive -trimpath -buildvcs=false -overlay {overlay} {tags} $
    -f '{{{{if .Export}}}}packagefile {{{{.ImportPath}}}}={{{{.Export}}}}{{{{end}}}}' {main} > $out.packages && $
    {go} tool compile -shared -trimpath "$$PWD" -p main -importcfg $out.packages -o $out.main {main}/*.go && $
    {go} tool link -buildmode=c-archive -importcfg $out.packages {strip} -extld={cc} -o $out $out.main
rule link
  command = {cc} -shared $cflags -o $out $in {ldflags}
"""


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


def stamp() -> str:
    """What Go's build cache does not look at: it knows a package's own headers, not those of other rooms."""
    return subprocess.run(["sh", "bridge/stamp.sh"], capture_output=True, text=True, check=True).stdout.strip()


def c_of_rooms(go: str, main: str, tags: list[str]) -> dict[Path, list[str]]:
    """The C of the archive's packages, with what their #cgo lines say; not that of other modules, nor what needs cgo's own header.

    Go would compile all C of a package again, one file after the other, whenever one of its files or imports changed.
    """
    line = '{{if and .Module .Module.Main}}{{range .CFiles}}{{$.Dir}}/{{.}}|{{join $.CgoCFLAGS " "}}\n{{end}}{{end}}'
    told = subprocess.run([go, "list", "-deps", *tags, "-f", line, main], capture_output=True, text=True, check=True).stdout
    found = (row.split("|") for row in told.split("\n") if row)
    return {Path(path): flags.split() for path, flags in found if "_cgo_export.h" not in Path(path).read_text()}


def escaped(path: object) -> str:
    """A path as ninja reads it."""
    return re.sub(r"([ :$])", r"$\1", str(path))


class build_core(build_ext):
    """Lets ninja compile, Go make the archive, and the compiler link.

    GRIDBUF_CFLAGS goes to every compilation and to the link, GRIDBUF_GO_TAGS to Go; GRIDBUF_GO_MAIN
    names a Go main package to take in the place of bridge/archive. With --debug the C is made for gdb.
    """

    def finalize_options(self) -> None:
        super().finalize_options()
        self.for_checkout = bool(self.inplace)  # run() builds elsewhere first, and forgets

    def build_extension(self, ext: Extension) -> None:
        go = find_go()
        import ninja

        target = Path(self.get_ext_fullpath(ext.name)).resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        work = Path(self.build_temp).resolve()
        work.mkdir(parents=True, exist_ok=True)
        rules = work / "build.ninja"
        text = self.rules(go, work, target)
        if not rules.exists() or rules.read_text() != text:
            rules.write_text(text)
        hidden = work / "overlay.json"  # Go does not see the C that ninja compiles
        overlay = json.dumps({"Replace": dict.fromkeys(map(str, self.c_files), "")}, indent=1)
        if not hidden.exists() or hidden.read_text() != overlay:
            hidden.write_text(overlay)
        command = [Path(ninja.BIN_DIR) / "ninja", "-f", rules, "--quiet" if not self.verbose else "-v"]
        subprocess.run(command, check=True)
        if self.for_checkout:  # for clangd and other tools that want to know how a file is compiled
            database = subprocess.run([*command[:3], "-t", "compdb", "c"], check=True, capture_output=True).stdout
            Path("compile_commands.json").write_bytes(database)

    def rules(self, go: str, work: Path, target: Path) -> str:
        """The text of build.ninja. Paths are relative to the source tree, where ninja runs."""
        extra = shlex.split(os.environ.get("GRIDBUF_CFLAGS", ""))
        optimised = [*OPTIMISED, *(DEBUG if self.debug else [])]
        # NumPy before Python: some systems keep an old numpy/ among Python's headers.
        includes = [numpy.get_include(), sysconfig.get_path("include"), sysconfig.get_path("platinclude")]
        cflags = ["-std=gnu11", "-fPIC", "-pthread", "-fvisibility=hidden", *optimised, *WARNINGS, *(f"-I{path}" for path in includes),
                  *LIMITED_API, *extra]  # fmt: skip
        strip = [] if self.for_checkout or self.debug else ["-s"]  # a checkout keeps its symbols, a wheel is small
        ldflags = [
            "-lm",
            "-ldl",
            "-lpthread",
            "-Wl,--gc-sections,--version-script=pyext/exports.map,-z,relro,-z,nodelete,-z,noseparate-code,-Bsymbolic",
            *strip,
        ]
        main = os.environ.get("GRIDBUF_GO_MAIN", "./bridge/archive")
        tags = ["-tags", tags] if (tags := os.environ.get("GRIDBUF_GO_TAGS", "")) else []
        self.c_files = c_of_rooms(go, main, tags)
        rules = NINJA.format(
            cc=os.environ.get("CC", "gcc"),
            ldflags=shlex.join(ldflags),
            cgo_cflags=shlex.quote(shlex.join([*optimised, *extra, f"-DBUILD_STAMP={stamp()}"])),
            go=go,
            tags=shlex.join(tags),
            overlay=shlex.quote(str(work / "overlay.json")),
            main=main,
            strip="-s -w" if strip else "",
        )
        # What ninja keeps lies beside the objects.
        rules = f"builddir = {escaped(work)}\ncflags = {shlex.join(cflags)}\n" + rules
        objects = []
        for source in sorted(Path("pyext").rglob("*.c")):
            objects.append(escaped(work / source.with_suffix(".o")))
            rules += f"build {objects[-1]}: c {escaped(source)}\n"
        for path, flags in self.c_files.items():
            source = path.relative_to(Path.cwd())
            objects.append(escaped(work / source.with_suffix(".o")))
            room = shlex.join(
                ["-fPIC", "-pthread", f"-I{source.parent}", *optimised, *extra, *flags]
            )  # -I: for what .incbin names
            included = " ".join(map(escaped, sorted(source.parent.glob("*.gz"))))
            rules += f"build {objects[-1]}: c {escaped(source)} | {included}\n  cflags = {room}\n"
        go_sources = [
            path
            for room in [*GO_ROOMS, main]
            for path in sorted(Path(room).rglob("*"))
            if path.suffix in {".go", ".c", ".h", ".gz"} and path.resolve() not in self.c_files
        ]
        archive = escaped(work / "go.a")
        rules += f"build {archive}: go | go.mod go.sum {escaped(work / 'overlay.json')} {' '.join(map(escaped, go_sources))}\n"
        return rules + f"build {escaped(target)}: link {' '.join(objects)} {archive} | pyext/exports.map\n"


setup(
    ext_modules=[Extension("gridbuf._core", sources=[], py_limited_api=not FREE_THREADED)],
    cmdclass={"build_ext": build_core},
    options={} if FREE_THREADED else {"bdist_wheel": {"py_limited_api": "cp311"}},
)
