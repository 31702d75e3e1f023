"""Build gridbuf._core, the C of all rooms, and gridbuf/_go.so, Go's runtime and the rooms' Go,
which it loads.
"""

import hashlib
import importlib.util
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
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

GO_NEEDED = (1, 26)
# A free-threaded Python has no limited API: the same sources, with the whole API, in a wheel of its
# own.
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

# CGO_CFLAGS replaces what Go itself would say, "-O2 -g"; warnings, and what a room wants beyond
# this, stand in its #cgo lines. Debuggers and profilers find the way out of our C by its unwind
# tables, which cost 70 KB. The linker drops functions that nobody calls. Nobody asks errno about a
# square root, and clang calls the library for every one unless told so.
OPTIMISED = ["-O2", "-g", "-fasynchronous-unwind-tables", "-ffunction-sections", "-fno-math-errno"]
# Loops whose length only the run knows: gcc leaves them, clang unrolls them. That makes copies,
# fills, casts and statistics faster, matrices up to 8 x 8 slower, and the code longer; x86's plain
# sets, for processors from before 2013, are small rather than fast.
NOT_UNROLLED = ["-mllvm", "-unroll-runtime=0"]
UNROLLED = re.compile(
    r"(transfer|exact)/kernels_|transfer/program_(moves|sums)|gufunc/(cast_|kernels/loops/stats_)"
)
SMALL = {"x86_64": re.compile(r"_(base|plain)\.c$")}
# clang inlines what is up to twice as long as what gcc does: 7 kB of text.
INLINED_LESS = ["-mllvm", "-inline-threshold=75"]
# What is called once, seldom, or to call a driver that takes microseconds: for size it is 12 %
# shorter, with clang's -Oz 18 %.
COLD = re.compile(
    r"cuda/(?!order|pool|slab)|alloc/(debug|describe|errors|policy|system)\.c|"
    r"pyext/(device/(?!dlpack|field)|gufunc/(attach|entries|type)|exchange/(device_wrap|import_typestr|mapped)|program/|core/(backends|explain|numbers|trace)|watch/|module|register|requirements|statistics)|"
    r"transfer/(cpu|program_plan)|(cuda)?arrayinterface"
)
# Their loops go over a few indices or arguments: compilers make vectors of them all the same.
SHORT_LOOPS = re.compile(
    r"(alloc|cuda|dlpack|pyext)/|gufunc/(overlap|reduce)\.c|exact/superaccumulator"
)
# gcc begins those loops on lines of their own: 13 KB.
NOT_ALIGNED = ["-falign-jumps=1", "-falign-loops=1"]
# `build_ext --debug`: gdb shows lines, variables and macros of our C, and gets through it to what
# called it.
DEBUG = ["-Og", "-g3", "-fno-omit-frame-pointer"]
WARNINGS = ["-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-missing-field-initializers"]
# Go's names of the processors that a compiler can make code for here.
GO_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}

NINJA = """\
rule c
  command = {cc} $cflags $last -MD -MF $out.d -c $in -o $out
  depfile = $out.d
  deps = gcc
rule go
  command = CGO_ENABLED=1 CGO_CFLAGS={cgo_cflags} CC={cc_quoted} {go} build -buildmode=c-shared -trimpath -buildvcs=false $
    -overlay {overlay} {tags} -ldflags={go_ldflags} -o $out {main}
rule link
  command = {cc} -shared $cflags $last -o $out $in $ldflags
"""


def find_go() -> str:
    """The go command, or one line that says what is missing."""
    go = shutil.which("go")
    wanted = ".".join(map(str, GO_NEEDED))
    if go is None:
        sys.exit(
            f"gridbuf: building needs Go {wanted} or newer on PATH, and there is no 'go'; install"
            " it, or use a wheel"
        )
    if shutil.which(os.environ.get("CC", "gcc").split()[0]) is None and shutil.which("cc") is None:
        sys.exit("gridbuf: building needs a C compiler (gcc or clang) on PATH, and there is none")
    found = subprocess.run(
        [go, "env", "GOVERSION"], capture_output=True, text=True, check=True
    ).stdout.strip()
    match = re.match(r"go(\d+)\.(\d+)", found)
    if match is None or tuple(map(int, match.groups())) < GO_NEEDED:
        sys.exit(
            f"gridbuf: building needs Go {wanted} or newer; this is {found or 'unknown'} ({go})"
        )
    return go


class Compiler:
    """What CC says of itself: the machine it makes code for, and whether it is clang (or zig, which
    is clang).
    """

    def __init__(self) -> None:
        self.command = os.environ.get("CC", "gcc")
        self.target = self.says("-dumpmachine").strip()
        self.machine = self.target.split("-")[0]
        self.version = self.says("--version")
        self.is_clang = "clang" in self.version
        self.foreign = self.machine in GO_ARCHITECTURES and self.machine != os.uname().machine
        if "musl" in self.target:
            sys.exit(
                f"gridbuf: needs glibc, and {self.command} compiles for {self.target}: Go's runtime"
                " in a shared library keeps thread-local data where musl does not load it later"
                " (initial-exec)"
            )

    def shorter(self, source: Path) -> list[str]:
        """What a file of C is told about its size, where that costs nothing."""
        small = self.machine in SMALL and SMALL[self.machine].search(source.name)
        short = (
            ["-Oz" if self.is_clang else "-Os"] if small or COLD.match(source.as_posix()) else []
        )
        plain = (
            ["-fno-tree-vectorize"] if SHORT_LOOPS.match(source.as_posix()) else []
        )  # clang knows gcc's name for it
        if not self.is_clang:
            return [*plain, *(NOT_ALIGNED if plain else []), *short]
        unrolled = UNROLLED.match(source.as_posix()) and not small
        inlined = [] if "kernels" in source.as_posix() else INLINED_LESS
        return [*plain, *inlined, *([] if unrolled else NOT_UNROLLED), *short]

    def says(self, question: str) -> str:
        return subprocess.run(
            [*shlex.split(self.command), question], capture_output=True, text=True
        ).stdout


def own_pyconfig(folder: Path, machine: str) -> list[Path]:
    """Debian's pyconfig.h asks for one per machine, and has the running Python's only. What the
    limited API reads of it, sizes of types, is the same on every machine with 64 bits and Linux.
    """
    for triplet in (folder / f"{machine}-linux-gnu", folder):
        python = triplet / f"python{sys.version_info.major}.{sys.version_info.minor}"
        python.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(sysconfig.get_config_h_filename(), python / "pyconfig.h")
    return [folder]


def stamp() -> str:
    """What Go's build cache does not look at: it knows a package's own headers, not those of other
    rooms.
    """
    return subprocess.run(
        ["sh", "bridge/stamp.sh"], capture_output=True, text=True, check=True
    ).stdout.strip()


def packages_of(go: str, main: str, tags: list[str]) -> tuple[dict[Path, list[str]], list[Path]]:
    """The C of this module that Go's library needs, with what its #cgo lines say; and the folders
    of a workspace's other modules.

    Go would compile all C of a package again, one file after the other, whenever one of its files
    or imports changed. It keeps what needs cgo's own header, and the C of other modules.
    """
    line = (
        '{{if and .Module .Module.Main}}{{.Dir}}|{{join .CgoCFLAGS " "}}|{{join .CFiles'
        ' "|"}}\n{{end}}'
    )
    told = subprocess.run(
        [go, "list", "-buildvcs=false", "-deps", *tags, "-f", line, main],
        capture_output=True,
        text=True,
    )
    if told.returncode:
        sys.exit(f"gridbuf: Go cannot list what {main} is made of:\n{told.stderr.strip()}")
    ours: dict[Path, list[str]] = {}
    others = []
    for folder, flags, *names in (row.split("|") for row in told.stdout.split("\n") if row):
        if not Path(folder).is_relative_to(Path.cwd()):
            others.append(Path(folder))
            continue
        ours |= {Path(folder, name): flags.split() for name in names if name}
    return {
        path: flags for path, flags in ours.items() if "_cgo_export.h" not in path.read_text()
    }, others


def docstrings() -> str:
    """The text of docs.h, for C: made of the stub's docstrings."""
    spec = importlib.util.spec_from_file_location("docstrings", "pyext/docstrings.py")
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(module := importlib.util.module_from_spec(spec))
    return str(module.header(Path("gridbuf/_core.pyi").read_text()))


def write(path: Path, text: str) -> None:
    """Ninja makes again what depends on a file that was written."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def escaped(path: object) -> str:
    """A path as ninja reads it."""
    return re.sub(r"([ :$])", r"$\1", str(path))


class build_core(build_ext):
    """Lets ninja compile, Go make its library, and the compiler link.

    GRIDBUF_CFLAGS goes to every compilation and to the link, GRIDBUF_GO_TAGS to Go; GRIDBUF_GO_MAIN
    names a Go main package to take in the place of bridge/archive. With --debug the C is made for
    gdb. CC may compile for another machine; GRIDBUF_DEBUG_FILE names a file for the symbols that a
    wheel leaves out.
    """

    def finalize_options(self) -> None:
        super().finalize_options()
        self.for_checkout = bool(self.inplace)  # run() builds elsewhere first, and forgets
        if (
            self.editable_mode
        ):  # pip drops the folder that it gives; `make build` goes on from this one
            self.build_temp = f"build/temp.{self.plat_name}-{sys.implementation.cache_tag}"

    def build_extension(self, ext: Extension) -> None:
        go = find_go()
        self.compiler = Compiler()
        if self.compiler.foreign:
            os.environ.update(
                GOOS="linux", GOARCH=GO_ARCHITECTURES[self.compiler.machine], CGO_ENABLED="1"
            )
        import ninja

        target = Path(self.get_ext_fullpath(ext.name)).resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        work = Path(self.build_temp).resolve()
        work.mkdir(parents=True, exist_ok=True)
        rules = work / "build.ninja"
        write(rules, self.rules(go, work, target))
        # Go does not see the C that ninja compiles
        write(
            work / "overlay.json",
            json.dumps({"Replace": dict.fromkeys(map(str, self.c_files), "")}, indent=1),
        )
        write(work / "docs.h", docstrings())
        command = [
            Path(ninja.BIN_DIR) / "ninja",
            "-f",
            rules,
            "--quiet" if not self.verbose else "-v",
        ]
        subprocess.run(command, check=True)
        for folder in [
            target.parent,
            *([Path("gridbuf")] if self.for_checkout or self.editable_mode else []),
        ]:
            shutil.copy(work / "_go.so", folder)
        if self.for_checkout:  # for clangd and other tools that want to know how a file is compiled
            database = subprocess.run(
                [*command[:3], "-t", "compdb", "c"], check=True, capture_output=True
            ).stdout
            Path("compile_commands.json").write_bytes(database)

    def rules(self, go: str, work: Path, target: Path) -> str:
        """The text of build.ninja. Paths are relative to the source tree, where ninja runs."""
        extra = shlex.split(os.environ.get("GRIDBUF_CFLAGS", ""))
        optimised = [*OPTIMISED, *(DEBUG if self.debug else [])]
        # NumPy before Python: some systems keep an old numpy/ among Python's headers.
        foreign = (
            own_pyconfig(work / "include", self.compiler.machine) if self.compiler.foreign else []
        )
        includes = [
            str(Path(self.build_temp).resolve()),
            numpy.get_include(),
            sysconfig.get_path("include"),
            sysconfig.get_path("platinclude"),
            *foreign,
        ]
        cflags = ["-std=gnu11", "-fPIC", "-pthread", "-fvisibility=hidden", *optimised, *WARNINGS,
        *(f"-isystem{path}" for path in includes),
                  *LIMITED_API]  # fmt: skip
        symbols = os.environ.get("GRIDBUF_DEBUG_FILE", "")
        strip = (
            [] if self.for_checkout or self.debug else ["-s"]
        )  # a checkout keeps its symbols, a wheel is small
        ldflags = [
            "-lm",
            "-ldl",
            "-lpthread",
            "-Wl,--gc-sections,--hash-style=gnu,--version-script=pyext/exports.map,-z,relro,-z,nodelete,-Bsymbolic",
            *(
                [] if self.compiler.is_clang else ["-Wl,-z,noseparate-code"]
            ),  # lld's way without being told
        ]
        main = os.environ.get("GRIDBUF_GO_MAIN", "./bridge/archive")
        tags = os.environ.get("GRIDBUF_GO_TAGS", "")
        self.c_files, workspace = packages_of(go, main, ["-tags", tags])
        rules = NINJA.format(
            cc=self.compiler.command,
            cc_quoted=shlex.quote(self.compiler.command),
            cgo_cflags=shlex.quote(shlex.join([*optimised, *extra, f"-DBUILD_STAMP={stamp()}"])),
            go=go,
            # bridge/rooms.go: of some rooms the C alone
            tags=f"-tags {shlex.quote(f'{tags},gridbuf_extension'.strip(','))}",
            overlay=shlex.quote(str(work / "overlay.json")),
            main=main,
            go_ldflags=shlex.quote(
                f"{'-s -w' if strip else ''}"
                f" -extldflags=-Wl,-z,defs{',-s' if strip else ''},--version-script={Path('bridge/exports.map').resolve()}".strip()
            ),
        )
        # What ninja keeps lies beside the objects.
        rules = (
            f"builddir = {escaped(work)}\ncflags = {shlex.join(cflags)}\nlast ="
            f" {shlex.join(extra)}\n" + rules
        )
        objects = []
        for source in sorted(Path("pyext").rglob("*.c")):
            objects.append(escaped(work / source.with_suffix(".o")))
            rules += (
                f"build {objects[-1]}: c {escaped(source)}\n  cflags = $cflags"
                f" {shlex.join(self.shorter(source))}\n"
            )
        for path, flags in self.c_files.items():
            source = path.relative_to(Path.cwd())
            objects.append(escaped(work / source.with_suffix(".o")))
            # -I: for what .incbin names
            room = shlex.join(
                [
                    "-fPIC",
                    "-pthread",
                    f"-I{source.parent}",
                    *optimised,
                    *flags,
                    *self.shorter(source),
                ]
            )
            included = " ".join(map(escaped, sorted(source.parent.glob("*.ptx"))))
            rules += f"build {objects[-1]}: c {escaped(source)} | {included}\n  cflags = {room}\n"
        go_sources = [
            path
            for room in [*GO_ROOMS, main, *workspace]
            for path in sorted(Path(room).rglob("*"))
            if path.suffix in {".go", ".c", ".h", ".ptx"}
            and not path.name.endswith("_body.h")
            and path.resolve() not in self.c_files
        ]
        library = escaped(work / "_go.so")
        rules += (
            f"build {library}: go | go.mod go.sum bridge/exports.map"
            f" {escaped(work / 'overlay.json')} {' '.join(map(escaped, go_sources))}\n"
        )
        if (
            symbols
        ):  # linked twice, into the same bytes but for the symbols; the number tells debuggers so
            ldflags.append(f"-Wl,--build-id=0x{self.build_id(rules, go_sources)}")
        return rules + "".join(
            f"build {escaped(path)}: link {' '.join(objects)} | pyext/exports.map\n  ldflags ="
            f" {shlex.join([*ldflags, *more])}\n"
            for path, more in [
                (target, strip),
                *([(Path(symbols).resolve(), [])] if symbols else []),
            ]
        )

    def shorter(self, source: Path) -> list[str]:
        return [] if self.debug else self.compiler.shorter(source)

    def build_id(self, rules: str, go_sources: list[Path]) -> str:
        """A number for all that goes into the library: sources, flags and compiler."""
        number = hashlib.sha1(f"{rules}{self.compiler.version}".encode())
        for path in sorted([*Path("pyext").rglob("*.[ch]"), *self.c_files, *go_sources]):
            number.update(path.read_bytes())
        return number.hexdigest()


class bdist_core(bdist_wheel):
    """A wheel that says which machine it is for and what is inside it."""

    def finalize_options(self) -> None:
        if not self.plat_name and (compiler := Compiler()).foreign:
            self.plat_name = f"linux_{compiler.machine}"
        super().finalize_options()

    def egg2dist(self, egginfo_path: str, distinfo_path: str) -> None:
        super().egg2dist(egginfo_path, distinfo_path)
        bill = Path(distinfo_path) / "sboms" / "gridbuf.cdx.json"
        bill.parent.mkdir(exist_ok=True)
        bill.write_text(
            json.dumps(bill_of_materials(find_go(), self.distribution.get_version()), indent=1)
            + "\n"
        )


def bill_of_materials(go: str, version: str) -> dict[str, object]:
    """What the library holds besides gridbuf, in CycloneDX: Go's runtime, and modules if there ever
    are any.
    """
    runtime = subprocess.run(
        [go, "env", "GOVERSION"], capture_output=True, text=True, check=True
    ).stdout.strip()
    line = "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}"
    told = subprocess.run(
        [go, "list", "-buildvcs=false", "-deps", "-f", line, "./bridge/archive"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    linked = [
        ("std", runtime.split()[0].removeprefix("go")),
        *sorted({tuple(row.split()) for row in told.split("\n") if row}),
    ]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": f"pkg:pypi/gridbuf@{version}",
                "name": "gridbuf",
                "version": version,
                "purl": f"pkg:pypi/gridbuf@{version}",
                "licenses": [{"license": {"id": "BSD-3-Clause"}}],
            }
        },
        "components": [
            {
                "type": "library",
                "bom-ref": f"pkg:golang/{name}@{number}",
                "name": name,
                "version": number,
                "purl": f"pkg:golang/{name}@{number}",
                **({"licenses": [{"license": {"id": "BSD-3-Clause"}}]} if name == "std" else {}),
            }
            for name, number in linked
        ],
        "dependencies": [
            {
                "ref": f"pkg:pypi/gridbuf@{version}",
                "dependsOn": [f"pkg:golang/{name}@{number}" for name, number in linked],
            }
        ],
    }


class build_modules(build_py):
    """Puts what Python reads at its start beside the package: gridbuf.pth, and the files that it
    names, which import nothing of ours.
    """

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            for name in ("startup", "importing"):
                self.copy_file(
                    f"gridbuf/{name}.py", str(Path(self.build_lib, f"_gridbuf_{name}.py"))
                )
            Path(self.build_lib, "gridbuf.pth").write_text(
                'import os; os.environ.get("GRIDBUF_INSTALL") and __import__("_gridbuf_startup")\n'
            )


setup(
    ext_modules=[Extension("gridbuf._core", sources=[], py_limited_api=not FREE_THREADED)],
    cmdclass={"build_ext": build_core, "build_py": build_modules, "bdist_wheel": bdist_core},
    options={} if FREE_THREADED else {"bdist_wheel": {"py_limited_api": "cp311"}},
)
